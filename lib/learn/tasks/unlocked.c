/* SPDX-License-Identifier: MIT
 *
 * The threads for unlocked.h.
 */
#include "task.h"

#include "ps/server/thread_pool.h"

#include <stdlib.h>
#include <string.h>

enum gw_err gw_unit_threads(struct gw_unit *unit, unsigned threads,
                            struct gw_error *why)
{
    struct gw__unlocked *u = &unit->unlocked;
    const struct gw__task_model *model = unit->task->model;
    if (!model->share)
        return gw_fail(why, GW_ENOTSUP, "%s does not support several threads",
                       model->name);
    if (threads == 0 || threads > GW__THREAD_POOL_MAX)
        return gw_fail(why, GW_EINVAL,
                       "the number of threads must be 1 to %d, not %u",
                       GW__THREAD_POOL_MAX, threads);
    gw__unlocked_fini(unit);
    if (threads == 1)
        return GW_OK;
    u->sums = calloc(threads, sizeof *u->sums);
    if (!u->sums)
        return gw_fail(why, GW_ENOMEM, "%u threads", threads);
    u->threads = threads;
    return gw__thread_pool_new(threads - 1, NULL, NULL, &u->pool, why);
}

void gw__unlocked_fini(struct gw_unit *unit)
{
    struct gw__unlocked *u = &unit->unlocked;
    gw__thread_pool_destroy(&u->pool);
    for (unsigned t = 0; t < GW_TASK_TABLES_MAX; t++)
        free(u->row_writes[t]);
    free(u->sums);
    *u = (struct gw__unlocked){.threads = 1};
}

enum gw_err gw__unlocked_reserve(struct gw_unit *unit, struct gw_error *why)
{
    struct gw__unlocked *u = &unit->unlocked;
    for (unsigned t = 0; u->pool && t < unit->task->table_count; t++) {
        size_t rows = unit->keys[t].count;
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

struct shared_unit {
    struct gw_unit *unit;
    const float *const *rows;
    float *const *gradients;
};

static void compute_share(void *context, unsigned part)
{
    const struct shared_unit *shared = context;
    struct gw__unlocked *u = &shared->unit->unlocked;
    struct gw__share share = {
        .part = part, .parts = u->threads, .sums = &u->sums[part]};
    memcpy(share.row_writes, u->row_writes, sizeof share.row_writes);
    *share.sums = (struct gw_unit_sums){0};
    shared->unit->task->model->share(shared->unit, shared->rows,
                                     shared->gradients, &share);
}

static uint64_t sum_counts(const struct gw_unit *unit, unsigned table)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < unit->keys[table].count; i++)
        sum += unit->unlocked.row_writes[table][i];
    return sum;
}

void gw__unlocked_compute(struct gw_unit *unit, const float *const *rows,
                          float *const *gradients, struct gw_unit_sums *sums)
{
    struct gw__unlocked *u = &unit->unlocked;
    struct shared_unit shared = {unit, rows, gradients};
    for (unsigned t = 0; t < unit->task->table_count; t++)
        if (unit->keys[t].count > 0)
            memset(u->row_writes[t], 0,
                   unit->keys[t].count * sizeof *u->row_writes[t]);
    gw__thread_pool_run(u->pool, u->threads, compute_share, &shared);
    for (unsigned i = 0; i < u->threads; i++)
        gw_unit_add(sums, &u->sums[i]);
    sums->row_writes_lost = sums->row_writes;
    for (unsigned t = 0; t < unit->task->table_count; t++)
        sums->row_writes_lost -= sum_counts(unit, t);
}
