/* SPDX-License-Identifier: MIT
 *
 * The size of micro-batches: two times determine the constants, and the best
 * size is that of the formula, and no other size is better.
 */
#include <gradwire/pipe.h>

#include <check.h>
#include <math.h>

Suite *suite_pipe_fit(void);

static const double tiny = 1e-9;

static void expect_close(double value, double wanted)
{
    ck_assert_msg(fabs(value - wanted) <= tiny * (1 + fabs(wanted)),
                  "%.12g is not %.12g", value, wanted);
}

/* Any two sizes give back the original constants. */
START_TEST(constants_come_back)
{
    static const double costs[][2] = {
        {8000, 1000}, {0, 5}, {5, 0}, {0.25, 1e4}, {123, 0.001}};
    static const unsigned stages[] = {1, 2, 8, 100};
    enum { BATCH = 1024 };
    for (size_t c = 0; c < sizeof costs / sizeof *costs; c++)
        for (size_t p = 0; p < sizeof stages / sizeof *stages; p++)
            for (unsigned a = 1; a <= BATCH; a *= 4) {
                struct gw_pipe_fit made = {.fixed_us = costs[c][0],
                                           .sample_us = costs[c][1]};
                const unsigned sizes[2] = {a, a == 64 ? 1 : 64};
                double us[2];
                struct gw_pipe_fit fit;
                struct gw_error why = {0};
                for (int i = 0; i < 2; i++)
                    us[i] = gw_pipe_fit_us(&made, stages[p], BATCH, sizes[i]);
                ck_assert_msg(gw_pipe_fit(stages[p], BATCH, sizes, us, &fit,
                                          &why) == GW_OK,
                              "%s", why.text);
                ck_assert(fabs(fit.fixed_us - made.fixed_us) <= 1e-6);
                ck_assert(fabs(fit.sample_us - made.sample_us) <= 1e-6);
            }
}
END_TEST

/* B = 1024 samples, p = 8, 8 ms per micro-batch and 1 ms per sample: 34.2
 * samples, 1.559 s; the best power of two is 32 with 1.560 s. */
START_TEST(the_documented_example)
{
    const unsigned sizes[2] = {16, 128};
    const double us[2] = {(1024 / 16 + 7) * (8000 + 1000 * 16.0),
                          (1024 / 128 + 7) * (8000 + 1000 * 128.0)};
    struct gw_pipe_fit fit;
    ck_assert_int_eq(gw_pipe_fit(8, 1024, sizes, us, &fit, NULL), GW_OK);
    expect_close(fit.fixed_us, 8000);
    expect_close(fit.sample_us, 1000);
    expect_close(fit.best_size, sqrt(8000.0 * 1024 / (1000 * 7)));
    ck_assert_int_eq(lround(fit.best_size * 10), 342);
    expect_close(fit.best_us, pow(sqrt(1000.0 * 1024) + sqrt(7 * 8000.0), 2));
    ck_assert_int_eq(lround(fit.best_us / 1000), 1559);
    ck_assert_int_eq(lround(gw_pipe_fit_us(&fit, 8, 1024, 32) / 1000), 1560);
}
END_TEST

START_TEST(no_size_is_better)
{
    const unsigned sizes[2] = {1, 240};
    for (unsigned p = 2; p <= 16; p++) {
        struct gw_pipe_fit made = {.fixed_us = 100.0 * p, .sample_us = 30}, fit;
        double us[2];
        for (int i = 0; i < 2; i++)
            us[i] = gw_pipe_fit_us(&made, p, 240, sizes[i]);
        ck_assert_int_eq(gw_pipe_fit(p, 240, sizes, us, &fit, NULL), GW_OK);
        for (double size = 1; size <= 240; size += 0.25)
            ck_assert_double_le(fit.best_us,
                                gw_pipe_fit_us(&fit, p, 240, size) + 1e-6);
    }
}
END_TEST

/* The formula's value is out of range: one sample, or the whole batch. */
START_TEST(the_best_size_is_one_that_there_is)
{
    const unsigned sizes[2] = {1, 64};
    const double flat[2] = {(64 + 3) * 10.0, (1 + 3) * 10.0};
    const double steep[2] = {(64 + 3) * 10.0, (1 + 3) * 640.0};
    const double alone[2] = {64 * 11.0, 74};
    struct gw_pipe_fit fit;
    ck_assert_int_eq(gw_pipe_fit(4, 64, sizes, flat, &fit, NULL), GW_OK);
    ck_assert_double_eq(fit.best_size, 64);
    ck_assert_int_eq(gw_pipe_fit(4, 64, sizes, steep, &fit, NULL), GW_OK);
    ck_assert_double_eq(fit.best_size, 1);
    expect_close(fit.best_us, (64 + 3) * 10.0);
    ck_assert_int_eq(gw_pipe_fit(1, 64, sizes, alone, &fit, NULL), GW_OK);
    ck_assert_double_eq(fit.best_size, 64);
    expect_close(fit.best_us, 74);
}
END_TEST

START_TEST(what_cannot_be_fitted)
{
    static const struct {
        unsigned stages, batch, sizes[2];
        double us[2];
        enum gw_err err;
        const char *sentence;
    } cases[] = {
        {0,
         64,
         {1, 2},
         {1, 1},
         GW_EINVAL,
         "a pipeline must have at least one stage"},
        {2,
         0,
         {1, 2},
         {1, 1},
         GW_EINVAL,
         "a batch must have at least one sample"},
        {2,
         64,
         {4, 4},
         {1, 1},
         GW_EINVAL,
         "the two micro-batch sizes must differ; both are 4"},
        {2,
         64,
         {4, 5},
         {1, 1},
         GW_EINVAL,
         "micro-batches of 5 samples do not divide a batch of 64 samples"},
        {2,
         64,
         {0, 5},
         {1, 1},
         GW_EINVAL,
         "micro-batches of 0 samples do not divide a batch of 64 samples"},
        {2,
         64,
         {4, 8},
         {1, 0},
         GW_EINVAL,
         "a step with micro-batches of 8 samples took 0 us"},
        {2,
         64,
         {4, 8},
         {17, 1},
         GW_EWRONG,
         "17 us with micro-batches of 4 and 1 us with 8 fit only a per-sample "
         "cost of -0.222222 us"},
        {2,
         64,
         {4, 8},
         {17, 27},
         GW_EWRONG,
         "17 us with micro-batches of 4 and 27 us with 8 fit only a fixed cost "
         "of -1 us"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_pipe_fit fit;
        struct gw_error why = {0};
        ck_assert_int_eq(gw_pipe_fit(cases[i].stages, cases[i].batch,
                                     cases[i].sizes, cases[i].us, &fit, &why),
                         cases[i].err);
        ck_assert_str_eq(why.text, cases[i].sentence);
    }
}
END_TEST

Suite *suite_pipe_fit(void)
{
    Suite *suite = suite_create("pipe_fit");
    TCase *t = tcase_create("pipe_fit");
    tcase_add_test(t, constants_come_back);
    tcase_add_test(t, the_documented_example);
    tcase_add_test(t, no_size_is_better);
    tcase_add_test(t, the_best_size_is_one_that_there_is);
    tcase_add_test(t, what_cannot_be_fitted);
    suite_add_tcase(suite, t);
    return suite;
}
