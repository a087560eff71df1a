/* SPDX-License-Identifier: MIT
 *
 * Between the parts of the member machine:
 *   member.c        the machine: inputs, timers, the detector inside
 *   member_update.c   what the controllers say: views, flushes, reports
 *   member_want.c   what is asked of the controllers, most urgent first
 *   member_detect.c the detector inside
 *   member_suspicion.c  whom to accuse
 *   member_meet.c   addresses of the data wire, and who is ready to be admitted
 *   member_describe.c  what it knows, for people
 *   member_ask.c    what the application's requests do
 *
 * What a member wants of the controllers is state, not a queue: the client gets
 * one request at a time, the most urgent of what is still wanted when the last
 * one is answered. So a report waits for one answer at most, and a doubt that
 * has passed is not voiced.
 */
#ifndef GW__CLUSTER_MEMBER_PARTS_H
#define GW__CLUSTER_MEMBER_PARTS_H

#include "member.h"

#include <cluster/detector/detector_parts.h>

enum gw__stage {
    GW__STAGE_REGISTERING,
    GW__STAGE_REGISTERED, /* a joiner; an observer that is active */
    GW__STAGE_QUIET,      /* in the ring */
    GW__STAGE_FLUSHING,   /* it is to report, and waits for the decision */
    GW__STAGE_GONE
};

enum { GW__WANTS_MAX = 8, GW__OWN_TIMER = 0, GW__BEAT_TIMER = 1 };

/* Why somebody is to be accused. */
struct gw__member_suspicion {
    uint64_t ended;       /* incarnation (its low half) that has ended; 0 */
    struct gw__id lost;   /* one that the application knows to have ended, and
                             about which the registry has not answered yet */
    struct gw__id reset;  /* one whose connection has ended, */
    uint64_t reset_ns;    /* then; */
    bool hidden;          /* its process cannot be looked at */
    struct gw__id silent; /* one that the detector has not heard; none */
    uint64_t due_ns;      /* not before */
};

/* What is known of another member's end of the data wire. */
struct gw__met {
    uint64_t ring_epoch;
    struct gw__id incarnation;
    bool knows_ours;
    size_t bytes;
    uint8_t blob[GW__BLOB_MAX];
};

struct gw__ready {
    struct gw__id incarnation;
    uint64_t op;
    uint64_t heard_ns; /* 0: never */
};

struct gw__member_core {
    struct gw__member_config config;
    unsigned node;
    uint64_t incarnation; /* the machine's: the low half */
    uint64_t seed;
    enum gw__stage stage;
    uint64_t now_ns;
    const struct gw__actions *act; /* during a step */

    struct gw__client_state client;
    struct gw__detector detector;
    uint64_t timer_ns;  /* what the timer is set to */
    uint64_t hello_ns;  /* when the next is due */
    uint64_t leader_ns; /* when one was heard last */
    uint64_t registered_ns;
    uint64_t lease_ns; /* a server may serve until then; 0: it has none */
    uint64_t waits_ns; /* since when something waits for one; 0: nothing */
    bool parked;

    /* The newest news; index 0: none. `seen`: it was about this very process.
     */
    struct gw__membership_update news;
    uint64_t news_ns; /* when it came */
    bool seen;
    bool asks_news; /* also what is not newer: until the leader has said */
    struct gw__view view; /* that the application knows */

    /* The flush that this member is in, or was in last. */
    uint64_t flush_epoch;
    bool has_report, reported;
    uint64_t report_epoch;    /* of the report that was sent last */
    struct gw__report report; /* ours */
    uint64_t have;            /* whose reports are here: nodes as bits */
    struct gw__report reports[GW__NODES_MAX];

    /* What is wanted. */
    uint64_t register_ns; /* not before */
    bool leaves, left;
    bool admits, admit_sent;
    uint64_t admit_op, admit_ring_epoch;
    struct gw__order admit_order;
    unsigned want_count;
    unsigned want_tags[GW__WANTS_MAX];
    struct gw__command wants[GW__WANTS_MAX]; /* the application's */
    uint64_t doubted; /* nodes about whom there was ever a doubt */
    struct gw__member_suspicion doubts[GW__NODES_MAX];

