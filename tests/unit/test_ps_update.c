/* SPDX-License-Identifier: MIT
 *
 * The updaters: each against its formula, column by column in double precision;
 * a run of rows against single rows; and every level of kernels against the
 * first, bit by bit. Then the values of new rows, and invalid settings.
 */
#include "coll/reduce/reduce.h"
#include "ps/store/update.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_ps_update(void);

static const char *const levels[] = {"scalar", "neon", "avx2", "avx512"};
enum { LEVELS = sizeof levels / sizeof *levels };

static struct gw_ps_table_config config_of(enum gw_ps_updater updater,
                                           unsigned width)
{
    return (struct gw_ps_table_config){.name = "t",
                                       .width = width,
                                       .updater = updater,
                                       .rate = 0.05F,
                                       .momentum = 0.9F,
                                       .beta1 = 0.9F,
                                       .beta2 = 0.999F,
                                       .epsilon = 1e-4F,
                                       .beta = 1,
                                       .l1 = 0.3F,
                                       .l2 = 0.1F};
}

static void count_up(void *context, float *row, const float *gradient,
                     unsigned width)
{
    ck_assert_ptr_eq(context, levels);
    for (unsigned i = 0; i < width; i++)
        row[i] += 3 * gradient[i];
    row[width] += 1;
}

static struct gw__updater make(enum gw_ps_updater updater, unsigned width)
{
    struct gw_ps_table_config config = config_of(updater, width);
    struct gw__updater made;
    struct gw_error why;
    ck_assert_msg(gw__updater_init(&made, &config, (void *)(uintptr_t)levels,
                                   count_up, 1, &why) == GW_OK,
                  "%s", why.text);
    return made;
}

/* ---- the formulas ---- */

struct column {
    double w, a, b; /* the value, and v or n, or m and v, or z and n */
};

static double sign(double x)
{
    return (x > 0) - (x < 0);
}

static void adam(const struct gw_ps_table_config *c, struct column *x, double g,
                 int t)
{
    double beta1 = (double)c->beta1, beta2 = (double)c->beta2;
    x->a = beta1 * x->a + (1 - beta1) * g;
    x->b = beta2 * x->b + (1 - beta2) * g * g;
    double m = x->a / (1 - pow(beta1, t)), v = x->b / (1 - pow(beta2, t));
    x->w -= (double)c->rate * m / (sqrt(v) + (double)c->epsilon);
}

/* McMahan et al. 2013, algorithm 1, which computes the weight from z and n
 * and then updates these. Here the weight is kept, and computed after the
 * update. */
static void ftrl(const struct gw_ps_table_config *c, struct column *x, double g)
{
    double alpha = (double)c->rate, beta = (double)c->beta;
    double sigma = (sqrt(x->b + g * g) - sqrt(x->b)) / alpha;
    x->a += g - sigma * x->w;
    x->b += g * g;
    x->w = fabs(x->a) <= (double)c->l1
               ? 0
               : -(x->a - sign(x->a) * (double)c->l1) /
                     ((beta + sqrt(x->b)) / alpha + (double)c->l2);
}

static void expect_update(const struct gw_ps_table_config *c, struct column *x,
                          double g, int t)
{
    double rate = (double)c->rate, l2 = (double)c->l2;
    switch ((enum gw_ps_updater)c->updater) {
    case GW_PS_ADD:
        x->w += g;
        break;
    case GW_PS_ASSIGN:
        x->w = g;
        break;
    case GW_PS_SGD:
        x->w -= rate * (g + l2 * x->w);
        break;
    case GW_PS_MOMENTUM:
        x->a = (double)c->momentum * x->a + g + l2 * x->w;
        x->w -= rate * x->a;
        break;
    case GW_PS_ADAGRAD:
        x->a += g * g;
        x->w -= rate * g / (sqrt(x->a) + (double)c->epsilon);
        break;
    case GW_PS_ADAM:
        adam(c, x, g, t);
        break;
    case GW_PS_FTRL:
        ftrl(c, x, g);
        break;
    case GW_PS_CALLBACK:
        x->w += 3 * g;
        x->a = t;
        break;
    case GW_PS_UPDATERS:
        ck_abort();
    }
}

static float draw(struct gw_rng *rng)
{
    return gw_rng_below(rng, 8) ? (float)(gw_rng_unit(rng) * 4 - 2) : 0;
}

static void check_columns(const struct gw__updater *updater, const float *row,
                          const struct column *columns, int t)
{
    unsigned width = updater->config.width;
    for (unsigned j = 0; j < width; j++)
        ck_assert_msg(
            fabs((double)row[j] - columns[j].w) <= 2e-5,
            "%s, %u wide, %s: column %u is %g, not %g, after %d updates",
            gw_ps_updater_name((enum gw_ps_updater)updater->config.updater),
            width, gw_reduce_isa(), j, (double)row[j], columns[j].w, t);
}

