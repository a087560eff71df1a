/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `collrun train net` and `cartpole`: tasks of gradwire-train(3) whose table is
 * dense. Each rank computes its share of a batch with the same parameters,
 * gradients are all-reduced, and each takes the same step. For the playing
 * agent this is A2C (Mnih et al. 2016). The gradients of these tasks add up
 * without error, so the parameters are the same bits for any number of ranks
 * and any algorithm, and the same as those of psnode train under bsp.
 *
 * train_task.c is the supervisor's part, train_task_rank.c that of a rank.
 */
#ifndef TRAIN_TASK_H
#define TRAIN_TASK_H

#include "common/launch.h"
#include "common/output.h"

#include <gradwire/train.h>

/* As typed. */
struct task_options {
    const char *model;
    const char *network, *data, *test; /* net; test may be NULL */
    unsigned ranks;
    const struct launched *launched; /* NULL: the ranks are started here */
    const char *wire, *algo; /* "auto", or a name or a file of a plug-in */
    const char *settings;    /* or NULL */
    const char *init;        /* "same" or "broadcast" */
    const char *until;       /* or NULL */
};

struct task_training {
    struct task_options options;
    struct gw_task *task;
    const char *algo; /* chosen before the start; NULL with one rank */
    bool init_broadcast;
    double until;          /* see run/until.h */
    size_t floats;         /* of all parameters */
    struct gw_price price; /* for a step's all-reduce: floats and TASK_SUMS */
    struct task_results *results;
};

/* The values after the gradient. */
enum {
    TASK_SAMPLES,
    TASK_RIGHT,
    TASK_LOSS,
    TASK_POLICY,
    TASK_VALUE,
    TASK_ENTROPY,
    TASK_STOP, /* interrupted ranks */
    TASK_SUMS
};

enum task_report_kind {
    TASK_EPOCH,   /* from rank 0 */
    TASK_TRAINED, /* from each rank, after its last step */
    TASK_SCORES   /* from rank 0, at the end */
};

struct task_report {
    enum task_report_kind kind;
    uint64_t epoch, updates;
    double sums[TASK_SUMS]; /* of the epoch */
    uint64_t train_ns, comm_ns, bytes_sent, messages_sent, init_bytes;
    double test_quality;
    uint64_t digest;
    bool stopped, until; /* the cause of an early end */
};

/* launch.rank_main; the context is a struct task_training. */
enum gw_err task_rank(struct gw_comm *comm, struct reporter *report,
                      void *context, struct gw_error *why);
/* Runs the command; returns its exit status. */
int task_train(const struct task_options *options);

#endif
