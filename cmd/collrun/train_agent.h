/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `collrun train cartpole`: an agent whose ranks all play and all learn, A2C
 * (Mnih et al. 2016): each rank plays its share of a batch's episodes with the
 * same parameters, gradients are all-reduced, and each takes the same step.
 * gradwire-train(3) has the task; its gradients add up without error, so the
 * parameters are the same bits for any number of ranks and any algorithm, and
 * the same as those of psnode train under bsp.
 *
 * train_agent.c is the supervisor's part, train_agent_rank.c that of a rank.
 */
#ifndef TRAIN_AGENT_H
#define TRAIN_AGENT_H

#include "common/launch.h"
#include "common/output.h"

#include <gradwire/train.h>

/* As asked for. */
struct agent_options {
    unsigned ranks;
    const struct placed *placed; /* NULL: the ranks are started here */
    const char *wire, *algo;     /* "auto", or a name or a file of a plug-in */
    const char *settings;        /* or NULL */
    const char *init;            /* "same" or "broadcast" */
    const char *until;           /* or NULL */
};

struct agent_training {
    struct agent_options options;
    struct gw_task *task;
    const char *algo; /* chosen before the start; NULL with one rank */
    bool init_broadcast;
    double until;          /* as run/until.h has it */
    size_t floats;         /* of all parameters */
    struct gw_price price; /* of a step's all-reduce: floats and AGENT_SUMS */
    struct agent_results *results;
};

/* What travels behind the gradient. */
enum {
    AGENT_EPISODES,
    AGENT_STEPS,
    AGENT_LOSS,
    AGENT_POLICY,
    AGENT_VALUE,
    AGENT_ENTROPY,
    AGENT_STOP, /* ranks that were asked to stop */
    AGENT_SUMS
};

enum agent_report_kind {
    AGENT_EPOCH,   /* from rank 0 */
    AGENT_TRAINED, /* from each rank, after its last step */
    AGENT_SCORES   /* from rank 0, at last */
};

struct agent_report {
    enum agent_report_kind kind;
    uint64_t epoch, updates;
    double sums[AGENT_SUMS]; /* of the epoch */
    uint64_t train_ns, comm_ns, bytes_sent, messages_sent, init_bytes;
    double test_return;
    uint64_t digest;
    bool stopped, until; /* why it ended, if not after the last epoch */
};

/* launch.rank_main; the context is a struct agent_training. */
enum gw_err agent_rank(struct gw_comm *comm, struct reporter *report,
                       void *context, struct gw_error *why);
/* The command; its exit status. */
int agent_train(const struct agent_options *options);

#endif
