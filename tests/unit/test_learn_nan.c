/* SPDX-License-Identifier: MIT
 *
 * A NaN that enters a layer, a loss, an optimiser or an updater comes out of
 * it, at any position and by any kernel, so that a diverged training is
 * visible. As in PyTorch, relu(NaN) is NaN. A row of scores with a NaN has no
 * right answer.
 */
#include "learn/logistic.h"
#include "learn/network/product.h"
#include "learn/network/tensor.h"
#include "learn/parallel/optimiser.h"
#include "learn/words/logistic_table.h"
#include "learn/words/word2vec.h"
#include "ps/client/filter.h"
#include "ps/store/update.h"

#include "coll/reduce/reduce.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_learn_nan(void);

static const char *const levels[] = {"scalar", "neon", "avx2", "avx512"};
enum { LEVELS = sizeof levels / sizeof *levels };

/* ---- layers ---- */

START_TEST(element_wise)
{
    enum { COUNT = 37 };
    for (size_t place = 0; place < COUNT; place++) {
        float x[COUNT] = {0}, dy[COUNT] = {0}, y[COUNT], dx[COUNT];
        x[place] = NAN;
        gw__relu(x, y, COUNT);
        for (size_t i = 0; i < COUNT; i++)
            ck_assert(i == place ? isnan(y[i]) : y[i] == 0 && !signbit(y[i]));
        gw__tanh(x, y, COUNT);
        for (size_t i = 0; i < COUNT; i++)
            ck_assert(isnan(y[i]) == (i == place));
        gw__tanh_back(y, dy, dx, COUNT);
        ck_assert(isnan(dx[place]));
        dy[place] = NAN;
        gw__relu_back(x, dy, dx, COUNT); /* as PyTorch: it passes dy through */
        for (size_t i = 0; i < COUNT; i++)
            ck_assert(isnan(dx[i]) == (i == place));
    }
}
END_TEST

/* All elements but one are 0 or 1. The row of the result, or the column, of
 * that one must be NaN, even if it meets zeros only. */
static void check_product(struct gw__product p, float *from, size_t place,
                          bool of_left)
{
    size_t inner = p.inner, width = of_left ? inner : p.columns;
    bool turned = of_left ? p.left_turned : p.right_turned;
    size_t height = of_left ? p.rows : inner;
    size_t row = turned ? place % height : place / width;
    size_t column = turned ? place / height : place % width;
    float kept = from[place];
    from[place] = NAN;
    gw__product(&p);
    from[place] = kept;
    for (size_t i = 0; i < p.rows; i++)
        for (size_t j = 0; j < p.columns; j++) {
            bool hit = of_left ? i == row : j == column;
            if (!isnan(p.out[i * p.columns + j]) == hit)
                ck_abort_msg("%s, %zux%zux%zu, turned %d %d: element %zu of "
                             "the %s one, result %zu %zu",
                             gw__product_name(), p.rows, inner, p.columns,
                             p.left_turned, p.right_turned, place,
                             of_left ? "left" : "right", i, j);
        }
}

START_TEST(products)
{
    static const size_t shapes[][3] = {
        {1, 1, 1}, {1, 9, 33}, {9, 5, 1}, {7, 3, 17}, {13, 18, 35}};
    const struct gw__product_kind *kind = gw__product_kinds()[_i];
    if (!gw__product_select(kind->name))
        return;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int how = 0; how < 4; how++) {
            float left[13 * 18], right[18 * 35], out[13 * 35];
            for (size_t i = 0; i < sizeof left / sizeof *left; i++)
                left[i] = i % 3 == 0;
            for (size_t i = 0; i < sizeof right / sizeof *right; i++)
                right[i] = i % 2 != 0;
            const struct gw__product p = {.left = left,
                                          .right = right,
                                          .out = out,
                                          .rows = shapes[s][0],
                                          .inner = shapes[s][1],
                                          .columns = shapes[s][2],
                                          .left_turned = how & 1,
                                          .right_turned = how & 2};
            for (size_t at = 0; at < p.rows * p.inner; at++)
                check_product(p, left, at, true);
            for (size_t at = 0; at < p.inner * p.columns; at++)
                check_product(p, right, at, false);
        }
    ck_assert(gw__product_select(NULL));
}
END_TEST

/* ---- losses ---- */

