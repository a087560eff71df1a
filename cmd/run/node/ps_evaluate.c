/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The finished model, as one worker sees it: its loss and quality over all
 * samples, and a digest of every weight. All rows are pulled, as any worker
 * would.
 */
#include "ps.h"

#include <math.h>
#include <stdio.h>

static enum gw_err pull(void *context, unsigned table, const uint64_t *keys,
                        size_t count, float *rows, struct gw_error *why)
{
    const struct ps_worker *w = context;
    return count ? gw_ps_pull(w->ps, w->tables[table].number, keys, count, rows,
                              NULL, why)
                 : GW_OK;
}

/* GW_ENOTSUP: there is no such set, and so no score. */
static enum gw_err evaluate_set(const struct ps_worker *w, enum gw_task_set set,
                                const struct gw_fetch *fetch, double *loss,
                                double *quality, struct gw_error *why)
{
    struct gw_task_score score;
    enum gw_err code =
        gw_task_evaluate(w->task, set, w->order.epochs, fetch, &score, why);
    *loss = code ? (double)NAN : score.loss;
    *quality = code ? (double)NAN : score.quality;
    return code == GW_ENOTSUP ? GW_OK : code;
}

enum gw_err ps_evaluate(struct ps_worker *w, struct gw_error *why)
{
    struct node *node = w->node;
    struct score score = {.ns = w->began_ns ? gw_now_ns() - w->began_ns : 0};
    const struct gw_fetch fetch = {.context = w, .rows = pull};
    snprintf(score.quality, sizeof score.quality, "%s",
             gw_task_quality(w->task));
    enum gw_err code = evaluate_set(w, GW_TASK_TRAIN, &fetch, &score.train_loss,
                                    &score.train_accuracy, why);
    if (!code)
        code = evaluate_set(w, GW_TASK_TEST, &fetch, &score.test_loss,
                            &score.test_accuracy, why);
    if (!code)
        code = ps_digest(w->task, &fetch, &score.digest, why);
    if (code)
        return code;
    pthread_mutex_lock(&node->lock);
    node->status.score = score;
    node->status.scored = true;
    pthread_mutex_unlock(&node->lock);
    return GW_OK;
}
