/* SPDX-License-Identifier: MIT
 *
 * Training a network on a mesh of ranks: data, tensor, pipeline and sharded
 * parallelism, alone and together, as a layout (gradwire/layout.h) and a
 * schedule (gradwire/pipe.h) say. Every rank calls the same functions with the
 * same arguments; each computes its part, and the losses are those of one
 * process up to the rounding of f32.
 *
 *     gw_parallel_new(&config, &parallel)
 *     for each batch: gw_parallel_step(parallel, data, rows, &report)
 *
 * Weights at first depend on the seed and on their place in the whole network
 * only (uniform in +-sqrt(6 / in), biases 0), never on the mesh.
 *
 * A batch is shared out by rows: data coordinate d has the d-th share of it, a
 * micro-batch is a share of that. A trainer is used by one thread. Matrix
 * products are OpenBLAS's when the library was built with it, else our own;
 * $GRADWIRE_PRODUCT chooses ("blas", "avx2", "any").
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

enum gw_optimiser { GW_SGD, GW_MOMENTUM, GW_ADAM };

/* f32 of state a parameter: 0, 1, 2. */
GW_API unsigned gw_optimiser_words(enum gw_optimiser optimiser);
GW_API GW_MUST_CHECK enum gw_err
gw_optimiser_parse(const char *name, enum gw_optimiser *optimiser,
                   struct gw_error *why);

struct gw_parallel_config {
    struct gw_comm *comm;           /* not owned; as many ranks as the mesh */
    const struct gw_layout *layout; /* not owned; optimiser_words fits */
    const struct gw_schedule *schedule; /* not owned; stages, micros and chunks
                                           as in the layout */
    enum gw_optimiser optimiser;
    double rate;     /* of learning */
    double momentum; /* GW_MOMENTUM */
    uint64_t seed;
    size_t bucket_bytes; /* gradients that are reduced together along D; 0:
                            all in one bucket */
    bool overlap;        /* reduce a bucket as soon as it is complete, while the
                            backward pass goes on; else after it */
    const char *algo;    /* of the all-reduces; NULL: one that sends no more
                            than the formula, 2(p-1)/p of the bytes */
    struct gw_sink *events; /* not owned; NULL: none. STEP of each rank, LOSS
                               of the first, and those of the pipeline */
    double predicted_us;    /* of a step, for the events; or 0 */
};

struct gw_parallel;

/* GW_EINVAL: ranks, schedule, optimiser and layout do not fit together, or the
 * network has no loss at its end. Collective: it splits the communicator along
 * the axes, and puts it and the parts beside each other. */
GW_API GW_MUST_CHECK enum gw_err
gw_parallel_new(const struct gw_parallel_config *config,
                struct gw_parallel **parallel, struct gw_error *why);
GW_API void gw_parallel_destroy(struct gw_parallel **parallel);

struct gw_parallel_report {
    double loss;    /* mean over the batch, the same on all ranks */
    uint64_t right; /* rows whose largest score is their class */
    double step_us;
    double comm_us;    /* along D: from the first bucket's begin to the last
                          one's end, and gathering parameters before */
    double exposed_us; /* of that, while nothing was computed */
};

/* One step over `batch` rows rows[0..batch) of `data` (the layout's batch; the
 * data's features must not exceed the network's inputs, and its classes the
 * network's, nor rows its own: GW_EINVAL, and nothing has happened). GW_EWRONG:
 * training diverges: the loss or a parameter is NaN or infinite, or the loss is
 * a million times that of guessing; all ranks find that in the same step, and
 * the sentence names it. After any other error, of which all
 * ranks hear, the trainer can only be destroyed; the communicator has failed.
 */
GW_API GW_MUST_CHECK enum gw_err
gw_parallel_step(struct gw_parallel *parallel, const struct gw_dataset *data,
                 const uint32_t *rows, struct gw_parallel_report *report,
                 struct gw_error *why);
/* Loss and right answers over all rows of `data`, computed by all ranks
 * together; nothing is learnt. */
GW_API GW_MUST_CHECK enum gw_err
gw_parallel_evaluate(struct gw_parallel *parallel,
                     const struct gw_dataset *data,
                     struct gw_parallel_report *report, struct gw_error *why);

/* The pipeline of this rank: its times, its peak. NULL for one stage. */
GW_API const struct gw_pipe *
gw_parallel_pipe(const struct gw_parallel *parallel);

/* Counted on the wires and in the allocations, of this rank since the last
 * reset: what gw_layout_price predicts for so many steps. What evaluating sends
 * is not in it, nor the loss, which all ranks add up. */
struct gw_parallel_counts {
    uint64_t tensor_bytes, data_bytes, pipe_bytes; /* sent, all steps */
    unsigned tensor_collectives; /* conversions, of all micro-batches */
    uint64_t parameter_bytes, gradient_bytes, optimiser_bytes; /* held */
    uint64_t gathered_bytes; /* the most at once */
    uint64_t steps;
};
GW_API void gw_parallel_counts(const struct gw_parallel *parallel,
                               struct gw_parallel_counts *counts);
GW_API void gw_parallel_counts_reset(struct gw_parallel *parallel);

/* All that this rank has learnt (parameters, optimiser state, steps), as one
 * block of `gw_parallel_state_bytes` bytes, for a snapshot between steps. A
 * trainer that restores it goes on with the same bits. Ranks that hold the same
 * (stage, place on the tensor axis, block) may restore each other's. */
GW_API size_t gw_parallel_state_bytes(const struct gw_parallel *parallel);
GW_API void gw_parallel_save(const struct gw_parallel *parallel, void *state);
/* GW_EDATA, and the trainer is as it was: the state is not of such a trainer
 * (layout, optimiser, seed or place differ), or is damaged. */
GW_API GW_MUST_CHECK enum gw_err
gw_parallel_restore(struct gw_parallel *parallel, const void *state,
                    size_t bytes, struct gw_error *why);

/* Whether $GRADWIRE_CPU and $GRADWIRE_PRODUCT, if set, name kernels that this
 * CPU and this build have. GW_EINVAL: the sentence lists those that there are.
 * The library itself takes the best then; the tools refuse to start. */
GW_API GW_MUST_CHECK enum gw_err gw_kernels_check(struct gw_error *why);

#ifdef __cplusplus
}
#endif
#endif