static void check_formula(enum gw_ps_updater kind, unsigned width)
{
    enum { UPDATES = 60 };
    struct gw__updater updater = make(kind, width);
    struct column columns[40] = {0};
    float row[40 * 4], gradient[40];
    const float scale = 0.25F;
    struct gw_rng rng;
    gw_rng_seed(&rng, width);
    ck_assert_uint_le(width, 40);
    gw__updater_begin(&updater, 1, row);
    for (int t = 1; t <= UPDATES; t++) {
        for (unsigned j = 0; j < width; j++) {
            gradient[j] = draw(&rng);
            expect_update(&updater.config, &columns[j],
                          (double)(gradient[j] * scale), t);
        }
        gw__updater_apply(&updater, row, gradient, scale);
        check_columns(&updater, row, columns, t);
    }
    if (kind == GW_PS_CALLBACK)
        ck_assert(row[width] == UPDATES);
}

START_TEST(each_updater_is_its_formula)
{
    static const unsigned widths[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 33, 40};
    for (int level = 0; level < LEVELS; level++)
        if (gw__reduce_select(levels[level]))
            for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
                check_formula((enum gw_ps_updater)_i, widths[i]);
    ck_assert(gw__reduce_select(NULL));
}
END_TEST

/* ---- the same bits ---- */

enum { MOST_ROWS = 9, MOST_FLOATS = MOST_ROWS * (3 * 40 + 1) };

/* A few rounds over `count` rows, in one run or one by one. */
static void train(const struct gw__updater *updater, size_t count, bool run,
                  uint64_t seed, float *rows)
{
    size_t width = updater->config.width;
    size_t stride = width + updater->state_floats;
    float gradients[MOST_ROWS * 40];
    struct gw_rng rng;
    gw_rng_seed(&rng, seed);
    for (size_t i = 0; i < count; i++)
        gw__updater_begin(updater, i, rows + i * stride);
    for (int round = 0; round < 5; round++) {
        for (size_t i = 0; i < count * width; i++)
            gradients[i] = draw(&rng);
        if (run)
            gw__updater_apply_run(updater, rows, gradients, count, 0.3F);
        for (size_t i = 0; i < count && !run; i++)
            gw__updater_apply(updater, rows + i * stride, gradients + i * width,
                              0.3F);
        /* Some rows are updated more often than others. */
        gw__updater_apply(updater, rows, gradients, 1);
    }
}

START_TEST(runs_and_levels_give_the_same_bits)
{
    for (unsigned width = 1; width <= 40; width++) {
        struct gw_ps_table_config config =
            config_of((enum gw_ps_updater)_i, width);
        struct gw__updater updater;
        float expected[MOST_FLOATS], rows[MOST_FLOATS];
        size_t count = 1 + width % MOST_ROWS;
        config.init_range = 1;
        ck_assert(gw__updater_init(&updater, &config, (void *)(uintptr_t)levels,
                                   count_up, 1, NULL) == GW_OK);
        size_t bytes = count * (width + updater.state_floats) * sizeof *rows;
        ck_assert(gw__reduce_select("scalar"));
        train(&updater, count, false, width, expected);
        for (int level = 0; level < LEVELS; level++) {
            if (!gw__reduce_select(levels[level]))
                continue;
            for (int run = 0; run < 2; run++) {
                train(&updater, count, run, width, rows);
                ck_assert_msg(memcmp(rows, expected, bytes) == 0,
                              "%s, %u wide, %s, %s",
                              gw_ps_updater_name((enum gw_ps_updater)_i), width,
                              levels[level], run ? "run" : "singly");
            }
        }
    }
    ck_assert(gw__reduce_select(NULL));
}
END_TEST

/* ---- corners ---- */

START_TEST(no_gradient_makes_no_nan)
{
    for (unsigned kind = 0; kind < GW_PS_UPDATERS; kind++) {
        struct gw__updater updater = make((enum gw_ps_updater)kind, 9);
        float row[9 * 3 + 1], gradient[9] = {0};
        gw__updater_begin(&updater, 0, row);
        for (int i = 0; i < 3; i++)
            gw__updater_apply(&updater, row, gradient, 1);
        for (int j = 0; j < 9; j++) {
            ck_assert(row[j] == 0);
            ck_assert(!signbit(row[j]));
        }
    }
}
END_TEST

START_TEST(adam_counts_as_far_as_a_float_does)
{
    struct gw__updater updater = make(GW_PS_ADAM, 1);
    float row[4] = {1, 0, 0, 0x1p24F}, gradient = 1;
    gw__updater_apply(&updater, row, &gradient, 1);
    ck_assert(row[3] == 0x1p24F);
    ck_assert(row[0] < 1 && row[0] > 0.5F);
}
END_TEST

