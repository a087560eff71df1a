/* SPDX-License-Identifier: MIT
 *
 * Simulation of a plan, or of an algorithm on very many ranks, in virtual time;
 * private to traffic*.c. gw_topology_simulate documents the rules. It computes
 * when each message is sent and each value is complete, from their
 * dependencies. Plan and algorithm differ in the meaning of a value:
 *
 *   plan        a chunk that a step writes. Values are received chunk by chunk,
 *               simultaneous events are in the plan's order, and a sink gets
 *               them
 *   algorithm   a whole message. So chunks are not needed during the run, and
 *               the 33 million transfers of a plan on 4,096 ranks are as many
 *               messages of at most 40 bytes
 *
 *   traffic.c          the events of messages and values
 *   traffic_plan.c     messages and values of a plan
 *   traffic_algo.c     messages, from the runs that an algorithm emits
 *   traffic_count.c    limits on the size
 *   traffic_values.c   the dependencies between messages
 *   traffic_steps.c    intersection of two runs of chunks
 *   traffic_queue.c    the event queue
 *   traffic_classes.h  the links, shared max-min fair
 *   traffic_result.c   counts, events, the critical path
 *
 * Each wait list is a list of codes: a message (which waits to begin), the own
 * value of a message or an extra value (which wait for their inputs). A
 * message's own value is everything that it carries. If several messages of one
 * step contribute to a value (`+` from many), it is an extra value that waits
 * for the own values of these messages. In a plan each chunk's value is an
 * extra value.
 *
 * A dependency is always on an earlier step or, if a value is overwritten, on
 * messages of the same step leaving their sender. So a plan cannot deadlock:
 * leaving a sender needs no room at the receiver.
 */
#ifndef GW__SIM_TRAFFIC_H
#define GW__SIM_TRAFFIC_H

#include "traffic_classes.h"

#include <plan/stream.h>
#include <plan/verify.h>

/* A ring and a direct all-reduce of 4,096 ranks have 33,546,240; this maximum
 * takes 1.6 GiB. */
enum { GW__TRAFFIC_MESSAGES_MAX = 40 << 20 };

/* The kinds of a code, in its upper bits. "Event": the meaning of the code in
 * the event queue. */
enum gw__traffic_kind {
    GW__TRAFFIC_MESSAGE, /* a message that waits; event: its sender is done */
    GW__TRAFFIC_LEFT, /* of a message; event: its bytes have left the links */
    GW__TRAFFIC_ARRIVAL, /* event: a message arrives */
    GW__TRAFFIC_OWN,     /* the own value of a message; event: it is complete */
    GW__TRAFFIC_EXTRA,   /* an extra value; event: it is complete */
    GW__TRAFFIC_EDGE     /* in a list: edges[number] has the code */
};
enum { GW__TRAFFIC_KIND_SHIFT = 28 };

static inline uint32_t gw__traffic_code(enum gw__traffic_kind kind,
                                        uint32_t number)
{
    return (uint32_t)kind << GW__TRAFFIC_KIND_SHIFT | number;
}

static inline uint32_t gw__traffic_number(uint32_t code)
{
    return code & ((UINT32_C(1) << GW__TRAFFIC_KIND_SHIFT) - 1);
}

static inline enum gw__traffic_kind gw__traffic_kind(uint32_t code)
{
    return (enum gw__traffic_kind)(code >> GW__TRAFFIC_KIND_SHIFT);
}

/* Not linked into a wait list: see next_waiter. */
#define GW__UNLINKED (UINT32_MAX - 1)

struct gw__traffic_message {
    uint64_t bytes;
    uint32_t src, dst;
    uint32_t next; /* the next message to the same rank */
    /* the last dependency to be satisfied; during construction, the last
     * message that waits for it */
    uint32_t cause;
    union {
        struct {
            uint32_t dependencies; /* dependencies left before it begins */
            uint32_t next_waiter; /* in the wait list of its first dependency */
        };
        uint64_t begin_ps;
    };
    union {
        struct {
            uint32_t needs;   /* dependencies left of its own value */
            uint32_t waiters; /* a list of codes */
        };
        uint64_t end_ps; /* when its own value was complete */
    };
};

