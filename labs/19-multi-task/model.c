/* SPDX-License-Identifier: MIT
 *
 * Several tasks, one trunk (Caruana, Multitask learning, 1997). Task t predicts
 * y = a_t . (W x) + noise from 32 features x. W, 2 times 32, is the same for all
 * tasks; a_t belongs to the task. A rank works on one task: it has a share of its
 * rows, computes the gradients of trunk and head, adds them up (sum.c), and takes
 * a step:
 *
 *     model TASK-OF-EACH-RANK [alone|seed=N]...      model 0,0,0,1,1,2,2,3
 *
 * With `alone` every task has its own trunk: sum.c adds up among the ranks of the
 * task. Rank 0 prints a line of JSON: the bytes and messages, and the mean squared
 * error of each task on rows outside the training.
 */
#include "tasks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS = 4, FEATURES = 32, WIDTH = 2, STEPS = 400, TEST_ROWS = 200 };
enum { TRUNK = WIDTH * FEATURES };
static const unsigned task_rows[TASKS] = {90, 60, 60, 30};
static const double rate = 0.1, noise = 0.1;

struct model {
    float trunk[TRUNK], head[WIDTH];
};

struct rows {
    unsigned count;
    float x[TEST_ROWS][FEATURES], y[TEST_ROWS];
};

static uint64_t seed = 1;
static bool alone;

static double normal(struct gw_rng *rng)
{
    double radius = sqrt(-2 * log(1 - gw_rng_unit(rng)));
    return radius * cos(2 * 3.14159265358979 * gw_rng_unit(rng));
}

static void draw(struct gw_rng *rng, double size, float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(size * normal(rng));
}

static float predict(const struct model *m, const float *x, float *hidden)
{
    float y = 0;
    for (unsigned d = 0; d < WIDTH; d++) {
        hidden[d] = 0;
        for (unsigned f = 0; f < FEATURES; f++)
            hidden[d] += m->trunk[d * FEATURES + f] * x[f];
        y += m->head[d] * hidden[d];
    }
    return y;
}

/* Rows from `first` on of a task; the test set has another seed. */
static void make_rows(int task, bool test, unsigned first, struct rows *rows)
{
    struct gw_rng rng;
    struct model truth;
    float hidden[WIDTH];
    gw_rng_seed(&rng, seed);
    draw(&rng, 1 / sqrt(FEATURES), truth.trunk, TRUNK);
    gw_rng_seed(&rng, seed * 100 + (uint64_t)task + 1);
    draw(&rng, 1, truth.head, WIDTH);
    gw_rng_seed(&rng, seed * 100 + (uint64_t)task + (test ? 60 : 30));
    for (unsigned i = 0; i < first + rows->count; i++) {
        unsigned place = i < first ? 0 : i - first;
        draw(&rng, 1, rows->x[place], FEATURES);
        rows->y[place] = predict(&truth, rows->x[place], hidden) +
                         (float)(noise * normal(&rng));
    }
}

static void begin(struct model *m, int task)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, seed + 1000); /* the same trunk on all ranks */
    draw(&rng, 0.3, m->trunk, TRUNK);
    gw_rng_seed(&rng, seed + 2000 + (uint64_t)task);
    draw(&rng, 1, m->head, WIDTH);
}

/* This rank's share of the gradient of half the mean squared error over the task's
 * rows. */
static void slope(const struct model *m, const struct rows *rows, unsigned all,
                  struct model *gradient)
{
    float hidden[WIDTH];
    memset(gradient, 0, sizeof *gradient);
    for (unsigned i = 0; i < rows->count; i++) {
        float error = predict(m, rows->x[i], hidden) - rows->y[i];
        float share = error / (float)all;
        for (unsigned d = 0; d < WIDTH; d++) {
            gradient->head[d] += share * hidden[d];
            for (unsigned f = 0; f < FEATURES; f++)
                gradient->trunk[d * FEATURES + f] +=
                    share * m->head[d] * rows->x[i][f];
        }
    }
}

static double test_error(const struct model *m, int task)
{
    static struct rows rows;
    float hidden[WIDTH];
    double sum = 0;
    rows.count = TEST_ROWS;
    make_rows(task, true, 0, &rows);
    for (unsigned i = 0; i < rows.count; i++) {
        double error = (double)(predict(m, rows.x[i], hidden) - rows.y[i]);
        sum += error * error;
    }
    return sum / rows.count;
}

static enum gw_err learn(struct sums *sums, int task, const struct rows *rows,
                         struct model *m)
{
    struct model g;
    enum gw_err err = GW_OK;
    for (unsigned step = 0; step < STEPS && !err; step++) {
        slope(m, rows, task_rows[task], &g);
        err = sums_step(sums, g.trunk, TRUNK, g.head, WIDTH);
        for (unsigned i = 0; i < TRUNK; i++)
            m->trunk[i] -= (float)rate * g.trunk[i];
        for (unsigned i = 0; i < WIDTH; i++)
            m->head[i] -= (float)rate * g.head[i];
    }
    return err;
}

