/* SPDX-License-Identifier: MIT
 *
 * The mathematics of training: the gradient is the slope of the loss, shares
 * add up for any number of them, and steps reduce the loss.
 */
#include <gradwire/learn.h>

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_learn(void);

enum { SEED = 11, ROWS = 210, FEATURES = 9 };

static struct gw_dataset *data;
static struct gw_model *model;
static struct gw_sums sums;
static struct gw_order order;
static struct gw_error why;

static void clean(void)
{
    gw_order_fini(&order);
    gw_sums_fini(&sums);
    gw_model_destroy(&model);
    gw_dataset_destroy(&data);
}

/* Rows whose labels follow from their features, with some noise. */
static struct gw_dataset *make_data(unsigned classes, uint64_t seed)
{
    char text[ROWS * (FEATURES + 1) * 24];
    size_t used = 0;
    struct gw_rng rng;
    struct gw_dataset *made;
    gw_rng_seed(&rng, seed);
    for (int row = 0; row < ROWS; row++) {
        unsigned label = (unsigned)gw_rng_below(&rng, classes);
        used += (size_t)sprintf(text + used, "%u", label * 10);
        for (unsigned j = 0; j < FEATURES; j++) {
            double value = gw_rng_unit(&rng) - 0.5 + (j % classes == label);
            if (gw_rng_below(&rng, 3) > 0)
                used += (size_t)sprintf(text + used, " %u:%.5f", j + 1, value);
        }
        text[used++] = '\n';
    }
    ck_assert_int_eq(
        gw_libsvm_parse(text, used, "made", GW_BASE_1, &made, &why), GW_OK);
    return made;
}

static void begin(enum gw_model_kind kind, unsigned classes, size_t batch)
{
    data = make_data(classes, SEED);
    ck_assert_int_eq(gw_model_new(kind, data, &model, &why), GW_OK);
    ck_assert_int_eq(gw_sums_init(&sums, model, &why), GW_OK);
    ck_assert_int_eq(gw_order_init(&order, ROWS, batch, SEED, &why), GW_OK);
}

static void randomise(struct gw_model *m, double size)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, SEED);
    for (size_t i = 0; i < m->parameter_count; i++)
        m->parameters[i] = (float)((gw_rng_unit(&rng) - 0.5) * size);
}

/* ---- loss and gradient ---- */

static double loss_at(size_t parameter, float value)
{
    float kept = model->parameters[parameter];
    model->parameters[parameter] = value;
    gw_model_evaluate(model, data, 0, ROWS, &sums);
    model->parameters[parameter] = kept;
    return sums.loss;
}

/* Central differences. The parameter is f32, so the real distance is used. */
static void expect_gradient_is_slope(void)
{
    double *gradient = malloc(model->parameter_count * sizeof *gradient);
    ck_assert_ptr_nonnull(gradient);
    gw_model_gradient(model, data, order.row, ROWS, &sums);
    memcpy(gradient, sums.gradient, model->parameter_count * sizeof *gradient);
    for (size_t i = 0; i < model->parameter_count; i++) {
        float above = model->parameters[i] + 1e-3f;
        float below = model->parameters[i] - 1e-3f;
        double slope = (loss_at(i, above) - loss_at(i, below)) /
                       ((double)above - (double)below);
        ck_assert_msg(fabs(slope - gradient[i]) <= 1e-4 * (1 + fabs(slope)),
                      "parameter %zu: slope %.9g, gradient %.9g", i, slope,
                      gradient[i]);
    }
    free(gradient);
}

START_TEST(gradient_of_lr)
{
    begin(GW_MODEL_LR, 2, 0);
    expect_gradient_is_slope();
    randomise(model, 4);
    expect_gradient_is_slope();
}
END_TEST

START_TEST(gradient_of_softmax)
{
    begin(GW_MODEL_SOFTMAX, 4, 0);
    expect_gradient_is_slope();
    randomise(model, 4);
    expect_gradient_is_slope();
}
END_TEST