struct gw__traffic_extra {
    uint32_t needs, waiters;
    uint32_t cause; /* as in a message */
    uint32_t rank;
    uint64_t adds; /* bytes to reduce */
};

/* A vector is divided into large parts, small ones and possibly a last, smaller
 * one. A level is a group of parts of equal size. */
struct gw__traffic_level {
    unsigned end;   /* after its last part */
    uint64_t bytes; /* of each part */
};

struct gw__traffic_edge {
    uint32_t code, next;
};

/* The events of one time. */
struct gw__traffic_moment {
    uint64_t time_ps;
    struct gw__vector codes;
    uint32_t next; /* in the hash chain or the list of free moments */
};

struct gw__traffic_due {
    uint64_t time_ps;
    uint32_t number; /* index of a moment */
};

struct gw__traffic_queue {
    struct gw__vector moments; /* gw__traffic_moment */
    struct gw__vector heap;    /* gw__traffic_due */
    uint32_t *hashed;
    size_t hashed_room;
    uint32_t unused;
    uint32_t last; /* the moment of the last insertion */
};

/* A current event of a plan, with its order. First are messages that begin or
 * leave, by sender, then arrivals, in the plan's order, then values, by chunk.
 */
struct gw__traffic_turn {
    uint32_t turn, code;
};

/* A plan with its messages and values. Extra value v is version v. */
struct gw__traffic_plan {
    const struct gw_plan *plan;
    struct gw__index index;
    struct gw__versions versions;
    uint32_t *message_of;       /* of each transfer */
    struct gw__buckets carried; /* transfers by message */
    uint64_t *chunk_bytes;      /* of each chunk */
    /* of each rank: messages to send and values to receive */
    uint32_t *unfinished;
    struct gw__vector turns; /* a heap of gw__traffic_turn */
};

struct gw__traffic_values;

struct gw__traffic {
    const struct gw_topology *topology;
    const struct gw_topology_run *job;
    struct gw__vector messages, extras, edges;
    uint64_t *part_begin; /* offsets of the parts in a block, and its size */
    unsigned parts;
    struct gw__vector levels; /* gw__traffic_level, ascending */
    /* bytes that each message's own value reduces; empty: reducing is free */
    struct gw__vector adds;
    /* codes that wait until each message has left; for plans and for algorithms
     * with one chunk */
    struct gw__vector kept;
    struct gw__traffic_plan of_plan; /* of_plan.plan is NULL for an algorithm */
    struct gw__classes classes;
    struct gw__traffic_queue queue;
    struct gw__vector step_begin; /* the first message of each step */
    unsigned steps;
    uint64_t now_ps, message_ps, last_ps;
    uint32_t last; /* the last message to be complete */
    bool too_long, exhausted;
    uint64_t *sender_ps, *reducer_ps;
    struct gw__vector ready, codes; /* of the current moment */
    struct gw_topology_result *result;
};

static inline struct gw__traffic_message *
gw__message_at(const struct gw__traffic *f, uint32_t i)
{
    return (struct gw__traffic_message *)f->messages.items + i;
}

static inline struct gw__traffic_extra *
gw__extra_at(const struct gw__traffic *f, uint32_t i)
{
    return (struct gw__traffic_extra *)f->extras.items + i;
}

static inline struct gw__traffic_edge *gw__edge_at(const struct gw__traffic *f,
                                                   uint32_t i)
{
    return (struct gw__traffic_edge *)f->edges.items + i;
}

/* ---- traffic_count.c ---- */

/* Counts the messages of the algorithm. GW_EINVAL: more than
 * GW__TRAFFIC_MESSAGES_MAX, or more than runs_max runs. */
GW_MUST_CHECK enum gw_err
gw__traffic_check(const struct gw_algo *algo, const struct gw_algo_args *args,
                  uint64_t runs_max, uint64_t *messages, struct gw_error *why);

/* ---- traffic_plan.c ---- */

