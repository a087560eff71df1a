/* SPDX-License-Identifier: MIT
 *
 * A plan, or an algorithm on very many ranks, in virtual time, private to
 * traffic*.c: what each rank, message and value waits for. The rules are told at
 * gw_topology_simulate; plan and algorithm differ in what a value is:
 *
 *   plan        a chunk that a step writes. So values are taken in chunk by
 *               chunk, things of one time happen in an order that the plan
 *               gives, and a sink receives them
 *   algorithm   a message, taken in as a whole. So it need not know the chunks
 *               while it runs, and 33 million transfers of a plan on 4,096
 *               ranks are as many messages of 40 bytes or fewer
 *
 *   traffic.c          what leads to what
 *   traffic_plan.c     messages and values of a plan
 *   traffic_algo.c     messages, from the runs that an algorithm emits
 *   traffic_count.c    whether there is room for all of it
 *   traffic_seen.c     which message brought what a rank sends on
 *   traffic_steps.c    whether two runs have a chunk in common
 *   traffic_queue.c    what happens next
 *   traffic_classes.h  the links, shared max-min fair
 *   traffic_result.c   counts, events, the critical path
 *
 * What waits is a list of codes: a message (it wants to begin), the own value of
 * a message or an extra value (they want to be taken in). A message's own value
 * is all that it carries. A value into which several messages of a step go (`+`
 * from many) is an extra one, and waits for the own values of these messages; so
 * is each chunk's of a plan.
 *
 * A wait is always for something of an earlier step, or, where a value is
 * overwritten, for messages of the same step to leave. So no plan can get
 * stuck here: what leaves needs nobody's room.
 */
#ifndef GW__SIM_TRAFFIC_H
#define GW__SIM_TRAFFIC_H

#include "traffic_classes.h"

#include <plan/stream.h>
#include <plan/verify.h>

/* A ring and a direct all-reduce of 4,096 ranks have 33,546,240; so many take
 * 1.6 GiB. */
enum { GW__TRAFFIC_MESSAGES_MAX = 40 << 20 };

/* The kinds of a code, in its upper bits. "Happens": the meaning of such a code
 * in the queue. */
