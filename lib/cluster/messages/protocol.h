/* SPDX-License-Identifier: MIT
 *
 * The messages between members and controllers on the control channel: structs
 * and their bytes. The first byte is the type; all are below GW__STATE_TRANSFER
 * (driver.h).
 *
 *     client -> controller  REQUEST   a command of the registry (command.h)
 *     controller -> client  ANSWER    to that sequence, or REDIRECT
 *     member -> controllers HELLO     every 100 ms (a server: 40 ms): a sign of
 *                                     life, and the state that the sender knows
 *     controller -> member  NEWS      the state that it does not know yet; at
 *                                     each change, and to an outdated HELLO
 *                           REPORTED  reports of survivors
 *     leader -> server      LEASE     to each HELLO of an active server: until
 *                                     that time after the HELLO the server is
 *                                     not removed on a suspicion (service.h)
 *     member <-> member     BEAT      the detector's (detector.h)
 *                           MEET      the address of its end of the data wire
 *                           READY     a joiner has copied the state
 *
 * NEWS is the state of a replica: a prefix of the log, so it may be old but
 * never wrong. `index` orders it; receivers ignore older NEWS. To a member that
 * should have the state before, it is sent as changes; a member that has
 * another one sends HELLO, and gets it whole.
 */
#ifndef GW__CLUSTER_PROTOCOL_H
#define GW__CLUSTER_PROTOCOL_H

#include "cluster/registry/registry.h"

enum gw__protocol {
    GW__PROTOCOL_REQUEST = 1,
    GW__PROTOCOL_ANSWER,
    GW__PROTOCOL_REDIRECT,
    GW__PROTOCOL_HELLO,
    GW__PROTOCOL_UPDATE,
    GW__PROTOCOL_REPORTED,
    GW__PROTOCOL_BEAT,
    GW__PROTOCOL_ADDRESS,
    GW__PROTOCOL_READY,
    GW__PROTOCOL_LEASE,
    GW__PROTOCOL_KINDS
};

#define GW__LEASE_NS 200000000ULL

struct gw__hello {
    struct gw__id incarnation;
    uint64_t index;          /* of its newest NEWS */
    struct gw_nodes reports; /* of that flush that it has, by their nodes */
    uint64_t sent_ns;        /* by the sender's clock */
};

/* Counts from `sent_ns`, by the clock of the sender of that HELLO. So clocks
 * need not agree, and a slow message shortens the lease. */
struct gw__lease {
    struct gw__id incarnation; /* of the server */
    uint64_t sent_ns;          /* as in its HELLO */
    uint64_t index;            /* of the leader's last applied entry */
    uint64_t lease_ns;
};

/* An active worker, server or aggregator outside the ring. */
struct gw__ps_member {
    unsigned node;
    enum gw__role role;
    struct gw__id incarnation;
    char endpoint[GW__ENDPOINT_MAX];
};

enum { GW__MEMBERSHIP_UPDATE_DECISIONS = GW__REPORT_OPS_MAX };

/* Only the counted entries of each list are written; the others are
 * undefined. */
struct gw__membership_update {
    uint64_t index;
    uint64_t time_ms;
    bool leader; /* the sender leads */
    struct gw__view view;
    char endpoints[GW__NODES_MAX][GW__ENDPOINT_MAX]; /* of `view.ring[i]` */
    bool flushing;
    uint64_t flush_epoch;     /* the flush is about this and later epochs; 0: no
                             flush so far */
    struct gw_nodes reported; /* if not flushing, the decision used their
                                 reports */
    unsigned decision_count;  /* by that flush, of ops from view.op_floor on */
    struct gw__decision decisions[GW__MEMBERSHIP_UPDATE_DECISIONS];
    /* Registered, not yet admitted. */
    unsigned joiner_count;
    struct gw__process joiners[GW__NODES_MAX];
    unsigned ps_member_count; /* in the order of nodes */
    struct gw__ps_member ps_members[GW__NODES_MAX];
    struct gw__routes routes;
    /* The registry's state and incarnation of the receiver. */
    enum gw__member_state state;
    struct gw__id incarnation;
};

/* The time between two HELLOs of a member of a ring of this size that waits for
 * nothing: 100 ms, and so long that a controller gets 2,000 per second. */
