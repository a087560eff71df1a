/* SPDX-License-Identifier: MIT
 *
 * Properties of every learning task; see task_run.h.
 */
#include "task_run.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OK(call) ck_assert_msg((call) == GW_OK, "%s", run->why.text)

const char *task_file(struct task_run *run, int number, const char *text,
                      size_t bytes)
{
    char *path = run->path[number];
    if (path[0])
        unlink(path);
    snprintf(path, sizeof run->path[number], "/tmp/gw-test-task-XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, bytes), (ssize_t)bytes);
    close(fd);
    return path;
}

void task_begin(struct task_run *run)
{
    OK(gw_task_new(&run->config, &run->task, &run->why));
    OK(gw_work_item_new(run->task, &run->item, &run->why));
    run->tables = gw_task_tables(run->task, &run->table_count);
    OK(gw_table_store_new(run->tables, run->table_count, &run->store,
                          &run->why));
}

void task_end(struct task_run *run)
{
    gw_table_store_destroy(&run->store);
    gw_work_item_destroy(&run->item);
    gw_task_destroy(&run->task);
    for (int i = 0; i < GW_TASK_TABLES_MAX; i++) {
        free(run->rows[i]);
        free(run->gradients[i]);
        run->rows[i] = run->gradients[i] = NULL;
    }
}

void task_clean(struct task_run *run)
{
    task_end(run);
    for (int i = 0; i < 2; i++)
        if (run->path[i][0])
            unlink(run->path[i]);
    memset(run, 0, sizeof *run);
}

static size_t floats(const struct task_run *run, unsigned table)
{
    size_t count;
    gw_work_item_keys(run->item, table, &count);
    return count * run->tables[table].width;
}

void task_pull(struct task_run *run, const struct gw_work_item_id *id)
{
    OK(gw_work_item_prepare(run->item, id, &run->why));
    for (unsigned i = 0; i < run->table_count; i++) {
        size_t count, bytes = (floats(run, i) + 1) * sizeof(float);
        const uint64_t *keys = gw_work_item_keys(run->item, i, &count);
        run->rows[i] = realloc(run->rows[i], bytes);
        run->gradients[i] = realloc(run->gradients[i], bytes);
        ck_assert(run->rows[i] && run->gradients[i]);
        gw_table_store_pull(run->store, i, keys, count, run->rows[i]);
    }
}

struct gw_sample_sums task_compute(struct task_run *run, bool gradients)
{
    struct gw_sample_sums sums;
    gw_work_item_compute(run->item, (const float *const *)run->rows,
                         gradients ? run->gradients : NULL, &sums);
    return sums;
}

struct gw_task_score task_train(struct task_run *run, uint64_t first,
                                uint64_t end, unsigned parts)
{
    struct gw_sample_sums total = {0}, sums;
    for (uint64_t epoch = first; epoch < end; epoch++)
        for (size_t b = 0; b < gw_task_batches(run->task); b++) {
            OK(gw_table_store_run_batch(run->store, run->item, epoch, b, parts,
                                        &sums, &run->why));
            ck_assert_uint_eq(sums.rows, gw_task_batch_rows(run->task, b));
            gw_sample_sums_add(&total, &sums);
        }
    ck_assert_uint_eq(total.rows, gw_task_rows(run->task) * (end - first));
    return gw_task_compute_score(run->task, &total);
}

struct gw_task_score task_score(struct task_run *run, enum gw_task_set set,
                                uint64_t epochs)
{
    struct gw_fetch fetch = gw_table_store_fetch(run->store);
    struct gw_task_score score;
    OK(gw_task_evaluate(run->task, set, epochs, &fetch, &score, &run->why));
    return score;
}

/* ---- properties ---- */

void task_expect_close(float is, float wanted, double tolerance)
{
    ck_assert_double_eq_tol((double)is, (double)wanted, tolerance);
}

void task_expect_keys(struct task_run *run)
{
    for (unsigned table = 0; table < run->table_count; table++) {
        size_t count;
        const uint64_t *keys = gw_work_item_keys(run->item, table, &count);
        for (size_t i = 1; i < count; i++)
            ck_assert_msg(keys[i - 1] < keys[i],
                          "table %u: key %zu is %llu after %llu", table, i,
                          (unsigned long long)keys[i],
                          (unsigned long long)keys[i - 1]);
        for (size_t i = 0; run->tables[table].dense && i < count; i++)
            ck_assert_uint_lt(keys[i], run->tables[table].dense);
    }
}

static double loss_at(struct task_run *run, float *value, float there)
{
    float kept = *value;
    *value = there;
    double loss = task_compute(run, false).loss;
    *value = kept;
    return loss;
}

/* Central differences. The real distance is used, since rows are f32. */
void task_expect_slopes(struct task_run *run, double scale, double tolerance)
{
    task_compute(run, true);
    for (unsigned table = 0; table < run->table_count; table++)
        for (size_t i = 0; i < floats(run, table); i++) {
            float *value = &run->rows[table][i];
            float above = *value + 4e-3f, below = *value - 4e-3f;
            double slope =
                (loss_at(run, value, above) - loss_at(run, value, below)) /
                ((double)above - (double)below);
            double gradient = (double)run->gradients[table][i] * scale;
            ck_assert_msg(fabs(slope - gradient) <=
                              tolerance * (1 + fabs(slope)),
                          "table %u, value %zu: slope %.9g, gradient %.9g",
                          table, i, slope, gradient);
        }
}

/* The sum of the pushes of one batch in parts, in tables that add. */
static void push_all(struct task_run *run, uint64_t batch, unsigned parts,
                     struct gw_table_store **added, struct gw_sample_sums *sums)
{
    struct gw_ps_table_config tables[GW_TASK_TABLES_MAX];
    memset(sums, 0, sizeof *sums);
    for (unsigned i = 0; i < run->table_count; i++)
        tables[i] = (struct gw_ps_table_config){.name = "sums",
                                                .width = run->tables[i].width};
    OK(gw_table_store_new(tables, run->table_count, added, &run->why));
    for (unsigned part = 0; part < parts; part++) {
        task_pull(run, &(struct gw_work_item_id){0, batch, part, parts});
        task_expect_keys(run);
        struct gw_sample_sums part_sums = task_compute(run, true);
        gw_sample_sums_add(sums, &part_sums);
        for (unsigned i = 0; i < run->table_count; i++) {
            size_t count;
            const uint64_t *keys = gw_work_item_keys(run->item, i, &count);
            OK(gw_table_store_push(*added, i, keys, count, run->gradients[i],
                                   &run->why));
        }
    }
    gw_table_store_step(*added);
}

void task_expect_parts(struct task_run *run, uint64_t batch, unsigned parts)
{
    struct gw_table_store *parted, *whole;
    struct gw_sample_sums a, b;
    push_all(run, batch, parts, &parted, &a);
    push_all(run, batch, 1, &whole, &b); /* `run->item` remains at this batch */
    ck_assert_uint_eq(a.rows, b.rows);
    ck_assert_uint_eq(a.samples, b.samples);
    ck_assert_uint_eq(a.right, b.right);
    ck_assert_double_eq_tol(a.loss, b.loss, 1e-6 * (1 + b.loss));
    for (unsigned i = 0; i < run->table_count; i++) {
        size_t count, size = floats(run, i);
        const uint64_t *keys = gw_work_item_keys(run->item, i, &count);
        ck_assert_uint_eq(gw_table_store_rows(parted, i), count);
        gw_table_store_pull(parted, i, keys, count, run->rows[i]);
        gw_table_store_pull(whole, i, keys, count, run->gradients[i]);
        for (size_t k = 0; k < size; k++)
            task_expect_close(run->rows[i][k], run->gradients[i][k], 1e-5);
    }
    gw_table_store_destroy(&parted);
    gw_table_store_destroy(&whole);
}

static uint64_t digest_of(struct task_run *run, uint64_t epochs, unsigned parts)
{
    task_begin(run);
    task_train(run, 0, epochs, parts);
    uint64_t digest = gw_table_store_digest(run->store);
    task_end(run);
    return digest;
}

void task_expect_seed(struct task_run *run, uint64_t epochs, unsigned parts)
{
    uint64_t once = digest_of(run, epochs, parts);
    ck_assert_uint_eq(digest_of(run, epochs, parts), once);
    run->config.seed++;
    ck_assert_uint_ne(digest_of(run, epochs, parts), once);
}

void task_expect_refused(struct task_run *run, enum gw_err code,
                         const char *text)
{
    enum gw_err is = gw_task_new(&run->config, &run->task, &run->why);
    ck_assert_msg(is == code && !run->task, "%s instead of %s: %s",
                  gw_err_name(is), gw_err_name(code), run->why.text);
    ck_assert_msg(strstr(run->why.text, text), "\"%s\" lacks \"%s\"",
                  run->why.text, text);
}
