/* SPDX-License-Identifier: MIT
 *
 * Between the parts of lib/learn/parallel/shards*.c:
 *   shards.c         what is held and where; making and freeing it
 *   shards_keep.c    put in, counted, saved and restored
 *   shards_pool.c    memory that is lent: what is gathered, whole gradients
 *   shards_use.c     the parameters and the gradient of one operator
 *   shards_reduce.c  buckets of gradients on their way
 *   shards_step.c    the end of a step
 *
 * Two ideas hold it together. Replicated is the case of a shard group of one
 * rank: each rank's block is the whole, and its replicas are all of the axis.
 * And buckets are gw_reducer's (gradwire/reducer.h), one tensor per operator: it
 * decides which operators are a bucket and when that begins; what then happens
 * to it is a hook of ours.
 *
 * All ranks of a communicator must start the same calls in the same order. So
 * calls on `group`, `axis` and `tensor`, which others use between ours, start
 * only where the program is the same on all ranks: in use, complete and step.
 * Only those on `replicas` of a group start as the bucket comes along, bucket
 * by bucket: nobody else calls there.
 */
#ifndef GW__SHARDS_PARTS_H
#define GW__SHARDS_PARTS_H

#include "coll/reducer/reducer.h"
#include "optimiser.h"
#include "shards.h"

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
    const char *scatter_algo, *gather_algo;
    struct gw_request *request; /* reduce-scatter; then all-gather */
    struct gw__sum beside, sum; /* along the tensor axis; among replicas */
};

/* Gradients that travel together: held[i] of each tensor i of the reducer's
 * bucket. In order
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

struct gw__shards {
    struct gw__shards_config config; /* its operators are not kept */
    struct gw__optimiser optimiser;
    /* NULL where there is nobody to speak with. */
    struct gw_comm *group, *replicas, *tensor;
    bool gathers; /* a rank keeps its block only */
    unsigned operator_count;
    unsigned *held_of; /* operator -> held, or GW_NONE */
    unsigned held_count;
    struct gw__held *held;          /* in the order of the forward pass */
    struct gw_reducer *reducer;     /* its tensor i is held[i] */
    enum gw__bucket_state *buckets; /* of the reducer's */
    unsigned scattered;             /* buckets that are beyond SCATTER */
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

/* The reducer, whose gradients are those of `held`. */
GW_MUST_CHECK enum gw_err gw__shard_buckets_init(struct gw__shards *shards,
                                                 struct gw_error *why);
void gw__shard_buckets_reset(struct gw__shards *shards);
/* Lets all buckets begin, and leaves none BESIDE. */
GW_MUST_CHECK enum gw_err gw__shard_buckets_begin_all(struct gw__shards *shards,
                                                      struct gw_error *why);
/* "WHAT: SENTENCE", the sentence of the communicator that failed. */
enum gw_err gw__shards_failed(const struct gw_comm *comm, const char *what,
                              enum gw_err code, struct gw_error *why);

#endif