/* With all parameters 0 all classes are equally likely: the loss is log K. */
START_TEST(loss_of_nothing_learnt)
{
    for (unsigned classes = 2; classes <= 5; classes++) {
        begin(GW_MODEL_SOFTMAX, classes, 0);
        gw_model_evaluate(model, data, 0, ROWS, &sums);
        ck_assert_double_eq_tol(sums.loss / ROWS, log(classes), 1e-12);
        clean();
    }
    begin(GW_MODEL_LR, 2, 0);
    gw_model_evaluate(model, data, 0, ROWS, &sums);
    ck_assert_double_eq_tol(sums.loss / ROWS, log(2), 1e-12);
}
END_TEST

static void one_row(enum gw_model_kind kind, const char *text, float bias0,
                    float bias1)
{
    clean();
    ck_assert_int_eq(
        gw_libsvm_parse(text, strlen(text), "t", GW_BASE_AUTO, &data, &why),
        GW_OK);
    ck_assert_int_eq(gw_model_new(kind, data, &model, &why), GW_OK);
    ck_assert_int_eq(gw_sums_init(&sums, model, &why), GW_OK);
    float *bias = model->parameters + model->features * model->outputs;
    bias[0] = bias0;
    if (kind == GW_MODEL_SOFTMAX)
        bias[1] = bias1;
    gw_model_evaluate(model, data, 0, 1, &sums);
}

/* Row 0 has class 1; the score of class 1 exceeds the other by z. */
START_TEST(huge_scores_stay_finite)
{
    static const float scores[] = {0, 40, 700, 1e4f, 1e30f};
    for (size_t i = 0; i < sizeof scores / sizeof *scores; i++) {
        double z = (double)scores[i];
        one_row(GW_MODEL_LR, "1\n0\n", scores[i], 0);
        ck_assert_double_eq_tol(sums.loss, log1p(exp(-z)), 1e-300);
        one_row(GW_MODEL_SOFTMAX, "1\n0\n", 0, scores[i]);
        ck_assert_double_eq_tol(sums.loss, log1p(exp(-z)), 1e-300);
        one_row(GW_MODEL_LR, "1\n0\n", -scores[i], 0);
        ck_assert_double_eq_tol(sums.loss, z + log1p(exp(-z)),
                                1e-300 + z * 1e-15);
        one_row(GW_MODEL_SOFTMAX, "1\n0\n", scores[i], 0);
        ck_assert_double_eq_tol(sums.loss, z + log1p(exp(-z)),
                                1e-300 + z * 1e-15);
    }
}
END_TEST

START_TEST(right_answers)
{
    one_row(GW_MODEL_LR, "1\n0\n", 0.1f, 0);
    ck_assert_uint_eq(sums.right, 1);
    one_row(GW_MODEL_LR, "1\n0\n", -0.1f, 0);
    ck_assert_uint_eq(sums.right, 0);
    one_row(GW_MODEL_SOFTMAX, "1\n0\n", 1, 1.5f);
    ck_assert_uint_eq(sums.right, 1);
    one_row(GW_MODEL_SOFTMAX, "1\n0\n", 1, 0.5f);
    ck_assert_uint_eq(sums.right, 0);
}
END_TEST

/* ---- steps ---- */

static void one_step(size_t batch, const struct gw_sgd *sgd, unsigned ranks)
{
    float gradient[5 * (FEATURES + 1)] = {0};
    ck_assert_uint_le(model->parameter_count, 5 * (FEATURES + 1));
    for (unsigned rank = 0; rank < ranks; rank++) {
        size_t count;
        const uint32_t *rows =
            gw_order_share(&order, batch, rank, ranks, &count);
        gw_model_gradient(model, data, rows, count, &sums);
        for (size_t i = 0; i < model->parameter_count; i++)
            gradient[i] += (float)sums.gradient[i];
    }
    gw_model_step(model, sgd, gradient, gw_order_batch_rows(&order, batch));
}

