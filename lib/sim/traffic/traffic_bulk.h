/* SPDX-License-Identifier: MIT
 *
 * An algorithm on very many ranks in virtual time, private to traffic_bulk*.c.
 * The rules are those of gw_topology_simulate but for one: a message is taken
 * in as a whole, where traffic.c takes in chunk by chunk. So it need not know
 * the chunks while it runs, and 33 million transfers of a plan on 4,096 ranks
 * are as many messages of 40 bytes or fewer.
 *
 *   traffic_bulk.c          what leads to what
 *   traffic_bulk_count.c    whether there is room for all of it
 *   traffic_bulk_build.c    messages, from the runs that an algorithm emits
 *   traffic_bulk_seen.c     which message brought what a rank sends on
 *   traffic_bulk_steps.c    whether two runs have a chunk in common
 *   traffic_bulk_queue.c    what happens next
 *   traffic_classes.h       the links, shared max-min fair
 *
 * What waits for a value is a list of codes: a message (it wants to begin), the
 * own value of a message or an extra value (they want to be taken in). A value
 * into which several messages of a step go (`+` from many) is an extra one, and
 * waits for the own values of these messages.
 */
#ifndef GW__SIM_TRAFFIC_BULK_H
#define GW__SIM_TRAFFIC_BULK_H

#include "traffic.h"
#include "traffic_classes.h"

#include <plan/stream.h>

/* A ring and a direct all-reduce of 4,096 ranks have 33,546,240; so many take
 * 1.6 GiB. */
enum { GW__BULK_MESSAGES_MAX = 40 << 20 };

/* The kinds of a code, in its upper bits, and of what happens. */
enum gw__bulk_kind {
    GW__BULK_MESSAGE, /* wants to begin; happens: its sender is done with it */
    GW__BULK_OWN,     /* the own value of a message; happens: it is in */
    GW__BULK_EXTRA,   /* an extra value */
    GW__BULK_ARRIVAL, /* happens: a message arrives */
    GW__BULK_EDGE     /* in a list: edges[number], which names the code */
};
enum { GW__BULK_KIND_SHIFT = 28 };

static inline uint32_t gw__bulk_code(enum gw__bulk_kind kind, uint32_t number)
{
    return (uint32_t)kind << GW__BULK_KIND_SHIFT | number;
}

static inline uint32_t gw__bulk_number(uint32_t code)
{
    return code & ((UINT32_C(1) << GW__BULK_KIND_SHIFT) - 1);
}

static inline enum gw__bulk_kind gw__bulk_kind(uint32_t code)
{
    return (enum gw__bulk_kind)(code >> GW__BULK_KIND_SHIFT);
}

/* Not linked into a list of those that wait: see next_waiter. */
#define GW__UNLINKED (UINT32_MAX - 1)

