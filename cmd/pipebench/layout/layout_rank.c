/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One rank of a layout in training: its steps, over the same batches as all
 * others, and its reports. The batches are full: remaining rows at the end of
 * an epoch are left for the next one, which has another order.
 */
#include "common/command.h"
#include "layout.h"

struct worker {
    const struct layout_run *run;
    struct gw_comm *comm;
    struct reporter *report;
    struct gw_parallel *parallel;
    struct gw_order order;
    double comm_us, exposed_us;
    double losses; /* of the steps of this pass over the data */
};

static enum gw_err start_training(struct worker *w, struct gw_error *why)
{
    const struct layout_run *run = w->run;
    const struct layout_options *options = run->options;
    const struct gw_parallel_config config = {
        .comm = w->comm,
        .layout = run->layout,
        .schedule = run->schedule,
        .optimiser = options->optimiser,
        .rate = options->rate,
        .momentum = options->momentum,
        .seed = common.seed,
        .bucket_bytes = options->bucket_bytes,
        .overlap = options->overlap,
        .algo = options->algo,
    };
    enum gw_err err =
        gw_order_init(&w->order, run->train->rows, run->layout->options.batch,
                      common.seed, why);
    return err ? err : gw_parallel_new(&config, &w->parallel, why);
}

/* The rows of a step, and the next epoch's order when one begins. */
static const uint32_t *rows_of(struct worker *w, unsigned step)
{
    size_t count, batches = w->order.rows / w->order.batch;
    if (step % batches == 0)
        gw_order_shuffle(&w->order, (unsigned)(step / batches));
    return gw_order_share(&w->order, step % batches, 0, 1, &count);
}

static void send_report(struct worker *w, const struct layout_report *report)
{
    report_send(w->report, report, sizeof *report);
}

/* The loss is the same on all ranks, so all end after the same step. */
static bool should_stop(struct worker *w, unsigned step, double loss)
{
    size_t batches = w->order.rows / w->order.batch;
    w->losses = step % batches == 0 ? loss : w->losses + loss;
    return (step + 1) % batches == 0 &&
           w->losses / (double)batches < w->run->options->until;
}

static enum gw_err train(struct worker *w, struct gw_error *why)
{
    struct layout_report report = {.kind = LAYOUT_STEP};
    bool first = gw_comm_rank(w->comm) == 0;
    gw_parallel_counts_reset(w->parallel);
    for (unsigned step = 0; step < w->run->options->steps && !report.until;
         step++) {
        if (interrupted)
            return gw_fail(why, GW_EINTR, "stopped after step %u", step);
        enum gw_err err =
            gw_parallel_step(w->parallel, w->run->train, rows_of(w, step),
                             &report.step_report, why);
        if (err == GW_EWRONG) /* it names the step */
            return err;
        if (err)
            return gw_wrap(why, err, "step %u", step + 1);
        report.step = step + 1;
        w->comm_us += report.step_report.comm_us;
        w->exposed_us += report.step_report.exposed_us;
        if (first)
            send_report(w, &report);
        report.until = should_stop(w, step, report.step_report.loss);
    }
    report.kind = LAYOUT_COUNTS;
    report.comm_us = w->comm_us;
    report.exposed_us = w->exposed_us;
    gw_parallel_counts(w->parallel, &report.counts);
    send_report(w, &report);
    return GW_OK;
}

static enum gw_err report_scores(struct worker *w, struct gw_error *why)
{
    struct layout_report report = {.kind = LAYOUT_SCORES};
    if (!w->run->test)
        return GW_OK;
    enum gw_err err = gw_parallel_evaluate(w->parallel, w->run->test,
                                           &report.step_report, why);
    if (!err && gw_comm_rank(w->comm) == 0)
        send_report(w, &report);
    return err;
}

enum gw_err layout_rank(struct gw_comm *comm, struct reporter *report,
                        void *context, struct gw_error *why)
{
    struct worker w = {.run = context, .comm = comm, .report = report};
    enum gw_err err = start_training(&w, why);
    if (!err)
        err = train(&w, why);
    if (!err)
        err = report_scores(&w, why);
    gw_parallel_destroy(&w.parallel);
    gw_order_fini(&w.order);
    return err;
}