/* ---- results ---- */

struct results {
    double sent[4]; /* bytes and messages over all, over mine */
    double error[TASKS], ranks[TASKS];
    double rows_most;
};

static void count(struct gw_comm *comm, double *bytes, double *messages)
{
    for (unsigned peer = 0; comm && peer < gw_comm_size(comm); peer++) {
        struct gw_counters link;
        if (peer == gw_comm_rank(comm))
            continue;
        gw_comm_counters(comm, peer, &link);
        *bytes += (double)link.bytes_sent / STEPS;
        *messages += (double)link.messages_sent / STEPS;
    }
}

/* Prints sums over ranks, and the largest rows_most. */
static enum gw_err report(struct gw_comm *all, struct results *mine)
{
    struct results sum;
    enum { COUNT = sizeof sum / sizeof(double) };
    double most = 0;
    enum gw_err err = gw_allreduce(all, (double *)mine, (double *)&sum, COUNT,
                                   GW_F64, GW_SUM);
    if (!err)
        err = gw_allreduce(all, &mine->rows_most, &most, 1, GW_F64, GW_MAX);
    if (err || gw_comm_rank(all) != 0)
        return err;
    printf("{\"bytes_all\":%.0f,\"messages_all\":%.0f,\"bytes_mine\":%.0f,"
           "\"messages_mine\":%.0f,\"rows_most\":%.0f",
           sum.sent[0], sum.sent[1], sum.sent[2], sum.sent[3], most);
    for (unsigned t = 0; t < TASKS; t++)
        if (isfinite(sum.error[t] /
                     sum.ranks[t])) /* otherwise no rank has it */
            printf(",\"error_%u\":%.4f", t, sum.error[t] / sum.ranks[t]);
    printf("}\n");
    return GW_OK;
}

/* The number of ranks of the task, and this rank's place among them. */
static bool assigned(const char *text, unsigned rank, unsigned size, int *task,
                     unsigned *place, unsigned *ranks)
{
    int tasks[64] = {0};
    unsigned n = 0;
    while (n < 64 && text[2 * n] >= '0' && text[2 * n] < '0' + TASKS) {
        tasks[n] = text[2 * n] - '0';
        if (text[2 * n++ + 1] != ',')
            break;
    }
    *task = tasks[rank];
    *place = 0;
    *ranks = 1; /* this one */
    for (unsigned r = 0; r < n; r++) {
        *place += r < rank && tasks[r] == *task;
        *ranks += r != rank && tasks[r] == *task;
    }
    return n == size;
}

static enum gw_err work(struct gw_comm *all, int task, unsigned place,
                        unsigned ranks, struct gw_error *why)
{
    static struct rows rows;
    struct model m;
    struct gw_comm *group = NULL;
    struct results results = {.rows_most = 0};
    unsigned first = task_rows[task] * place / ranks;
    rows.count = task_rows[task] * (place + 1) / ranks - first;
    results.rows_most = rows.count;
    results.ranks[task] = 1;
    make_rows(task, false, first, &rows);
    begin(&m, task);
    enum gw_err err = alone ? gw_comm_split(all, task, 0, &group, why) : GW_OK;
    struct sums sums = {.all = alone ? group : all};
    if (!err)
        err = sums_begin(&sums, task, why);
    if (err)
        return err;
    gw_comm_counters_reset(sums.all);
    err = learn(&sums, task, &rows, &m);
    count(sums.all, &results.sent[0], &results.sent[1]);
    count(sums.mine, &results.sent[2], &results.sent[3]);
    results.error[task] = test_error(&m, task);
    if (!err)
        err = report(all, &results);
    gw_comm_destroy(&sums.mine);
    gw_comm_destroy(&group);
    return err ? gw_fail(why, err, "%s", gw_comm_error(all)->text) : GW_OK;
}

int main(int argc, char **argv)
{
    struct gw_comm *all;
    struct gw_error why;
    int task;
    unsigned place, ranks;
    for (int i = 2; i < argc; i++) {
        alone = alone || strcmp(argv[i], "alone") == 0;
        if (strncmp(argv[i], "seed=", 5) == 0)
            seed = strtoull(argv[i] + 5, NULL, 10);
    }
    enum gw_err err = gw_comm_from_env(NULL, &all, &why);
    if (err) {
        fprintf(stderr, "model: %s\n", why.text);
        return gw_err_exit(err);
    }
    if (argc < 2 || gw_comm_size(all) > 64 ||
        !assigned(argv[1], gw_comm_rank(all), gw_comm_size(all), &task, &place,
                  &ranks))
        err = gw_fail(&why, GW_EINVAL,
                      "the first argument must have a task (0 to 3) for each "
                      "of %u ranks, "
                      "such as 0,0,1,2",
                      gw_comm_size(all));
    else
        err = work(all, task, place, ranks, &why);
    if (err)
        fprintf(stderr, "model: rank %u: %s\n", gw_comm_rank(all), why.text);
    gw_comm_destroy(&all);
    return err ? gw_err_exit(err) : 0;
}
