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

#include "learn/network/model_chunk.h"

#include <gradwire/parallel.h>

/* This rank's communicators along the axes; NULL if the axis has one rank.
 * `data` is the whole data axis, used if nothing is sharded. Otherwise `group`
 * shares one copy, and `replicas` have the same block. */
struct gw__axes {
    unsigned d, t, p; /* coordinates of this rank */
    struct gw_comm *tensor, *data, *group, *replicas, *pipe;
};

GW_MUST_CHECK enum gw_err gw__axes_init(struct gw__axes *axes,
                                        struct gw_comm *comm,
                                        const struct gw_layout *layout,
                                        struct gw_error *why);
void gw__axes_fini(struct gw__axes *axes);
void gw__axes_reset(const struct gw__axes *axes);
/* Adds the number of bytes sent since the reset. */
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
    struct gw__model_chunk **model_chunks; /* one per chunk */
    struct gw__tape **tapes;               /* chunk * micros + micro: in use */
    uint64_t tape_bytes;                   /* of the tapes in use */
    struct gw_pipe *pipe;                  /* NULL: one stage */
    /* one stage only, chunk * micros + micro: a chunk's input and its
     * gradient */
    float **activations;
    float **gradients;
    float *messages; /* their memory */
    /* of the current step */
    const struct gw_dataset *data;
    const uint32_t *rows; /* of this data coordinate */
    /* for each chunk: number of passes B or W so far */
    unsigned *weights_added;
    struct gw__loss_sum loss_sum;
    uint64_t collectives; /* conversions before the step */
    /* over all steps */
    struct gw_parallel_counts counts;
    uint64_t steps;
};

/* The index of a micro-batch in a chunk. */
static inline size_t gw__parallel_at(const struct gw_parallel *parallel,
                                     unsigned chunk, unsigned micro)
{
    return (size_t)chunk * parallel->micros + micro;
}

/* ---- parallel_work.c: its context is a gw_parallel ---- */

extern const struct gw_stage_work gw__parallel_work;
/* Releases the tapes that a failed step has left. */
void gw__parallel_drop_tapes(struct gw_parallel *parallel);

/* ---- parallel_step.c ---- */

/* GW_EINVAL: the data have more features or classes than the network. */
GW_MUST_CHECK enum gw_err gw__parallel_check(const struct gw_parallel *parallel,
                                             const struct gw_dataset *data,
                                             struct gw_error *why);
/* Reports an error of this rank alone to the others, which wait for it. With
 * several axes the text has this rank's coordinates, since the number of a peer
 * in it is relative to an axis. Returns `code`. */
enum gw_err gw__parallel_fail(struct gw_parallel *parallel, enum gw_err code,
                              struct gw_error *own);
/* Adds up loss and correct answers over all ranks; loss becomes the mean of
 * `rows`. GW_EWRONG: training diverges. */
GW_MUST_CHECK enum gw_err
gw__parallel_reduce_loss(struct gw_parallel *parallel, size_t rows,
                         struct gw_parallel_report *report,
                         struct gw_error *why);

#endif
