/* SPDX-License-Identifier: MIT
 *
 * The results of operators, against plain loops in f64: every matrix product of
 * this build, in shapes near the edges of its tiles and blocks; sparse rows and
 * embeddings with a share of the features; the softmax where naive exponentials
 * overflow.
 */
#include "learn/network/product.h"
#include "learn/network/tensor.h"
#include "skip.h"

#include <gradwire/parallel.h>

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_tensor(void);

enum { SEED = 20260801 };

static float *randoms(struct gw_rng *rng, size_t count)
{
    float *x = malloc((count + 1) * sizeof *x);
    ck_assert(x);
    for (size_t i = 0; i < count; i++)
        x[i] = (float)(2 * gw_rng_unit(rng) - 1);
    return x;
}

/* Checks a sum of `terms` products. */
static void expect_sum(float got, double want, size_t terms, const char *what)
{
    double allowed = 1e-6 * (2 + (double)terms);
    ck_assert_msg(fabs((double)got - want) <= allowed,
                  "%s of %zu terms: %.9g, not %.9g (seed %d)", what, terms,
                  (double)got, want, SEED);
}

/* ---- products ---- */

static double product_at(const struct gw__product *p, size_t i, size_t j)
{
    double sum = 0;
    for (size_t k = 0; k < p->inner; k++) {
        size_t left = p->left_turned ? k * p->rows + i : i * p->inner + k;
        size_t right = p->right_turned ? j * p->inner + k : k * p->columns + j;
        sum += (double)p->left[left] * (double)p->right[right];
    }
    return sum;
}

static void expect_product(struct gw_rng *rng, size_t rows, size_t inner,
                           size_t columns, unsigned how)
{
    float *left = randoms(rng, rows * inner);
    float *right = randoms(rng, inner * columns);
    float *out = randoms(rng, rows * columns);
    float *before = malloc((rows * columns + 1) * sizeof *before);
    ck_assert(before);
    memcpy(before, out, rows * columns * sizeof *before);
    out[rows * columns] = 77;
    struct gw__product p = {.left = left,
                            .right = right,
                            .out = out,
                            .rows = rows,
                            .inner = inner,
                            .columns = columns,
                            .left_turned = how & 1,
                            .right_turned = how & 2,
                            .add = how & 4};
    gw__product(&p);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            size_t at = i * columns + j;
            double begin = p.add ? (double)before[at] : 0;
            expect_sum(out[at], begin + product_at(&p, i, j), inner,
                       gw__product_name());
        }
    ck_assert(out[rows * columns] == 77);
    free(left);
    free(right);
    free(out);
    free(before);
}

START_TEST(products_agree)
{
    static const size_t shapes[][3] = {
        {1, 1, 1},      {6, 1, 16},    {7, 3, 17},     {5, 128, 8},
        {61, 129, 130}, {13, 257, 31}, {120, 64, 256}, {3, 0, 5}};
    const struct gw__product_kind *kind = gw__product_kinds()[_i];
    struct gw_rng rng;
    gw_rng_seed(&rng, SEED);
    if (!kind->available()) {
        ck_assert(!gw__product_select(kind->name));
        SKIP("tensor", "this CPU or build has no %s", kind->name);
    }
    ck_assert(gw__product_select(kind->name));
    ck_assert_str_eq(gw__product_name(), kind->name);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (unsigned how = 0; how < 8; how++)
            expect_product(&rng, shapes[s][0], shapes[s][1], shapes[s][2], how);
    ck_assert(gw__product_select(NULL));
}
END_TEST

START_TEST(the_environment_names_a_product)
{
    ck_assert(!gw__product_select("abacus"));
    setenv("GRADWIRE_PRODUCT", "any", 1);
    ck_assert(gw__product_select(NULL));
    ck_assert_str_eq(gw__product_name(), "any");
    setenv("GRADWIRE_PRODUCT", "abacus", 1);
    ck_assert(gw__product_select(NULL));
    ck_assert_str_ne(gw__product_name(), "abacus");
    unsetenv("GRADWIRE_PRODUCT");
    ck_assert(gw__product_select(NULL));
}
END_TEST

