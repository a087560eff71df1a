/* SPDX-License-Identifier: MIT
 *
 * The checks of `pipebench layout --run` on the reports of its ranks: any count
 * that differs from the prediction is found at any rank, and so are losses that
 * differ from those of one process.
 */
#include "nets.h"

#include <check.h>
#include <math.h>
#include <pipebench/layout/layout.h>
#include <string.h>

Suite *suite_pipebench_layout(void);

enum { STEPS = 3 };

static struct gw_network *network;
static struct gw_layout *layout;
static struct layout_options options = {.steps = STEPS};
static struct layout_results results;
static double losses[STEPS];
static struct layout_run setup;
static struct gw_schedule *schedule;

/* Two stages of two data ranks, so that prices differ between stages. */
static void begin(void)
{
    network = net_of("network n\ninput 8\ndense 8\nrelu\nstage\ndense 4\n"
                     "softmax\n");
    layout =
        layout_of(network, (struct gw_layout_options){.mesh = {2, 1, 2},
                                                      .mode = GW_DATA_SHARDED,
                                                      .batch = 16,
                                                      .micros = 2,
                                                      .optimiser_words = 1});
    ck_assert_int_eq(gw_schedule_make("1f1b", 2, 2, 1, &schedule, NULL), GW_OK);
    results = (struct layout_results){.losses = losses};
    setup = (struct layout_run){.options = &options,
                                .layout = layout,
                                .schedule = schedule,
                                .results = &results};
}

static void end(void)
{
    gw_schedule_destroy(&schedule);
    gw_layout_destroy(&layout);
    gw_network_destroy(&network);
}

static struct layout_report counts_of(unsigned stage)
{
    struct gw_layout_price price;
    gw_layout_price(layout, stage, &price);
    return (struct layout_report){
        .kind = LAYOUT_COUNTS,
        .counts = {.tensor_bytes = STEPS * price.tensor_forward_bytes,
                   .data_bytes = STEPS * price.data_bytes,
                   .pipe_bytes = STEPS * price.pipe_bytes,
                   .parameter_bytes = price.parameter_bytes,
                   .gradient_bytes = price.gradient_bytes,
                   .optimiser_bytes = price.optimiser_bytes,
                   .gathered_bytes = price.gathered_bytes,
                   .activation_bytes =
                       gw_layout_peak_bytes(layout, schedule, stage),
                   .steps = STEPS}};
}

START_TEST(counts_as_predicted_are_fine)
{
    uint64_t data_bytes = 0;
    for (unsigned rank = 0; rank < 4; rank++) {
        struct layout_report report = counts_of(rank / 2);
        layout_on_report(&setup, rank, &report, sizeof report);
        data_bytes += report.counts.data_bytes;
    }
    ck_assert_int_eq(results.wrong.code, GW_OK);
    ck_assert_uint_eq(results.ranks_done, 4);
    ck_assert_uint_eq(results.sum.data_bytes, data_bytes);
    ck_assert_uint_eq(results.most.parameter_bytes,
                      counts_of(0).counts.parameter_bytes);
}
END_TEST

static const struct {
    size_t offset;
    const char *what;
} counted[] = {
    {offsetof(struct gw_parallel_counts, tensor_bytes), "sent along tensor"},
    {offsetof(struct gw_parallel_counts, data_bytes), "sent along data"},
    {offsetof(struct gw_parallel_counts, pipe_bytes), "sent along pipe"},
    {offsetof(struct gw_parallel_counts, parameter_bytes),
     "holds in parameters"},
    {offsetof(struct gw_parallel_counts, gradient_bytes), "holds in gradients"},
    {offsetof(struct gw_parallel_counts, optimiser_bytes),
     "holds in the optimiser"},
    {offsetof(struct gw_parallel_counts, gathered_bytes), "gathers"},
    {offsetof(struct gw_parallel_counts, activation_bytes),
     "holds in activations"},
};

START_TEST(a_byte_more_is_found)
{
    char begins[64];
    struct layout_report report = counts_of(1);
    uint64_t *count =
        (uint64_t *)(void *)((char *)&report.counts + counted[_i].offset);
    ++*count;
    layout_on_report(&setup, 2, &report, sizeof report);
    snprintf(begins, sizeof begins, "rank 2 %s: %llu bytes counted",
             counted[_i].what, (unsigned long long)*count);
    ck_assert_int_eq(results.wrong.code, GW_EWRONG);
    ck_assert_msg(strncmp(results.wrong.text, begins, strlen(begins)) == 0,
                  "%s\nexpected: %s", results.wrong.text, begins);
}
END_TEST

START_TEST(the_price_of_another_stage_is_found)
{
    struct layout_report report = counts_of(0);
    layout_on_report(&setup, 3, &report, sizeof report);
    ck_assert_int_eq(results.wrong.code, GW_EWRONG);
}
END_TEST

static void report_losses(const double step_losses[STEPS])
{
    for (unsigned s = 0; s < STEPS; s++) {
        const struct layout_report report = {
            .kind = LAYOUT_STEP,
            .step = s + 1,
            .step_report = {.loss = step_losses[s], .right = 1}};
        layout_on_report(&setup, 0, &report, sizeof report);
    }
}

START_TEST(losses_that_diverge_are_found)
{
    static const double expected[STEPS] = {2, 1, 0.5};
    results.expected = expected;
    report_losses((const double[STEPS]){2, 1.000005, 0.5});
    ck_assert_uint_eq(results.parted, 0);
    ck_assert_double_eq_tol(results.largest_difference, 5e-6, 1e-12);
    results = (struct layout_results){.losses = losses, .expected = expected};
    report_losses((const double[STEPS]){2, 1.00002, 0.6});
    ck_assert_uint_eq(results.parted, 2);
    ck_assert_double_eq_tol(results.largest_difference, 0.2, 1e-9);
    results = (struct layout_results){.losses = losses, .expected = expected};
    report_losses((const double[STEPS]){2, 1, (double)NAN});
    ck_assert_uint_eq(results.parted, 3);
}
END_TEST

START_TEST(what_is_no_report_is_left_alone)
{
    const struct layout_report report = {.kind = LAYOUT_STEP, .step = 1};
    layout_on_report(&setup, 0, &report, sizeof report - 1);
    ck_assert_uint_eq(results.steps, 0);
    for (unsigned i = 0; i < STEPS + 2; i++)
        layout_on_report(&setup, 0, &report, sizeof report);
    ck_assert_uint_eq(results.steps, STEPS);
}
END_TEST

Suite *suite_pipebench_layout(void)
{
    Suite *suite = suite_create("pipebench_layout");
    TCase *tests = tcase_create("pipebench_layout");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, counts_as_predicted_are_fine);
    tcase_add_loop_test(tests, a_byte_more_is_found, 0,
                        sizeof counted / sizeof *counted);
    tcase_add_test(tests, the_price_of_another_stage_is_found);
    tcase_add_test(tests, losses_that_diverge_are_found);
    tcase_add_test(tests, what_is_no_report_is_left_alone);
    suite_add_tcase(suite, tests);
    return suite;
}
