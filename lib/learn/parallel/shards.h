/* SPDX-License-Identifier: MIT
 *
 * The parameters of one stage along the data axis: their distribution, the
 * reduction of their gradients, and the optimiser. The computation
 * (parallel*.c) requests the weights of an operator, adds to its gradient, and
 * reports when the gradient is complete. The mode determines the communication:
 *
 *   replicated  each rank has all; gradients are all-reduced in buckets
 *               during the backward pass (Li et al. 2020, PyTorch DDP)
 *   zero1       gradients are reduce-scattered, each rank updates its block,
 *               parameters are all-gathered (Rajbhandari et al. 2020)
 *   sharded     a rank has its block only; the whole is gathered for each use
 *               (ZeRO stage 3, FSDP)
 *
 * With a shard group smaller than the axis (HSDP) the block's gradient is also
 * all-reduced among the ranks with the same block. An operator's parameters are
 * one flat array, the weights (in x out, row-major), then the biases. It is
 * divided into equal blocks, the last one padded with zeros. Sums are not
 * divided here: contributions to a gradient are already scaled.
 *
 * Gradients are sent in buckets, in the reverse order of `operators`,
 * independent of the order of their completion: all ranks must start the same
 * calls in the same order. The amount sent on each rank is given by
 * gw_layout_price, unless `algo` selects another algorithm.
 */
#ifndef GW__SHARDS_H
#define GW__SHARDS_H

#include <gradwire/coll.h>
#include <gradwire/layout.h>
#include <gradwire/parallel.h>

struct gw__shards_config {
    const struct gw_layout *layout;
    /* Indices in layout->placed of this rank's operators, in the order of the
     * forward pass. Operators without parameters are skipped. */
    const unsigned *operators;
    unsigned operator_count;
    /* Not owned. `group` shares one copy (size 1: not sharded); `replicas` have
     * the same block in other groups, `axis` is the whole data axis. NULL if
     * the size is 1. */
    struct gw_comm *group, *replicas, *axis;
    /* Ranks with the same weights along the tensor axis, if their gradients
     * must be added, too (placed->weights_partial); otherwise NULL. */
    struct gw_comm *tensor;
    enum gw_optimiser optimiser;
    double rate, momentum;
    size_t bucket_bytes;
    bool overlap;
    const char *algo; /* of all-reduces; NULL: chosen */
};

struct gw__shards;

GW_MUST_CHECK enum gw_err gw__shards_new(const struct gw__shards_config *config,
                                         struct gw__shards **shards,
                                         struct gw_error *why);
/* Call it before its communicators are destroyed. Communicators with a call
 * under way are aborted, so that they do not use freed memory. */
void gw__shards_destroy(struct gw__shards **shards);

/* Sets the initial local parameters of operators[i]; they must be the same on
 * all ranks of the data axis. */
void gw__shards_set(struct gw__shards *shards, unsigned i, const float *values);
/* Gets the whole local parameters of operators[i] until `drop`; gathers them if
 * they are sharded. `use` and `drop` nest. */
GW_MUST_CHECK enum gw_err gw__shards_acquire(struct gw__shards *shards,
                                             unsigned i, const float **values,
                                             struct gw_error *why);
void gw__shards_release(struct gw__shards *shards, unsigned i);
/* The sum of the gradient of operators[i], initially zero in each step. NULL:
 * the operator has no parameters, or out of memory (only if it is sharded: then
 * a buffer is borrowed until the reduce-scatter). */
float *gw__shards_gradient(struct gw__shards *shards, unsigned i);
/* The gradient is complete in this step: its bucket may be sent. */
GW_MUST_CHECK enum gw_err gw__shards_complete(struct gw__shards *shards,
                                              unsigned i, struct gw_error *why);
/* Lets communication make progress; cheap, for calls between operators. */
GW_MUST_CHECK enum gw_err gw__shards_poll(struct gw__shards *shards,
                                          struct gw_error *why);
/* Call it when all gradients are complete and no operator is in use. Waits for
 * the gradients, runs the optimiser's step, and distributes the parameters. */
GW_MUST_CHECK enum gw_err gw__shards_step(struct gw__shards *shards,
                                          struct gw_error *why);
/* After a step: true if a parameter of this rank's block is NaN or infinite. */
bool gw__shards_diverged(const struct gw__shards *shards);
/* Times of the last step, in microseconds. *comm_us: from the begin of the
 * first bucket to the end of the last one (zero1: of the all-gathers), plus the
 * time of earlier gathers. *exposed_us: the part of it that `step` and `use`
 * waited. */
void gw__shards_times(const struct gw__shards *shards, double *comm_us,
                      double *exposed_us);
/* Ignores the gathers since the last step, which belong to no step. */
void gw__shards_times_reset(struct gw__shards *shards);
/* Current sizes, and the maximum of gathered memory since the last `reset`. */
void gw__shards_memory(struct gw__shards *shards, bool reset,
                       uint64_t *parameter_bytes, uint64_t *gradient_bytes,
                       uint64_t *optimiser_bytes, uint64_t *gathered_bytes);

/* Gradients of sharded operators are summed whole, from the first micro-batch
 * to the last, and then scattered. Returns the maximum size of whole gradients,
 * which are not part of `gradient_bytes` and do not exist between steps. */
uint64_t gw__shards_summand_bytes(struct gw__shards *shards, bool reset);

/* The size of this rank's state between steps. */
size_t gw__shards_state_bytes(const struct gw__shards *shards);
void gw__shards_save(const struct gw__shards *shards, void *state);
/* `state` has gw__shards_state_bytes() bytes. */
void gw__shards_restore(struct gw__shards *shards, const void *state);

#endif