START_TEST(wrong_names_of_kernels_are_refused)
{
    static const char *const variables[] = {"GRADWIRE_CPU", "GRADWIRE_PRODUCT"};
    static const char *const always[] = {"scalar", "any"};
    struct gw_error why;
    unsetenv("GRADWIRE_CPU");
    unsetenv("GRADWIRE_PRODUCT");
    ck_assert_int_eq(gw_kernels_check(&why), GW_OK);
    for (int i = 0; i < 2; i++) {
        setenv(variables[i], "abacus", 1);
        ck_assert_int_eq(gw_kernels_check(&why), GW_EINVAL);
        ck_assert_ptr_nonnull(strstr(why.text, variables[i]));
        ck_assert_ptr_nonnull(strstr(why.text, "\"abacus\""));
        ck_assert_ptr_nonnull(strstr(why.text, always[i]));
        setenv(variables[i], always[i], 1);
        ck_assert_int_eq(gw_kernels_check(&why), GW_OK);
    }
    unsetenv("GRADWIRE_CPU");
    unsetenv("GRADWIRE_PRODUCT");
}
END_TEST

/* ---- operators ---- */

START_TEST(dense_layers)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, SEED);
    struct gw__dense s = {.rows = 5, .in = 9, .out = 7};
    float *x = randoms(&rng, 45), *w = randoms(&rng, 63);
    float *b = randoms(&rng, 7), *dy = randoms(&rng, 35);
    float y[35], dx[45], dw[63], db[7];
    gw__dense_forward(&s, x, w, b, y);
    gw__dense_input(&s, dy, w, dx);
    for (size_t i = 0; i < 63; i++)
        dw[i] = 1;
    for (size_t i = 0; i < 7; i++)
        db[i] = 2;
    gw__dense_weight(&s, x, dy, dw, db);
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 7; j++) {
            double sum = (double)b[j];
            for (size_t k = 0; k < 9; k++)
                sum += (double)x[i * 9 + k] * (double)w[k * 7 + j];
            expect_sum(y[i * 7 + j], sum, 9, "x W + b");
        }
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < 9; k++) {
            double sum = 0;
            for (size_t j = 0; j < 7; j++)
                sum += (double)dy[i * 7 + j] * (double)w[k * 7 + j];
            expect_sum(dx[i * 9 + k], sum, 7, "dy W^T");
        }
    for (size_t j = 0; j < 7; j++) {
        double columns = 2;
        for (size_t i = 0; i < 5; i++)
            columns += (double)dy[i * 7 + j];
        expect_sum(db[j], columns, 5, "the sums of columns");
        for (size_t k = 0; k < 9; k++) {
            double sum = 1;
            for (size_t i = 0; i < 5; i++)
                sum += (double)x[i * 9 + k] * (double)dy[i * 7 + j];
            expect_sum(dw[k * 7 + j], sum, 5, "x^T dy");
        }
    }
    gw__dense_forward(&s, x, w, NULL, dw);
    expect_sum(dw[0] + b[0], (double)y[0], 9, "without biases");
    free(x);
    free(w);
    free(b);
    free(dy);
}
END_TEST

START_TEST(element_wise)
{
    const float x[] = {-2, -0.0F, 0, 0.5F, 3}, dy[] = {1, 2, 3, 4, 5};
    float y[5], dx[5];
    gw__relu(x, y, 5);
    gw__relu_back(x, dy, dx, 5);
    for (size_t i = 0; i < 5; i++) {
        ck_assert(y[i] == (x[i] > 0 ? x[i] : 0));
        ck_assert(dx[i] == (x[i] > 0 ? dy[i] : 0));
    }
    gw__tanh(x, y, 5);
    gw__tanh_back(y, dy, dx, 5);
    for (size_t i = 0; i < 5; i++) {
        double t = tanh((double)x[i]);
        expect_sum(y[i], t, 1, "tanh");
        expect_sum(dx[i], (double)dy[i] * (1 - t * t), 5, "its slope");
    }
}
END_TEST

/* ---- rows ---- */

static struct gw_dataset *rows_of_text(void)
{
    static const char text[] = "0 1:1 3:-2\n2 2:0.5 6:4\n1\n0 6:1\n";
    struct gw_dataset *data;
    struct gw_error why;
    ck_assert_msg(gw_libsvm_parse(text, sizeof text - 1, "text", GW_BASE_1,
                                  &data, &why) == GW_OK,
                  "%s", why.text);
    return data;
}

static const uint32_t chosen[] = {1, GW__NO_ROW, 0, 2, 3};

