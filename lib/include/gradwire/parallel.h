/* SPDX-License-Identifier: MIT
 *
 * Training a network on a mesh of ranks: data, tensor, pipeline and sharded
 * parallelism, alone and combined, by a layout (gradwire/layout.h) and a
 * schedule (gradwire/pipe.h). Every rank calls the same functions with the same
 * arguments and computes its part. The losses are those of one process up to
 * the rounding of f32.
 *
 *     gw_parallel_new(&config, &parallel)
 *     for each batch: gw_parallel_step(parallel, data, rows, &report)
 *
 * The initial weights depend only on the seed and on their position in the
 * whole network (uniform in +-sqrt(6 / in), biases 0), never on the mesh.
 *
 * A batch is divided by rows: data coordinate d has the d-th share of it, and a
 * micro-batch is a part of that share. A trainer belongs to one thread. Matrix
 * products are OpenBLAS's if the machine has it, otherwise our own;
 * $GRADWIRE_PRODUCT selects ("blas", "avx2", "any").
 */
#ifndef GRADWIRE_PARALLEL_H
#define GRADWIRE_PARALLEL_H

#include <gradwire/base.h>
#include <gradwire/coll.h>
#include <gradwire/layout.h>
#include <gradwire/learn.h>
#include <gradwire/pipe.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The optimisers. */
enum gw_optimiser { GW_SGD, GW_MOMENTUM, GW_ADAM };

/* Returns the numbers of state (f32) per parameter: 0, 1, 2. */
GW_API unsigned gw_optimiser_words(enum gw_optimiser optimiser);
/* Finds the optimiser of a name. GW_EINVAL: an unknown name; *optimiser is
 * unchanged. */
GW_API GW_MUST_CHECK enum gw_err
gw_optimiser_parse(const char *name, enum gw_optimiser *optimiser,
                   struct gw_error *why);

/* The configuration of a trainer. All pointers belong to the caller. */
struct gw_parallel_config {
    struct gw_comm *comm;           /* with as many ranks as the mesh */
    const struct gw_layout *layout; /* optimiser_words must fit */
    /* Stages, micros and chunks as in the layout. */
    const struct gw_schedule *schedule;
    enum gw_optimiser optimiser;
    double rate;     /* learning rate */
    double momentum; /* GW_MOMENTUM */
    uint64_t seed;
    /* Gradients per reduction along D; 0: all in one bucket. */
    size_t bucket_bytes;
    /* Reduce a bucket as soon as it is complete, during the backward pass;
     * otherwise after it. */
    bool overlap;
    /* Of the all-reduces; NULL: one that sends no more than the formula,
     * 2(p-1)/p of the bytes. */
    const char *algo;
    /* NULL: none. STEP of each rank, LOSS of the first, and the events of
     * the pipeline. */
    struct gw_sink *events;
    double predicted_us; /* of a step, for the events; or 0 */
};

struct gw_parallel;

/* Creates a trainer; a collective call. It splits the communicator along the
 * axes and lets it and its parts progress together. The caller frees *parallel
 * with gw_parallel_destroy. GW_EINVAL: ranks, schedule, optimiser and layout do
 * not fit together, or the network has no loss at its end; *parallel is
 * NULL. */
GW_API GW_MUST_CHECK enum gw_err
gw_parallel_new(const struct gw_parallel_config *config,
                struct gw_parallel **parallel, struct gw_error *why);
/* Frees a trainer and sets the pointer to NULL. */
GW_API void gw_parallel_destroy(struct gw_parallel **parallel);

/* The result of a step or evaluation. */
struct gw_parallel_report {
    double loss;    /* mean over the batch, the same on all ranks */
    uint64_t right; /* rows whose largest score is that of their class */
    double step_us;
    /* Communication along D: from the begin of the first bucket to the end
     * of the last one, and earlier gathers of parameters. */
    double comm_us;
    double exposed_us; /* part of it without computation */
};

/* Trains one step on the rows rows[0..batch) of `data` (the layout's batch).
 * GW_EINVAL: the data has more features or classes than the network, or `rows`
 * exceeds its rows; nothing has changed. GW_EWRONG: the training has diverged:
 * the loss or a parameter is NaN or infinite, or the loss is a million times
 * that of guessing. All ranks receive it in the same step, and the sentence
 * names the step. After any other error, which all ranks receive, the
 * communicator has failed, and the trainer can only be destroyed. */
GW_API GW_MUST_CHECK enum gw_err
gw_parallel_step(struct gw_parallel *parallel, const struct gw_dataset *data,
                 const uint32_t *rows, struct gw_parallel_report *report,
                 struct gw_error *why);
/* Computes loss and right answers over all rows of `data`, by all ranks
 * together. The parameters are unchanged. */
GW_API GW_MUST_CHECK enum gw_err
gw_parallel_evaluate(struct gw_parallel *parallel,
                     const struct gw_dataset *data,
                     struct gw_parallel_report *report, struct gw_error *why);

/* Returns the pipeline of this rank, for its times and its peak; NULL with one
 * stage. */
GW_API const struct gw_pipe *
gw_parallel_pipe(const struct gw_parallel *parallel);

/* The traffic and memory of this rank since the last reset, counted on the
 * wires and in the allocations: gw_layout_price predicts them. Evaluations do
 * not count, nor does the loss, which all ranks add up. */
struct gw_parallel_counts {
    uint64_t tensor_bytes, data_bytes, pipe_bytes; /* sent, all steps */
    unsigned tensor_collectives; /* conversions, of all micro-batches */
    uint64_t parameter_bytes, gradient_bytes, optimiser_bytes; /* held */
    uint64_t gathered_bytes; /* largest number at once */
    /* The largest number at once, in steps: evaluations are not counted. */
    uint64_t activation_bytes;
    uint64_t steps;
};
/* Reads the counts. */
GW_API void gw_parallel_counts(const struct gw_parallel *parallel,
                               struct gw_parallel_counts *counts);
/* Sets the counts to 0. */
GW_API void gw_parallel_counts_reset(struct gw_parallel *parallel);

/* Returns the bytes of this rank's state: parameters, optimiser state and
 * number of steps. */
GW_API size_t gw_parallel_state_bytes(const struct gw_parallel *parallel);
/* Writes the state of this rank into one block of gw_parallel_state_bytes
 * bytes, for a snapshot between steps. A trainer that restores it continues
 * with the same bits. Ranks with the same stage, position on the tensor axis
 * and block may restore each other's state. */
GW_API void gw_parallel_save(const struct gw_parallel *parallel, void *state);
/* Restores a state. GW_EDATA: the state is damaged, or belongs to a trainer
 * with another layout, optimiser, seed or position; the trainer is
 * unchanged. */
GW_API GW_MUST_CHECK enum gw_err
gw_parallel_restore(struct gw_parallel *parallel, const void *state,
                    size_t bytes, struct gw_error *why);

/* Checks that $GRADWIRE_CPU and $GRADWIRE_PRODUCT, if set, name kernels of this
 * CPU and this build. GW_EINVAL: they do not; the sentence lists the kernels.
 * The library then uses the best one; the tools refuse to start. */
GW_API GW_MUST_CHECK enum gw_err gw_kernels_check(struct gw_error *why);

#ifdef __cplusplus
}
#endif
#endif
