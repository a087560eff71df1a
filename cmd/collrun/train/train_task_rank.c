/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The life of one rank that trains a task: see train_task.h. Its parameters are
 * tables in this process, which only the sums of all ranks change.
 */
#include "common/command.h"
#include "run/node/ps.h"
#include "train.h"
#include "train_task.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct learner {
    const struct task_training *training;
    struct gw_comm *comm;
    struct reporter *report;
    unsigned rank;
    const struct gw_ps_table_config *table;
    struct gw_work_item *item;
    struct gw_table_store *store;
    uint64_t *keys;
    float *rows, *mine, *all; /* the last two: gradient, then TASK_SUMS */
    double sums[TASK_SUMS];   /* of this epoch so far */
    uint64_t updates, begin_ns, comm_ns, init_bytes;
    bool stopped, until;
};

static enum gw_err learner_init(struct learner *p, struct gw_error *why)
{
    const struct task_training *t = p->training;
    size_t bytes = (t->floats + TASK_SUMS) * sizeof(float);
    unsigned count;
    p->table = gw_task_tables(t->task, &count);
    enum gw_err code = gw_work_item_new(t->task, &p->item, why);
    if (!code)
        code = gw_table_store_new(p->table, count, &p->store, why);
    if (code)
        return code;
    p->keys = calloc(p->table->dense, sizeof *p->keys);
    p->rows = calloc(t->floats, sizeof *p->rows);
    if (!p->keys || !p->rows)
        return gw_fail(why, GW_ENOMEM, "the task");
    for (uint64_t k = 0; k < p->table->dense; k++)
        p->keys[k] = k;
    p->mine = gw_alloc(bytes, why);
    p->all = p->mine ? gw_alloc(bytes, why) : NULL;
    return p->all ? GW_OK : why->code;
}

static void learner_fini(struct learner *p)
{
    gw_free(p->mine);
    gw_free(p->all);
    free(p->keys);
    free(p->rows);
    gw_table_store_destroy(&p->store);
    gw_work_item_destroy(&p->item);
}

static enum gw_err add_up(struct learner *p, const void *in, void *out,
                          size_t count, enum gw_dtype type, enum gw_redop op,
                          struct gw_error *why)
{
    const struct gw_call call = {.collective = GW_ALLREDUCE,
                                 .in = in,
                                 .out = out,
                                 .count = count,
                                 .type = type,
                                 .op = op,
                                 .algo = p->training->algo};
    uint64_t sent_ns = gw_now_ns();
    enum gw_err code = gw_run(p->comm, &call);
    p->comm_ns += gw_now_ns() - sent_ns;
    return code ? gw_fail(why, code, "%s", gw_comm_error(p->comm)->text)
                : GW_OK;
}

/* This rank's samples of a batch; p->mine is its contribution. */
static enum gw_err compute_batch(struct learner *p, uint64_t epoch,
                                 uint64_t batch, struct gw_error *why)
{
    const struct task_training *t = p->training;
    const struct gw_work_item_id id = {epoch, batch, p->rank, t->options.ranks};
    const float *rows[GW_TASK_TABLES_MAX] = {p->rows};
    float *gradients[GW_TASK_TABLES_MAX] = {p->mine};
    float *sums = p->mine + t->floats;
    struct gw_sample_sums found;
    enum gw_err code = gw_work_item_prepare(p->item, &id, why);
    if (code)
        return code;
    /* A rank without a sample has no keys, and adds zeros. */
    memset(p->mine, 0, (t->floats + TASK_SUMS) * sizeof *p->mine);
    gw_table_store_pull(p->store, 0, p->keys, p->table->dense, p->rows);
    gw_work_item_compute(p->item, rows, gradients, &found);
    sums[TASK_SAMPLES] = (float)found.samples;
    sums[TASK_RIGHT] = (float)found.right;
    sums[TASK_LOSS] = (float)found.loss;
    sums[TASK_POLICY] = (float)found.policy_loss;
    sums[TASK_VALUE] = (float)found.value_loss;
    sums[TASK_ENTROPY] = (float)found.entropy;
    sums[TASK_STOP] = interrupted ? 1 : 0;
    return GW_OK;
}

static enum gw_err update(struct learner *p, uint64_t epoch, uint64_t batch,
                          struct gw_error *why)
{
    size_t floats = p->training->floats;
    enum gw_err code = compute_batch(p, epoch, batch, why);
    if (!code)
        code =
            add_up(p, p->mine, p->all, floats + TASK_SUMS, GW_F32, GW_SUM, why);
    if (!code)
        code = gw_table_store_push(p->store, 0, p->keys, p->table->dense,
                                   p->all, why);
    if (code)
        return code;
    gw_table_store_step(p->store);
    for (unsigned i = 0; i < TASK_SUMS; i++)
        p->sums[i] += (double)p->all[floats + i];
    if (!isfinite(p->sums[TASK_LOSS]))
        return gw_fail(why, GW_EWRONG,
                       "training diverges after %llu updates; use a lower --lr",
                       (unsigned long long)p->updates);
    p->stopped = p->sums[TASK_STOP] > 0;
    p->updates++;
    return GW_OK;
}

