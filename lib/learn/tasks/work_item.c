/* SPDX-License-Identifier: MIT
 *
 * Iteration of a worker over its samples: one part of one batch, or a whole set
 * in chunks for an evaluation, which uses the same code without gradients.
 */
#include "task.h"

#include <assert.h>
#include <stdlib.h>

enum { STREAM_TRIED = 1000 }; /* rows */

enum gw_err gw_work_item_new(const struct gw_task *task,
                             struct gw_work_item **item, struct gw_error *why)
{
    *item = NULL;
    struct gw_work_item *made = calloc(1, sizeof *made);
    void *scratch = calloc(1, task->model->scratch_bytes);
    if (!made || !scratch) {
        free(made);
        free(scratch);
        gw_fail(why, GW_ENOMEM, "a work item");
        return GW_ENOMEM;
    }
    made->task = task;
    made->scratch = scratch;
    made->ordered = UINT64_MAX;
    made->unlocked.threads = 1;
    enum gw_err code = GW_OK;
    for (unsigned i = 0; !code && i < task->table_count; i++)
        code = gw__keyset_init(&made->keys[i], task->key_bounds[i], why);
    if (!code && task->model->shuffled && !task->streams)
        code = gw_order_init(&made->order, task->rows, task->config.batch,
                             task->config.seed, why);
    if (code) {
        gw_work_item_destroy(&made);
        return code;
    }
    *item = made;
    return GW_OK;
}

void gw_work_item_destroy(struct gw_work_item **item)
{
    if (!*item)
        return;
    struct gw_work_item *gone = *item;
    if (gone->task->model->scratch_fini)
        gone->task->model->scratch_fini(gone->scratch);
    for (unsigned i = 0; i < gone->task->table_count; i++)
        gw__keyset_fini(&gone->keys[i]);
    gw_order_fini(&gone->order);
    gw__unlocked_fini(gone);
    free(gone->scratch);
    free(gone);
    *item = NULL;
}

static enum gw_err find_keys(struct gw_work_item *item, struct gw_error *why)
{
    const struct gw_task *task = item->task;
    for (unsigned i = 0; i < task->table_count; i++)
        gw__keyset_begin(&item->keys[i]);
    enum gw_err code = task->model->prepare(item, why);
    for (unsigned i = 0; !code && i < task->table_count; i++)
        code = gw__keyset_finish(&item->keys[i], why);
    return code ? code : gw__unlocked_reserve(item, why);
}

/* Lists the rows in the epoch's order. */
static void list_rows(struct gw_work_item *item,
                      const struct gw_work_item_id *id)
{
    if (item->ordered != id->epoch) {
        gw_order_shuffle(&item->order, (unsigned)id->epoch);
        item->ordered = id->epoch;
    }
    item->listed = gw_order_share(&item->order, (size_t)id->batch, id->part,
                                  id->parts, &item->count);
}

enum gw_err gw_work_item_prepare(struct gw_work_item *item,
                                 const struct gw_work_item_id *id,
                                 struct gw_error *why)
{
    const struct gw_task *task = item->task;
    if (id->batch >= gw_task_batches(task) || id->part >= id->parts)
        return gw_fail(why, GW_EINVAL,
                       "%s: part %u of %u of batch %llu does not exist; there "
                       "are %zu batches",
                       task->model->name, id->part, id->parts,
                       (unsigned long long)id->batch, gw_task_batches(task));
    size_t batch = (size_t)id->batch;
    size_t rows = gw_task_batch_rows(task, batch);
    size_t begin = rows * id->part / id->parts;
    item->set = GW_TASK_TRAIN;
    item->epoch = id->epoch;
    item->batch_rows = rows;
    item->parts = id->parts;
    item->learning = true;
    item->listed = NULL;
    item->first = batch * task->config.batch + begin;
    item->count = rows * (id->part + 1) / id->parts - begin;
    if (task->model->shuffled && !task->streams)
        list_rows(item, id);
    return find_keys(item, why);
}

const uint64_t *gw_work_item_keys(const struct gw_work_item *item,
                                  unsigned table, size_t *count)
{
    assert(table < item->task->table_count);
    *count = item->keys[table].count;
    return item->keys[table].keys;
}

size_t gw__work_item_floats(const struct gw_work_item *item, unsigned table)
{
    return item->keys[table].count * item->task->tables[table].width;
}

