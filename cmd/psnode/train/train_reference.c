/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The same training in this process: same samples, parts, updaters and order of
 * additions, in plain memory. Under bsp the servers' weights have the same
 * bits.
 */
#include "train.h"

#include "common/command.h"
#include "run/node/ps.h"
#include "run/until.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum gw_err train_task(const struct train_spec *spec, struct gw_task **task,
                       unsigned *parts, struct gw_error *why)
{
    static struct work_order order; /* large */
    *task = NULL;
    enum gw_err code =
        work_order_make(&spec->run, &spec->run.work, 1, &order, why);
    *parts = order.parts ? order.parts : order.workers;
    return code ? code : ps_task_load(&order, spec->run.seed, task, why);
}

/* ---- epochs ---- */

/* A batch; GW_EWRONG: its loss is not finite. */
static enum gw_err
learn_batch(const struct train_reference *r, struct gw_table_store *store,
            struct gw_work_item *item, uint64_t epoch, size_t batch,
            unsigned parts, struct gw_sample_sums *total, struct gw_error *why)
{
    struct gw_sample_sums sums;
    enum gw_err code =
        gw_table_store_run_batch(store, item, epoch, batch, parts, &sums, why);
    if (code)
        return code;
    gw_sample_sums_add(total, &sums);
    if (isfinite(sums.loss))
        return GW_OK;
    return gw_fail(
        why, GW_EWRONG,
        "the reference diverges in step %llu, in epoch %llu: the loss is %g; "
        "use a lower rate",
        (unsigned long long)(epoch * gw_task_batches(r->task) + batch + 1),
        (unsigned long long)epoch + 1, sums.loss);
}

static enum gw_err train_reference(struct train_reference *r,
                                   struct gw_table_store *store,
                                   struct gw_work_item *item, unsigned parts,
                                   double until, struct gw_error *why)
{
    enum gw_err code = GW_OK;
    for (uint64_t e = 0; e < r->epochs && !code; e++) {
        struct gw_sample_sums epoch = {0};
        for (size_t b = 0; b < gw_task_batches(r->task) && !code; b++) {
            if (interrupted)
                return gw_fail(why, GW_EINTR, "interrupted");
            code = learn_batch(r, store, item, e, b, parts, &epoch, why);
        }
        r->losses[e] = gw_task_compute_score(r->task, &epoch).loss;
        progress("reference: epoch %llu/%llu, loss %.6f",
                 (unsigned long long)e + 1, (unsigned long long)r->epochs,
                 r->losses[e]);
        if (r->losses[e] < until)
            break;
    }
    return code;
}

static enum gw_err evaluate_reference(struct train_reference *r,
                                      struct gw_table_store *store,
                                      struct gw_error *why)
{
    const struct gw_fetch fetch = gw_table_store_fetch(store);
    struct gw_task_score score;
    enum gw_err code = gw_task_evaluate(r->task, GW_TASK_TRAIN, r->epochs,
                                        &fetch, &score, why);
    if (code)
        return code;
    r->train_loss = score.loss;
    r->train_quality = score.quality;
    code =
        gw_task_evaluate(r->task, GW_TASK_TEST, r->epochs, &fetch, &score, why);
    r->test_loss = code ? (double)NAN : score.loss;
    r->test_quality = code ? (double)NAN : score.quality;
    if (code && code != GW_ENOTSUP)
        return code;
    return ps_digest(r->task, &fetch, &r->digest, why);
}

enum gw_err train_reference_make(const struct train_spec *spec,
                                 struct train_reference *r,
                                 struct gw_error *why)
{
    struct gw_table_store *store = NULL;
    struct gw_work_item *item = NULL;
    unsigned parts, count;
    *r = (struct train_reference){0};
    double until;
    enum gw_err code = until_parse(spec->run.work.until, &until, why);
    if (!code)
        code = train_task(spec, &r->task, &parts, why);
    if (code)
        return code;
    const struct gw_ps_table_config *tables = gw_task_tables(r->task, &count);
    r->epochs = gw_task_config(r->task)->epochs;
    r->losses = calloc(r->epochs, sizeof *r->losses);
    if (!r->losses)
        return gw_fail(why, GW_ENOMEM, "no memory for the losses");
    code = gw_table_store_new(tables, count, &store, why);
    if (!code)
        code = gw_work_item_new(r->task, &item, why);
    uint64_t began_ns = gw_now_ns();
    if (!code)
        code = train_reference(r, store, item, parts, until, why);
    r->seconds = (double)(gw_now_ns() - began_ns) / 1e9;
    if (!code)
        code = evaluate_reference(r, store, why);
    gw_work_item_destroy(&item);
    gw_table_store_destroy(&store);
    return code;
}

void train_reference_fini(struct train_reference *r)
{
    gw_task_destroy(&r->task);
    free(r->losses);
    r->losses = NULL;
}
