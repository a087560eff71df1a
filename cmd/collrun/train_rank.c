/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One rank of data-parallel training. In each step it computes the gradient of
 * its share of the batch, all ranks add theirs up, and each takes the same step
 * on the same sum:
 *
 *     w = w - rate (1/B sum over ranks of (sum over my rows of dloss/dw) + l2
 * w)
 *
 * So the parameters stay equal without being sent; a digest proves it at last.
 * Loss, right answers and the wish to stop ride behind the gradient: they cost
 * no message of their own.
 */
#include "common/command.h"
#include "train.h"

#include <math.h>
#include <string.h>

struct worker {
    const struct training *training;
    struct gw_comm *comm;
    struct reporter *report;
    unsigned rank;

    struct gw_model *model;
    struct gw_order order;
    struct gw_sums sums; /* over this rank's rows */
    float *mine, *all;   /* the same as it travels: f32, then EXTRAS */

    uint64_t steps, steps_planned, rows;
    double loss, right; /* of this epoch so far */
    uint64_t epoch_rows;
    uint64_t begin_ns, comm_ns, shown_ns;
    bool stopped;
};

static enum gw_err worker_init(struct worker *w, struct gw_error *why)
{
    const struct training *t = w->training;
    enum gw_err code = gw_model_new(t->kind, t->train, &w->model, why);
    if (!code)
        code = gw_sums_init(&w->sums, w->model, why);
    if (!code)
        code = gw_order_init(&w->order, t->train->rows, t->batch, common.seed,
                             why);
    if (code)
        return code;
    w->mine = gw_alloc(t->vector_length * sizeof *w->mine, why);
    w->all = w->mine ? gw_alloc(t->vector_length * sizeof *w->all, why) : NULL;
    if (!w->all)
        return why->code;
    w->steps_planned = (uint64_t)t->epochs * gw_order_batches(&w->order);
    return GW_OK;
}

static void worker_fini(struct worker *w)
{
    gw_free(w->mine);
    gw_free(w->all);
    gw_order_fini(&w->order);
    gw_sums_fini(&w->sums);
    gw_model_destroy(&w->model);
}

static enum gw_err add_up(struct worker *w, const void *in, void *out,
                          size_t count, enum gw_dtype type, enum gw_redop op,
                          struct gw_error *why)
{
    const struct gw_call call = {
        .collective = GW_ALLREDUCE,
        .in = in,
        .out = out,
        .count = count,
        .type = type,
        .op = op,
        .algo = w->training->algo,
    };
    enum gw_err code = gw_run(w->comm, &call);
    return code ? gw_fail(why, code, "%s", gw_comm_error(w->comm)->text)
                : GW_OK;
}

/* ---- a step ---- */

static double rate_now(const struct worker *w)
{
    const struct training *t = w->training;
    if (!t->cosine)
        return t->rate;
    /* Loshchilov and Hutter, SGDR, 2017, without restarts */
    double done = (double)w->steps / (double)w->steps_planned;
    return t->rate * 0.5 * (1 + cos(M_PI * done));
}

static void pack(struct worker *w)
{
    size_t count = w->model->parameter_count;
    float *extra = w->mine + count;
    for (size_t i = 0; i < count; i++)
        w->mine[i] = (float)w->sums.gradient[i];
    extra[EXTRA_LOSS] = (float)w->sums.loss;
    extra[EXTRA_RIGHT] = (float)w->sums.right;
    extra[EXTRA_STOP] = interrupted ? 1 : 0;
}

static enum gw_err refuse_divergence(const struct worker *w, unsigned epoch,
                                     double loss, struct gw_error *why)
{
    return gw_fail(why, GW_EWRONG,
                   "training diverges: the loss is %g in epoch %u, step %llu; "
                   "try --lr below %g, or another --scale",
                   loss, epoch + 1, (unsigned long long)w->steps + 1,
                   w->training->rate);
}

static enum gw_err step(struct worker *w, unsigned epoch, size_t batch,
                        struct gw_error *why)
{
    const struct training *t = w->training;
    size_t batch_rows = gw_order_batch_rows(&w->order, batch), share;
    const uint32_t *rows =
        gw_order_share(&w->order, batch, w->rank, t->ranks, &share);
    gw_model_gradient(w->model, t->train, rows, share, &w->sums);
    pack(w);

    uint64_t sent_ns = gw_now_ns();
    enum gw_err code =
        add_up(w, w->mine, w->all, t->vector_length, GW_F32, GW_SUM, why);
    w->comm_ns += gw_now_ns() - sent_ns;
    if (code)
        return code;