START_TEST(a_softmax)
{
    enum { CLASSES = 5 };
    uint32_t labels[CLASSES], row;
    struct gw_dataset data = {.rows = CLASSES, .label = labels};
    for (uint32_t k = 0; k < CLASSES; k++)
        labels[k] = k;
    for (size_t place = 0; place < CLASSES; place++)
        for (row = 0; row < CLASSES; row++) {
            const struct gw__rows rows = {&data, &row, 1};
            float scores[CLASSES] = {1, 2, 3, 4, 5}, slopes[CLASSES];
            struct gw__loss_sum loss_sum = {0};
            scores[place] = NAN;
            gw__softmax(&rows, scores, CLASSES, 1, slopes, &loss_sum);
            ck_assert(isnan(loss_sum.loss));
            ck_assert_uint_eq(loss_sum.right, 0);
            for (size_t k = 0; k < CLASSES; k++)
                ck_assert(isnan(slopes[k]));
        }
}
END_TEST

/* The linear models' own softmax, and lr. */
START_TEST(linear_models)
{
    static const char text[] = "0 1:1\n1 2:1\n2 3:1\n",
                      two[] = "0 1:1\n1 2:1\n";
    for (unsigned kind = 0; kind < 2; kind++) {
        struct gw_dataset *data;
        struct gw_model *model;
        struct gw_sums sums;
        const char *of = kind == GW_MODEL_LR ? two : text;
        ck_assert(gw_libsvm_parse(of, strlen(of), "text", GW_BASE_1, &data,
                                  NULL) == GW_OK);
        ck_assert(gw_model_new((enum gw_model_kind)kind, data, &model, NULL) ==
                  GW_OK);
        ck_assert(gw_sums_init(&sums, model, NULL) == GW_OK);
        for (size_t k = 0; k < model->outputs; k++) {
            float *bias =
                model->parameters + model->features * model->outputs + k;
            *bias = NAN;
            gw_model_evaluate(model, data, 0, data->rows, &sums);
            ck_assert(isnan(sums.loss));
            ck_assert_uint_eq(sums.right, 0);
            *bias = 0;
        }
        gw_sums_fini(&sums);
        gw_model_destroy(&model);
        gw_dataset_destroy(&data);
    }
}
END_TEST

START_TEST(logistic_losses)
{
    for (int positive = 0; positive < 2; positive++) {
        struct gw__logistic evaluated = gw__logistic((double)NAN, positive);
        ck_assert(isnan(evaluated.loss) && isnan(evaluated.slope) &&
                  !evaluated.right);
    }
    const struct gw__logistic_table *table = gw__logistic_table();
    struct gw__logistic_entry expected = gw__logistic_lookup(table, NAN);
    ck_assert(isnan(expected.loss) && isnan(expected.slope));
    expected = gw__logistic_lookup(table, INFINITY);
    ck_assert(isinf(expected.loss) && expected.slope == 1);
    expected = gw__logistic_lookup(table, -INFINITY);
    ck_assert(expected.loss == 0 && expected.slope == 0);
}
END_TEST

/* A NaN in the vector of the word, of the target, of a negative. */
START_TEST(word2vec)
{
    enum { STRIDE = 32, TARGETS = 3, PLACES = (1 + TARGETS) * STRIDE };
    uint32_t targets[TARGETS] = {0, 1, 2};
    struct gw__pair pair = {.count = TARGETS, .rate = 0.5f};
    struct gw__pairs pairs = {.pair = &pair, .count = 1, .targets = targets};
    for (int i = 0; i < LEVELS; i++) {
        if (!gw__reduce_select(levels[i]))
            continue;
        for (size_t place = 0; place < PLACES; place++) {
            float memory[PLACES], error[STRIDE];
            struct gw__vectors vectors = {
                .in = memory, .out = memory + STRIDE, .stride = STRIDE};
            struct gw_sample_sums sums = {0};
            for (size_t k = 0; k < PLACES; k++)
                memory[k] = k < 2 * STRIDE ? 0.5f : -0.5f;
            memory[place] = NAN;
            gw__word2vec_train(&vectors, &pairs, error, &sums);
            ck_assert_msg(isnan(sums.loss) && sums.right == 0 &&
                              isnan(memory[0]),
                          "%s: place %zu: loss %g, right %llu", levels[i],
                          place, sums.loss, (unsigned long long)sums.right);
        }
    }
    ck_assert(gw__reduce_select(NULL));
}
END_TEST

/* ---- steps ---- */

START_TEST(optimisers_report_it)
{
    enum { COUNT = 2 * 2048 + 21 };
    static float values[COUNT], gradient[COUNT], state[2 * COUNT];
    const struct gw__optimiser optimiser = {
        .kind = (enum gw_optimiser)_i, .rate = 0.1, .momentum = 0.9};
    memset(values, 0, sizeof values);
    memset(gradient, 0, sizeof gradient);
    memset(state, 0, sizeof state);
    ck_assert(
        gw__optimiser_step(&optimiser, 1, values, gradient, state, COUNT));
    for (size_t place = 0; place < COUNT; place += place % 64 ? 1 : 31) {
        gradient[place] = place % 2 ? NAN : INFINITY;
        ck_assert(
            !gw__optimiser_step(&optimiser, 1, values, gradient, state, COUNT));
        gradient[place] = 0;
        ck_assert(!isfinite(values[place]));
        values[place] = state[place] = state[COUNT + place] = 0;
    }
    ck_assert(
        gw__optimiser_step(&optimiser, 1, values, gradient, state, COUNT));
}
END_TEST

