/* SPDX-License-Identifier: MIT
 *
 * Internal interfaces of the member machine:
 *   member.c            the machine: inputs, timers
 *   member_update.c     messages of the controllers: views, flushes, reports
 *   member_want.c       requests to the controllers, most urgent first
 *   member_detect.c     the detector inside
 *   member_suspicion.c  members to suspect
 *   member_addresses.c  addresses of the data wire
 *   member_ready.c      joiners that are ready
 *   member_describe.c   the state, for people
 *   member_requests.c   requests of the application
 *
 * The requests of a member to the controllers are state, not a queue. The
 * client gets one request at a time, the most urgent one when the last is
 * answered. So a report waits for one answer at most, and an outdated suspicion
 * is not sent.
 */
#ifndef GW__CLUSTER_MEMBER_PARTS_H
#define GW__CLUSTER_MEMBER_PARTS_H

#include "member.h"

#include <cluster/detector/detector_parts.h>

enum gw__stage {
    GW__STAGE_REGISTERING,
    GW__STAGE_REGISTERED, /* a joiner; an observer that is active */
    GW__STAGE_QUIET,      /* in the ring */
    GW__STAGE_FLUSHING,   /* a report is due; waits for the decision */
    GW__STAGE_GONE
};

enum {
    GW__WANTS_MAX = 8,
    GW__OWN_TIMER = 0,
    GW__BEAT_TIMER = 1,
    GW__SHORT_BLOB = 64
};

/* Reasons to suspect a member. */
struct gw__member_suspicion {
    uint64_t ended;       /* incarnation (its low half) that has ended; 0:
                             none */
    struct gw__id lost;   /* incarnation that has ended according to the
                             application; the registry has not answered yet */
    struct gw__id reset;  /* incarnation whose connection has ended, */
    uint64_t reset_ns;    /* and the time of that */
    bool hidden;          /* its process cannot be looked at */
    struct gw__id silent; /* incarnation that the detector finds silent; or
                             none */
    uint64_t due_ns;      /* earliest time of the next suspicion */
};

/* Another member's end of the data wire. */
struct gw__peer_address {
    uint64_t ring_epoch;
    size_t bytes;
};

struct gw__ready {
    struct gw__id incarnation;
    uint64_t op;
    uint64_t received_ns;
};

struct gw__member_core {
    struct gw__member_config config;
    unsigned node;
    uint64_t incarnation; /* the machine's: the low half */
    uint64_t seed;
    enum gw__stage stage;
    uint64_t now_ns;
    const struct gw__actions *act; /* during a step */

    uint64_t timer_ns;  /* the time that the timer is set to */
    uint64_t hello_ns;  /* time of the next one */
    uint64_t leader_ns; /* time of the leader's last message */
    uint64_t registered_ns;
    uint64_t lease_ns; /* a server may serve until then; 0: it has none */
    uint64_t waits_ns; /* since when a request waits for one; 0: none does */
    bool parked;

    uint64_t update_ns;  /* time of the newest update's arrival */
    bool has_own_update; /* it described this very process */
    /* accepts an update that is not newer, until the leader answers */
    bool requests_update;
    bool needs_whole; /* changes came of an update that it does not have */

    /* The flush of this member, current or last. */
    uint64_t flush_epoch;
    bool has_report, reported;
    uint64_t report_epoch;    /* of the report sent last */
    struct gw__report report; /* own report */
    struct gw_nodes have;     /* nodes whose reports have arrived */

    /* Pending requests to the controllers. */
    uint64_t register_ns; /* earliest time */
    bool leaves, left;
    bool admits, admit_sent;
    uint64_t admit_op, admit_ring_epoch;
    struct gw__order admit_order;
    unsigned want_count;
    unsigned want_tags[GW__WANTS_MAX]; /* of the application */
    struct gw_nodes suspected_nodes;   /* nodes in `suspicions` */

    /* The exchange of addresses; `address_epoch` 0: not requested. */
    uint64_t address_epoch;
    bool has_all_addresses;
    unsigned address_reach; /* the block that is known: so many ranks up to ours
                              */
    unsigned address_stride; /* of the next round, which needs a block of it */
    uint64_t address_retry_ns; /* time of the next requests; 0: not needed */
    unsigned address_retries;
    size_t address_bytes;
    struct gw_nodes address_nodes; /* nodes in `addresses` */

    bool is_ready;
    uint64_t ready_op;
    struct gw_nodes ready_nodes; /* nodes in `ready` */
    struct gw_nodes ready_notified;
    unsigned ready_next; /* the rank that gets READY next */