    const float *extra = w->all + w->model->parameter_count;
    double loss = (double)extra[EXTRA_LOSS];
    if (!isfinite(loss))
        return refuse_divergence(w, epoch, loss, why);
    const struct gw_sgd sgd = {rate_now(w), t->momentum, t->l2};
    gw_model_step(w->model, &sgd, w->all, batch_rows);
    w->loss += loss;
    w->right += (double)extra[EXTRA_RIGHT];
    w->stopped = extra[EXTRA_STOP] > 0;
    w->epoch_rows += batch_rows;
    w->rows += batch_rows;
    w->steps++;
    return GW_OK;
}

/* ---- the epochs ---- */

static void tell(struct worker *w, enum report_kind kind, unsigned epoch)
{
    const struct train_report report = {
        .kind = kind,
        .epoch = epoch + 1,
        .steps = w->steps,
        .loss = w->loss / (double)w->epoch_rows,
        .accuracy = w->right / (double)w->epoch_rows,
        .rate = rate_now(w),
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
    tell(w, REPORT_PROGRESS, epoch);
}

/* Worse than guessing by a factor of a hundred is no noise. */
static bool is_hopeless(const struct worker *w)
{
    double guessing = log((double)w->training->train->class_count);
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
        enum gw_err code = step(w, epoch, b, why);
        if (code)
            return code;
        show_progress(w, epoch);
    }
    if (is_hopeless(w))
        return refuse_divergence(w, epoch, w->loss / (double)w->epoch_rows,
                                 why);
    if (w->rank == 0 && !w->stopped)
        tell(w, REPORT_EPOCH, epoch);
    return GW_OK;
}

static void tell_trained(struct worker *w)
{
    struct train_report report = {
        .kind = REPORT_TRAINED,
        .steps = w->steps,
        .rows = w->rows,
        .train_ns = gw_now_ns() - w->begin_ns,
        .comm_ns = w->comm_ns,
        .stopped = w->stopped,
    };
    for (unsigned peer = 0; peer < w->training->ranks; peer++) {
        struct gw_counters link;
        if (peer == w->rank)
            continue;
        gw_comm_counters(w->comm, peer, &link);
        report.bytes_sent += link.bytes_sent;
    }
    report_send(w->report, &report, sizeof report);
}

static enum gw_err train(struct worker *w, struct gw_error *why)
{
    enum gw_err code = gw_barrier(w->comm); /* start the clocks together */
    if (code)
        return gw_fail(why, code, "%s", gw_comm_error(w->comm)->text);
    gw_comm_counters_reset(w->comm);
    w->begin_ns = w->shown_ns = gw_now_ns();
    for (unsigned e = 0; e < w->training->epochs && !w->stopped && !code; e++)
        code = run_epoch(w, e, why);
    if (!code)
        tell_trained(w);
    return code;
}

/* ---- the end ---- */

/* All ranks took the same steps, or something is broken. */
static enum gw_err check_equal(struct worker *w, struct gw_error *why)
{
    uint64_t digest = gw_model_digest(w->model), least = 0, largest = 0;
    enum gw_err code = add_up(w, &digest, &least, 1, GW_U64, GW_MIN, why);
    if (!code)
        code = add_up(w, &digest, &largest, 1, GW_U64, GW_MAX, why);
    if (!code && least != largest)
        return gw_fail(why, GW_EWRONG,
                       "after %llu steps the ranks' parameters differ "
                       "(digest %016llx here, others have %016llx)",
                       (unsigned long long)w->steps, (unsigned long long)digest,
                       (unsigned long long)(digest == least ? largest : least));
    return code;
}

static void evaluate_share(struct worker *w, const struct gw_dataset *data,
                           double sums[2])
{
    size_t p = w->training->ranks, r = w->rank;
    gw_model_evaluate(w->model, data, data->rows * r / p,
                      data->rows * (r + 1) / p, &w->sums);
    sums[0] = w->sums.loss;
    sums[1] = (double)w->sums.right;
}

static enum gw_err evaluate(struct worker *w, struct gw_error *why)
{
    const struct training *t = w->training;
    double mine[4] = {0}, all[4] = {0};
    evaluate_share(w, t->train, mine);
    if (t->test)
        evaluate_share(w, t->test, mine + 2);
    enum gw_err code = add_up(w, mine, all, 4, GW_F64, GW_SUM, why);
    if (code || w->rank != 0)
        return code;
    double rows = (double)t->train->rows;
    double tests = t->test ? (double)t->test->rows : (double)NAN;
    const struct train_report report = {
        .kind = REPORT_SCORES,
        .train_loss = all[0] / rows,
        .train_accuracy = all[1] / rows,
        .test_loss = all[2] / tests,
        .test_accuracy = all[3] / tests,
        .objective = all[0] / rows + t->l2 / 2 * gw_model_norm2(w->model),
    };
    report_send(w->report, &report, sizeof report);
    return GW_OK;
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
        code = check_equal(&w, why);
    if (!code)
        code = evaluate(&w, why);
    worker_fini(&w);
    return code;
}
