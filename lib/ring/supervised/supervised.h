/* SPDX-License-Identifier: MIT
 *
 * A member of a ring in a user's program that a supervisor has started
 * (`ringctl up 4 exec ./program`). The program calls gw_ring_from_env, like
 * under any launcher. Instead of GW_CONTROLLERS the environment has
 * GW_SUPERVISED, the number of an inherited SOCK_SEQPACKET socket:
 *
 *     supervisor -> program   ORDERS   all orders as a whole, again after each
 *                                      change
 *     program -> supervisor   STATUS   its status as a whole, likewise
 *                             EVENTS   a row of struct gw_event
 *
 * A thread of the library applies the orders to the ring and sends the rest, so
 * that the supervisor can show the member, and disturb it, like one of its own.
 * The program itself does not notice.
 *
 * Structs travel as they are: both ends are of one version, which `version`
 * checks.
 */
#ifndef GW__RING_SUPERVISED_H
#define GW__RING_SUPERVISED_H

#include <gradwire/ring.h>

#define GW__SUPERVISED_VARIABLE "GW_SUPERVISED"

enum {
    GW__SUPERVISED_MAGIC = 0x70737431,
    GW__SUPERVISED_EVENTS_MAX = 512, /* per message */
    GW__SUPERVISED_ENDPOINT_MAX = 108,
    GW__SUPERVISED_CONTROLLERS_MAX = 5
};

/* The kinds of messages below 16 are those of other children (cmd/run). */
enum gw__supervised_kind {
    GW__SUPERVISED_ORDERS = 16,
    GW__SUPERVISED_STATUS,
    GW__SUPERVISED_EVENTS
};

struct gw__supervised_head {
    uint32_t magic, kind;
    uint64_t bytes;
};

struct gw__supervised_orders {
    /* The identity of the member, the same in all orders to a process. */
    char version[16];
    uint64_t token, process;
    unsigned node, controller_count;
    char wire[8];
    char endpoint[GW__SUPERVISED_ENDPOINT_MAX];
    unsigned controllers[GW__SUPERVISED_CONTROLLERS_MAX];
    char controller_endpoints[GW__SUPERVISED_CONTROLLERS_MAX]
                             [GW__SUPERVISED_ENDPOINT_MAX];
    /* The orders. */
    uint64_t events; /* kinds to send, as bits */
    uint64_t pace_ns, slow_ns;
    double clock_rate; /* 1: correct */
    struct gw_link_profile links[GW_RING_NODES];
    unsigned order_count, order[GW_RING_NODES]; /* of the ring */
};

enum gw__supervised_stage {
    GW__SUPERVISED_STARTS, /* no call of gw_ring_from_env yet */
    GW__SUPERVISED_JOINS,
    GW__SUPERVISED_MEMBER,
    GW__SUPERVISED_LEFT
};

struct gw__supervised_status {
    uint32_t stage;
    struct gw_ring_status ring; /* `phase` is not valid here: */
    char phase[16];
    struct gw_ring_progress progress;
    uint64_t joins; /* by this process */
    uint64_t events_dropped;
    char text[200]; /* why it had to join again; "" */
};

/* Has a supervisor started this process? */
bool gw__supervised(void);
/* As gw_ring_from_env, of a supervised process. */
GW_MUST_CHECK enum gw_err
gw__supervised_join(const struct gw_ring_config *config, struct gw_ring **ring,
                    struct gw_error *why);
/* Hooks of the ring. They do nothing for a ring that is not supervised. */
void gw__supervised_compute(struct gw_ring *ring); /* an op begins: be slow */
void gw__supervised_report(struct gw_ring *ring,
                           const struct gw_ring_progress *progress);
void gw__supervised_left(struct gw_ring *ring);
void gw__supervised_destroy(struct gw_ring *ring);

#endif