GW_MUST_CHECK enum gw_err gw__traffic_of_plan(struct gw__traffic *f,
                                              struct gw_error *why);
void gw__traffic_plan_fini(struct gw__traffic_plan *parts);
/* Schedules the code for this moment, in its order. False: out of memory. */
GW_MUST_CHECK bool gw__turn_put(struct gw__traffic *f, uint32_t code);
/* Removes and returns the next one; there must be one. */
uint32_t gw__turn_pop(struct gw__traffic *f);

/* ---- traffic_algo.c ---- */

GW_MUST_CHECK enum gw_err gw__traffic_of_algo(struct gw__traffic *f,
                                              struct gw_error *why);
/* Creates an empty message after the pair's last one, *last - 1 (*last 0:
 * none). *last becomes its index + 1. False: out of memory. */
bool gw__traffic_new_message(struct gw__traffic *f, uint32_t src, uint32_t dst,
                             uint32_t *last);
/* `code` waits for `value`, or for a message to leave. False: out of memory. */
bool gw__traffic_wait(struct gw__traffic *f, uint32_t value, uint32_t code);
uint64_t gw__traffic_bytes(const struct gw__traffic *f,
                           const struct gw__run *run);

/* ---- traffic_values.c ---- */

/* Up to this number of ranks times chunks a table is used; tests reduce it. */
extern uint64_t gw__traffic_cells_max;

/* For an algorithm that divides its vector into `chunks` chunks. */
GW_MUST_CHECK enum gw_err
gw__traffic_values_new(struct gw__traffic *f, unsigned chunks,
                       struct gw__traffic_values **values,
                       struct gw_error *why);
void gw__traffic_values_destroy(struct gw__traffic_values **values);
/* The message carries the run: it waits for the values that wrote it. */
bool gw__traffic_values_read(struct gw__traffic_values *values,
                             uint32_t message, const struct gw__run *run);
/* The message writes the run, visible from the next step on. */
bool gw__traffic_values_write(struct gw__traffic_values *values,
                              uint32_t message, const struct gw__run *run);
/* The maximum number of runs. */
uint64_t gw__traffic_values_room(const struct gw__traffic_values *values);
/* Ends a step, whose messages begin at `first`. */
bool gw__traffic_values_step(struct gw__traffic_values *values, uint32_t first);

/* ---- traffic_steps.c ---- */

/* first, first + stride, ..., last. */
struct gw__steps {
    uint32_t first, stride, last;
};

static inline struct gw__steps gw__steps_of(uint32_t first, uint32_t stride,
                                            uint32_t count)
{
    return (struct gw__steps){first, stride, first + (count - 1) * stride};
}

/* Have they a chunk in common? */
bool gw__steps_intersect(const struct gw__steps *a, const struct gw__steps *b);
/* Does `all` contain all of `some`? */
bool gw__steps_cover(const struct gw__steps *all, const struct gw__steps *some);

/* ---- traffic_queue.c ---- */

bool gw__traffic_queue_put(struct gw__traffic_queue *queue, uint64_t time_ps,
                           uint32_t code);
/* The time of the next events, or UINT64_MAX; gw__traffic_queue_pop removes
 * them. */
uint64_t gw__traffic_queue_next(const struct gw__traffic_queue *queue);
void gw__traffic_queue_pop(struct gw__traffic_queue *queue,
                           struct gw__vector *codes);
void gw__traffic_queue_fini(struct gw__traffic_queue *queue);

/* ---- traffic_result.c ---- */

GW_MUST_CHECK enum gw_err gw__result_new(unsigned links, unsigned ranks,
                                         struct gw_topology_result **result,
                                         struct gw_error *why);
/* Computes the final results: times, uplinks, the critical path. */
void gw__result_end(struct gw__traffic *f);
/* Events of a plan. `done`: the rank has one message or value less to do. */
void gw__result_begin(struct gw__traffic *f);
void gw__result_send(struct gw__traffic *f, uint32_t message);
void gw__result_apply(struct gw__traffic *f, uint32_t version);
void gw__result_done(struct gw__traffic *f, uint32_t rank);

#endif
