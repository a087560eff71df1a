/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The life of one rank: its epochs and its reports. Every rank shuffles the
 * same rows in the same way and takes the same steps on the same sums, so all
 * of them make the same decisions (to stop, to give up) without communication.
 * Read on in train_step.c.
 */
#include "common/command.h"
#include "train_worker.h"

#include <math.h>

static enum gw_err worker_init(struct worker *w, struct gw_error *why)
{
    const struct training *t = w->training;
    enum gw_err code = gw_model_new(t->kind, t->train->shape, &w->model, why);
    if (!code)
        code = gw_sums_init(&w->sums, w->model, why);
    if (!code)
        code = gw_order_init(&w->order, t->train->shape->rows, t->batch,
                             common.seed, why);
    if (code)
        return code;
    w->mine = gw_alloc(t->vector_length * sizeof *w->mine, why);
    w->all = w->mine ? gw_alloc(t->vector_length * sizeof *w->all, why) : NULL;
    if (!w->all)
        return why->code;
    w->steps_planned = (uint64_t)t->epochs * gw_order_batches(&w->order);
    return GW_OK;
}

/* A rank that receives its weights has none before: NaN would stay NaN. */
static enum gw_err spread_weights(struct worker *w, struct gw_error *why)
{
    size_t count = w->model->parameter_count;
    if (!w->training->init_broadcast)
        return GW_OK;
    for (size_t i = 0; i < count && w->rank != 0; i++)
        w->model->parameters[i] = NAN;
    return train_broadcast(w->comm, w->model->parameters, count, &w->init_bytes,
                           why);
}

static void worker_fini(struct worker *w)
{
    gw_free(w->mine);
    gw_free(w->all);
    gw_order_fini(&w->order);
    gw_sums_fini(&w->sums);
    gw_model_destroy(&w->model);
}

static void report_step(struct worker *w, enum report_kind kind, unsigned epoch)
{
    const struct train_report report = {
        .kind = kind,
        .epoch = epoch + 1,
        .steps = w->steps,
        .loss = w->loss / (double)w->epoch_rows,
        .accuracy = w->right / (double)w->epoch_rows,
        .rate = train_rate(w),
        .train_ns = gw_now_ns() - w->begin_ns,
    };
    report_send(w->report, &report, sizeof report);
}

static void show_progress(struct worker *w, unsigned epoch)
{
    enum { EVERY_NS = 100 * 1000 * 1000 };
    uint64_t now = gw_now_ns();
    if (w->rank != 0 || now - w->shown_ns < EVERY_NS)
        return;
    w->shown_ns = now;
    report_step(w, REPORT_PROGRESS, epoch);
}

/* A loss 100 times worse than guessing is not noise. */
static bool is_hopeless(const struct worker *w)
{
    double guessing = log((double)w->training->train->shape->class_count);
    return w->loss / (double)w->epoch_rows > 100 * guessing;
}

static enum gw_err run_epoch(struct worker *w, unsigned epoch,
                             struct gw_error *why)
{
    w->loss = w->right = 0;
    w->epoch_rows = 0;
    gw_order_shuffle(&w->order, epoch);
    size_t batches = gw_order_batches(&w->order);
    for (size_t b = 0; b < batches && !w->stopped; b++) {
        enum gw_err code = train_step(w, epoch, b, why);
        if (code)
            return code;
        show_progress(w, epoch);
    }
    if (is_hopeless(w))
        return train_diverged(w, epoch, w->loss / (double)w->epoch_rows, why);
    if (w->rank == 0 && !w->stopped)
        report_step(w, REPORT_EPOCH, epoch);
    w->until = w->loss / (double)w->epoch_rows < w->training->until;
    return GW_OK;
}

static void report_trained(struct worker *w)
{
    const struct train_report report = {
        .kind = REPORT_TRAINED,
        .steps = w->steps,
        .rows = w->rows,
        .train_ns = gw_now_ns() - w->begin_ns,
        .comm_ns = w->comm_ns,
        .bytes_sent = train_bytes_sent(w->comm),
        .init_bytes = w->init_bytes,
        .data_bytes = gw__row_source_bytes_read(w->training->train),
        .stopped = w->stopped,
        .until = w->until && !w->stopped,
    };
    report_send(w->report, &report, sizeof report);
}

static enum gw_err train(struct worker *w, struct gw_error *why)
{
    enum gw_err code = spread_weights(w, why);
    if (code)
        return code;
    code = gw_barrier(w->comm); /* start the clocks together */
    if (code)
        return gw_fail(why, code, "%s", gw_comm_error(w->comm)->text);
    gw_comm_counters_reset(w->comm);
    w->begin_ns = w->shown_ns = gw_now_ns();
    bool ends = false;
    for (unsigned e = 0; e < w->training->epochs && !ends && !code; e++) {
        code = run_epoch(w, e, why);
        ends = w->stopped || w->until;
    }
    if (!code)
        report_trained(w);
    return code;
}

enum gw_err train_rank(struct gw_comm *comm, struct reporter *report,
                       void *context, struct gw_error *why)
{
    struct worker w = {
        .training = context,
        .comm = comm,
        .report = report,
        .rank = gw_comm_rank(comm),
    };
    enum gw_err code = worker_init(&w, why);
    if (!code)
        code = train(&w, why);
    if (!code)
        code = train_check_equal(&w, why);
    if (!code)
        code = train_evaluate(&w, why);
    /* The engine may have interrupted only one rank, but all must report it. */
    if (!code && w.stopped && w.training->launched)
        code =
            gw_fail(why, GW_EINTR, "training ended by a signal after step %llu",
                    (unsigned long long)w.steps);
    worker_fini(&w);
    return code;
}
