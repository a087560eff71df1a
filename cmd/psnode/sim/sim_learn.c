/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Training during a simulation. When an item is granted, its rows are pulled
 * from tables in this process, and its gradients computed from them, like those
 * of a worker that pulls the state closed at that time. They wait until a
 * closing applies or drops them, as servers hold them back. A closing is one
 * update: the sum of its items in its order, times its scale. So only the time
 * is simulated.
 */
#include "sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The push of a worker in one item; count 0: none. */
struct pushed {
    struct {
        uint64_t *keys;
        float *values;
        size_t count;
    } tables[GW_TASK_TABLES_MAX];
};

struct sim_learn {
    const struct gw_task *task;
    const struct gw_ps_table_config *tables;
    unsigned table_count;
    struct gw_table_store *store;
    struct gw_work_item *item;
    float *rows[GW_TASK_TABLES_MAX]; /* of the item, */
    size_t room[GW_TASK_TABLES_MAX]; /* floats */
    /* By worker and the number of its item: at most one per part waits. */
    struct pushed pushed[GW_PS_NODES][GW_PS_NODES];

    uint64_t closed, each; /* items; and the interval of evaluations */
    struct sim_point points[SIM_POINTS_MAX];
    unsigned point_count;
};

static void free_pushed(struct pushed *pushed)
{
    for (unsigned t = 0; t < GW_TASK_TABLES_MAX; t++) {
        free(pushed->tables[t].keys);
        free(pushed->tables[t].values);
    }
    memset(pushed, 0, sizeof *pushed);
}

/* ---- evaluations ---- */

static enum gw_err evaluate_model(struct sim_learn *learn, uint64_t now_ns,
                                  struct gw_error *why)
{
    const struct gw_fetch fetch = gw_table_store_fetch(learn->store);
    uint64_t epochs = gw_task_config(learn->task)->epochs;
    struct gw_task_score score;
    enum gw_err code = gw_task_evaluate(learn->task, GW_TASK_TEST, epochs,
                                        &fetch, &score, why);
    if (code == GW_ENOTSUP)
        code = gw_task_evaluate(learn->task, GW_TASK_TRAIN, epochs, &fetch,
                                &score, why);
    if (!code && learn->point_count < SIM_POINTS_MAX)
        learn->points[learn->point_count++] =
            (struct sim_point){.seconds = (double)now_ns / 1e9,
                               .loss = score.loss,
                               .items = learn->closed};
    return code;
}

const struct sim_point *sim_learn_points(const struct sim_learn *learn,
                                         unsigned *count)
{
    *count = learn->point_count;
    return learn->points;
}

/* ---- a beginning and an end ---- */

enum gw_err sim_learn_new(const struct gw_task *task, unsigned parts,
                          uint64_t rounds, unsigned points,
                          struct sim_learn **learn, struct gw_error *why)
{
    struct sim_learn *made = calloc(1, sizeof *made);
    *learn = made;
    if (!made)
        return gw_fail(why, GW_ENOMEM, "no memory for the model");
    made->task = task;
    made->tables = gw_task_tables(task, &made->table_count);
    made->each = rounds * parts / points;
    made->each += made->each == 0;
    enum gw_err code =
        gw_table_store_new(made->tables, made->table_count, &made->store, why);
    if (!code)
        code = gw_work_item_new(task, &made->item, why);
    if (!code)
        code = evaluate_model(made, 0, why);
    if (code)
        sim_learn_destroy(learn);
    return code;
}

void sim_learn_destroy(struct sim_learn **learn)
{
    struct sim_learn *l = *learn;
    if (!l)
        return;
    for (unsigned i = 0; i < GW_PS_NODES; i++)
        for (unsigned j = 0; j < GW_PS_NODES; j++)
            free_pushed(&l->pushed[i][j]);
    for (unsigned t = 0; t < GW_TASK_TABLES_MAX; t++)
        free(l->rows[t]);
    gw_work_item_destroy(&l->item);
    gw_table_store_destroy(&l->store);
    free(l);
    *learn = NULL;
}

/* ---- an item ---- */

