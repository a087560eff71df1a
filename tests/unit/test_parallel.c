/* SPDX-License-Identifier: MIT
 *
 * Training on meshes: the losses of each distribution of the work agree with
 * those of one process, every rank sends and holds the amounts of the layout's
 * price, and a trainer that restores a state continues with the same bits.
 */
#include "parallel_run.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_parallel(void);

static struct gw_dataset *data;

static void make_data(void)
{
    data = parallel_data();
}

static void free_data(void)
{
    gw_dataset_destroy(&data);
}

/* Twelve operators: enough for four stages with two pieces each. */
#define DEEP                                                                   \
    "network deep\ninput 16\ndense 32\ntanh\ndense 24\nrelu\n"                 \
    "dense 16\ntanh\ndense 16\nrelu\ndense 8\ntanh\ndense 4\nsoftmax\n"

static void runs(const struct parallel_run *list, int i)
{
    struct parallel_run run = list[i];
    run.network = run.network ? run.network : DEEP;
    run.micros = run.micros ? run.micros : 1;
    run.chunks = run.chunks ? run.chunks : 1;
    run.batch = run.batch ? run.batch : 48;
    run.steps = run.steps ? run.steps : 30;
    parallel_agrees(&run, data);
}

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

/* ---- one process ---- */

static const struct parallel_run single[] = {
    {.micros = 4},
    {.micros = 4, .schedule = "1f1b", .optimiser = GW_ADAM, .rate = 0.01},
    {.micros = 4, .schedule = "zb-h1", .optimiser = GW_MOMENTUM},
    /* Two pieces on one stage: messages stay on the rank. */
    {.micros = 4, .schedule = "interleaved", .chunks = 2},
};

START_TEST(one_process)
{
    runs(single, _i);
}
END_TEST

START_TEST(every_step_and_its_loss_are_reported)
{
    enum { STEPS = 3, EVENTS = 16 };
    struct gw_sink *sink;
    struct gw_error why;
    struct gw_event events[EVENTS];
    struct parallel_run run = {
        .network = DEEP, .micros = 1, .chunks = 1, .batch = 48, .steps = STEPS};
    ck_assert_int_eq(gw_sink_ring(EVENTS, &sink, &why), GW_OK);
    run.events = sink;
    parallel_train(&run, data);
    size_t count = gw_sink_ring_read(sink, events, EVENTS, NULL);
    ck_assert_uint_eq(count, 2 * STEPS);
    for (unsigned i = 0; i < STEPS; i++) {
        const struct gw_event *step = &events[2 * i], *loss = step + 1;
        ck_assert_uint_eq(step->kind, GW_EV_STEP);
        ck_assert_int_eq(step->value, i + 1);
        ck_assert_uint_eq(loss->kind, GW_EV_LOSS);
        ck_assert_uint_eq(loss->step, i + 1);
        ck_assert_double_eq_tol((double)loss->value / 1e9, run.losses[i], 1e-8);
    }
    gw_sink_close(&sink);
}
END_TEST

/* ---- pipeline ---- */

static const struct parallel_run pipes[] = {
    {.mesh = "1x1x2", .micros = 4, .schedule = "gpipe"},
    {.mesh = "1x1x2", .micros = 4, .schedule = "1f1b"},
    {.mesh = "1x1x2", .micros = 4, .schedule = "zb-h1"},
    {.mesh = "1x1x2", .micros = 4, .schedule = "interleaved", .chunks = 2},
    {.mesh = "1x1x4", .micros = 8, .schedule = "gpipe", .wire = "ipc"},
    {.mesh = "1x1x4", .micros = 8, .schedule = "1f1b"},
    {.mesh = "1x1x4", .micros = 8, .schedule = "zb-h1"},
    {.mesh = "1x1x4", .micros = 8, .schedule = "interleaved", .chunks = 2},
};

START_TEST(pipelines)
{
    runs(pipes, _i);
}
END_TEST

/* ---- tensor ---- */

#define SPLIT(a, b, c, d, e)                                                   \
    "network split\ninput 16\ndense 32 " a "\ntanh " b "\ndense 24 " c         \
    "\nrelu " d "\ndense 4 " e "\nsoftmax\n"