static void report_epoch(struct learner *p, struct task_report report)
{
    report.updates = p->updates;
    report.train_ns = gw_now_ns() - p->begin_ns;
    report.comm_ns = p->comm_ns;
    report.init_bytes = p->init_bytes;
    report.stopped = p->stopped;
    report.until = p->until && !p->stopped;
    memcpy(report.sums, p->sums, sizeof report.sums);
    report_send(p->report, &report, sizeof report);
}

static enum gw_err run_epoch(struct learner *p, uint64_t epoch,
                             struct gw_error *why)
{
    size_t batches = gw_task_batches(p->training->task);
    enum gw_err code = GW_OK;
    memset(p->sums, 0, sizeof p->sums);
    for (uint64_t b = 0; b < batches && !p->stopped && !code; b++)
        code = update(p, epoch, b, why);
    if (!code && p->rank == 0 && !p->stopped)
        report_epoch(p,
                     (struct task_report){.kind = TASK_EPOCH, .epoch = epoch});
    p->until = p->sums[TASK_LOSS] / p->sums[TASK_SAMPLES] < p->training->until;
    return code;
}

static void report_trained(struct learner *p)
{
    struct task_report report = {.kind = TASK_TRAINED,
                                 .bytes_sent = train_bytes_sent(p->comm)};
    for (unsigned peer = 0; peer < p->training->options.ranks; peer++) {
        struct gw_counters link;
        if (peer == p->rank)
            continue;
        gw_comm_counters(p->comm, peer, &link);
        report.messages_sent += link.messages_sent;
    }
    report_epoch(p, report);
}

/* Checks that all ranks have the same bits, and scores the model. */
static enum gw_err evaluate_model(struct learner *p, struct gw_error *why)
{
    const struct task_training *t = p->training;
    const struct gw_fetch fetch = gw_table_store_fetch(p->store);
    uint64_t epochs = gw_task_config(t->task)->epochs, least = 0;
    struct task_report report = {.kind = TASK_SCORES};
    struct gw_task_score score = {0};
    enum gw_err code = ps_digest(t->task, &fetch, &report.digest, why);
    if (!code)
        code = add_up(p, &report.digest, &least, 1, GW_U64, GW_MIN, why);
    if (!code && least != report.digest)
        return gw_fail(why, GW_EWRONG,
                       "the ranks' parameters differ after %llu updates",
                       (unsigned long long)p->updates);
    if (code || p->rank != 0)
        return code;
    code = gw_task_evaluate(t->task, GW_TASK_TEST, epochs, &fetch, &score, why);
    report.test_quality = code ? (double)NAN : score.quality;
    if (code && code != GW_ENOTSUP)
        return code;
    report_epoch(p, report);
    return GW_OK;
}

/* Rank 0's first weights replace the rank's own. */
static enum gw_err spread_weights(struct learner *p, struct gw_error *why)
{
    const struct task_training *t = p->training;
    if (!t->init_broadcast)
        return GW_OK;
    if (p->rank == 0)
        gw_table_store_pull(p->store, 0, p->keys, p->table->dense, p->rows);
    enum gw_err code =
        train_broadcast(p->comm, p->rows, t->floats, &p->init_bytes, why);
    return code ? code
                : gw_table_store_assign(p->store, 0, p->keys, p->table->dense,
                                        p->rows, why);
}

static enum gw_err train_epochs(struct learner *p, struct gw_error *why)
{
    uint64_t epochs = gw_task_config(p->training->task)->epochs;
    enum gw_err code = spread_weights(p, why);
    if (code)
        return code;
    code = gw_barrier(p->comm);
    if (code)
        return gw_fail(why, code, "%s", gw_comm_error(p->comm)->text);
    gw_comm_counters_reset(p->comm);
    p->begin_ns = gw_now_ns();
    bool ends = false;
    for (uint64_t e = 0; e < epochs && !ends && !code; e++) {
        code = run_epoch(p, e, why);
        ends = p->stopped || p->until;
    }
    if (code)
        return code;
    report_trained(p);
    return evaluate_model(p, why);
}

enum gw_err task_rank(struct gw_comm *comm, struct reporter *report,
                      void *context, struct gw_error *why)
{
    struct learner learner = {.training = context,
                              .comm = comm,
                              .report = report,
                              .rank = gw_comm_rank(comm)};
    enum gw_err code = learner_init(&learner, why);
    if (!code)
        code = train_epochs(&learner, why);
    /* The engine may have interrupted only one rank, but all must report it. */
    if (!code && learner.stopped && learner.training->options.launched)
        code = gw_fail(why, GW_EINTR,
                       "training ended by a signal after update %llu",
                       (unsigned long long)learner.updates);
    learner_fini(&learner);
    return code;
}
