/* SPDX-License-Identifier: MIT
 *
 * Between the parts of a controller's front:
 *   service.c           the machine: its inputs and its timer
 *   service_requests.c  requests, proposals, answers
 *   service_news.c      HELLOs, and who is told what
 *   service_lease.c     leases of servers
 *   service_watch.c     silence, certain ends, and who is accused
 *   service_office.c    what the leader proposes of its own
 *   service_describe.c  what it knows, for people
 */
#ifndef GW__CLUSTER_SERVICE_PARTS_H
#define GW__CLUSTER_SERVICE_PARTS_H

#include "cluster/detector/health.h"
#include "service.h"

enum {
    GW__ASKERS_MAX = 128,
    GW__SERVICE_TICK_NS = 20000000,
    GW__SERVICE_RETRY_NS = 200000000 /* until a proposal is made again */
};

/* Who is to be told the answer of a request. */
struct gw__asker {
    struct gw__id client; /* none: this entry is free */
    uint64_t sequence;
    unsigned node;
    uint64_t asked_ns;    /* last */
    uint64_t proposed_ns; /* last, in this term of office; 0: not yet */
};

/* Of a process that says HELLO. */
struct gw__heard {
    struct gw__id incarnation; /* none: nobody yet */
    uint64_t heard_ns;
    uint64_t leased_ns;  /* when it got a lease last; 0: never */
    unsigned accusing;   /* guesses about it on their way through the log, */
    uint64_t accused_ns; /* the last since then */
};

/* Of an active worker or server. */
struct gw__member_watch {
    struct gw__id incarnation; /* none: it is none */
    struct gw__silence silence;
    uint64_t accused_ns; /* last; 0: not */
    bool certain, alone; /* then */
};

struct gw__service {
    struct gw__service_config self;
    uint64_t now_ns;
    uint64_t due_ns;  /* of the timer */
    uint64_t late_ns; /* how much so it fired last, if that was much */
    const struct gw__actions *act;

    unsigned leader;     /* a node, or GW__NODES_MAX */
    uint64_t office_ns;  /* since when it is we */
    unsigned offices;    /* how often */
    bool settled;        /* what we proposed first in this one is applied */
    uint64_t unsure_ns;  /* until then it may be somebody else by now */
    uint64_t clock_ns;   /* when the registry's time was */
    uint64_t clock_ms;   /* this */
    uint64_t entered_ns; /* when we proposed ourselves last */
    uint64_t deadline_ns;
    uint64_t deadline_epoch;

    /* What was made of the registry's state last. */
    uint64_t looked_index;
    uint64_t mark;          /* gw__membership_update_mark */
    uint64_t changed_index; /* when that changed */
    bool flushing;
    uint64_t flush_epoch;
    uint64_t flush_ns; /* when we saw it open */

    uint64_t hellos, leases; /* heard and given, ever */
    struct gw__asker askers[GW__ASKERS_MAX];
    struct gw__heard heard[GW__NODES_MAX];
    struct gw__health health;
    struct gw__member_watch watched[GW__NODES_MAX];
    uint64_t ended[GW__NODES_MAX]; /* incarnation of which the end is a fact */

    struct gw__registry registry;
};

bool gw__service_leads(const struct gw__service *s);

/* ---- service_requests.c ---- */

void gw__service_request(struct gw__service *s, const struct gw__input *input);
/* To the log, with our time. */
void gw__service_propose(struct gw__service *s, struct gw__command *command);

/* ---- service_lease.c ---- */

/* We have slept, or not: are we still the leader? */
void gw__lease_wake(struct gw__service *s);
/* May this server serve for a while? */
bool gw__lease_may_grant(const struct gw__service *s, unsigned node,
                         struct gw__id incarnation);
/* An accusation goes into the log, and comes out of it. */
void gw__lease_proposed(struct gw__service *s,
                        const struct gw__command *command);
void gw__lease_applied(struct gw__service *s,
                       const struct gw__command *command);
/* Is this the accusation on a guess of a server that may have a lease? */
bool gw__lease_protects(const struct gw__service *s,
                        const struct gw__command *command);
/* Entry `index`: applies it and answers who asked for it. */
void gw__service_apply(struct gw__service *s, uint64_t index,
                       const void *command, size_t bytes);
/* We lead from now on. */
void gw__service_enter(struct gw__service *s);

/* ---- service_news.c ---- */

void gw__service_hello(struct gw__service *s, const struct gw__input *input);
/* Tells everybody if the registry has changed in what concerns members. */
void gw__service_look(struct gw__service *s);
/* A worker or server that has not left nor been convicted. */
bool gw__service_is_waited_for(const struct gw__member *member);

/* ---- service_watch.c ---- */

/* Members may be others. */
void gw__watch_members(struct gw__service *s);
void gw__watch_beat(struct gw__service *s, unsigned node,
                    struct gw__id incarnation);
/* Our timer fired so late. */
void gw__watch_health(struct gw__service *s, uint64_t late_ns);
/* As leader: accuses whoever is silent or has ended. */
void gw__watch_accuse(struct gw__service *s);
/* A look at a process has shown this. */
void gw__watched_seen(struct gw__service *s, const struct gw__input *input);

/* ---- service_office.c ---- */

/* As leader: whatever is due. */
void gw__service_duties(struct gw__service *s);

#endif
