/* SPDX-License-Identifier: MIT
 *
 * Handwritten digits (optdigits, 8x8 pixels) by a network with one or two
 * hidden layers: at least 96 % of the test rows are right, on one process and
 * on small meshes with each schedule. Skipped unless $GRADWIRE_DATA has the
 * data.
 */
#include "nets.h"
#include "ranks.h"
#include "skip.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_parallel_digits(void);

enum { BATCH = 96, EPOCHS = 25, SEED = 1 };

struct school {
    const char *schedule;
    struct gw_mesh mesh;
    unsigned micros, chunks;
    enum gw_data_mode mode;
    struct gw_dataset *train, *test;
    struct gw_layout *layout;
    struct gw_schedule *plan;
    double share; /* of the test rows that are right */
};

static struct gw_dataset *load(const char *folder, const char *set,
                               enum gw_index_base base)
{
    char path[4096];
    struct gw_dataset *data;
    struct gw_error why;
    snprintf(path, sizeof path, "%s/optdigits.%s.libsvm", folder, set);
    ck_assert_msg(gw_libsvm_load(path, base, &data, &why) == GW_OK, "%s",
                  why.text);
    gw_dataset_scale(data, 1.0F / 16);
    return data;
}

#define MUST(call)                                                             \
    do {                                                                       \
        if (call) {                                                            \
            fprintf(stderr, "%s: rank %u: %s\n", school->schedule,             \
                    gw_comm_rank(comm), why.text);                             \
            abort();                                                           \
        }                                                                      \
    } while (0)

static void learn(struct gw_comm *comm, void *context)
{
    struct school *school = context;
    struct gw_parallel_config config = {.comm = comm,
                                        .layout = school->layout,
                                        .schedule = school->plan,
                                        .optimiser = GW_MOMENTUM,
                                        .rate =
                                            school->chunks == 1 ? 0.3 : 0.15,
                                        .momentum = 0.9,
                                        .seed = SEED,
                                        .overlap = true,
                                        .bucket_bytes = 1 << 14};
    struct gw_parallel *parallel;
    struct gw_parallel_report report;
    struct gw_order order;
    struct gw_error why;
    MUST(gw_parallel_new(&config, &parallel, &why));
    MUST(gw_order_init(&order, school->train->rows, BATCH, SEED, &why));
    for (unsigned epoch = 0; epoch < EPOCHS; epoch++) {
        gw_order_shuffle(&order, epoch);
        for (size_t b = 0; b < school->train->rows / BATCH; b++)
            MUST(gw_parallel_step(parallel, school->train,
                                  order.row + b * BATCH, &report, &why));
    }
    MUST(gw_parallel_evaluate(parallel, school->test, &report, &why));
    if (gw_comm_rank(comm) == 0)
        school->share = (double)report.right / (double)school->test->rows;
    gw_order_fini(&order);
    gw_parallel_destroy(&parallel);
}

static const struct school schools[] = {
    {.schedule = "gpipe", .mesh = {1, 1, 1}, .micros = 1, .chunks = 1},
    {.schedule = "gpipe", .mesh = {1, 1, 2}, .micros = 2, .chunks = 1},
    {.schedule = "1f1b", .mesh = {1, 1, 2}, .micros = 2, .chunks = 1},
    {.schedule = "zb-h1", .mesh = {1, 1, 2}, .micros = 2, .chunks = 1},
    {.schedule = "interleaved", .mesh = {1, 1, 2}, .micros = 2, .chunks = 2},
    {.schedule = "gpipe",
     .mesh = {2, 1, 1},
     .micros = 1,
     .chunks = 1,
     .mode = GW_DATA_SHARDED},
};

START_TEST(digits)
{
    const char *folder = getenv("GRADWIRE_DATA");
    struct school school = schools[_i];
    struct gw_error why;
    if (!folder)
        SKIP("parallel_digits", "GRADWIRE_DATA names no folder with optdigits "
                                "(labs/data/get.sh optdigits)");
    struct gw_network *network =
        net_of(school.chunks == 1
                   ? "network digits\ninput 64\ndense 128\nrelu\ndense 10\n"
                     "softmax\n"
                   : "network digits\ninput 64\ndense 128\nrelu\ndense 64\n"
                     "relu\ndense 10\nsoftmax\n");
    struct gw_layout_options options = {.mesh = school.mesh,
                                        .mode = school.mode,
                                        .batch = BATCH,
                                        .micros = school.micros,
                                        .chunks = school.chunks,
                                        .optimiser_words =
                                            gw_optimiser_words(GW_MOMENTUM)};
    size_t ignored;
    school.train = load(folder, "train", GW_BASE_AUTO);
    school.test =
        load(folder, "test", (enum gw_index_base)school.train->index_base);
    ck_assert_int_eq(
        gw_dataset_match(school.test, school.train, &ignored, NULL), GW_OK);
    school.layout = layout_of(network, options);
    ck_assert_msg(gw_schedule_make(school.schedule, school.mesh.pipe,
                                   school.micros, school.chunks, &school.plan,
                                   &why) == GW_OK,
                  "%s", why.text);
    run_ranks(NULL, gw_mesh_size(&school.mesh), learn, &school);
    ck_assert_msg(school.share >= 0.96,
                  "%s: %.2f %% of the test rows (seed %d)", school.schedule,
                  100 * school.share, SEED);
    gw_schedule_destroy(&school.plan);
    gw_layout_destroy(&school.layout);
    gw_network_destroy(&network);
    gw_dataset_destroy(&school.train);
    gw_dataset_destroy(&school.test);
}
END_TEST

Suite *suite_parallel_digits(void)
{
    Suite *suite = suite_create("parallel_digits");
    TCase *tcase = tcase_create("parallel_digits");
    tcase_add_loop_test(tcase, digits, 0, sizeof schools / sizeof *schools);
    suite_add_tcase(suite, tcase);
    return suite;
}