uint64_t gw__hello_ns(unsigned members);
enum { GW__HELLO_BYTES_MAX = 64 + 2 * GW__NODES_MAX };
size_t gw__hello_encode(const struct gw__hello *hello, void *out, size_t room);
GW_MUST_CHECK enum gw_err gw__hello_decode(const void *data, size_t bytes,
                                           struct gw__hello *hello,
                                           struct gw_error *why);
size_t gw__lease_encode(const struct gw__lease *lease, void *out, size_t room);
GW_MUST_CHECK enum gw_err gw__lease_decode(const void *data, size_t bytes,
                                           struct gw__lease *lease,
                                           struct gw_error *why);
/* From a registry, for node `node`, which need not be a member. */
void gw__membership_update_make(const struct gw__registry *registry,
                                unsigned node, bool leader,
                                struct gw__membership_update *update);
/* As if zeroed, without the entries of the lists. */
void gw__membership_update_clear(struct gw__membership_update *update);
/* Copies only the counted entries of each list. */
void gw__membership_update_copy(struct gw__membership_update *to,
                                const struct gw__membership_update *from);
/* A hash of the body, of the states of all members and, after a flush, of the set
 * of reporters. Members need NEWS when it changes. */
uint64_t gw__membership_update_mark(const struct gw__registry *registry);
/* The part of an update that is the same for all receivers, as bytes: all but
 * index, time, leader, `reported`, `state` and `incarnation`. */
struct gw__update_body {
    size_t bytes;
    uint8_t data[GW__MESSAGE_MAX];
};
void gw__update_body_copy(struct gw__update_body *to,
                          const struct gw__update_body *from);
void gw__membership_update_whole(const struct gw__membership_update *update,
                                 struct gw__update_body *whole);
/* The changes from `before` to `whole`, which are whole, as a body. */
void gw__membership_update_changes(const struct gw__update_body *before,
                                   const struct gw__update_body *whole,
                                   struct gw__update_body *changes);
/* `body` is the update's. Fits GW__MESSAGE_MAX; 0 if `room` is too small. */
size_t gw__membership_update_encode(const struct gw__membership_update *update,
                                    const struct gw__update_body *body,
                                    void *out, size_t room);
/* `known` is the newest update that the receiver has. GW_PENDING: the message
 * has changes of another one. */
GW_MUST_CHECK enum gw_err gw__membership_update_decode(
    const void *data, size_t bytes, const struct gw__membership_update *known,
    struct gw__membership_update *update, struct gw_error *why);

/* ---- REQUEST is its tag and a command's bytes; the answers: ---- */

/* ANSWER or REDIRECT to request `sequence` of `client`. */
struct gw__reply {
    enum gw__protocol protocol;
    struct gw__id client;
    uint64_t sequence;
    unsigned leader;    /* REDIRECT: its node; GW__NODES_MAX: unknown */
    const void *answer; /* ANSWER: an answer's bytes (command.h); not copied */
    size_t answer_bytes;
};
enum { GW__REPLY_BYTES_MAX = GW__ANSWER_BYTES_MAX + 32 };
size_t gw__reply_encode(const struct gw__reply *reply, void *out, size_t room);
GW_MUST_CHECK enum gw_err gw__reply_decode(const void *data, size_t bytes,
                                           struct gw__reply *reply,
                                           struct gw_error *why);

/* REPORTED: reports in the flush that began with `flush_epoch`, in the order of
 * their nodes (reported.c). */
struct gw__reported {
    uint64_t flush_epoch;
    struct gw__reader rest;
    /* The newest report, and how many of its run follow. */
    unsigned node, repeats;
    size_t bytes;
    uint8_t report[GW__REPORT_BYTES_MAX], steps[GW__REPORT_BYTES_MAX];
};
/* Writes the reports of `nodes`, as many as fit, and removes these from it. 0:
 * not one fits. */
size_t gw__reported_encode(uint64_t flush_epoch,
                           const struct gw__report reports[GW__NODES_MAX],
                           struct gw_nodes *nodes, void *out, size_t room);
/* Checks the whole message. */
GW_MUST_CHECK enum gw_err gw__reported_decode(const void *data, size_t bytes,
                                              struct gw__reported *reported,
                                              struct gw_error *why);
/* The next report, and whose it is. False: there are no more. */
bool gw__reported_next(struct gw__reported *reported, unsigned *node,
                       struct gw__report *report);

#endif
