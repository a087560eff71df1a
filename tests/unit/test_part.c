/* SPDX-License-Identifier: MIT
 *
 * The gradient of a network's part against differences of the loss, which
 * another network computes: plain loops in f64 without tensors, tapes and
 * shards. Also whole backward passes against split ones, and initial weights:
 * the shares of a mesh are those of one rank.
 */
#include "learn/network/model_chunk.h"

#include "nets.h"
#include "parallel_run.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_part(void);

enum { SEED = 9, ROWS = 6, OPERATORS_MAX = 16, WIDTH_MAX = 128 };

/* ---- the other network ---- */

static void naive_dense(const struct gw_operator *op, const double *w,
                        const double *x, double *y)
{
    for (unsigned j = 0; j < op->out; j++) {
        y[j] = op->kind == GW_OP_DENSE ? w[(size_t)op->in * op->out + j] : 0;
        for (unsigned k = 0; k < op->in; k++)
            y[j] += x[k] * w[k * op->out + j];
    }
}

/* Place (h, w) of channel c; 0 beyond the edge. */
static double pixel(const struct gw_image *image, const double *x, unsigned c,
                    int h, int w)
{
    bool inside =
        h >= 0 && w >= 0 && h < (int)image->height && w < (int)image->width;
    return inside ? x[(c * image->height + (unsigned)h) * image->width +
                      (unsigned)w]
                  : 0;
}

static void naive_conv(const struct gw_operator *op, const double *weights,
                       const double *x, double *y)
{
    unsigned filters = op->image_out.channels, taken = op->image_in.channels;
    int kh = (int)op->kernel_height, kw = (int)op->kernel_width;
    const double *bias =
        weights + (size_t)taken * (unsigned)(kh * kw) * filters;
    for (unsigned f = 0; f < filters; f++)
        for (int h = 0; h < (int)op->image_in.height; h++)
            for (int w = 0; w < (int)op->image_in.width; w++, y++) {
                *y = bias[f];
                for (unsigned c = 0; c < taken; c++)
                    for (int i = 0; i < kh * kw; i++)
                        *y += pixel(&op->image_in, x, c, h + i / kw - kh / 2,
                                    w + i % kw - kw / 2) *
                              weights[(c * (unsigned)(kh * kw) + (unsigned)i) *
                                          filters +
                                      f];
            }
}

static void naive_maxpool(const struct gw_operator *op, const double *x,
                          double *y)
{
    int kh = (int)op->kernel_height, kw = (int)op->kernel_width;
    for (unsigned c = 0; c < op->image_out.channels; c++)
        for (int h = 0; h < (int)op->image_out.height; h++)
            for (int w = 0; w < (int)op->image_out.width; w++, y++) {
                *y = -(double)INFINITY;
                for (int i = 0; i < kh * kw; i++)
                    *y = fmax(*y, pixel(&op->image_in, x, c, h * kh + i / kw,
                                        w * kw + i % kw));
            }
}

/* y is the output of operator i for x; all: the outputs of the operators before
 * it. */
static void naive_operator(const struct gw_operator *op, const double *weights,
                           const double *x, double (*all)[WIDTH_MAX], double *y)
{
    switch (op->kind) {
    case GW_OP_DENSE:
    case GW_OP_EMBEDDING:
        naive_dense(op, weights, x, y);
        return;
    case GW_OP_CONV:
        naive_conv(op, weights, x, y);
        return;
    case GW_OP_MAXPOOL:
        naive_maxpool(op, x, y);
        return;
    default:
        for (unsigned j = 0; j < op->out; j++)
            y[j] = op->kind == GW_OP_RELU   ? (x[j] > 0 ? x[j] : 0)
                   : op->kind == GW_OP_TANH ? tanh(x[j])
                   : op->kind == GW_OP_ADD  ? x[j] + all[op->source][j]
                                            : x[j];
    }
}

