/* SPDX-License-Identifier: MIT
 *
 * Iteration of a worker over its samples: one part of one batch, or a whole set
 * in chunks for an evaluation, which uses the same code without gradients.
 */
#include "task.h"

#include <assert.h>
#include <stdlib.h>

enum { STREAM_TRIED = 1000 }; /* rows */

enum gw_err gw_unit_new(const struct gw_task *task, struct gw_unit **unit,
                        struct gw_error *why)
{
    *unit = NULL;
    struct gw_unit *made = calloc(1, sizeof *made);
    void *scratch = calloc(1, task->model->scratch_bytes);
    if (!made || !scratch) {
        free(made);
        free(scratch);
        gw_fail(why, GW_ENOMEM, "a unit of work");
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
        gw_unit_destroy(&made);
        return code;
    }
    *unit = made;
    return GW_OK;
}

void gw_unit_destroy(struct gw_unit **unit)
{
    if (!*unit)
        return;
    struct gw_unit *gone = *unit;
    if (gone->task->model->scratch_fini)
        gone->task->model->scratch_fini(gone->scratch);
    for (unsigned i = 0; i < gone->task->table_count; i++)
        gw__keyset_fini(&gone->keys[i]);
    gw_order_fini(&gone->order);
    gw__unlocked_fini(gone);
    free(gone->scratch);
    free(gone);
    *unit = NULL;
}

static enum gw_err find_keys(struct gw_unit *unit, struct gw_error *why)
{
    const struct gw_task *task = unit->task;
    for (unsigned i = 0; i < task->table_count; i++)
        gw__keyset_begin(&unit->keys[i]);
    enum gw_err code = task->model->prepare(unit, why);
    for (unsigned i = 0; !code && i < task->table_count; i++)
        code = gw__keyset_finish(&unit->keys[i], why);
    return code ? code : gw__unlocked_reserve(unit, why);
}

/* Lists the rows in the epoch's order. */
static void list_rows(struct gw_unit *unit, const struct gw_unit_place *place)
{
    if (unit->ordered != place->epoch) {
        gw_order_shuffle(&unit->order, (unsigned)place->epoch);
        unit->ordered = place->epoch;
    }
    unit->listed = gw_order_share(&unit->order, (size_t)place->batch,
                                  place->part, place->parts, &unit->count);
}

enum gw_err gw_unit_prepare(struct gw_unit *unit,
                            const struct gw_unit_place *place,
                            struct gw_error *why)
{
    const struct gw_task *task = unit->task;
    if (place->batch >= gw_task_batches(task) || place->part >= place->parts)
        return gw_fail(why, GW_EINVAL,
                       "%s: part %u of %u of batch %llu does not exist; there "
                       "are %zu batches",
                       task->model->name, place->part, place->parts,
                       (unsigned long long)place->batch, gw_task_batches(task));
    size_t batch = (size_t)place->batch;
    size_t rows = gw_task_batch_rows(task, batch);
    size_t begin = rows * place->part / place->parts;
    unit->set = GW_TASK_TRAIN;
    unit->epoch = place->epoch;
    unit->batch_rows = rows;
    unit->parts = place->parts;
    unit->learning = true;
    unit->listed = NULL;
    unit->first = batch * task->config.batch + begin;
    unit->count = rows * (place->part + 1) / place->parts - begin;
    if (task->model->shuffled && !task->streams)
        list_rows(unit, place);
    return find_keys(unit, why);
}

const uint64_t *gw_unit_keys(const struct gw_unit *unit, unsigned table,
                             size_t *count)
{
    assert(table < unit->task->table_count);
    *count = unit->keys[table].count;
    return unit->keys[table].keys;
}

size_t gw__unit_floats(const struct gw_unit *unit, unsigned table)
{
    return unit->keys[table].count * unit->task->tables[table].width;
}

void gw_unit_compute(struct gw_unit *unit, const float *const *rows,
                     float *const *gradients, struct gw_unit_sums *sums)
{
    const struct gw__task_model *model = unit->task->model;
    const struct gw__share alone = {.parts = 1, .sums = sums};
    *sums = (struct gw_unit_sums){.rows = unit->count};
    if (model->compute) {
        model->compute(unit, rows, gradients, sums);
        return;
    }
    model->begin(unit, rows, gradients);
    if (unit->unlocked.pool && gradients)
        gw__unlocked_compute(unit, rows, gradients, sums);
    else
        model->share(unit, rows, gradients, &alone);
    if (!unit->unlocked.pool)
        sums->row_writes = 0; /* rows were not shared */
    if (gradients && model->finish)
        model->finish(unit, rows, gradients);
}

void gw_unit_add(struct gw_unit_sums *sums, const struct gw_unit_sums *more)
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

static enum gw_err fetch_rows(struct gw_unit *unit,
                              const struct gw_fetch *fetch, float **rows,
                              struct gw_error *why)
{
    enum gw_err code = GW_OK;
    for (unsigned i = 0; !code && i < unit->task->table_count; i++) {
        const struct gw__keyset *keys = &unit->keys[i];
        size_t bytes = gw__unit_floats(unit, i) * sizeof **rows;
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

static enum gw_err evaluate_chunk(struct gw_unit *unit,
                                  const struct gw_fetch *fetch, float **rows,
                                  struct gw_unit_sums *total,
                                  struct gw_error *why)
{
    struct gw_unit_sums sums;
    enum gw_err code = find_keys(unit, why);
    if (!code)
        code = fetch_rows(unit, fetch, rows, why);
    if (code)
        return code;
    gw_unit_compute(unit, (const float *const *)rows, NULL, &sums);
    gw_unit_add(total, &sums);
    return GW_OK;
}

static enum gw_err evaluate(struct gw_unit *unit, size_t begin, size_t end,
                            const struct gw_fetch *fetch,
                            struct gw_unit_sums *total, struct gw_error *why)
{
    size_t chunk = unit->task->model->chunk;
    float *memory[GW_TASK_TABLES_MAX] = {NULL};
    enum gw_err code = GW_OK;
    for (size_t first = begin; !code && first < end; first += chunk) {
        unit->first = first;
        unit->count = end - first < chunk ? end - first : chunk;
        code = evaluate_chunk(unit, fetch, memory, total, why);
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
    struct gw_unit_sums total = {0};
    struct gw_unit *unit;
    enum gw_err code = gw_unit_new(task, &unit, why);
    if (code)
        return code;
    unit->set = set;
    unit->epoch = set == GW_TASK_TEST || epochs == 0 ? epochs : epochs - 1;
    unit->batch_rows = end - begin;
    code = evaluate(unit, begin, end, fetch, &total, why);
    if (!code)
        *score = gw_task_judge(task, &total);
    gw_unit_destroy(&unit);
    return code;
}