    /* Meeting; `address_epoch` 0: not asked. */
    uint64_t address_epoch;
    bool met_all;
    uint64_t meet_ns; /* when to say it again; 0: no need */
    size_t address_bytes;
    uint8_t address[GW__BLOB_MAX];
    struct gw__met met[GW__NODES_MAX];

    bool is_ready;
    uint64_t ready_op;
    struct gw__ready ready[GW__NODES_MAX];
    uint64_t ready_told; /* nodes */
};

/* ---- member.c ---- */

/* Tells the application; fills in nothing. */
void gw__member_tell(const struct gw__member_core *m,
                     const struct gw__told *told);
/* Gone for good: tells so, with the reason. */
void gw__member_leave(struct gw__member_core *m, const char *why);
/* A sign of life of the leader. */
void gw__member_led(struct gw__member_core *m);
void gw__member_hello(struct gw__member_core *m);
struct gw__process gw__member_self(const struct gw__member_core *m);
/* A worker or server that does not stand in the ring. */
bool gw__member_is_crew(const struct gw__member_core *m);
/* Who beats and is observed with this node: the ring, or the crew as one. */
void gw__member_watched(const struct gw__member_core *m, struct gw__view *view);
/* Is this process in the ring of the view, as this incarnation? */
bool gw__member_in(const struct gw__view *view, unsigned node,
                   struct gw__id incarnation);
/* It has its number now. */
void gw__member_registered(struct gw__member_core *m, unsigned node);

/* ---- member_detect.c ---- */

/* Starts the detector. */
void gw__member_watch_peers(struct gw__member_core *m);
/* Its timer has fired. */
void gw__member_beat(struct gw__member_core *m);

/* ---- member_update.c ---- */

void gw__member_apply_update(struct gw__member_core *m,
                             const struct gw__input *input);
/* Is the registry speaking of this process? Now and then. */
void gw__member_check_known(struct gw__member_core *m);
void gw__member_reported(struct gw__member_core *m,
                         const struct gw__input *input);

/* ---- member_want.c ---- */

/* Gives the client its next request if it is idle. */
void gw__want_next(struct gw__member_core *m);
/* Something may be wanted at this time, without any input; 0: no. */
uint64_t gw__want_due(const struct gw__member_core *m);
/* The client's request with this tag has ended. */
void gw__want_answered(struct gw__member_core *m, unsigned tag,
                       const struct gw__answer *answer);
/* An application's command. */
void gw__want_add(struct gw__member_core *m, const struct gw__command *command,
                  unsigned tag);

/* ---- member_suspicion.c ---- */

/* What the detector has found out; `member` is a struct gw__member_core. */
void gw__member_suspicion_notice(void *member, const struct gw__notice *notice);
void gw__member_suspicion_ended(struct gw__member_core *m, unsigned node,
                                uint64_t incarnation);
void gw__member_suspicion_lost(struct gw__member_core *m,
                               struct gw__process who);
void gw__member_suspicion_reset(struct gw__member_core *m,
                                struct gw__process who);
/* A look at a process has shown this. */
void gw__member_suspicion_seen(struct gw__member_core *m,
                               const struct gw__input *input);
/* A new ring: the detector begins anew, and so do doubts. */
void gw__member_suspicion_forget(struct gw__member_core *m);
/* The next accusation to be made now. With `certain` only of that kind. */
bool gw__member_suspicion_next(struct gw__member_core *m, bool certain,
                               struct gw__command *command);
uint64_t gw__member_suspicion_due(const struct gw__member_core *m);
void gw__member_suspicion_answered(struct gw__member_core *m, unsigned node);

/* ---- member_meet.c ---- */

void gw__meet_begin(struct gw__member_core *m, uint64_t ring_epoch,
                    const void *blob, size_t bytes);
void gw__meet_message(struct gw__member_core *m, const struct gw__input *input);
/* Says again what was not heard, when it is time. */
void gw__meet_tick(struct gw__member_core *m);
void gw__ready_send(const struct gw__member_core *m);
void gw__ready_message(struct gw__member_core *m,
                       const struct gw__input *input);
/* Joiners that are ready: writes them (NULL: only counts), returns how many. */
unsigned gw__ready_joiners(const struct gw__member_core *m,
                           struct gw__process *out);
/* Tells READY when that has changed. */
void gw__ready_check(struct gw__member_core *m);

/* ---- member_ask.c ---- */

void gw__member_asked(struct gw__member_core *m, const struct gw__input *input);

#endif