START_TEST(sparse_rows)
{
    struct gw_dataset *data = rows_of_text();
    struct gw__rows rows = {data, chosen, 5};
    float block[5 * 6];
    gw__rows_dense(&rows, 0, 6, block);
    const float want[5 * 6] = {0, 0.5F, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 1, 0, -2,
                               0, 0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    ck_assert_mem_eq(block, want, sizeof want);
    gw__rows_dense(&rows, 2, 2, block);
    const float middle[5 * 2] = {0, 0, 0, 0, -2, 0, 0, 0, 0, 0};
    ck_assert_mem_eq(block, middle, sizeof middle);
    gw__rows_dense(&rows, 6, 2, block); /* beyond the features of the data */
    memset(block + 10, 0, sizeof block - 10 * sizeof *block);
    for (size_t i = 0; i < 10; i++)
        ck_assert(block[i] == 0);
    gw_dataset_destroy(&data);
}
END_TEST

/* An embedding is a dense layer of the sparse rows; here of words 1 to 4. */
START_TEST(embeddings)
{
    struct gw_dataset *data = rows_of_text();
    struct gw__rows rows = {data, chosen, 5};
    struct gw__vocabulary words = {.first = 1, .count = 4, .width = 3};
    struct gw__dense same = {.rows = 5, .in = 4, .out = 3};
    struct gw_rng rng;
    gw_rng_seed(&rng, SEED);
    float *table = randoms(&rng, 12), *dy = randoms(&rng, 15);
    float x[20], y[15], dtable[12] = {0}, want_y[15], want_table[12] = {0};
    gw__rows_dense(&rows, 1, 4, x);
    gw__embedding_forward(&words, &rows, table, y);
    gw__dense_forward(&same, x, table, NULL, want_y);
    for (size_t i = 0; i < 15; i++)
        expect_sum(y[i], (double)want_y[i], 4, "an embedding");
    gw__embedding_weight(&words, &rows, dy, dtable);
    gw__dense_weight(&same, x, dy, want_table, NULL);
    for (size_t i = 0; i < 12; i++)
        expect_sum(dtable[i], (double)want_table[i], 5, "its gradient");
    free(table);
    free(dy);
    gw_dataset_destroy(&data);
}
END_TEST

/* ---- loss ---- */

START_TEST(softmax)
{
    struct gw_dataset *data = rows_of_text(); /* labels 0 2 1 0 */
    const uint32_t order[] = {0, 1, GW__NO_ROW, 3};
    struct gw__rows rows = {data, order, 4};
    const float scores[] = {1, 2, 3, 1, 0, 1000, 9, 9, 9, -500, 500, 0};
    float slopes[12];
    struct gw__loss_sum loss_sum = {.loss = 10, .right = 1};
    gw__softmax(&rows, scores, 3, 0.25, slopes, &loss_sum);
    double sum = exp(-2) + exp(-1) + 1;
    double want = 10 + (2 + log(sum)) + 0 + 1000;
    ck_assert_double_eq_tol(loss_sum.loss, want, 1e-12 * want);
    ck_assert_uint_eq(loss_sum.right, 2);
    expect_sum(slopes[0], 0.25 * (exp(-2) / sum - 1), 1, "label");
    expect_sum(slopes[2], 0.25 / sum, 1, "largest");
    ck_assert(slopes[5] == 0 && slopes[3] == 0);
    ck_assert(slopes[6] == 0 && slopes[7] == 0 && slopes[8] == 0);
    ck_assert(slopes[9] == -0.25F && slopes[10] == 0.25F);
    struct gw__loss_sum again = {.loss = 10, .right = 1};
    gw__softmax(&rows, scores, 3, 0.25, NULL, &again);
    ck_assert(again.loss == loss_sum.loss && again.right == loss_sum.right);
    gw_dataset_destroy(&data);
}
END_TEST

/* A small loss keeps its digits: log(1 + e^-40) is not 0. */
START_TEST(small_losses)
{
    struct gw_dataset *data = rows_of_text();
    const uint32_t order[] = {0};
    struct gw__rows rows = {data, order, 1};
    const float scores[] = {40, 0, -100};
    struct gw__loss_sum loss_sum = {0};
    gw__softmax(&rows, scores, 3, 1, NULL, &loss_sum);
    ck_assert_double_eq_tol(loss_sum.loss, exp(-40), 1e-12 * exp(-40));
    gw_dataset_destroy(&data);
}
END_TEST

Suite *suite_tensor(void)
{
    Suite *suite = suite_create("tensor");
    TCase *products = tcase_create("tensor_products");
    int kinds = 0;
    while (gw__product_kinds()[kinds])
        kinds++;
    tcase_add_loop_test(products, products_agree, 0, kinds);
    tcase_add_test(products, the_environment_names_a_product);
    tcase_add_test(products, wrong_names_of_kernels_are_refused);
    suite_add_tcase(suite, products);
    TCase *operators = tcase_create("tensor_operators");
    tcase_add_test(operators, dense_layers);
    tcase_add_test(operators, element_wise);
    tcase_add_test(operators, sparse_rows);
    tcase_add_test(operators, embeddings);
    tcase_add_test(operators, softmax);
    tcase_add_test(operators, small_losses);
    suite_add_tcase(suite, operators);
    return suite;
}