/* In a row: the pushed column, and no other. */
static void check_updater(enum gw_ps_updater kind, size_t width, size_t place)
{
    const struct gw_ps_table_config config = {.width = (uint32_t)width,
                                              .updater = kind,
                                              .rate = 0.1f,
                                              .momentum = 0.9f,
                                              .beta1 = 0.9f,
                                              .beta2 = 0.999f,
                                              .epsilon = 1e-8f,
                                              .beta = 1,
                                              .l1 = 0.01f,
                                              .name = "t"};
    struct gw__updater updater;
    float row[4 * 20 + 4], gradient[20] = {0};
    ck_assert(gw__updater_init(&updater, &config, NULL, NULL, 0, NULL) ==
              GW_OK);
    gw__updater_begin(&updater, 0, row);
    gradient[place] = NAN;
    gw__updater_apply(&updater, row, gradient, 1);
    for (size_t j = 0; j < width; j++)
        ck_assert_msg(isnan(row[j]) ? j == place : j != place,
                      "%s on %s, %zu wide: a NaN in column %zu; column %zu "
                      "is %g",
                      gw_ps_updater_name(kind), gw_reduce_isa(), width, place,
                      j, (double)row[j]);
}

START_TEST(updaters)
{
    for (int i = 0; i < LEVELS; i++)
        for (unsigned k = 0; gw__reduce_select(levels[i]) && k < GW_PS_CALLBACK;
             k++)
            for (size_t width = 1; width <= 20; width++)
                for (size_t place = 0; place < width; place++)
                    check_updater((enum gw_ps_updater)k, width, place);
    ck_assert(gw__reduce_select(NULL));
}
END_TEST

/* The check of pushes, and their conversion to half precision and back. */
START_TEST(what_is_not_finite_is_found)
{
    enum { COUNT = 83 };
    for (int i = 0; i < LEVELS; i++)
        for (size_t place = 0; gw__reduce_select(levels[i]) && place < COUNT;
             place++) {
            float values[COUNT] = {0}, back[COUNT];
            uint16_t halves[COUNT];
            values[place] = place % 3 ? NAN : -INFINITY;
            ck_assert_uint_eq(gw__first_bad(values, COUNT), place);
            gw__to_half(halves, values, COUNT);
            gw__from_half(back, halves, COUNT);
            ck_assert_uint_eq(gw__first_bad(back, COUNT), place);
            ck_assert(!isnan(back[place]) == !isnan(values[place]));
        }
    ck_assert(gw__reduce_select(NULL));
}
END_TEST

/* Kept rows that add up to inf - inf are sent, not kept forever. Returned rows
 * are kept. */
START_TEST(a_filter_keeps_no_nan)
{
    const uint64_t key = 7;
    const float up[] = {INFINITY, 0}, down[] = {-INFINITY, 0};
    struct gw__filter *filter;
    uint64_t keys[1];
    float values[2];
    size_t count;
    ck_assert(gw__filter_new(2, 0, 1e30f, &filter, NULL) == GW_OK);
    ck_assert(gw__filter_pass(filter, &key, 1, up, keys, values, &count,
                              NULL) == GW_OK);
    ck_assert_uint_eq(count, 1);
    gw__filter_return(filter, &key, 1, up);
    ck_assert(gw__filter_pass(filter, &key, 1, down, keys, values, &count,
                              NULL) == GW_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert(isnan(values[0]));
    gw__filter_destroy(&filter);
}
END_TEST

Suite *suite_learn_nan(void)
{
    Suite *suite = suite_create("learn nan");
    TCase *all = tcase_create("learn_nan");
    tcase_add_test(all, element_wise);
    tcase_add_loop_test(all, products, 0, 3);
    tcase_add_test(all, a_softmax);
    tcase_add_test(all, linear_models);
    tcase_add_test(all, logistic_losses);
    tcase_add_test(all, word2vec);
    tcase_add_loop_test(all, optimisers_report_it, GW_SGD, GW_ADAM + 1);
    tcase_add_test(all, updaters);
    tcase_add_test(all, what_is_not_finite_is_found);
    tcase_add_test(all, a_filter_keeps_no_nan);
    suite_add_tcase(suite, all);
    return suite;
}
