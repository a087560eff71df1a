/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One step of data-parallel training. Each rank computes the gradient of its
 * share of the batch, the ranks add them up, and each takes the same step on
 * the same sum:
 *
 *     w = w - rate (1/B sum over ranks (sum over its rows dloss/dw) + l2 w)
 *
 * (with momentum, see gradwire-learn(3)). So the parameters stay equal without
 * being sent. Loss, right answers and the request to stop follow the gradient
 * in the same message.
 */
#include "common/command.h"
#include "train_worker.h"

#include <math.h>

enum gw_err train_add_up(struct worker *w, const void *in, void *out,
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

double train_rate(const struct worker *w)
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

enum gw_err train_diverged(const struct worker *w, unsigned epoch, double loss,
                           struct gw_error *why)
{
    return gw_fail(why, GW_EWRONG,
                   "training diverges: the loss is %g in epoch %u, step %llu; "
                   "use --lr below %g or another --scale",
                   loss, epoch + 1, (unsigned long long)w->steps + 1,
                   w->training->rate);
}

enum gw_err train_step(struct worker *w, unsigned epoch, size_t batch,
                       struct gw_error *why)
{
    const struct training *t = w->training;
    size_t batch_rows = gw_order_batch_rows(&w->order, batch), share;
    const uint32_t *rows =
        gw_order_share(&w->order, batch, w->rank, t->ranks, &share);
    enum gw_err code =
        gw__row_source_gradient(t->train, w->model, rows, share, &w->sums, why);
    if (code)
        return code;
    pack(w);

    uint64_t sent_ns = gw_now_ns();
    code =
        train_add_up(w, w->mine, w->all, t->vector_length, GW_F32, GW_SUM, why);
    w->comm_ns += gw_now_ns() - sent_ns;
    if (code)
        return code;

    const float *extra = w->all + w->model->parameter_count;
    double loss = (double)extra[EXTRA_LOSS];
    const struct gw_sgd sgd = {train_rate(w), t->momentum, t->l2};
    bool finite = gw_model_step(w->model, &sgd, w->all, batch_rows);
    if (!isfinite(loss) || !finite)
        return train_diverged(w, epoch, loss, why);
    w->loss += loss;
    w->right += (double)extra[EXTRA_RIGHT];
    w->stopped = extra[EXTRA_STOP] > 0;
    w->epoch_rows += batch_rows;
    w->rows += batch_rows;
    w->steps++;
    return GW_OK;
}