/* The mean loss after each of 8 epochs; `ranks` share the batches. */
static void train(const struct gw_sgd *sgd, unsigned ranks, double curve[8])
{
    for (unsigned epoch = 0; epoch < 8; epoch++) {
        gw_order_shuffle(&order, epoch);
        for (size_t b = 0; b < gw_order_batches(&order); b++)
            one_step(b, sgd, ranks);
        gw_model_evaluate(model, data, 0, ROWS, &sums);
        curve[epoch] = sums.loss / ROWS;
    }
}

START_TEST(loss_decreases)
{
    const struct gw_sgd sgd = {.rate = 0.3, .momentum = 0.5, .l2 = 1e-4};
    double curve[8];
    for (unsigned classes = 2; classes <= 5; classes++) {
        begin(classes == 2 ? GW_MODEL_LR : GW_MODEL_SOFTMAX, classes, 32);
        train(&sgd, 1, curve);
        ck_assert_double_lt(curve[0], log(classes));
        ck_assert_double_lt(curve[7], 0.75 * curve[0]);
        clean();
    }
}
END_TEST

/* Within 1e-5 relative for p = 1, 2, 3, 4, and p larger than the rows of a
 * batch, with a last batch that is smaller (210 = 6 x 32 + 18). */
START_TEST(shares_change_nothing)
{
    static const unsigned ranks[] = {2, 3, 4, 7, 40};
    const struct gw_sgd sgd = {.rate = 0.3, .momentum = 0.9, .l2 = 1e-3};
    double alone[8], shared[8];
    for (unsigned classes = 2; classes <= 4; classes += 2)
        for (int i = 0; i < 5; i++) {
            enum gw_model_kind kind =
                classes == 2 ? GW_MODEL_LR : GW_MODEL_SOFTMAX;
            begin(kind, classes, 32);
            train(&sgd, 1, alone);
            clean();
            begin(kind, classes, 32);
            train(&sgd, ranks[i], shared);
            clean();
            for (int e = 0; e < 8; e++)
                ck_assert_msg(fabs(shared[e] / alone[e] - 1) < 1e-5,
                              "%s, %u ranks, epoch %d: %.12g, alone %.12g",
                              gw_model_name(kind), ranks[i], e, shared[e],
                              alone[e]);
        }
}
END_TEST

/* softmax of two classes with weights (-w/2, w/2) equals lr with w. Its score
 * difference changes twice as fast, so half the rate gives the same steps, and
 * the penalty of (w/2)^2 + (w/2)^2 = w^2/2 needs twice the factor. */
START_TEST(softmax_of_two_is_lr)
{
    const struct gw_sgd for_lr = {.rate = 0.2, .momentum = 0.7, .l2 = 1e-2};
    const struct gw_sgd for_softmax = {
        .rate = 0.1, .momentum = 0.7, .l2 = 2e-2};
    double lr[8], softmax[8];
    float weights[FEATURES + 1];
    begin(GW_MODEL_LR, 2, 32);
    train(&for_lr, 1, lr);
    memcpy(weights, model->parameters, sizeof weights);
    clean();
    begin(GW_MODEL_SOFTMAX, 2, 32);
    train(&for_softmax, 1, softmax);
    for (int e = 0; e < 8; e++)
        ck_assert_double_eq_tol(softmax[e], lr[e], 1e-6);
    for (size_t i = 0; i <= FEATURES; i++)
        ck_assert_double_eq_tol((double)model->parameters[2 * i + 1] -
                                    (double)model->parameters[2 * i],
                                (double)weights[i], 1e-5);
}
END_TEST

START_TEST(penalty_spares_biases)
{
    begin(GW_MODEL_SOFTMAX, 3, 0);
    const struct gw_sgd sgd = {.rate = 0.5, .l2 = 1};
    const float gradient[3 * (FEATURES + 1)] = {0};
    size_t weights = 3 * FEATURES;
    for (size_t i = 0; i < model->parameter_count; i++)
        model->parameters[i] = 8;
    ck_assert_double_eq(gw_model_norm2(model), 64.0 * (double)weights);
    gw_model_step(model, &sgd, gradient, 1);
    for (size_t i = 0; i < model->parameter_count; i++)
        ck_assert_double_eq((double)model->parameters[i], i < weights ? 4 : 8);
}
END_TEST