/* The loss of row `row`, summed; parameters[i]: of operator i. */
static double naive_row(const struct gw_network *network,
                        double *const *parameters,
                        const struct gw_dataset *data, uint32_t row)
{
    double first[WIDTH_MAX] = {0}, all[OPERATORS_MAX][WIDTH_MAX], *x = first;
    for (size_t k = data->row_begin[row]; k < data->row_begin[row + 1]; k++)
        x[data->index[k]] = (double)data->value[k];
    for (unsigned i = 0; i + 1 < network->operator_count; i++) {
        naive_operator(&network->operators[i], parameters[i], x, all, all[i]);
        x = all[i];
    }
    double sum = 0;
    for (unsigned k = 0; k < network->classes; k++)
        sum += exp(x[k]);
    return log(sum) - x[data->label[row]];
}

static double naive_loss(const struct gw_network *network,
                         double *const *parameters,
                         const struct gw_dataset *data)
{
    double loss = 0;
    for (uint32_t row = 0; row < ROWS; row++)
        loss += naive_row(network, parameters, data, row);
    return loss / ROWS;
}

/* ---- a part that is the whole network, on one rank ---- */

struct whole {
    struct gw_network *network;
    struct gw_layout *layout;
    struct gw__shards *shards;
    struct gw__model_chunk *chunk;
    double *parameters[OPERATORS_MAX]; /* in f64 */
    size_t counts[OPERATORS_MAX];
};

static void whole_init(struct whole *whole, const char *text)
{
    struct gw_error why;
    unsigned operators[OPERATORS_MAX];
    for (unsigned i = 0; i < OPERATORS_MAX; i++)
        operators[i] = i;
    *whole = (struct whole){.network = net_of(text)};
    whole->layout =
        layout_of(whole->network,
                  (struct gw_layout_options){.mesh = {1, 1, 1}, .batch = ROWS});
    ck_assert_uint_le(whole->network->operator_count, OPERATORS_MAX);
    struct gw__shards_config shards = {.layout = whole->layout,
                                       .operators = operators,
                                       .operator_count =
                                           whole->network->operator_count,
                                       .rate = 1};
    ck_assert_msg(gw__shards_new(&shards, &whole->shards, &why) == GW_OK, "%s",
                  why.text);
    struct gw__model_chunk_config config = {
        .layout = whole->layout, .shards = whole->shards, .scale = 1.0 / ROWS};
    ck_assert_msg(gw__model_chunk_new(&config, &whole->chunk, &why) == GW_OK,
                  "%s", why.text);
    for (unsigned i = 0; i < whole->network->operator_count; i++) {
        size_t count = whole->layout->op_layouts[i].parameters;
        float *values = calloc(count + 1, sizeof *values);
        whole->parameters[i] = calloc(count + 1, sizeof(double));
        whole->counts[i] = count;
        ck_assert(values && whole->parameters[i]);
        gw__weights_begin(whole->layout, i, 0, SEED, values);
        for (size_t k = 0; k < count; k++) {
            values[k] += (float)(k % 5) * 0.01F; /* biases, too */
            whole->parameters[i][k] = (double)values[k];
        }
        if (count > 0)
            gw__shards_set(whole->shards, i, values);
        free(values);
    }
}

static void whole_fini(struct whole *whole)
{
    for (unsigned i = 0; i < whole->network->operator_count; i++)
        free(whole->parameters[i]);
    gw__model_chunk_destroy(&whole->chunk);
    gw__shards_destroy(&whole->shards);
    gw_layout_destroy(&whole->layout);
    gw_network_destroy(&whole->network);
}

