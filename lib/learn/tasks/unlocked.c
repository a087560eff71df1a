/* SPDX-License-Identifier: MIT
 *
 * The threads for unlocked.h.
 */
#include "task.h"

#include "ps/server/thread_pool.h"

#include <stdlib.h>
#include <string.h>

enum gw_err gw_work_item_set_threads(struct gw_work_item *item,
                                     unsigned threads, struct gw_error *why)
{
    struct gw__unlocked *u = &item->unlocked;
    const struct gw__task_model *model = item->task->model;
    if (!model->share)
        return gw_fail(why, GW_ENOTSUP, "%s does not support several threads",
                       model->name);
    if (threads == 0 || threads > GW__THREAD_POOL_MAX)
        return gw_fail(why, GW_EINVAL,
                       "the number of threads must be 1 to %d, not %u",
                       GW__THREAD_POOL_MAX, threads);
    gw__unlocked_fini(item);
    if (threads == 1)
        return GW_OK;
    u->sums = calloc(threads, sizeof *u->sums);
    if (!u->sums)
        return gw_fail(why, GW_ENOMEM, "%u threads", threads);
    u->threads = threads;
    return gw__thread_pool_new(threads - 1, NULL, NULL, &u->pool, why);
}

void gw__unlocked_fini(struct gw_work_item *item)
{
    struct gw__unlocked *u = &item->unlocked;
    gw__thread_pool_destroy(&u->pool);
    for (unsigned t = 0; t < GW_TASK_TABLES_MAX; t++)
        free(u->row_writes[t]);
    free(u->sums);
    *u = (struct gw__unlocked){.threads = 1};
}

enum gw_err gw__unlocked_reserve(struct gw_work_item *item,
                                 struct gw_error *why)
{
    struct gw__unlocked *u = &item->unlocked;
    for (unsigned t = 0; u->pool && t < item->task->table_count; t++) {
        size_t rows = item->keys[t].count;
        if (rows <= u->room[t])
            continue;
        free(u->row_writes[t]);
        u->row_writes[t] = calloc(rows, sizeof *u->row_writes[t]);
        u->room[t] = u->row_writes[t] ? rows : 0;
        if (!u->row_writes[t])
            return gw_fail(why, GW_ENOMEM, "the counts of %zu rows", rows);
    }
    return GW_OK;
}

/* ---- shares ---- */

struct shared_item {
    struct gw_work_item *item;
    const float *const *rows;
    float *const *gradients;
};

static void compute_share(void *context, unsigned part)
{
    const struct shared_item *shared = context;
    struct gw__unlocked *u = &shared->item->unlocked;
    struct gw__share share = {
        .part = part, .parts = u->threads, .sums = &u->sums[part]};
    memcpy(share.row_writes, u->row_writes, sizeof share.row_writes);
    *share.sums = (struct gw_sample_sums){0};
    shared->item->task->model->share(shared->item, shared->rows,
                                     shared->gradients, &share);
}

static uint64_t sum_counts(const struct gw_work_item *item, unsigned table)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < item->keys[table].count; i++)
        sum += item->unlocked.row_writes[table][i];
    return sum;
}

void gw__unlocked_compute(struct gw_work_item *item, const float *const *rows,
                          float *const *gradients, struct gw_sample_sums *sums)
{
    struct gw__unlocked *u = &item->unlocked;
    struct shared_item shared = {item, rows, gradients};
    for (unsigned t = 0; t < item->task->table_count; t++)
        if (item->keys[t].count > 0)
            memset(u->row_writes[t], 0,
                   item->keys[t].count * sizeof *u->row_writes[t]);
    gw__thread_pool_run(u->pool, u->threads, compute_share, &shared);
    for (unsigned i = 0; i < u->threads; i++)
        gw_sample_sums_add(sums, &u->sums[i]);
    sums->row_writes_lost = sums->row_writes;
    for (unsigned t = 0; t < item->task->table_count; t++)
        sums->row_writes_lost -= sum_counts(item, t);
}