static enum gw_err pull(struct sim_learn *learn, unsigned t,
                        struct pushed *pushed, struct gw_error *why)
{
    size_t count, width = learn->tables[t].width;
    const uint64_t *keys = gw_work_item_keys(learn->item, t, &count);
    if (count * width > learn->room[t]) {
        free(learn->rows[t]);
        learn->rows[t] = malloc(count * width * sizeof(float));
        learn->room[t] = learn->rows[t] ? count * width : 0;
    }
    uint64_t *copy = malloc((count + 1) * sizeof *copy);
    float *values = malloc((count * width + 1) * sizeof *values);
    pushed->tables[t].keys = copy;
    pushed->tables[t].values = values;
    pushed->tables[t].count = count;
    if (!copy || !values || (count && !learn->rows[t]))
        return gw_fail(why, GW_ENOMEM, "a work item of %zu rows", count);
    if (count)
        memcpy(copy, keys, count * sizeof *copy);
    gw_table_store_pull(learn->store, t, keys, count, learn->rows[t]);
    return GW_OK;
}

enum gw_err sim_learn_granted(struct sim_learn *learn, unsigned worker,
                              const struct gw_ps_work *work,
                              struct gw_error *why)
{
    uint64_t batches = gw_task_batches(learn->task);
    const struct gw_work_item_id id = {.epoch = work->batch / batches,
                                       .batch = work->batch % batches,
                                       .part = work->part,
                                       .parts = work->parts};
    struct pushed *pushed = &learn->pushed[worker][work->clock % GW_PS_NODES];
    const float *rows[GW_TASK_TABLES_MAX];
    float *gradients[GW_TASK_TABLES_MAX];
    struct gw_sample_sums sums;
    free_pushed(pushed);
    enum gw_err code = gw_work_item_prepare(learn->item, &id, why);
    for (unsigned t = 0; t < learn->table_count && !code; t++) {
        code = pull(learn, t, pushed, why);
        rows[t] = learn->rows[t];
        gradients[t] = pushed->tables[t].values;
    }
    if (code)
        return code;
    gw_work_item_compute(learn->item, rows, gradients, &sums);
    if (isfinite(sums.loss))
        return GW_OK;
    return gw_fail(why, GW_EWRONG,
                   "training diverges in step %llu: the loss of worker %u is "
                   "%g; use a lower rate",
                   (unsigned long long)work->batch + 1, worker, sums.loss);
}

/* ---- a closing ---- */

static enum gw_err push_gradients(struct sim_learn *learn,
                                  struct pushed *pushed, float scale,
                                  struct gw_error *why)
{
    enum gw_err code = GW_OK;
    for (unsigned t = 0; t < learn->table_count && !code; t++) {
        float *values = pushed->tables[t].values;
        size_t count = pushed->tables[t].count;
        for (size_t i = 0; scale != 1 && i < count * learn->tables[t].width;
             i++)
            values[i] *= scale;
        if (count)
            code = gw_table_store_push(learn->store, t, pushed->tables[t].keys,
                                       count, values, why);
    }
    return code;
}

enum gw_err sim_learn_closed(struct sim_learn *learn,
                             const struct gw__round_commit *commit,
                             uint64_t now_ns, struct gw_error *why)
{
    enum gw_err code = GW_OK;
    uint64_t before = learn->closed / learn->each;
    for (unsigned i = 0; i < commit->apply + commit->drop && !code; i++) {
        const struct gw__work_item *item = &commit->items[i];
        struct pushed *pushed =
            &learn->pushed[item->node][item->clock % GW_PS_NODES];
        if (i < commit->apply)
            code = push_gradients(learn, pushed, commit->scale, why);
        free_pushed(pushed);
    }
    if (code || !commit->apply)
        return code;
    gw_table_store_step(learn->store);
    /* In a round closed with K parts, the others count as past, too. */
    learn->closed += (uint64_t)lroundf((float)commit->apply * commit->scale);
    return learn->closed / learn->each > before
               ? evaluate_model(learn, now_ns, why)
               : GW_OK;
}
