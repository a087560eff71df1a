/* SPDX-License-Identifier: MIT
 *
 * Networks of images and branches: their text, errors of shape, meshes with the
 * losses of one process, and NaNs that propagate. test_part.c compares
 * gradients with differences, test_task_net.c has the bits.
 */
#include "learn/network/image.h"

#include "nets.h"
#include "parallel_run.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_image(void);

/* ---- text ---- */

static const char residual[] = "network r\ninput 1x4x4\nconv 4 3x3\ntanh\n"
                               "name trunk\nconv 8 3x1 columns\ntanh\n"
                               "conv 4 3x3 rows\nadd trunk\nmaxpool 2x2\n"
                               "flatten\ndense 4\nsoftmax\n";

START_TEST(a_text_has_images_and_branches)
{
    struct gw_network *network = net_of(residual);
    const struct gw_operator *op = network->operators;
    char *text = NULL;
    size_t bytes = 0;
    FILE *output = open_memstream(&text, &bytes);
    ck_assert_int_eq(gw_network_print(network, output, NULL), GW_OK);
    fclose(output);
    ck_assert_str_eq(text, residual);
    ck_assert_uint_eq(network->inputs, 16);
    ck_assert_uint_eq(op[0].out, 4 * 16);
    ck_assert_uint_eq(gw_operator_parameters(&op[0]), 9 * 4 + 4);
    ck_assert_uint_eq(gw_operator_parameters(&op[2]), 4 * 3 * 8 + 8);
    ck_assert_uint_eq(gw_operator_work(&op[2]), 16 * 4 * 3 * 8);
    ck_assert_uint_eq(op[5].source, 1);
    ck_assert_uint_eq(op[6].out, 4 * 4);
    free(text);
    gw_network_destroy(&network);
}
END_TEST

static const struct {
    const char *text, *sentence;
} wrong[] = {
    {"input 8x8\n",
     "t:2:7: an image must be channels x height x width, such as 1x8x8"},
    {"input 1024x1024x2\n",
     "t:2:7: an image can have at most 1048576 features"},
    {"input 4\nconv 2 3x3\n", "t:3:1: it expects an image, but gets features"},
    {"input 1x4x4\ndense 2\n",
     "t:3:1: it expects features, but gets an image; put `flatten` before it"},
    {"input 1x4x4\nconv 2\n", "t:3:7: expected a height and a width, such as "
                              "3x3, found the end of the line"},
    {"input 1x4x4\nconv 2 3\n",
     "t:3:8: expected a height and a width, such as 3x3, found `3`"},
    {"input 1x4x4\nconv 2 3x2\n",
     "t:3:8: the height and width of a filter must be odd"},
    {"input 1x4x4\nmaxpool 3x2\n",
     "t:3:9: windows of 3x2 do not divide an image of 4x4"},
    {"input 1x4x4\nname a\n",
     "t:3:1: `name` must come after the operator that it names"},
    {"input 4\ntanh\nname a\ntanh\nname a\n",
     "t:6:6: the name is already in use"},
    {"input 4\ntanh\nadd b\n",
     "t:4:5: expected the name of an earlier operator's output, found `b`"},
    {"input 4\ntanh\nname a\ndense 3\nadd a\n",
     "t:6:5: a has 4 features, but the other input has 3, or another image "
     "shape"},
    {"input 1x4x4\ntanh\nname a\nflatten\nadd a\n",
     "t:6:5: a has 16 features, but the other input has 16, or another image "
     "shape"},
};

START_TEST(a_wrong_text_is_refused)
{
    char text[200];
    struct gw_network *network;
    struct gw_error why;
    snprintf(text, sizeof text, "network n\n%s", wrong[_i].text);
    ck_assert_int_eq(gw_network_parse(text, strlen(text), "t", &network, &why),
                     GW_EDATA);
    ck_assert_str_eq(why.text, wrong[_i].sentence);
}
END_TEST

/* ---- layouts ---- */

