/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See ps.h.
 */
#include "ps.h"

#include <learn/tasks/task.h>

#include <stdlib.h>

/* How many keys are fetched at once. */
enum { FETCH_FLOATS = 1 << 18 };

void ps_rejoin(struct node *node, const struct gw_error *why)
{
    pthread_mutex_lock(&node->lock);
    node->status.rejoined++;
    pthread_mutex_unlock(&node->lock);
    node_report_error(node, why);
}

/* ---- the task ---- */

enum gw_err ps_task_load(const struct work_order *order, uint64_t seed,
                         struct gw_task **task, struct gw_error *why)
{
    struct settings settings;
    *task = NULL;
    if (settings_parse(order->model, order->settings, &settings, why))
        return GW_EINVAL;
    settings.task.train = *order->file ? order->file : NULL;
    settings.task.network = *order->network ? order->network : NULL;
    settings.task.test = *order->test ? order->test : NULL;
    settings.task.seed = seed;
    return gw_task_new(&settings.task, task, why);
}

enum gw_err ps_work_item_new(const struct gw_task *task,
                             const struct settings *settings,
                             struct gw_work_item **work_item,
                             struct gw_error *why)
{
    enum gw_err code = gw_work_item_new(task, work_item, why);
    if (!code && settings->server.hogwild)
        code =
            gw_work_item_set_threads(*work_item, settings->server.threads, why);
    return code;
}

uint64_t ps_model_keys(const struct gw_task *task)
{
    uint64_t keys = 0;
    for (unsigned t = 0; t < task->table_count; t++)
        keys += task->key_bounds[t];
    return keys;
}

/* ---- the digest ---- */

static enum gw_err digest_rows(const struct gw_fetch *fetch, unsigned table,
                               uint64_t first, size_t count, size_t width,
                               uint64_t *keys, float *rows, uint64_t *digest,
                               struct gw_error *why)
{
    for (size_t i = 0; i < count; i++)
        keys[i] = first + i;
    enum gw_err code =
        fetch->rows(fetch->context, table, keys, count, rows, why);
    if (!code)
        *digest = gw_hash(rows, count * width * sizeof *rows, *digest);
    return code;
}

/* Table by table, in the order of keys. */
enum gw_err ps_digest(const struct gw_task *task, const struct gw_fetch *fetch,
                      uint64_t *digest, struct gw_error *why)
{
    uint64_t *keys = calloc(FETCH_FLOATS, sizeof *keys);
    float *rows = calloc(FETCH_FLOATS, sizeof *rows);
    enum gw_err code = GW_OK;
    if (!keys || !rows)
        code = gw_fail(why, GW_ENOMEM, "no memory for a digest");
    *digest = 0;
    for (unsigned t = 0; t < task->table_count && !code; t++) {
        size_t width = task->tables[t].width;
        uint64_t step = FETCH_FLOATS / width, bound = task->key_bounds[t];
        for (uint64_t k = 0; k < bound && !code; k += step)
            code = digest_rows(fetch, t, k,
                               (size_t)(bound - k < step ? bound - k : step),
                               width, keys, rows, digest, why);
    }
    free(keys);
    free(rows);
    return code;
}