void gw_work_item_compute(struct gw_work_item *item, const float *const *rows,
                          float *const *gradients, struct gw_sample_sums *sums)
{
    const struct gw__task_model *model = item->task->model;
    const struct gw__share alone = {.parts = 1, .sums = sums};
    *sums = (struct gw_sample_sums){.rows = item->count};
    if (model->compute) {
        model->compute(item, rows, gradients, sums);
        return;
    }
    model->begin(item, rows, gradients);
    if (item->unlocked.pool && gradients)
        gw__unlocked_compute(item, rows, gradients, sums);
    else
        model->share(item, rows, gradients, &alone);
    if (!item->unlocked.pool)
        sums->row_writes = 0; /* rows were not shared */
    if (gradients && model->finish)
        model->finish(item, rows, gradients);
}

void gw_sample_sums_add(struct gw_sample_sums *sums,
                        const struct gw_sample_sums *more)
{
    sums->rows += more->rows;
    sums->samples += more->samples;
    sums->loss += more->loss;
    sums->right += more->right;
    sums->policy_loss += more->policy_loss;
    sums->value_loss += more->value_loss;
    sums->entropy += more->entropy;
    sums->row_writes += more->row_writes;
    sums->row_writes_lost += more->row_writes_lost;
}

/* ---- evaluation ---- */

static enum gw_err fetch_rows(struct gw_work_item *item,
                              const struct gw_fetch *fetch, float **rows,
                              struct gw_error *why)
{
    enum gw_err code = GW_OK;
    for (unsigned i = 0; !code && i < item->task->table_count; i++) {
        const struct gw__keyset *keys = &item->keys[i];
        size_t bytes = gw__work_item_floats(item, i) * sizeof **rows;
        float *room = realloc(rows[i], bytes ? bytes : 1);
        if (!room)
            return gw_fail(why, GW_ENOMEM, "the rows of %zu keys", keys->count);
        rows[i] = room;
        if (keys->count > 0)
            code = fetch->rows(fetch->context, i, keys->keys, keys->count, room,
                               why);
    }
    return code;
}

static enum gw_err evaluate_chunk(struct gw_work_item *item,
                                  const struct gw_fetch *fetch, float **rows,
                                  struct gw_sample_sums *total,
                                  struct gw_error *why)
{
    struct gw_sample_sums sums;
    enum gw_err code = find_keys(item, why);
    if (!code)
        code = fetch_rows(item, fetch, rows, why);
    if (code)
        return code;
    gw_work_item_compute(item, (const float *const *)rows, NULL, &sums);
    gw_sample_sums_add(total, &sums);
    return GW_OK;
}

static enum gw_err evaluate(struct gw_work_item *item, size_t begin, size_t end,
                            const struct gw_fetch *fetch,
                            struct gw_sample_sums *total, struct gw_error *why)
{
    size_t chunk = item->task->model->chunk;
    float *memory[GW_TASK_TABLES_MAX] = {NULL};
    enum gw_err code = GW_OK;
    for (size_t first = begin; !code && first < end; first += chunk) {
        item->first = first;
        item->count = end - first < chunk ? end - first : chunk;
        code = evaluate_chunk(item, fetch, memory, total, why);
    }
    for (unsigned i = 0; i < GW_TASK_TABLES_MAX; i++)
        free(memory[i]);
    return code;
}

enum gw_err gw_task_evaluate(const struct gw_task *task, enum gw_task_set set,
                             uint64_t epochs, const struct gw_fetch *fetch,
                             struct gw_task_score *score, struct gw_error *why)
{
    size_t end = set == GW_TASK_TEST ? task->test_rows : task->rows;
    size_t begin = task->model->stream ? end - task->test_rows : 0;
    if (task->streams)
        begin = end > STREAM_TRIED ? end - STREAM_TRIED : 0;
    if (end == 0)
        return gw_fail(why, GW_ENOTSUP, "%s: the test set is missing",
                       task->model->name);
    struct gw_sample_sums total = {0};
    struct gw_work_item *item;
    enum gw_err code = gw_work_item_new(task, &item, why);
    if (code)
        return code;
    item->set = set;
    item->epoch = set == GW_TASK_TEST || epochs == 0 ? epochs : epochs - 1;
    item->batch_rows = end - begin;
    code = evaluate(item, begin, end, fetch, &total, why);
    if (!code)
        *score = gw_task_compute_score(task, &total);
    gw_work_item_destroy(&item);
    return code;
}