/* v = m v + g / rows;  w = w - rate v, worked out by hand for two steps. */
START_TEST(momentum)
{
    begin(GW_MODEL_LR, 2, 0);
    const struct gw_sgd sgd = {.rate = 0.5, .momentum = 0.5};
    float gradient[FEATURES + 1] = {8};
    gw_model_step(model, &sgd, gradient, 4);
    ck_assert_double_eq((double)model->parameters[0], -1);
    gw_model_step(model, &sgd, gradient, 4);
    ck_assert_double_eq((double)model->parameters[0], -2.5);
    ck_assert_double_eq((double)model->parameters[1], 0);
}
END_TEST

START_TEST(digest_sees_every_bit)
{
    begin(GW_MODEL_LR, 2, 0);
    uint64_t before = gw_model_digest(model);
    ck_assert_uint_eq(gw_model_digest(model), before);
    model->parameters[FEATURES] = 1e-45f;
    ck_assert_uint_ne(gw_model_digest(model), before);
}
END_TEST

static void expect_refused(enum gw_model_kind kind, const char *text,
                           enum gw_err code, const char *sentence)
{
    clean();
    ck_assert_int_eq(
        gw_libsvm_parse(text, strlen(text), "t", GW_BASE_1, &data, &why),
        GW_OK);
    ck_assert_int_eq(gw_model_new(kind, data, &model, &why), code);
    ck_assert_str_eq(why.text, sentence);
    ck_assert_ptr_null(model);
}

START_TEST(labels_must_fit_the_model)
{
    expect_refused(
        GW_MODEL_LR, "1 1:1\n1 2:1\n", GW_EDATA,
        "every row has the label 1; training needs at least two labels");
    expect_refused(
        GW_MODEL_SOFTMAX, "-2 1:1\n", GW_EDATA,
        "every row has the label -2; training needs at least two labels");
    expect_refused(
        GW_MODEL_LR, "1\n2\n3\n", GW_EDATA,
        "lr needs two labels, but there are 3 (1, 2, 3); use softmax");
    expect_refused(
        GW_MODEL_LR, "1\n2\n3\n0.5\n", GW_EDATA,
        "lr needs two labels, but there are 4 (0.5, 1, 2, ...); use softmax");
    expect_refused(GW_MODEL_SOFTMAX, "1 67108864:1\n2\n", GW_EINVAL,
                   "67108864 features and 2 outputs need 134217730 parameters; "
                   "a model can have at most 67108864");
}
END_TEST

START_TEST(names_of_models)
{
    enum gw_model_kind kind;
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(
            gw_model_parse(gw_model_name((enum gw_model_kind)i), &kind, &why),
            GW_OK);
        ck_assert_uint_eq((unsigned)kind, i);
    }
    ck_assert_int_eq(gw_model_parse("svm", &kind, &why), GW_EINVAL);
    ck_assert_str_eq(why.text, "\"svm\" is not a model; use lr or softmax");
}
END_TEST

Suite *suite_learn(void)
{
    Suite *suite = suite_create("learn");
    TCase *c = tcase_create("math");
    tcase_add_checked_fixture(c, NULL, clean);
    tcase_add_test(c, gradient_of_lr);
    tcase_add_test(c, gradient_of_softmax);
    tcase_add_test(c, loss_of_nothing_learnt);
    tcase_add_test(c, huge_scores_stay_finite);
    tcase_add_test(c, right_answers);
    tcase_add_test(c, loss_decreases);
    tcase_add_test(c, shares_change_nothing);
    tcase_add_test(c, softmax_of_two_is_lr);
    tcase_add_test(c, penalty_spares_biases);
    tcase_add_test(c, momentum);
    tcase_add_test(c, digest_sees_every_bit);
    tcase_add_test(c, labels_must_fit_the_model);
    tcase_add_test(c, names_of_models);
    suite_add_tcase(suite, c);
    return suite;
}
