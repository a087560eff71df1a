/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One work item: the keys that its samples need are pulled, the gradients of
 * their rows pushed. Memory holds the rows of the item, not of the whole model.
 */
#include "ps.h"

#include <math.h>
#include <stdlib.h>

#define STREAM_NAP_NS UINT64_C(2000000)

/* ---- before the first ---- */

enum gw_err ps_worker_open(struct ps_worker *w, struct gw_error *why)
{
    unsigned count;
    const struct gw_ps_table_config *tables = gw_task_tables(w->task, &count);
    const struct gw_ps_plan plan = {.epochs = w->order.epochs,
                                    .batches = gw_task_batches(w->task),
                                    .parts = w->order.parts,
                                    .workers = w->order.workers,
                                    .has_until = !isnan(w->order.until),
                                    .until = w->order.until};
    enum gw_err code = GW_OK;
    for (w->table_count = 0; w->table_count < count && !code; tables++) {
        struct ps_table *table = &w->tables[w->table_count++];
        table->width = tables->width;
        code = gw_ps_table(w->ps, tables, &table->number, why);
    }
    return code ? code : gw_ps_plan(w->ps, 0, &w->order.mode, &plan, why);
}

/* ---- memory ---- */

static void free_rows(struct ps_table *table)
{
    gw_free(table->rows);
    gw_free(table->gradients);
    table->rows = table->gradients = NULL;
    table->room = 0;
}

void ps_work_item_free(struct ps_worker *w)
{
    for (unsigned t = 0; t < w->table_count; t++)
        free_rows(&w->tables[t]);
}

/* Makes room for so many floats, and half as many more, so that it seldom
 * grows. */
static enum gw_err reserve_rows(struct ps_table *table, size_t floats,
                                struct gw_error *why)
{
    if (floats <= table->room)
        return GW_OK;
    free_rows(table);
    size_t room = floats + floats / 2;
    table->rows = gw_alloc(room * sizeof(float), why);
    table->gradients = gw_alloc(room * sizeof(float), why);
    if (!table->rows || !table->gradients)
        return GW_ENOMEM;
    table->room = room;
    return GW_OK;
}

/* ---- the steps ---- */

static enum gw_err prepare_work_item(struct ps_worker *w, size_t *keys,
                                     struct gw_error *why)
{
    const struct gw_work_item_id id = {.epoch = w->work.epoch,
                                       .batch = w->work.batch,
                                       .part = w->work.part,
                                       .parts = w->work.parts};
    *keys = 0;
    enum gw_err code = gw_work_item_prepare(w->work_item, &id, why);
    while (code == GW_PENDING) { /* rows of a stream that have not arrived */
        if (node_wants_to_leave(w->node))
            return gw_fail(why, GW_EINTR, "asked to leave");
        node_nap(w->node, STREAM_NAP_NS);
        code = gw_work_item_prepare(w->work_item, &id, why);
    }
    for (unsigned t = 0; t < w->table_count && !code; t++) {
        size_t count;
        gw_work_item_keys(w->work_item, t, &count);
        *keys += count;
        code = reserve_rows(&w->tables[t], count * w->tables[t].width, why);
    }
    return code;
}

/* All tables at once. */
static enum gw_err transfer(struct ps_worker *w, bool push,
                            struct gw_error *why)
{
    struct gw_ps_handle handles[GW_TASK_TABLES_MAX] = {{0}};
    struct gw_error late;
    enum gw_err code = GW_OK;
    for (unsigned t = 0; t < w->table_count && !code; t++) {
        size_t count;
        const struct ps_table *table = &w->tables[t];
        const uint64_t *keys = gw_work_item_keys(w->work_item, t, &count);
        if (count == 0)
            continue;
        code = push ? gw_ps_push(w->ps, table->number, keys, count,
                                 table->gradients, &handles[t], why)
                    : gw_ps_pull(w->ps, table->number, keys, count, table->rows,
                                 &handles[t], why);
    }
    for (unsigned t = 0; t < w->table_count; t++) {
        enum gw_err ended =
            handles[t].id ? gw_ps_wait(w->ps, &handles[t], code ? &late : why)
                          : GW_OK;
        code = code ? code : ended;
    }
    return code;
}

/* The loss may be infinite or NaN while the gradients are finite. */
static enum gw_err compute_work_item(struct ps_worker *w, struct gw_error *why)
{
    const float *rows[GW_TASK_TABLES_MAX];
    float *gradients[GW_TASK_TABLES_MAX];
    for (unsigned t = 0; t < w->table_count; t++) {
        rows[t] = w->tables[t].rows;
        gradients[t] = w->tables[t].gradients;
    }
    gw_work_item_compute(w->work_item, rows, gradients, &w->sums);
    if (isfinite(w->sums.loss))
        return GW_OK;
    return gw_fail(why, GW_ENUMERIC,
                   "epoch %llu, batch %llu, part %u: the loss is %g, which is "
                   "not a finite number",
                   (unsigned long long)w->work.epoch,
                   (unsigned long long)w->work.batch, w->work.part,
                   w->sums.loss);
}

enum gw_err ps_work_item_run(struct ps_worker *w, struct gw_error *why)
{
    struct node *node = w->node;
    size_t keys = 0;
    enum gw_err code = prepare_work_item(w, &keys, why);
    if (code)
        return code;
    pthread_mutex_lock(&node->lock);
    node->status.worker.item_keys = keys;
    pthread_mutex_unlock(&node->lock);
    code = transfer(w, false, why);
    if (code)
        return code;
    node_be_slow(node);
    code = compute_work_item(w, why);
    if (!code)
        code =
            gw_ps_report(w->ps, 0, w->sums.loss, (double)w->sums.samples, why);
    return code ? code : transfer(w, true, why);
}
