/* SPDX-License-Identifier: MIT
 *
 * Internal interfaces of a controller's service:
 *   service.c           the machine: its inputs and its timer
 *   service_requests.c  requests, proposals, answers
 *   service_updates.c   HELLOs and updates to members
 *   service_lease.c     leases of servers
 *   service_observe.c   silence, certain ends, and suspicions
 *   service_leader.c    the leader's own proposals
 *   service_describe.c  the state, for people
 */
#ifndef GW__CLUSTER_SERVICE_PARTS_H
#define GW__CLUSTER_SERVICE_PARTS_H

#include "cluster/detector/health.h"
#include "service.h"

enum {
    GW__REQUESTERS_MAX = GW__NODES_MAX, /* a process has one request */
    GW__SERVICE_TICK_NS = 20000000,
    GW__SERVICE_RETRY_NS = 200000000 /* before a proposal is repeated */
};

/* The receiver of a request's answer. */
struct gw__requester {
    struct gw__id client; /* none: a free entry */
    uint64_t sequence;
    unsigned node;
    uint64_t requested_ns; /* last time */
    uint64_t proposed_ns;  /* last time, in this leadership; 0: not yet */
};

/* A process that sends HELLO. */
struct contact {
    struct gw__id incarnation; /* none: no process yet */
    uint64_t hello_ns;
    /* `changed_index` of the newest body that it was sent or has; 0: none */
    uint64_t sent_index;
    uint64_t leased_ns;    /* time of its last lease; 0: never */
    unsigned suspecting;   /* suspicions in the log that are not applied yet, */
    uint64_t suspected_ns; /* and the time of the last one */
};

/* The observation of an active member. */
struct gw__member_observation {
    struct gw__id incarnation; /* none: not observed */
    struct gw__silence silence;
    uint64_t suspected_ns; /* last time; 0: never */
    bool certain, alone;   /* in that suspicion */
};

struct gw__service {
    struct gw__service_config self;
    uint64_t now_ns;
    uint64_t due_ns;  /* of the timer */
    uint64_t late_ns; /* how late it fired last, if that counts as late */
    const struct gw__actions *act;

    unsigned leader;           /* a node, or GW__NODES_MAX */
    uint64_t leading_since_ns; /* start of the own leadership */
    unsigned leaderships;      /* number of own leaderships */
    /* the first proposal of this leadership is applied */
    bool has_applied_first;
    uint64_t
        grant_from_ns;   /* until then another leader may have been elected */
    uint64_t clock_ns;   /* local time at which */
    uint64_t clock_ms;   /* the registry's time was this */
    uint64_t entered_ns; /* time of the last proposal of ourselves */
    uint64_t deadline_ns;
    uint64_t deadline_epoch;

    /* The state of the registry at the last check. */
    uint64_t checked_index;
    uint64_t mark;          /* gw__membership_update_mark */
    uint64_t changed_index; /* entry of its last change, */
    uint64_t former_index;  /* and of the change before */
    uint64_t pushed_epoch;  /* of the view in the last updates, */
    uint64_t push_ns;       /* and the earliest time of the next ones */
    bool flushing;
    uint64_t flush_epoch;
    uint64_t flush_ns; /* time at which it opened */

    uint64_t hellos, leases;   /* received and granted, in total */
    unsigned requester_count;  /* entries that were ever used */
    struct gw_nodes contacted; /* nodes that ever sent HELLO */
    struct gw__requester requesters[GW__REQUESTERS_MAX];
    struct contact contacts[GW__NODES_MAX];
    struct gw__health health;
    struct gw__member_observation observed[GW__NODES_MAX];
    uint64_t ended[GW__NODES_MAX]; /* incarnation that has certainly ended */

    /* From here on clear_service in service.c. Of the updates: the newest, the
     * former one, and the changes. */
    struct gw__update_body body, former_body, changes;
    struct gw__registry registry;
};

bool gw__service_leads(const struct gw__service *s);

/* ---- service_requests.c ---- */

void gw__service_request(struct gw__service *s, const struct gw__input *input);
/* Proposes a command with the current time. */
void gw__service_propose(struct gw__service *s, struct gw__command *command);

/* ---- service_lease.c ---- */

/* Checks whether this process was stopped and may have lost the leadership. */
void gw__lease_wake(struct gw__service *s);
/* May this server be granted a lease? */
bool gw__lease_may_grant(const struct gw__service *s, unsigned node,
                         struct gw__id incarnation);
/* A command is proposed; a command is applied. */
void gw__lease_proposed(struct gw__service *s,
                        const struct gw__command *command);
void gw__lease_applied(struct gw__service *s,
                       const struct gw__command *command);
/* Is this a suspicion of a server that may have a lease? */
bool gw__lease_protects(const struct gw__service *s,
                        const struct gw__command *command);
/* Applies entry `index` and answers its client. */
void gw__service_apply(struct gw__service *s, uint64_t index,
                       const void *command, size_t bytes);
/* This controller becomes the leader. */
void gw__service_enter(struct gw__service *s);

/* ---- service_updates.c ---- */

void gw__service_hello(struct gw__service *s, const struct gw__input *input);
/* Sends an update to all members if the registry has changed for them. */
void gw__service_push_changes(struct gw__service *s);
/* A worker, server or aggregator that has neither left nor been declared
 * dead. */
bool gw__service_is_waited_for(const struct gw__member *member);

/* ---- service_observe.c ---- */

/* The members may have changed. */
void gw__service_observe(struct gw__service *s);
void gw__service_beat(struct gw__service *s, unsigned node,
                      struct gw__id incarnation);
/* The own timer fired `late_ns` late. */
void gw__service_health(struct gw__service *s, uint64_t late_ns);
/* As leader: suspects members that are silent or have ended. */
void gw__service_suspect(struct gw__service *s);
/* The result of a look at a process. */
void gw__service_sight(struct gw__service *s, const struct gw__input *input);

/* ---- service_leader.c ---- */

/* As leader: makes all proposals that are due. */
void gw__service_leader_duties(struct gw__service *s);

#endif