static const struct parallel_run tensors[] = {
    {.mesh = "1x2x1"},
    {.mesh = "1x4x1", .micros = 2},
    {.mesh = "1x4x1",
     .network = SPLIT("columns", "columns", "rows", "none", "columns")},
    {.mesh = "1x2x1",
     .network = SPLIT("rows", "columns", "rows", "columns", "rows")},
    {.mesh = "1x2x1",
     .network = SPLIT("batch", "batch", "batch", "batch", "batch")},
    {.mesh = "1x4x1",
     .network = SPLIT("none", "batch", "columns", "none", "batch")},
    {.mesh = "1x2x1",
     .micros = 3,
     .network = SPLIT("columns", "batch", "rows", "batch", "rows")},
    {.mesh = "1x2x1",
     .network = SPLIT("none", "none", "none", "none", "none"),
     .wire = "ipc"},
    {.mesh = "1x2x1",
     .network = "network loss\ninput 16\ndense 4 columns\nsoftmax batch\n"},
    {.mesh = "1x4x1",
     .network = "network odd\ninput 16\ndense 7 rows\ndense 4 none\nsoftmax\n",
     .batch = 3},
};

START_TEST(tensor_splits)
{
    runs(tensors, _i);
}
END_TEST

/* ---- words ---- */

#define WORDS(split)                                                           \
    "network words\ninput 16\nembedding 8 " split                              \
    "\ntanh\ndense 12\nrelu\ndense 4\nsoftmax\n"

static const struct parallel_run words[] = {
    {.mesh = "1x2x1", .network = WORDS("columns")},
    {.mesh = "1x4x1", .network = WORDS("rows")},
    {.mesh = "1x2x1", .network = WORDS("batch")},
    {.mesh = "2x2x1", .network = WORDS("rows"), .mode = GW_DATA_SHARDED},
    {.mesh = "1x1x2",
     .micros = 4,
     .network = WORDS("none"),
     .schedule = "zb-h1"},
};

START_TEST(embeddings)
{
    runs(words, _i);
}
END_TEST

/* ---- data ---- */

static const struct parallel_run datas[] = {
    {.mesh = "2x1x1"},
    {.mesh = "4x1x1", .bucket_bytes = 1000, .overlap = true, .micros = 2},
    {.mesh = "2x1x1",
     .mode = GW_DATA_ZERO1,
     .optimiser = GW_ADAM,
     .rate = 0.01},
    {.mesh = "4x1x1",
     .mode = GW_DATA_ZERO1,
     .overlap = true,
     .bucket_bytes = 2000,
     .optimiser = GW_MOMENTUM},
    {.mesh = "2x1x1", .mode = GW_DATA_SHARDED},
    {.mesh = "4x1x1",
     .mode = GW_DATA_SHARDED,
     .optimiser = GW_ADAM,
     .rate = 0.01,
     .micros = 2,
     .overlap = true,
     .bucket_bytes = 1},
    {.mesh = "4x1x1",
     .mode = GW_DATA_SHARDED,
     .group = 2,
     .optimiser = GW_MOMENTUM},
    {.mesh = "4x1x1",
     .mode = GW_DATA_ZERO1,
     .group = 2,
     .overlap = true,
     .wire = "ipc"},
    {.mesh = "4x1x1", .algo = "recursive_doubling", .uncounted = true},
};

START_TEST(data_modes)
{
    runs(datas, _i);
}
END_TEST

/* ---- all axes ---- */

