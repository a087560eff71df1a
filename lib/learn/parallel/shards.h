/* SPDX-License-Identifier: MIT
 *
 * The parameters of one stage along the data axis: where they lie, how their
 * gradients come together, and the optimiser that changes them. What computes
 * (parallel*.c) asks for the weights of an operator when it needs them, adds to
 * its gradient, and says when that is complete; how much of it moves, and when,
 * is decided here by the mode.
 *
 *   replicated  all have all; buckets of complete gradients are all-reduced
 *               while the backward pass goes on (Li et al. 2020, PyTorch DDP)
 *   zero1       gradients are reduce-scattered, each rank changes its block,
 *               parameters are all-gathered (Rajbhandari et al. 2020)
 *   sharded     a rank keeps its block only; the whole is gathered for each use
 *               (ZeRO stage 3, FSDP)
 *
 * With a shard group smaller than the axis (HSDP) the block's gradient is also
 * all-reduced among the ranks that keep the same block. An operator's
 * parameters are one flat array, the weights (in x out, row by row), then the
 * biases; it is cut into equal blocks, the last one padded with zeros. Sums are
 * divided by nothing here: who adds to a gradient has scaled it.
 *
 * The operators' gradients leave in the reverse order of `operators`, a bucket
 * after the other, whatever order they are completed in: all ranks must start
 * the same calls in the same order. What is sent is the formula's on every rank
 * (gw_layout_price), unless `algo` asks for something else.
 */
#ifndef GW__SHARDS_H
#define GW__SHARDS_H

#include <gradwire/coll.h>
#include <gradwire/layout.h>
#include <gradwire/parallel.h>

struct gw__shards_config {
    const struct gw_layout *layout;
    /* The operators of this rank: indices into layout->placed, in the order of
     * the forward pass; `count` of them. Those without parameters are skipped.
     */
    const unsigned *operators;
    unsigned operator_count;
    /* Not owned. `group` shares one copy (size 1: there is nothing to share);
     * `replicas` are those with the same block in other groups, `axis` all of
     * the data axis. NULL where the size is 1. */
    struct gw_comm *group, *replicas, *axis;
    /* Ranks that hold the same weights along the tensor axis, when their
     * gradients are summands there, too (placed->weights_partial); else NULL.
     */
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
/* Before its communicators. Those on which one of its calls is under way are
 * aborted: nothing may use its memory any more. */
void gw__shards_destroy(struct gw__shards **shards);

/* `values` are all local parameters of operators[i], to begin with: the same on
 * all ranks of the data axis. */
void gw__shards_set(struct gw__shards *shards, unsigned i, const float *values);
/* The local parameters of operators[i], whole, until `drop`; gathered when they
 * are sharded. `use` and `drop` nest. */
GW_MUST_CHECK enum gw_err gw__shards_use(struct gw__shards *shards, unsigned i,
                                         const float **values,
                                         struct gw_error *why);
void gw__shards_drop(struct gw__shards *shards, unsigned i);
/* Where the gradient of operators[i] is added up; zero when a step begins. NULL
 * for an operator without parameters, and when there is no memory for it (only
 * where it is sharded: there a step borrows it until it is scattered). */
float *gw__shards_gradient(struct gw__shards *shards, unsigned i);
/* Nothing more will be added to it in this step: its bucket may travel. */
GW_MUST_CHECK enum gw_err gw__shards_complete(struct gw__shards *shards,
                                              unsigned i, struct gw_error *why);
/* Lets what is under way move; cheap, to be called between operators. */
GW_MUST_CHECK enum gw_err gw__shards_poll(struct gw__shards *shards,
                                          struct gw_error *why);
/* All gradients are complete: waits for them, lets the optimiser take its step,
 * and brings the parameters back together. Nothing is in use. */
GW_MUST_CHECK enum gw_err gw__shards_step(struct gw__shards *shards,
                                          struct gw_error *why);
/* After a step: a parameter of this rank's block is NaN or infinite. */
bool gw__shards_diverged(const struct gw__shards *shards);
/* Of the last step, in microseconds: from the first bucket's begin to the last
 * one's end (zero1: to the end of the all-gathers) and what parameters took to
 * be gathered before it; and how much of it `step` and `use` waited. */
void gw__shards_times(const struct gw__shards *shards, double *comm_us,
                      double *exposed_us);
/* What was gathered since the last step was for no step. */
void gw__shards_times_reset(struct gw__shards *shards);
/* Held now, and the most gathered at once since the last call with `reset`. */
void gw__shards_memory(struct gw__shards *shards, bool reset,
                       uint64_t *parameter_bytes, uint64_t *gradient_bytes,
                       uint64_t *optimiser_bytes, uint64_t *gathered_bytes);

/* Gradients of sharded operators add up whole from the first micro-batch to the
 * last, and only then become blocks. The most bytes of whole ones at once; none
 * is held between steps, and `gradient_bytes` does not count them. */
uint64_t gw__shards_summand_bytes(struct gw__shards *shards, bool reset);

/* What this rank holds between steps, as one block of bytes. */
size_t gw__shards_state_bytes(const struct gw__shards *shards);
void gw__shards_save(const struct gw__shards *shards, void *state);
/* `bytes` is what gw__shards_state_bytes says. */
void gw__shards_restore(struct gw__shards *shards, const void *state);

#endif