/* Adds the gradient of the rows; returns the loss. */
static double whole_pass(struct whole *whole, const struct gw_dataset *data,
                         bool split)
{
    static const uint32_t order[ROWS] = {0, 1, 2, 3, 4, 5};
    static const enum gw_pass_kind kinds[] = {GW_BACKWARD, GW_BACKWARD_INPUT,
                                              GW_BACKWARD_WEIGHT};
    struct gw__rows rows = {data, order, ROWS};
    struct gw__loss_sum loss_sum = {0};
    struct gw__model_chunk_pass pass = {
        .kind = GW_FORWARD, .rows = &rows, .loss_sum = &loss_sum};
    struct gw__tape *tape;
    struct gw_error why;
    ck_assert_int_eq(gw__tape_acquire(whole->chunk, &tape, &why), GW_OK);
    ck_assert_int_eq(gw__model_chunk_forward(whole->chunk, tape, &pass, &why),
                     GW_OK);
    for (unsigned i = split ? 1 : 0; i < (split ? 3 : 1); i++) {
        pass.kind = kinds[i];
        ck_assert_int_eq(
            gw__model_chunk_backward(whole->chunk, tape, &pass, &why), GW_OK);
    }
    gw__tape_release(whole->chunk, &tape);
    return loss_sum.loss / ROWS;
}

static const char *const networks[] = {
    "network a\ninput 16\ndense 5\ntanh\ndense 6\nrelu\ndense 4\nsoftmax\n",
    "network b\ninput 16\nembedding 7\ntanh\ndense 4\nsoftmax\n",
    "network c\ninput 16\ndense 4\nsoftmax\n",
    "network d\ninput 16\nrelu\ndense 8\ntanh\ndense 4\ntanh\nsoftmax\n",
    "network e\ninput 1x4x4\nconv 3 3x3\ntanh\nmaxpool 2x2\nconv 2 1x3\n"
    "flatten\ndense 4\nsoftmax\n",
    "network f\ninput 2x2x4\nconv 4 5x3\nname a\ntanh\nconv 4 3x3\nadd a\n"
    "name b\nrelu\nadd a\nadd b\nmaxpool 1x2\nflatten\ndense 4\nsoftmax\n",
    "network g\ninput 16\ndense 6\nname a\ntanh\nadd a\nname b\ndense 6\n"
    "add b\nadd a\ndense 4\nsoftmax\n",
};

START_TEST(gradients_are_differences_of_the_loss)
{
    static const double step = 1e-6;
    struct gw_dataset *data = parallel_data();
    struct whole whole;
    whole_init(&whole, networks[_i]);
    double loss = whole_pass(&whole, data, false);
    double naive = naive_loss(whole.network, whole.parameters, data);
    ck_assert_double_eq_tol(loss, naive, 1e-6 * naive);
    for (unsigned i = 0; i < whole.network->operator_count; i++)
        for (size_t k = 0; k < whole.counts[i]; k++) {
            double *parameter = &whole.parameters[i][k], was = *parameter;
            *parameter = was + step;
            double above = naive_loss(whole.network, whole.parameters, data);
            *parameter = was - step;
            double below = naive_loss(whole.network, whole.parameters, data);
            *parameter = was;
            double want = (above - below) / (2 * step);
            double got = (double)gw__shards_gradient(whole.shards, i)[k];
            ck_assert_msg(fabs(got - want) < 1e-6 + 1e-5 * fabs(want),
                          "%s, operator %u, parameter %zu: %.9g, not %.9g",
                          whole.network->name, i, k, got, want);
        }
    whole_fini(&whole);
    gw_dataset_destroy(&data);
}
END_TEST

START_TEST(split_backward_passes_are_the_same)
{
    struct gw_dataset *data = parallel_data();
    struct whole once, twice;
    whole_init(&once, networks[_i]);
    whole_init(&twice, networks[_i]);
    ck_assert(whole_pass(&once, data, false) == whole_pass(&twice, data, true));
    for (unsigned i = 0; i < once.network->operator_count; i++)
        for (size_t k = 0; k < once.counts[i]; k++)
            ck_assert(gw__shards_gradient(once.shards, i)[k] ==
                      gw__shards_gradient(twice.shards, i)[k]);
    whole_fini(&once);
    whole_fini(&twice);
    gw_dataset_destroy(&data);
}
END_TEST

/* ---- weights at first ---- */

