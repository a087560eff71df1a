/* SPDX-License-Identifier: MIT
 *
 * What members and controllers say to each other over the mesh: structs and
 * their bytes. The first byte says which; all below GW__FOREIGN (driver.h).
 *
 *     client -> controller  REQUEST   a command of the registry (command.h)
 *     controller -> client  ANSWER    to that sequence, or REDIRECT
 *     member -> controllers HELLO     every 100 ms (a server: 40 ms): a sign of
 *                                     life, and what the sender knows
 *     controller -> member  NEWS      what it does not know yet; at each change
 *                                     and in answer to a HELLO that is behind
 *                           REPORTED  one survivor's report
 *     leader -> server      LEASE     to each HELLO of an active server: until
 *                                     so long after it said that HELLO it is
 *                                     not convicted on a guess (service.h)
 *     member <-> member     BEAT      the detector's (detector.h)
 *                           MEET      the address of its end of the data wire
 *                           READY     a joiner has copied the state
 *
 * NEWS is what a replica has applied: a prefix of the log, so it may be old but
 * never wrong. `index` orders it; who has newer ignores it.
 */
#ifndef GW__CLUSTER_TALK_H
#define GW__CLUSTER_TALK_H

#include "cluster/registry/registry.h"

enum gw__protocol {
    GW__PROTOCOL_REQUEST = 1,
    GW__PROTOCOL_ANSWER,
    GW__PROTOCOL_REDIRECT,
    GW__PROTOCOL_HELLO,
    GW__PROTOCOL_NEWS,
    GW__PROTOCOL_REPORTED,
    GW__PROTOCOL_BEAT,
    GW__PROTOCOL_MEET,
    GW__PROTOCOL_READY,
    GW__PROTOCOL_LEASE,
    GW__PROTOCOL_KINDS
};

#define GW__LEASE_NS 200000000ULL

struct gw__hello {
    struct gw__id incarnation;
    uint64_t index;   /* of the newest news it has */
    uint64_t reports; /* nodes whose reports of that flush it has */
    uint64_t sent_ns; /* by the sender's clock */
};

/* Counts from `sent_ns`, by the clock of who said that HELLO, so that clocks
 * need not agree and a message that took long makes it shorter. */
struct gw__lease {
    struct gw__id incarnation; /* of the server */
    uint64_t sent_ns;          /* as in its HELLO */
    uint64_t index;            /* of what the leader has applied */
    uint64_t lease_ns;
};

/* An active worker, server or aggregator that does not stand in the ring. */
struct gw__crew_member {
    unsigned node;
    enum gw__role role;
    struct gw__id incarnation;
    char endpoint[GW__ENDPOINT_MAX];
};

enum { GW__MEMBERSHIP_UPDATE_DECISIONS = GW__REPORT_OPS_MAX };

/* Of each list only what is counted is written; the rest is no matter. */
struct gw__membership_update {
    uint64_t index;
    uint64_t time_ms;
    bool leader; /* the sender leads */
    struct gw__view view;
    char endpoints[GW__NODES_MAX][GW__ENDPOINT_MAX]; /* of `view.ring[i]` */
    bool flushing;
    uint64_t flush_epoch; /* the flush is about this and later epochs; 0: there
                             was none yet */
    uint64_t reported;    /* nodes; when not flushing their reports decided */
    unsigned decision_count; /* by that flush, of ops from view.op_floor on */
    struct gw__decision decisions[GW__MEMBERSHIP_UPDATE_DECISIONS];
    /* Registered, not yet admitted. */
    unsigned joiner_count;
    struct gw__process joiners[GW__NODES_MAX];
    unsigned crew_count; /* in the order of nodes */
    struct gw__crew_member crew[GW__NODES_MAX];
    struct gw__routes routes;
    /* What the registry says of the receiver: its state and incarnation. */
    enum gw__member_state state;
    struct gw__id incarnation;
};

size_t gw__hello_encode(const struct gw__hello *hello, void *out, size_t room);
GW_MUST_CHECK enum gw_err gw__hello_decode(const void *data, size_t bytes,
                                           struct gw__hello *hello,
                                           struct gw_error *why);
size_t gw__lease_encode(const struct gw__lease *lease, void *out, size_t room);
GW_MUST_CHECK enum gw_err gw__lease_decode(const void *data, size_t bytes,
                                           struct gw__lease *lease,
                                           struct gw_error *why);
/* From a registry, for node `node`, be it a member or not. */
void gw__membership_update_make(const struct gw__registry *registry,
                                unsigned node, bool leader,
                                struct gw__membership_update *news);
/* A hash of all that news says to anybody, but for index, time and leader and,
 * while flushing, who has reported: when it changes members want to know. */
uint64_t gw__membership_update_mark(const struct gw__registry *registry);
/* Fits GW__MESSAGE_MAX; 0 when not `room`. */
size_t gw__membership_update_encode(const struct gw__membership_update *news,
                                    void *out, size_t room);
GW_MUST_CHECK enum gw_err
gw__membership_update_decode(const void *data, size_t bytes,
                             struct gw__membership_update *news,
                             struct gw_error *why);

/* ---- REQUEST is its tag and a command's bytes; the way back: ---- */

/* ANSWER or REDIRECT to request `sequence` of `client`. */
struct gw__reply {
    enum gw__protocol talk;
    struct gw__id client;
    uint64_t sequence;
    unsigned leader;    /* REDIRECT: its node; GW__NODES_MAX: not known */
    const void *answer; /* ANSWER: an answer's bytes (command.h); not copied */
    size_t answer_bytes;
};
enum { GW__REPLY_BYTES_MAX = GW__ANSWER_BYTES_MAX + 32 };
size_t gw__reply_encode(const struct gw__reply *reply, void *out, size_t room);
GW_MUST_CHECK enum gw_err gw__reply_decode(const void *data, size_t bytes,
                                           struct gw__reply *reply,
                                           struct gw_error *why);

/* REPORTED: what `node` reported in the flush that began with `flush_epoch`. */
struct gw__reported {
    uint64_t flush_epoch;
    unsigned node;
    struct gw__report report;
};
size_t gw__reported_encode(const struct gw__reported *reported, void *out,
                           size_t room);
GW_MUST_CHECK enum gw_err gw__reported_decode(const void *data, size_t bytes,
                                              struct gw__reported *reported,
                                              struct gw_error *why);

#endif