    /* From here on lists, whose lengths are in other fields: clear_member in
     * member.c. */
    struct gw__detector detector;
    struct gw__view view; /* the one that the application knows */
    struct gw__member_suspicion suspicions[GW__NODES_MAX];
    struct gw__peer_address addresses[GW__NODES_MAX];
    struct gw__ready ready[GW__NODES_MAX];
    uint8_t address[GW__BLOB_MAX]; /* `address_bytes` */
    struct gw__client_state client;
    struct gw__membership_update update;      /* the newest; index 0: none */
    struct gw__report reports[GW__NODES_MAX]; /* of the nodes in `have` */
    struct gw__command wants[GW__WANTS_MAX];  /* `want_count` */
    /* Of `addresses`: short ones apart, so that those of a large ring are close
     * to each other. */
    uint8_t short_blobs[GW__NODES_MAX][GW__SHORT_BLOB];
    uint8_t blobs[GW__NODES_MAX][GW__BLOB_MAX];
};

/* ---- member.c ---- */

/* Sends a notification to the application. */
void gw__member_notify(const struct gw__member_core *m,
                       const struct gw__notification *notification);
/* The member is gone permanently: notifies the application of the reason. */
void gw__member_leave(struct gw__member_core *m, const char *why);
/* A sign of life of the leader. */
void gw__member_led(struct gw__member_core *m);
void gw__member_hello(struct gw__member_core *m);
struct gw__process gw__member_self(const struct gw__member_core *m);
/* A worker, server or aggregator outside the ring. */
bool gw__member_is_ps(const struct gw__member_core *m);
/* The view of the members that beat and are observed with this node: the ring,
 * or the members of the parameter server. */
void gw__member_observed(const struct gw__member_core *m,
                         struct gw__view *view);
/* Is this process in the ring of the view, as this incarnation? */
bool gw__member_in(const struct gw__view *view, unsigned node,
                   struct gw__id incarnation);
/* It has its number. */
void gw__member_registered(struct gw__member_core *m, unsigned node);

/* ---- member_detect.c ---- */

/* Starts the detector. */
void gw__member_observe_peers(struct gw__member_core *m);
/* Its timer fired. */
void gw__member_beat(struct gw__member_core *m);

/* ---- member_update.c ---- */

void gw__member_apply_update(struct gw__member_core *m,
                             const struct gw__input *input);
/* Checks periodically whether the registry describes this process. */
void gw__member_check_known(struct gw__member_core *m);
void gw__member_reported(struct gw__member_core *m,
                         const struct gw__input *input);

/* ---- member_want.c ---- */

/* Gives the client its next request if it is idle. */
void gw__want_next(struct gw__member_core *m);
/* The time at which a request may become due without an input; 0: none. */
uint64_t gw__want_due(const struct gw__member_core *m);
/* Ends the client's request with this tag. */
void gw__want_answered(struct gw__member_core *m, unsigned tag,
                       const struct gw__answer *answer);
/* Adds a command of the application. */
void gw__want_add(struct gw__member_core *m, const struct gw__command *command,
                  unsigned tag);

/* ---- member_suspicion.c ---- */

/* Handles a finding of the detector; `member` is a struct gw__member_core. */
void gw__member_suspicion_notice(void *member, const struct gw__notice *notice);
void gw__member_suspicion_ended(struct gw__member_core *m, unsigned node,
                                uint64_t incarnation);
void gw__member_suspicion_lost(struct gw__member_core *m,
                               struct gw__process who);
void gw__member_suspicion_reset(struct gw__member_core *m,
                                struct gw__process who);
/* The result of a look at a process. */
void gw__member_suspicion_sight(struct gw__member_core *m,
                                const struct gw__input *input);
/* Forgets suspicions in a new ring, where the detector also starts again. */
void gw__member_suspicion_forget(struct gw__member_core *m);
/* The next suspicion that is due. With `certain` only certain ones. */
bool gw__member_suspicion_next(struct gw__member_core *m, bool certain,
                               struct gw__command *command);
uint64_t gw__member_suspicion_due(const struct gw__member_core *m);
void gw__member_suspicion_answered(struct gw__member_core *m, unsigned node);

/* ---- member_addresses.c ---- */

void gw__addresses_begin(struct gw__member_core *m, uint64_t ring_epoch,
                         const void *blob, size_t bytes);
void gw__addresses_message(struct gw__member_core *m,
                           const struct gw__input *input);
/* Requests missing addresses when it is time. */
void gw__addresses_tick(struct gw__member_core *m);

/* ---- member_ready.c ---- */

void gw__ready_send(struct gw__member_core *m);
void gw__ready_message(struct gw__member_core *m,
                       const struct gw__input *input);
/* Writes the ready joiners (NULL: only counts them) and returns their
 * number. */
unsigned gw__ready_joiners(const struct gw__member_core *m,
                           struct gw__process *out);
/* Notifies the application (READY) if the joiners have changed. */
void gw__ready_check(struct gw__member_core *m);

/* ---- member_requests.c ---- */

void gw__member_requested(struct gw__member_core *m,
                          const struct gw__input *input);

#endif
