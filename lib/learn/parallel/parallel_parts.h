/* SPDX-License-Identifier: MIT
 *
 * Shared by the parts of lib/learn/parallel/parallel*.c, the trainer of
 * gradwire/parallel.h on one rank:
 *
 *     parallel.c           creates it and frees it
 *     parallel_axes.c      communicators along the axes, and their counters
 *     parallel_work.c      one pass of one micro-batch, called by the pipeline
 *     parallel_step.c      a step
 *     parallel_evaluate.c  forward only, over a whole data set
 *     parallel_state.c     saving and restoring
 *
 * Below it, a part (part.h) computes a section of the network, the shards
 * (shards.h) hold its weights and communicate along the data axis, and gw_pipe
 * passes messages along the pipe axis.
 */
#ifndef GW__PARALLEL_PARTS_H
#define GW__PARALLEL_PARTS_H

#include "learn/network/part.h"

#include <gradwire/parallel.h>

/* Communicators of this rank along the axes; NULL where there is nobody else.
 * `data` is all of the data axis, when nothing is sharded along it; else
 * `group` shares one copy and `replicas` have the same block. */
struct gw__axes {
    unsigned d, t, p; /* where this rank is */
    struct gw_comm *tensor, *data, *group, *replicas, *pipe;
};

GW_MUST_CHECK enum gw_err gw__axes_init(struct gw__axes *axes,
                                        struct gw_comm *comm,
                                        const struct gw_layout *layout,
                                        struct gw_error *why);
void gw__axes_fini(struct gw__axes *axes);
void gw__axes_reset(const struct gw__axes *axes);
/* Adds the bytes sent since the reset. */
void gw__axes_count(const struct gw__axes *axes,
                    struct gw_parallel_counts *counts);

struct gw_parallel {
    struct gw_parallel_config config;
    const struct gw_layout *layout;
    const struct gw_schedule *schedule;
    struct gw__axes axes;
    unsigned chunks, micros;
    unsigned *operators; /* of this rank, in the order of the forward pass */
    unsigned operator_count;
    struct gw__shards *shards;
    struct gw__part **parts; /* a chunk each */
    struct gw__tape **tapes; /* chunk * micros + micro: under way */
    struct gw_pipe *pipe;    /* NULL: one stage */
    float **activations;     /* of one stage: chunk * micros + micro, what goes
                                into the chunk, and the gradient of that */
    float **gradients;
    float *messages; /* where they lie */
    /* of the step under way */
    const struct gw_dataset *data;
    const uint32_t *rows;    /* of this data coordinate */
    unsigned *weights_added; /* a chunk each: passes B or W so far */
    struct gw__judged judged;
    uint64_t collectives; /* of the parts, when the step began */
    /* over all steps */
    struct gw_parallel_counts counts;
    uint64_t steps;
};

/* Index of what belongs to a micro-batch in a chunk. */
static inline size_t gw__parallel_at(const struct gw_parallel *parallel,
                                     unsigned chunk, unsigned micro)
{
    return (size_t)chunk * parallel->micros + micro;
}

/* ---- parallel_work.c: its context is the gw_parallel ---- */

extern const struct gw_stage_work gw__parallel_work;
/* Gives back what a step that failed has left. */
void gw__parallel_drop_tapes(struct gw_parallel *parallel);

/* ---- parallel_step.c ---- */

/* GW_EINVAL: it has more features or classes than the network. */
GW_MUST_CHECK enum gw_err gw__parallel_check(const struct gw_parallel *parallel,
                                             const struct gw_dataset *data,
                                             struct gw_error *why);
/* What this rank alone finds wrong, the others must hear of: they wait for it.
 * With several axes the sentence says where on them this rank is: a peer's
 * number in it is that on an axis. Returns `code`. */
enum gw_err gw__parallel_fail(struct gw_parallel *parallel, enum gw_err code,
                              struct gw_error *own);
/* Adds up over all ranks what was judged; loss becomes the mean of `rows`.
 * GW_EWRONG: training diverges. */
GW_MUST_CHECK enum gw_err gw__parallel_judge(struct gw_parallel *parallel,
                                             size_t rows,
                                             struct gw_parallel_report *report,
                                             struct gw_error *why);

#endif
