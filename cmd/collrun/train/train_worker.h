/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The state of one rank of `collrun train`, shared by the three files of its
 * life: train_rank.c (from its start through the epochs), train_step.c (one
 * step) and train_scores.c (the end).
 */
#ifndef TRAIN_WORKER_H
#define TRAIN_WORKER_H

#include "train.h"

struct worker {
    const struct training *training;
    struct gw_comm *comm;
    struct reporter *report;
    unsigned rank;

    struct gw_model *model;
    struct gw_order order;
    struct gw_sums sums; /* over this rank's rows */
    float *mine, *all;   /* the same for the all-reduce: f32, then EXTRAS */

    uint64_t steps, steps_planned, rows;
    double loss, right; /* of this epoch so far */
    uint64_t epoch_rows;
    uint64_t begin_ns, comm_ns, shown_ns;
    uint64_t init_bytes; /* sent by this rank with the first weights */
    bool stopped;        /* a rank was interrupted */
    bool until;          /* the stop rule holds */
};

/* Adds up `count` elements over all ranks, by the algorithm of the run. */
enum gw_err train_add_up(struct worker *worker, const void *in, void *out,
                         size_t count, enum gw_dtype type, enum gw_redop op,
                         struct gw_error *why);
/* Trains on batch b of this epoch; sets `stopped` if any rank was interrupted.
 * GW_EWRONG: the loss is infinite or NaN. */
enum gw_err train_step(struct worker *worker, unsigned epoch, size_t batch,
                       struct gw_error *why);
/* GW_EWRONG, with advice. */
enum gw_err train_diverged(const struct worker *worker, unsigned epoch,
                           double loss, struct gw_error *why);
/* The learning rate of the next step. */
double train_rate(const struct worker *worker);
/* GW_EWRONG: the ranks have different parameters. */
enum gw_err train_check_equal(struct worker *worker, struct gw_error *why);
/* Scores the finished model on all rows, and reports. GW_EWRONG: the last step
 * has diverged. */
enum gw_err train_evaluate(struct worker *worker, struct gw_error *why);

#endif
