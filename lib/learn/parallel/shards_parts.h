/* SPDX-License-Identifier: MIT
 *
 * Internals of lib/learn/parallel/shards*.c:
 *   shards.c         creation and destruction, distribution of the data
 *   shards_keep.c    initialisation, sizes, saving and restoring
 *   shards_pool.c    borrowed memory: gathered parameters, whole gradients
 *   shards_acquire.c the parameters and the gradient of one operator
 *   shards_reduce.c  buckets of gradients under way
 *   shards_step.c    the end of a step
 *
 * There are two basic ideas. `replicated` is the case of a shard group of one
 * rank: each rank's block is the whole, and its replicas are the whole axis.
 * And buckets belong to gw_reducer (gradwire/reducer.h), with one tensor per
 * operator: it forms buckets and decides when they begin; a hook implements the
 * rest.
 *
 * All ranks of a communicator must start the same calls in the same order.
 * `group`, `axis` and `tensor` are also used by other code. So calls on them
 * start only in functions that all ranks call in the same order: use, complete
 * and step. Only calls on `replicas` of a group start when a bucket gets there,
 * in the order of buckets, since no other code uses that communicator.
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
    bool in_use;
};

/* A pool of gw_alloc buffers. Returned buffers are kept for later use; there
 * are never more than were lent at the same time. */
struct gw__shard_pool {
    struct gw__shard_buffer *buffers;
    unsigned count, room;
    uint64_t held_bytes, most_bytes;
};

/* `buffers_max`: the maximum number of lent buffers. */
GW_MUST_CHECK enum gw_err gw__shard_pool_init(struct gw__shard_pool *pool,
                                              unsigned buffers_max,
                                              struct gw_error *why);
void gw__shard_pool_fini(struct gw__shard_pool *pool);
/* The contents are undefined. NULL: out of memory. */
float *gw__shard_pool_acquire(struct gw__shard_pool *pool, size_t bytes,
                              struct gw_error *why);
void gw__shard_pool_release(struct gw__shard_pool *pool, const float *floats);
/* Frees all buffers that are not lent. */
void gw__shard_pool_trim(struct gw__shard_pool *pool);

/* ---- state ---- */

/* An operator with parameters. Its flat array has `whole` elements, with zeros
 * after the first `count`; this rank's block has `block` elements from `own`
 * on. */
struct gw__held {
    bool partial; /* gradients must be added along the tensor axis, too */
    size_t count, whole, block, own;
    float *values;   /* whole, or this rank's block if sharded */
    float *gradient; /* likewise */
    float *state;    /* of the block */
    float *gathered; /* during use */
    unsigned users;
    /* the whole gradient of a sharded operator, during its sum */
    float *summands;
    const char *scatter_algo, *gather_algo;
    struct gw_request *request;   /* reduce-scatter; then all-gather */
    struct gw__sum parallel, sum; /* along the tensor axis; among replicas */
};

/* The state of a bucket: of held[i] for each tensor i in the reducer's bucket.
 * In order
 *
 *   OPEN     until all gradients are complete
 *   BESIDE   summed along the tensor axis, if they are partial sums
 *   SCATTER  reduce-scattered in the group
 *   SUM      all-reduced among the replicas
 *   ARRIVED
 *
 * States without work are skipped. Buckets begin in order. */
enum gw__bucket_state {
    GW__BUCKET_OPEN,
    GW__BUCKET_PARALLEL,
    GW__BUCKET_SCATTER,
    GW__BUCKET_SUM,
    GW__BUCKET_ARRIVED
};

struct gw__shards {
    struct gw__shards_config config; /* without its operators */
    struct gw__optimiser optimiser;
    /* NULL if the size is 1. */
    struct gw_comm *group, *replicas, *tensor;
    bool gathers; /* sharded: a rank has its block only */
    unsigned operator_count;
    unsigned *held_of; /* operator -> held, or GW_NONE */
    unsigned held_count;
    struct gw__held *held;          /* in the order of the forward pass */
    struct gw_reducer *reducer;     /* tensor i of the reducer is held[i] */
    enum gw__bucket_state *buckets; /* one per bucket of the reducer */
    unsigned scattered;             /* number of buckets beyond SCATTER */
    float *values, *gradients, *states;
    /* in floats; gradients are as large as values */
    size_t value_count, state_count;
    struct gw__shard_pool gathered, summands;
    uint64_t steps;
    bool diverged; /* a parameter of this rank's block is NaN or infinite */
    /* Of this step; 0: not yet. */
    uint64_t begin_ns, end_ns;
    uint64_t waited_ns;         /* in `step`, and for gathers */
    uint64_t gathered_ns;       /* gathers while no bucket was under way */
    double comm_us, exposed_us; /* of the last step */
};

/* ---- shards_acquire.c ---- */

/* The whole gradient during its sum, initially zero. NULL: out of memory. */
float *gw__held_whole_gradient(struct gw__shards *shards, struct gw__held *held,
                               struct gw_error *why);

/* ---- shards_step.c ---- */

/* Counts a gather since `since_ns` without concurrent computation. */
void gw__shards_gathered(struct gw__shards *shards, uint64_t since_ns);

/* ---- shards_reduce.c ---- */

/* Creates the reducer for the gradients of `held`. */
GW_MUST_CHECK enum gw_err gw__shard_buckets_init(struct gw__shards *shards,
                                                 struct gw_error *why);
void gw__shard_buckets_reset(struct gw__shards *shards);
/* Begins all buckets; afterwards none is in GW__BUCKET_PARALLEL. */
GW_MUST_CHECK enum gw_err gw__shard_buckets_begin_all(struct gw__shards *shards,
                                                      struct gw_error *why);
/* Sets the error "WHAT: TEXT", with the failed communicator's text. */
enum gw_err gw__shards_failed(const struct gw_comm *comm, const char *what,
                              enum gw_err code, struct gw_error *why);

#endif