struct gw__bulk_message {
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

struct gw__bulk_extra {
    uint32_t needs, waiters;
    uint32_t cause; /* as of a message */
    uint32_t rank;
    uint64_t adds; /* bytes to reduce */
};

/* Parts of a block that are equally large, up to the next level: a vector is
 * cut into large parts, small ones and perhaps a last, smaller one. */
struct gw__bulk_level {
    unsigned end;   /* behind the last of them */
    uint64_t bytes; /* each */
};

struct gw__bulk_edge {
    uint32_t code, next;
};

/* Things that happen at one time. */
struct gw__bulk_moment {
    uint64_t time_ps;
    struct gw__vector codes;
    uint32_t next; /* of the same hash, or unused */
};

struct gw__bulk_turn {
    uint64_t time_ps;
    uint32_t number; /* of a moment */
};

struct gw__bulk_queue {
    struct gw__vector moments; /* gw__bulk_moment */
    struct gw__vector heap;    /* gw__bulk_turn */
    uint32_t *hashed;
    size_t hashed_room;
    uint32_t unused;
    uint32_t last; /* the moment that was added to last */
};

struct gw__bulk_seen;

struct gw__bulk {
    const struct gw_topology *topology;
    const struct gw_topology_job *job;
    struct gw__vector messages, extras, edges;
    uint64_t *part_begin; /* bytes of a block before each part, and of all */
    unsigned parts;
    struct gw__vector levels; /* gw__bulk_level, ascending */
    struct gw__vector adds; /* bytes that each message's own value adds; empty:
                               reducing costs nothing */
    struct gw__vector kept; /* plans of one chunk: the value that waits for each
                               message to leave; else empty */
    struct gw__classes classes;
    struct gw__bulk_queue queue;
    struct gw__vector step_begin; /* the first message of each step */
    unsigned steps;
    uint64_t now_ps, message_ps, last_ps;
    uint32_t last; /* the message that ended it all */
    bool too_long, exhausted;
    uint64_t *sender_ps, *reducer_ps;
    struct gw__vector ready, codes; /* at this moment */
    struct gw_topology_result *result;
};

static inline struct gw__bulk_message *gw__message_at(const struct gw__bulk *f,
                                                      uint32_t i)
{
    return (struct gw__bulk_message *)f->messages.items + i;
}

static inline struct gw__bulk_extra *gw__extra_at(const struct gw__bulk *f,
                                                  uint32_t i)
{
    return (struct gw__bulk_extra *)f->extras.items + i;
}

static inline struct gw__bulk_edge *gw__edge_at(const struct gw__bulk *f,
                                                uint32_t i)
{
    return (struct gw__bulk_edge *)f->edges.items + i;
}

/* ---- traffic_bulk_count.c ---- */

/* How many messages the algorithm sends. GW_EINVAL: more than
 * GW__BULK_MESSAGES_MAX, or in more than runs_max runs. */
GW_MUST_CHECK enum gw_err gw__bulk_check(const struct gw_algo *algo,
                                         const struct gw_algo_args *args,
                                         uint64_t runs_max, uint64_t *messages,
                                         struct gw_error *why);

/* ---- traffic_bulk_build.c ---- */

GW_MUST_CHECK enum gw_err gw__bulk_build(struct gw__bulk *f,
                                         struct gw_error *why);
/* What it says waits for the value. False when memory is short. */
bool gw__bulk_wait(struct gw__bulk *f, uint32_t value, uint32_t code);
uint64_t gw__bulk_bytes(const struct gw__bulk *f, const struct gw__run *run);

/* ---- traffic_bulk_seen.c ---- */

/* So many ranks times chunks are a table; tests make it smaller. */
extern uint64_t gw__bulk_cells_max;

/* Of an algorithm that cuts what it moves into `chunks`. */
GW_MUST_CHECK enum gw_err gw__bulk_seen_new(struct gw__bulk *f, unsigned chunks,
                                            struct gw__bulk_seen **seen,
                                            struct gw_error *why);
void gw__bulk_seen_destroy(struct gw__bulk_seen **seen);
/* The message carries the run: it waits for what brought it. */
bool gw__bulk_seen_read(struct gw__bulk_seen *seen, uint32_t message,
                        const struct gw__run *run);
/* And brings it, from the next step on. */
bool gw__bulk_seen_write(struct gw__bulk_seen *seen, uint32_t message,
                         const struct gw__run *run);
/* How many runs there is room for. */
uint64_t gw__bulk_seen_room(const struct gw__bulk_seen *seen);
/* The step is over; its messages begin with `first`. */
bool gw__bulk_seen_step(struct gw__bulk_seen *seen, uint32_t first);

/* ---- traffic_bulk_steps.c ---- */

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

/* ---- traffic_bulk_queue.c ---- */

bool gw__bulk_queue_put(struct gw__bulk_queue *queue, uint64_t time_ps,
                        uint32_t code);
/* When the next things happen, or UINT64_MAX; and what, taken out. */
uint64_t gw__bulk_queue_next(const struct gw__bulk_queue *queue);
void gw__bulk_queue_pop(struct gw__bulk_queue *queue, struct gw__vector *codes);
void gw__bulk_queue_fini(struct gw__bulk_queue *queue);

/* ---- traffic_bulk.c ---- */

GW_MUST_CHECK enum gw_err gw__bulk_simulate(const struct gw_topology *topology,
                                            const struct gw_topology_job *job,
                                            struct gw_topology_result **result,
                                            struct gw_error *why);

#endif