START_TEST(new_rows_are_uniform_by_seed_and_key)
{
    enum { WIDTH = 500, KEYS = 20 };
    struct gw_ps_table_config config = config_of(GW_PS_MOMENTUM, WIDTH);
    struct gw__updater updater, other;
    float rows[KEYS][2 * WIDTH], again[2 * WIDTH];
    double sum = 0, squares = 0;
    config.init_range = 0.5F;
    ck_assert(gw__updater_init(&updater, &config, NULL, NULL, 0, NULL) ==
              GW_OK);
    config.init_seed = 1;
    ck_assert(gw__updater_init(&other, &config, NULL, NULL, 0, NULL) == GW_OK);
    for (uint64_t key = 0; key < KEYS; key++) {
        gw__updater_begin(&updater, key, rows[key]);
        for (int j = 0; j < WIDTH; j++) {
            ck_assert(rows[key][j] >= -0.5F && rows[key][j] <= 0.5F);
            ck_assert(rows[key][WIDTH + j] == 0);
            sum += (double)rows[key][j];
            squares += (double)(rows[key][j] * rows[key][j]);
        }
    }
    /* Of 10,000 values: 0 and 1/12, give or take some standard errors. */
    ck_assert_double_lt(fabs(sum / (WIDTH * KEYS)), 0.015);
    ck_assert_double_lt(fabs(squares / (WIDTH * KEYS) - 1.0 / 12), 0.005);
    gw__updater_begin(&updater, 7, again);
    ck_assert_mem_eq(again, rows[7], sizeof again);
    ck_assert_mem_ne(rows[6], rows[7], WIDTH * sizeof(float));
    gw__updater_begin(&other, 7, again);
    ck_assert_mem_ne(again, rows[7], WIDTH * sizeof(float));
}
END_TEST

static void refuse(struct gw_ps_table_config config)
{
    struct gw__updater updater = {.state_floats = 77};
    struct gw_error why = {.code = GW_OK};
    ck_assert_int_eq(gw__updater_init(&updater, &config, NULL, NULL, 0, &why),
                     GW_EINVAL);
    ck_assert_int_eq(why.code, GW_EINVAL);
    ck_assert_int_eq(strncmp(why.text, "table \"", 7), 0);
    ck_assert_uint_eq(updater.state_floats, 77);
}

#define REFUSE(updater, width, field, bad)                                     \
    do {                                                                       \
        struct gw_ps_table_config config_ = config_of(updater, width);         \
        config_.field = bad;                                                   \
        refuse(config_);                                                       \
    } while (0)

START_TEST(what_makes_no_sense_is_refused)
{
    REFUSE(GW_PS_ADD, 1, width, 0);
    REFUSE(GW_PS_ADD, 1, width, GW_PS_WIDTH_MAX + 1);
    REFUSE(GW_PS_ADD, 1, updater, GW_PS_UPDATERS);
    REFUSE(GW_PS_ADD, 1, group, GW_PS_GROUPS_MAX);
    REFUSE(GW_PS_SGD, 1, rate, NAN);
    REFUSE(GW_PS_SGD, 1, rate, INFINITY);
    REFUSE(GW_PS_SGD, 1, l2, -1);
    REFUSE(GW_PS_ADD, 1, init_range, -0.1F);
    REFUSE(GW_PS_MOMENTUM, 1, momentum, NAN);
    REFUSE(GW_PS_ADAGRAD, 1, epsilon, 0);
    REFUSE(GW_PS_ADAM, 1, epsilon, 0);
    REFUSE(GW_PS_ADAM, 1, beta1, 1);
    REFUSE(GW_PS_ADAM, 1, beta2, 1);
    REFUSE(GW_PS_FTRL, 1, rate, 0);
    REFUSE(GW_PS_FTRL, 1, rate, 1e-40F);
    refuse(config_of(GW_PS_CALLBACK, 1));
    struct gw_ps_table_config config = config_of(GW_PS_FTRL, 1);
    config.beta = config.l2 = 0;
    refuse(config);
    config = config_of(GW_PS_ADD, 1);
    memset(config.name, 'x', sizeof config.name);
    refuse(config);
    struct gw__updater updater;
    config = config_of(GW_PS_CALLBACK, GW__CALLBACK_WIDTH_MAX + 1);
    ck_assert_int_eq(
        gw__updater_init(&updater, &config, NULL, count_up, 0, NULL),
        GW_EINVAL);
}
END_TEST

Suite *suite_ps_update(void)
{
    Suite *suite = suite_create("ps_update");
    TCase *tcase = tcase_create("ps_update");
    tcase_add_loop_test(tcase, each_updater_is_its_formula, 0, GW_PS_UPDATERS);
    tcase_add_loop_test(tcase, runs_and_levels_give_the_same_bits, 0,
                        GW_PS_UPDATERS);
    tcase_add_test(tcase, no_gradient_makes_no_nan);
    tcase_add_test(tcase, adam_counts_as_far_as_a_float_does);
    tcase_add_test(tcase, new_rows_are_uniform_by_seed_and_key);
    tcase_add_test(tcase, what_makes_no_sense_is_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}
