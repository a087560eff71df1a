/* SPDX-License-Identifier: MIT
 *
 * Between the parts of lib/learn/shards*.c:
 *   shards.c         what is held and where; making and freeing it
 *   shards_keep.c    put in, counted, saved and restored
 *   shards_pool.c    memory that is lent: what is gathered, whole gradients
 *   shards_use.c     the parameters and the gradient of one operator
 *   shards_sum.c     all-reduces whose bytes are the formula's on every rank
 *   shards_reduce.c  buckets of gradients on their way
 *   shards_step.c    the end of a step
 *
 * Two ideas hold it together. Replicated is the case of a shard group of one
 * rank: each rank's block is the whole, and its replicas are all of the axis.
 * And the operators stand in the order of the backward pass, the last one
 * first, in memory too, so that a bucket is one stretch of it.
 *
 * All ranks of a communicator must start the same calls in the same order. So
 * calls on `group`, `axis` and `tensor`, which others use between ours, start
 * only where the program is the same on all ranks: in use, complete and step.
 * Only those on `replicas` of a group start as the bucket comes along, bucket
 * by bucket: nobody else calls there.
 */
#ifndef GW__SHARDS_PARTS_H
#define GW__SHARDS_PARTS_H

#include "learn/optimiser.h"
#include "learn/shards.h"

/* ---- shards_pool.c ---- */

struct gw__shard_buffer {
    float *floats;
    size_t bytes;
    bool lent;
};

/* Buffers of gw_alloc, lent one by one. Those that come back are kept for the
 * next; there are never more than were lent at the same time. */
struct gw__shard_pool {
    struct gw__shard_buffer *buffers;
    unsigned count, room;
    uint64_t held_bytes, most_bytes;
};

/* `buffers_max`: how many may be lent at once. */
GW_MUST_CHECK enum gw_err gw__shard_pool_init(struct gw__shard_pool *pool,
                                              unsigned buffers_max,
                                              struct gw_error *why);
void gw__shard_pool_fini(struct gw__shard_pool *pool);
/* What it holds is of no value. NULL: no memory. */
float *gw__shard_pool_lend(struct gw__shard_pool *pool, size_t bytes,
                           struct gw_error *why);
void gw__shard_pool_give_back(struct gw__shard_pool *pool, const float *floats);
/* Frees what is not lent. */
void gw__shard_pool_trim(struct gw__shard_pool *pool);

/* ---- shards_sum.c ---- */

/* The fastest algorithm, under the costs in force, among those in which no rank
 * sends more than the formula: 2(p-1)/p of the bytes for all-reduce, p-1 blocks
 * for all-gather and reduce-scatter. The same on all ranks. */
const char *gw__thrifty_algo(const struct gw_comm *comm,
                             enum gw_collective collective, size_t count);

/* An all-reduce (sum, in place) that is made again and again: in two calls
 * where one would not be cut into equal parts, so that every rank sends what
 * the formula says. Without a communicator there is nothing to do. */
struct gw__sum {
    struct gw_comm *comm;
    size_t counts[2];
    const char *algos[2];
    struct gw_request *requests[2];
};

/* `algo` NULL: a thrifty one. */
void gw__sum_init(struct gw__sum *sum, struct gw_comm *comm, size_t count,
                  const char *algo);
GW_MUST_CHECK enum gw_err gw__sum_start(struct gw__sum *sum, float *floats);
/* Waits for it, or else only looks: GW_PENDING. */
GW_MUST_CHECK enum gw_err gw__sum_end(struct gw__sum *sum, bool wait);

/* ---- what is held ---- */

/* An operator with parameters. Its flat array has `whole` elements, padded with
 * zeros behind the first `count`; `block` of them are this rank's, from
 * `own` on. */
struct gw__held {
    bool partial; /* gradients are summands along the tensor axis, too */
    size_t count, whole, block, own;
    float *values;   /* all, or this rank's block if it is gathered */
    float *gradient; /* likewise */
    float *state;    /* of the block */
    float *gathered; /* while it is used */
    unsigned users;
    float *summands; /* while the gradient of a gathered one adds up */
    unsigned bucket;
    bool complete;
    const char *scatter_algo, *gather_algo;
    struct gw_request *request; /* reduce-scatter; then all-gather */
    struct gw__sum beside, sum; /* along the tensor axis; among replicas */
};

/* Gradients that travel together: held[begin..end). In order
 *
 *   OPEN     until all are complete
 *   BESIDE   summed along the tensor axis, where they are summands
 *   SCATTER  reduce-scattered in the group
 *   SUM      all-reduced among the replicas
 *   ARRIVED
 *
 * with those left out that have nothing to do. No bucket begins before the one
 * in front of it. */
enum gw__bucket_state {
    GW__BUCKET_OPEN,
    GW__BUCKET_BESIDE,
    GW__BUCKET_SCATTER,
    GW__BUCKET_SUM,
    GW__BUCKET_ARRIVED
};

struct gw__bucket {
    enum gw__bucket_state state;
    unsigned begin, end;
    unsigned missing; /* operators that are not complete */
    struct gw__sum sum;
};

struct gw__shards {
    struct gw__shards_config config; /* its operators are not kept */
    struct gw__optimiser optimiser;
    /* NULL where there is nobody to speak with. */
    struct gw_comm *group, *replicas, *tensor;
    bool gathers; /* a rank keeps its block only */
    unsigned operator_count;
    unsigned *held_of; /* operator -> held, or GW_NONE */
    unsigned held_count;
    struct gw__held *held; /* in the order of the backward pass */
    unsigned bucket_count;
    struct gw__bucket *buckets;
    unsigned begun;     /* buckets that are not OPEN */
    unsigned scattered; /* that are beyond SCATTER */
    unsigned arrived;
    float *values, *gradients, *states;
    size_t value_count, state_count; /* floats; gradients: as values */
    struct gw__shard_pool gathered, summands;
    uint64_t steps;
    bool diverged; /* a parameter of the own block became NaN or infinite */
    /* Of this step, 0: not yet. */
    uint64_t begin_ns, end_ns;
    uint64_t waited_ns;         /* in `step`, and for what was gathered */
    uint64_t gathered_ns;       /* of that, while no bucket was on its way */
    double comm_us, exposed_us; /* of the last one */
};

/* ---- shards_use.c ---- */

/* All of the gradient, where it adds up: zero at first. NULL: no memory. */
float *gw__held_whole_gradient(struct gw__shards *shards, struct gw__held *held,
                               struct gw_error *why);

/* ---- shards_step.c ---- */

/* Parameters were gathered since then, and nothing was computed meanwhile. */
void gw__shards_gathered(struct gw__shards *shards, uint64_t since_ns);

/* ---- shards_reduce.c ---- */

void gw__buckets_reset(struct gw__shards *shards);
/* Lets all buckets begin that can; with `all`, those too that are not complete,
 * and none is left BESIDE. */
GW_MUST_CHECK enum gw_err gw__buckets_begin(struct gw__shards *shards, bool all,
                                            struct gw_error *why);
/* Moves those on that have begun, as far as they get; with `wait`, until those
 * before `until` have arrived. */
GW_MUST_CHECK enum gw_err gw__buckets_move(struct gw__shards *shards,
                                           unsigned until, bool wait,
                                           struct gw_error *why);
/* "WHAT: SENTENCE", the sentence of the communicator that failed. */
enum gw_err gw__shards_failed(const struct gw_comm *comm, const char *what,
                              enum gw_err code, struct gw_error *why);

#endif