static float *weights_of(const struct gw_layout *layout, unsigned index,
                         unsigned place, uint64_t seed)
{
    size_t count = layout->op_layouts[index].parameters_local;
    float *values = malloc((count + 1) * sizeof *values);
    ck_assert(values);
    gw__weights_begin(layout, index, place, seed, values);
    return values;
}

START_TEST(weights_begin_the_same_on_every_mesh)
{
    struct gw_network *network =
        net_of("network w\ninput 12\ndense 8 columns\nrelu\ndense 4 rows\n"
               "softmax\n");
    struct gw_layout *one = layout_of(
        network, (struct gw_layout_options){.mesh = {1, 1, 1}, .batch = 4});
    struct gw_layout *two = layout_of(
        network, (struct gw_layout_options){.mesh = {1, 2, 1}, .batch = 4});
    for (unsigned place = 0; place < 2; place++) {
        float *columns = weights_of(one, 0, 0, SEED);
        float *rows = weights_of(one, 2, 0, SEED);
        float *some_columns = weights_of(two, 0, place, SEED);
        float *some_rows = weights_of(two, 2, place, SEED);
        for (size_t i = 0; i < 12; i++)
            for (size_t j = 0; j < 4; j++)
                ck_assert(some_columns[i * 4 + j] ==
                          columns[i * 8 + 4 * place + j]);
        for (size_t k = 0; k < 4 * 4; k++)
            ck_assert(some_rows[k] == rows[16 * place + k]);
        for (size_t k = 0; k < 4; k++) /* biases */
            ck_assert(some_rows[16 + k] == 0 && some_columns[48 + k] == 0);
        free(columns);
        free(rows);
        free(some_columns);
        free(some_rows);
    }
    gw_layout_destroy(&one);
    gw_layout_destroy(&two);
    gw_network_destroy(&network);
}
END_TEST

/* Uniform in +-sqrt(6 / in), other ones for another seed or operator. */
START_TEST(weights_at_first_are_spread)
{
    struct gw_network *network =
        net_of("network w\ninput 24\ndense 24\nrelu\ndense 24\nsoftmax\n");
    struct gw_layout *layout = layout_of(
        network, (struct gw_layout_options){.mesh = {1, 1, 1}, .batch = 4});
    float *a = weights_of(layout, 0, 0, 1), *b = weights_of(layout, 0, 0, 2);
    float *c = weights_of(layout, 2, 0, 1);
    double sum = 0, squares = 0, most = 0;
    unsigned equal = 0;
    enum { COUNT = 24 * 24 };
    for (size_t k = 0; k < COUNT; k++) {
        double w = (double)a[k];
        sum += w;
        squares += w * w;
        most = fabs(w) > most ? fabs(w) : most;
        equal += a[k] == b[k] || a[k] == c[k];
    }
    ck_assert_double_le(most, 0.5);
    ck_assert_double_gt(most, 0.49);
    ck_assert_double_lt(fabs(sum / COUNT), 0.05);
    ck_assert_double_eq_tol(squares / COUNT, 0.25 / 3, 0.01);
    ck_assert_uint_eq(equal, 0);
    free(a);
    free(b);
    free(c);
    gw_layout_destroy(&layout);
    gw_network_destroy(&network);
}
END_TEST

Suite *suite_part(void)
{
    Suite *suite = suite_create("part");
    int count = sizeof networks / sizeof *networks;
    TCase *gradient = tcase_create("part_gradient");
    tcase_add_loop_test(gradient, gradients_are_differences_of_the_loss, 0,
                        count);
    tcase_add_loop_test(gradient, split_backward_passes_are_the_same, 0, count);
    suite_add_tcase(suite, gradient);
    TCase *weights = tcase_create("part_weights");
    tcase_add_test(weights, weights_begin_the_same_on_every_mesh);
    tcase_add_test(weights, weights_at_first_are_spread);
    suite_add_tcase(suite, weights);
    return suite;
}
