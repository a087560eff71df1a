/* SPDX-License-Identifier: MIT
 *
 * A plan on a topology in virtual time, private to traffic*.c: what each rank,
 * message and value waits for, and what each message under way gets of its
 * links. The rules are told at gw_topology_simulate.
 *
 *   traffic.c         what leads to what
 *   traffic_begin.c   the plan taken apart: messages, values, their waits
 *   traffic_share.c   the links, shared max-min fair
 *   traffic_heap.c    what happens next (base/heap.h)
 *   traffic_result.c  counts, events, the critical path
 *
 * A wait is always for something of an earlier step, or, where a value is
 * overwritten, for messages of the same step to leave. So no plan can get
 * stuck here: what leaves needs nobody's room.
 */
#ifndef GW__SIM_TRAFFIC_H
#define GW__SIM_TRAFFIC_H

#include "sim/topology/topology_parts.h"

#include <plan/verify.h>

#define GW__NO_MESSAGE UINT32_MAX
/* No virtual time is later: 53 days. */
#define GW__PS_MAX (UINT64_C(1) << 62)

/* All transfers of a step from one rank to another. */
struct gw__traffic_message {
    uint64_t bytes;
    uint64_t begin_ps, end_ps; /* its values were there, were taken in */
    uint32_t step, flow;
    uint32_t next;  /* of the same flow */
    uint32_t waits; /* for values, and for the message before it to leave */
    uint32_t cause; /* the message that it waited for last */
};

/* From one rank to another: the messages of a pair of ranks, one at a time. */
struct gw__traffic_stream {
    double left;       /* bytes of the message under way */
    double rate;       /* bytes a picosecond */
    uint64_t since_ps; /* when `left` was true */
    uint64_t latency_ps;
    uint32_t src, dst;
    uint32_t message;        /* the front one */
    uint32_t mark;           /* the last round of sharing that has met it */
    uint32_t way, way_count; /* ways[way] and so on */
    bool under_way;
    bool settled; /* in this round */
};

/* A link on the way of a flow; and the flow, in the list of the link. */
struct gw__way_link {
    uint32_t link, flow;
    uint32_t before, after; /* in the list, or UINT32_MAX */
};

/* A directed link of the topology with the flows that share it: a list of
 * their ways' links. */
struct gw__pipe_link {
    double rate;    /* bytes a picosecond; 0: no limit */
    double room;    /* in this round: not given away yet */
    uint32_t open;  /* in this round: flows that have no rate yet */
    uint32_t first; /* of the list, or UINT32_MAX */
    uint32_t count;
    uint32_t mark;
    bool touched;
};

struct gw__heap_slot {
    uint64_t time_ps;
    uint32_t thing;
};

/* Things that happen, ordered by time and then by number; each is in here at
 * most once. */
struct gw__heap {
    struct gw__heap_slot *slots;
    uint32_t *place; /* of each thing: in `slots`, counted from 1; 0: nowhere */
    uint32_t count;
};

struct gw__traffic {
    const struct gw_topology *topology;
    const struct gw_topology_job *job;
    const struct gw_plan *plan;
    struct gw__index index;
    struct gw__versions versions;
    uint32_t *message_of;       /* of each transfer */
    struct gw__buckets carried; /* transfers by message */
    uint64_t *chunk_bytes;      /* of each chunk */
    struct gw__traffic_message *messages;
    uint32_t message_count;
    struct gw__traffic_stream *flows; /* of each link of the index */
    struct gw__way_link *ways;
    size_t way_count, way_room;
    struct gw__pipe_link *links;
    unsigned link_count;
    uint32_t *needs;      /* of each version: what is missing */
    uint32_t *cause;      /* of each version: the message that came last */
    uint32_t *unfinished; /* of each rank: messages to leave, values to take */
    uint64_t *sender_ps;  /* of each rank: busy with sending until */
    uint64_t *reducer_ps; /* the same, with reducing */
    struct gw__heap heap; /* flows, then messages, then versions */
    uint32_t *ready;      /* messages that wait for nothing any more */
    uint32_t ready_count;
    uint64_t now_ps;
    bool too_long;
    uint64_t message_ps;
    uint32_t last; /* the message that ended it all */
    /* Rounds of sharing. */
    uint32_t round;
    uint32_t *touched, touched_count;      /* links to look at */
    uint32_t *near_links, near_link_count; /* that hang together */
    uint32_t *near_flows, near_flow_count;
    struct gw_topology_result *result;
};

static inline uint32_t gw__thing_of_message(const struct gw__traffic *f,
                                            uint32_t message)
{
    return f->index.links + message;
}

static inline uint32_t gw__thing_of_version(const struct gw__traffic *f,
                                            uint32_t version)
{
    return f->index.links + f->message_count + version;
}

/* Microseconds to picoseconds, at most GW__PS_MAX. */
uint64_t gw__ps_of(double us);

/* ---- traffic_begin.c ---- */

/* Everything but `result`; GW_ENOMEM. `fini` also after a failure. */
GW_MUST_CHECK enum gw_err gw__traffic_init(struct gw__traffic *f,
                                           struct gw_error *why);
void gw__traffic_fini(struct gw__traffic *f);

/* ---- traffic_heap.c ---- */

/* Puts it in, or moves it. */
void gw__heap_put(struct gw__heap *heap, uint32_t thing, uint64_t time_ps);
/* The next thing, taken out; the heap is not empty. */
uint32_t gw__heap_pop(struct gw__heap *heap);

/* ---- traffic_share.c ---- */

/* The flow's front message is under way from now on, or no longer. */
void gw__share_join(struct gw__traffic *f, uint32_t flow);
void gw__share_leave(struct gw__traffic *f, uint32_t flow);
/* Deals the rates of all who are touched by that anew, and says when they will
 * have left. */
void gw__share_deal(struct gw__traffic *f);

/* ---- traffic_result.c ---- */

GW_MUST_CHECK enum gw_err gw__result_new(unsigned links, unsigned ranks,
                                         struct gw_topology_result **result,
                                         struct gw_error *why);
/* From link_bytes to what the uplinks carried. */
void gw__result_uplinks(const struct gw_topology *topology,
                        struct gw_topology_result *result);
/* The message leaves; the value of a version has been taken in. */
void gw__result_send(struct gw__traffic *f, uint32_t message);
void gw__result_apply(struct gw__traffic *f, uint32_t version);
/* One of the things that the rank has to do is done. */
void gw__result_done(struct gw__traffic *f, uint32_t rank);
void gw__result_begin(struct gw__traffic *f);
void gw__result_end(struct gw__traffic *f);

#endif