static const struct parallel_run hybrids[] = {
    {.mesh = "2x2x1", .micros = 2, .overlap = true, .bucket_bytes = 1000},
    {.mesh = "2x1x2",
     .micros = 2,
     .schedule = "1f1b",
     .overlap = true,
     .bucket_bytes = 500,
     .mode = GW_DATA_SHARDED},
    {.mesh = "1x2x2", .micros = 4, .schedule = "zb-h1"},
    {.mesh = "2x2x2",
     .micros = 2,
     .schedule = "1f1b",
     .mode = GW_DATA_ZERO1,
     .optimiser = GW_ADAM,
     .rate = 0.01},
    {.mesh = "1x2x2", .micros = 4, .schedule = "interleaved", .chunks = 2},
    /* A boundary at which activation and gradient differ in size. */
    {.mesh = "1x2x2",
     .micros = 2,
     .schedule = "1f1b",
     .network = "network border\ninput 16\ndense 32 columns\ntanh columns\n"
                "stage\ndense 8 columns\nrelu\ndense 4 rows\nsoftmax\n"},
    {.mesh = "2x2x2",
     .micros = 3,
     .schedule = "zb-h1",
     .overlap = true,
     .bucket_bytes = 1,
     .mode = GW_DATA_SHARDED,
     .network = SPLIT("batch", "batch", "columns", "batch", "batch")},
};

/* Blocks of rows that do not divide the 240 rows of the data. */
static const struct parallel_run remainders[] = {
    {.mesh = "1x1x1", .batch = 50},
    {.mesh = "2x1x2",
     .batch = 28,
     .micros = 2,
     .schedule = "1f1b",
     .mode = GW_DATA_SHARDED},
    {.mesh = "1x2x2",
     .batch = 44,
     .micros = 2,
     .schedule = "zb-h1",
     .network = SPLIT("batch", "batch", "columns", "batch", "batch")},
};

START_TEST(evaluation_has_a_remainder)
{
    runs(remainders, _i);
}
END_TEST

START_TEST(hybrids_agree)
{
    runs(hybrids, _i);
}
END_TEST

START_TEST(a_hundred_steps)
{
    struct parallel_run run = {.network = DEEP,
                               .mesh = "2x1x2",
                               .schedule = "1f1b",
                               .micros = 2,
                               .chunks = 1,
                               .batch = 48,
                               .steps = 100,
                               .overlap = true};
    parallel_agrees(&run, data);
}
END_TEST

/* ---- saving ---- */

static const struct parallel_run saved[] = {
    {.mesh = "1x1x1", .optimiser = GW_ADAM, .rate = 0.01},
    {.mesh = "2x2x1", .mode = GW_DATA_SHARDED, .optimiser = GW_MOMENTUM},
    {.mesh = "1x1x2",
     .micros = 4,
     .schedule = "zb-h1",
     .optimiser = GW_ADAM,
     .rate = 0.01},
};

START_TEST(restored_trainers_go_on)
{
    struct parallel_run through = saved[_i], broken = saved[_i];
    through.network = DEEP;
    through.micros = through.micros ? through.micros : 1;
    through.chunks = 1;
    through.batch = 48;
    through.steps = 20;
    broken = through;
    broken.save_at = 8;
    parallel_train(&through, data);
    parallel_train(&broken, data);
    for (unsigned s = 0; s < through.steps; s++)
        ck_assert_msg(through.losses[s] == broken.losses[s],
                      "step %u: %.17g and %.17g", s, through.losses[s],
                      broken.losses[s]);
    ck_assert(through.last_loss == broken.last_loss);
}
END_TEST

Suite *suite_parallel(void)
{
    Suite *suite = suite_create("parallel");
    const struct {
        const char *name;
        const TTest *test;
        int count;
    } cases[] = {
        {"parallel_single", one_process, COUNT(single)},
        {"parallel_events", every_step_and_its_loss_are_reported, 1},
        {"parallel_pipe", pipelines, COUNT(pipes)},
        {"parallel_tensor", tensor_splits, COUNT(tensors)},
        {"parallel_words", embeddings, COUNT(words)},
        {"parallel_data", data_modes, COUNT(datas)},
        {"parallel_hybrid", hybrids_agree, COUNT(hybrids)},
        {"parallel_rest", evaluation_has_a_remainder, COUNT(remainders)},
        {"parallel_long", a_hundred_steps, 1},
        {"parallel_state", restored_trainers_go_on, COUNT(saved)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TCase *tcase = tcase_create(cases[i].name);
        tcase_add_checked_fixture(tcase, make_data, free_data);
        tcase_add_loop_test(tcase, cases[i].test, 0, cases[i].count);
        suite_add_tcase(suite, tcase);
    }
    return suite;
}