static const struct {
    const char *text;
    struct gw_mesh mesh;
    const char *sentence;
} misfits[] = {
    {"conv 6 3x3\nflatten\ndense 4\nsoftmax\n",
     {1, 4, 1},
     "n: line 3: operator 1, conv: its 6 output channels must be divisible by "
     "4 tensor ranks"},
    {"conv 6 3x3 none\nmaxpool 2x2 columns\nflatten\ndense 4\nsoftmax\n",
     {1, 4, 1},
     "n: line 4: operator 2, maxpool: its 6 input channels must be divisible "
     "by 4 tensor ranks"},
    {"flatten\ndense 8\ndense 8\nname a\ntanh\nadd a\ndense 4\nsoftmax\n",
     {1, 2, 1},
     "n: line 8: operator 5, add: a is a partial sum; name the output of the "
     "operator after it"},
    {"tanh none\nname a\nconv 2 3x3\nadd a columns\nflatten\ndense 4\n"
     "softmax\n",
     {1, 2, 1},
     "n: line 6: operator 3, add: a is replicated; an add must be split like "
     "its source"},
    {"tanh\nname a\nstage\ntanh\nadd a\nflatten\ndense 4\nsoftmax\n",
     {1, 1, 2},
     "n: line 7: an add must be in the same stage as its source"},
    {"conv 2 3x3\nname a\ntanh\ntanh\nadd a\nflatten\nsoftmax\n",
     {1, 1, 4},
     "n: it cannot be cut into 4 parts; each add must be in the same part as "
     "its source"},
};

START_TEST(what_does_not_fit_is_refused)
{
    char text[200];
    struct gw_error why;
    struct gw_layout *layout;
    snprintf(text, sizeof text, "network n\ninput 2x2x4\n%s", misfits[_i].text);
    struct gw_network *network = net_of(text);
    const struct gw_layout_options options = {.mesh = misfits[_i].mesh,
                                              .batch = 8};
    ck_assert_int_eq(gw_layout_new(network, &options, &layout, &why),
                     GW_EINVAL);
    ck_assert_str_eq(why.text, misfits[_i].sentence);
    gw_network_destroy(&network);
}
END_TEST

/* Channels are split as Megatron-LM splits dense layers: columns, then rows,
 * and one all-reduce. */
START_TEST(a_pair_of_convolutions_needs_one_all_reduce)
{
    struct gw_network *network =
        net_of("network n\ninput 2x4x4\nconv 8 3x3\ntanh\nconv 4 3x3\n"
               "flatten\nsoftmax\n");
    struct gw_layout *layout = layout_of(
        network, (struct gw_layout_options){.mesh = {1, 2, 1}, .batch = 8});
    struct gw_layout_price price;
    gw_layout_price(layout, 0, &price);
    ck_assert_int_eq(layout->op_layouts[0].split, GW_SPLIT_COLUMNS);
    ck_assert_int_eq(layout->op_layouts[2].split, GW_SPLIT_ROWS);
    ck_assert_uint_eq(layout->op_layouts[0].parameters_local, 2 * 9 * 4 + 4);
    ck_assert_uint_eq(layout->op_layouts[2].parameters_local, 4 * 9 * 4 + 4);
    ck_assert_uint_eq(price.tensor_collectives, 1);
    ck_assert_uint_eq(price.tensor_forward_bytes, 8 * 4 * 16 * sizeof(float));
    gw_layout_destroy(&layout);
    gw_network_destroy(&network);
}
END_TEST

/* ---- meshes ---- */

#define IMAGES(first, second, third)                                           \
    "network i\ninput 1x4x4\nconv 4 3x3 " first "\ntanh\nname a\n"             \
    "conv 8 3x3 " second "\ntanh\nconv 4 3x3 " third                           \
    "\nadd a\ntanh\nmaxpool 2x2\nflatten\ndense 4\nsoftmax\n"

static const struct parallel_run meshes[] = {
    {.mesh = "2x1x1"},
    {.mesh = "2x1x1", .mode = GW_DATA_SHARDED, .micros = 2},
    {.mesh = "1x2x1"},
    {.mesh = "1x4x1"},
    {.mesh = "1x2x1", .network = IMAGES("none", "columns", "rows")},
    {.mesh = "1x2x1", .network = IMAGES("columns", "rows", "columns")},
    {.mesh = "1x2x1", .network = IMAGES("batch", "batch", "batch")},
    {.mesh = "1x1x2", .micros = 4, .schedule = "zb-h1"},
    {.mesh = "2x2x1", .micros = 2, .optimiser = GW_MOMENTUM},
};