enum gw__traffic_kind {
    GW__TRAFFIC_MESSAGE, /* wants to begin; happens: its sender is done */
    GW__TRAFFIC_LEFT,    /* of a message; happens: its links are done */
    GW__TRAFFIC_ARRIVAL, /* happens: a message arrives */
    GW__TRAFFIC_OWN,     /* the own value of a message; happens: it is in */
    GW__TRAFFIC_EXTRA,   /* an extra value; happens: it is in */
    GW__TRAFFIC_EDGE     /* in a list: edges[number], which names the code */
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

/* Not linked into a list of those that wait: see next_waiter. */
#define GW__UNLINKED (UINT32_MAX - 1)

struct gw__traffic_message {
    uint64_t bytes;
    uint32_t src, dst;
    uint32_t next;  /* to the same rank */
    uint32_t cause; /* the message that it waited for last; while the messages
                       are made, the last one that waits for it */
    union {
        struct {
            uint32_t waits;       /* for so many, until it begins */
            uint32_t next_waiter; /* of the first value that it waits for */
        };
        uint64_t begin_ps;
    };
    union {
        struct {
            uint32_t needs;   /* its own value: so many more */
            uint32_t waiters; /* a list of codes */
        };
        uint64_t end_ps; /* it has been taken in */
    };
};

struct gw__traffic_extra {
    uint32_t needs, waiters;
    uint32_t cause; /* as of a message */
    uint32_t rank;
    uint64_t adds; /* bytes to reduce */
};

/* Parts of a block that are equally large, up to the next level: a vector is
 * cut into large parts, small ones and perhaps a last, smaller one. */
struct gw__traffic_level {
    unsigned end;   /* the part after the last one */
    uint64_t bytes; /* each */
};

struct gw__traffic_edge {
    uint32_t code, next;
};

/* Things that happen at one time. */
struct gw__traffic_moment {
    uint64_t time_ps;
    struct gw__vector codes;
    uint32_t next; /* of the same hash, or unused */
};

struct gw__traffic_due {
    uint64_t time_ps;
    uint32_t number; /* of a moment */
};

struct gw__traffic_queue {
    struct gw__vector moments; /* gw__traffic_moment */
    struct gw__vector heap;    /* gw__traffic_due */
    uint32_t *hashed;
    size_t hashed_room;
    uint32_t unused;
    uint32_t last; /* the moment that was added to last */
};

/* A code of a plan that happens now, in the order of `turn`: messages that
 * move, by sender; then arrivals, in the plan's order; then values, by chunk. */
struct gw__traffic_turn {
    uint32_t turn, code;
};

/* A plan taken apart. Extra value v is version v. */
struct gw__traffic_plan {
    const struct gw_plan *plan;
    struct gw__index index;
    struct gw__versions versions;
    uint32_t *message_of;       /* of each transfer */
    struct gw__buckets carried; /* transfers by message */
    uint64_t *chunk_bytes;      /* of each chunk */
    uint32_t *unfinished; /* of each rank: messages to leave, values to take */
    struct gw__vector turns; /* a heap of gw__traffic_turn */
};

struct gw__traffic_seen;

struct gw__traffic {
    const struct gw_topology *topology;
    const struct gw_topology_job *job;
    struct gw__vector messages, extras, edges;
    uint64_t *part_begin; /* bytes of a block before each part, and of all */
    unsigned parts;
    struct gw__vector levels; /* gw__traffic_level, ascending */
    struct gw__vector adds; /* bytes that each message's own value adds; empty:
                               reducing costs nothing */
    struct gw__vector kept; /* codes that wait for each message to leave, of
                               plans and of algorithms with one chunk */
    struct gw__traffic_plan of_plan; /* of a plan; else of_plan.plan is NULL */
    struct gw__classes classes;
    struct gw__traffic_queue queue;
    struct gw__vector step_begin; /* the first message of each step */
    unsigned steps;
    uint64_t now_ps, message_ps, last_ps;
    uint32_t last; /* the message that ended it all */
    bool too_long, exhausted;
    uint64_t *sender_ps, *reducer_ps;
    struct gw__vector ready, codes; /* at this moment */
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

/* How many messages the algorithm sends. GW_EINVAL: more than
 * GW__TRAFFIC_MESSAGES_MAX, or in more than runs_max runs. */
GW_MUST_CHECK enum gw_err
gw__traffic_check(const struct gw_algo *algo, const struct gw_algo_args *args,
                  uint64_t runs_max, uint64_t *messages, struct gw_error *why);

/* ---- traffic_plan.c ---- */

GW_MUST_CHECK enum gw_err gw__traffic_of_plan(struct gw__traffic *f,
                                              struct gw_error *why);
void gw__traffic_plan_fini(struct gw__traffic_plan *parts);
/* The code happens now, in its turn. False when memory is short. */
GW_MUST_CHECK bool gw__turn_put(struct gw__traffic *f, uint32_t code);
/* Takes the next one out; there is one. */
uint32_t gw__turn_pop(struct gw__traffic *f);

/* ---- traffic_algo.c ---- */

GW_MUST_CHECK enum gw_err gw__traffic_of_algo(struct gw__traffic *f,
                                              struct gw_error *why);
/* An empty message after the pair's last one, *last - 1 (0: none). *last
 * receives its own number + 1. False when memory is short. */
bool gw__traffic_new_message(struct gw__traffic *f, uint32_t src, uint32_t dst,
                             uint32_t *last);
/* `code` waits for `value`, or for a message to leave. False when memory is
 * short. */
bool gw__traffic_wait(struct gw__traffic *f, uint32_t value, uint32_t code);
uint64_t gw__traffic_bytes(const struct gw__traffic *f,
                           const struct gw__run *run);

/* ---- traffic_seen.c ---- */

/* So many ranks times chunks are a table; tests make it smaller. */
extern uint64_t gw__traffic_cells_max;

/* Of an algorithm that cuts its vector into `chunks`. */
GW_MUST_CHECK enum gw_err gw__traffic_seen_new(struct gw__traffic *f,
                                               unsigned chunks,
                                               struct gw__traffic_seen **seen,
                                               struct gw_error *why);
void gw__traffic_seen_destroy(struct gw__traffic_seen **seen);
/* The message carries the run: it waits for what brought it. */
bool gw__traffic_seen_read(struct gw__traffic_seen *seen, uint32_t message,
                           const struct gw__run *run);
/* And brings it, from the next step on. */
bool gw__traffic_seen_write(struct gw__traffic_seen *seen, uint32_t message,
                            const struct gw__run *run);
/* How many runs there is room for. */
uint64_t gw__traffic_seen_room(const struct gw__traffic_seen *seen);
/* The step is over; its messages begin with `first`. */
bool gw__traffic_seen_step(struct gw__traffic_seen *seen, uint32_t first);

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
bool gw__steps_meet(const struct gw__steps *a, const struct gw__steps *b);
/* Are all of `some` among `all`? */
bool gw__steps_cover(const struct gw__steps *all, const struct gw__steps *some);

/* ---- traffic_queue.c ---- */

bool gw__traffic_queue_put(struct gw__traffic_queue *queue, uint64_t time_ps,
                           uint32_t code);
/* When the next things happen, or UINT64_MAX; and what, taken out. */
uint64_t gw__traffic_queue_next(const struct gw__traffic_queue *queue);
void gw__traffic_queue_pop(struct gw__traffic_queue *queue,
                           struct gw__vector *codes);
void gw__traffic_queue_fini(struct gw__traffic_queue *queue);

/* ---- traffic_result.c ---- */

GW_MUST_CHECK enum gw_err gw__result_new(unsigned links, unsigned ranks,
                                         struct gw_topology_result **result,
                                         struct gw_error *why);
/* The end of the run: times, uplinks, the critical path. */
void gw__result_end(struct gw__traffic *f);
/* Events of a plan. `done`: one of the rank's messages or values is done. */
void gw__result_begin(struct gw__traffic *f);
void gw__result_send(struct gw__traffic *f, uint32_t message);
void gw__result_apply(struct gw__traffic *f, uint32_t version);
void gw__result_done(struct gw__traffic *f, uint32_t rank);

#endif
