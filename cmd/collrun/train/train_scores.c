/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The end of a rank: proof that all ranks have the same parameters, and the
 * scores of the finished model on all rows, of which each rank computes its
 * share.
 */
#include "train_worker.h"

#include <math.h>

/* All ranks have taken the same steps; a difference is an error. */
enum gw_err train_check_equal(struct worker *w, struct gw_error *why)
{
    uint64_t digest = gw_model_digest(w->model), least = 0, largest = 0;
    enum gw_err code = train_add_up(w, &digest, &least, 1, GW_U64, GW_MIN, why);
    if (!code)
        code = train_add_up(w, &digest, &largest, 1, GW_U64, GW_MAX, why);
    if (!code && least != largest)
        return gw_fail(why, GW_EWRONG,
                       "the ranks' parameters differ after %llu steps: digest "
                       "%016llx here, %016llx on others",
                       (unsigned long long)w->steps, (unsigned long long)digest,
                       (unsigned long long)(digest == least ? largest : least));
    return code;
}

static void copy_sums(const struct worker *w, double sums[2])
{
    sums[0] = w->sums.loss;
    sums[1] = (double)w->sums.right;
}

static enum gw_err evaluate_own_rows(struct worker *w, double sums[4],
                                     struct gw_error *why)
{
    const struct training *t = w->training;
    size_t p = t->ranks, r = w->rank, rows = t->train->shape->rows;
    enum gw_err code = gw__row_source_evaluate(
        t->train, w->model, rows * r / p, rows * (r + 1) / p, &w->sums, why);
    copy_sums(w, sums);
    if (code || !t->test)
        return code;
    rows = t->test->rows;
    gw_model_evaluate(w->model, t->test, rows * r / p, rows * (r + 1) / p,
                      &w->sums);
    copy_sums(w, sums + 2);
    return GW_OK;
}

enum gw_err train_evaluate(struct worker *w, struct gw_error *why)
{
    const struct training *t = w->training;
    double mine[4] = {0}, all[4] = {0};
    enum gw_err code = evaluate_own_rows(w, mine, why);
    if (!code)
        code = train_add_up(w, mine, all, 4, GW_F64, GW_SUM, why);
    if (!code && !isfinite(all[0]))
        return train_diverged(w, t->epochs - 1, all[0], why);
    if (code || w->rank != 0)
        return code;
    double rows = (double)t->train->shape->rows;
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