START_TEST(meshes_learn_the_same)
{
    struct gw_dataset *data = parallel_data();
    struct parallel_run run = meshes[_i];
    run.network = run.network ? run.network : IMAGES("", "", "");
    run.micros = run.micros ? run.micros : 1;
    run.chunks = 1;
    run.batch = 48;
    run.steps = 20;
    run.rate = 0.1;
    parallel_agrees(&run, data);
    gw_dataset_destroy(&data);
}
END_TEST

/* ---- NaN ---- */

enum { SIDE = 4, PLANE = SIDE * SIDE };

static const struct gw__image_shape conv = {.rows = 1,
                                            .in = {1, SIDE, SIDE},
                                            .out = {2, SIDE, SIDE},
                                            .height = 3,
                                            .width = 3};
static const struct gw__image_shape pooling = {.rows = 1,
                                               .in = {1, SIDE, SIDE},
                                               .out = {1, 2, 2},
                                               .height = 2,
                                               .width = 2};

/* Forward, the NaN reaches exactly the outputs that depend on it; backward
 * likewise. */
START_TEST(a_nan_comes_out)
{
    float x[PLANE], y[2 * PLANE], weights[20], bias[2] = {0};
    float scratch[9 * PLANE], dx[PLANE], dweights[18] = {0};
    for (int i = 0; i < 20; i++)
        weights[i] = 0.5F;
    for (int place = 0; place < PLANE; place++) {
        for (int i = 0; i < PLANE; i++)
            x[i] = i == place ? NAN : (float)i;
        gw__maxpool(&pooling, x, y);
        for (int i = 0; i < 4; i++)
            ck_assert(isnan(y[i]) ==
                      (i / 2 == place / SIDE / 2 && i % 2 == place % SIDE / 2));
        float dy[4] = {1, 1, 1, 1};
        gw__maxpool_back(&pooling, x, dy, dx);
        ck_assert(dx[place] == 1);
        gw__conv_forward(&conv, x, weights, bias, scratch, y);
        for (int i = 0; i < 2 * PLANE; i++) {
            int h = i % PLANE / SIDE - place / SIDE,
                w = i % SIDE - place % SIDE;
            bool is_close = h >= -1 && h <= 1 && w >= -1 && w <= 1;
            ck_assert_msg(!is_close || isnan(y[i]), "place %d, output %d",
                          place, i);
        }
        for (int i = 0; i < 2 * PLANE; i++)
            y[i] = i == place ? NAN : 1;
        gw__conv_input(&conv, y, weights, scratch, dx);
        ck_assert(isnan(dx[place]));
        gw__conv_weight(&conv, dx, y, scratch, dweights, bias);
        ck_assert(isnan(dweights[8]) && isnan(bias[0]));
        bias[0] = bias[1] = 0;
    }
}
END_TEST

Suite *suite_image(void)
{
    Suite *suite = suite_create("image");
    TCase *text = tcase_create("image_text");
    tcase_add_test(text, a_text_has_images_and_branches);
    tcase_add_loop_test(text, a_wrong_text_is_refused, 0,
                        sizeof wrong / sizeof *wrong);
    suite_add_tcase(suite, text);
    TCase *layouts = tcase_create("image_layout");
    tcase_add_loop_test(layouts, what_does_not_fit_is_refused, 0,
                        sizeof misfits / sizeof *misfits);
    tcase_add_test(layouts, a_pair_of_convolutions_needs_one_all_reduce);
    tcase_add_loop_test(layouts, meshes_learn_the_same, 0,
                        sizeof meshes / sizeof *meshes);
    suite_add_tcase(suite, layouts);
    TCase *nans = tcase_create("image_nan");
    tcase_add_test(nans, a_nan_comes_out);
    suite_add_tcase(suite, nans);
    return suite;
}
