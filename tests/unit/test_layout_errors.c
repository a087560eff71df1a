/* SPDX-License-Identifier: MIT
 *
 * Impossible meshes and layouts: the error names the operator, its line and the
 * reason. Names of modes, shardings and meshes.
 */
#include "nets.h"

#include <check.h>
#include <string.h>

Suite *suite_layout_errors(void);

#define HEAD  "network n\ninput 12\n"
#define PLAIN HEAD "dense 12\nrelu\ndense 10\nsoftmax\n"

static const struct {
    const char *text;
    struct gw_layout_options options;
    const char *sentence;
} wrong[] = {
    {PLAIN,
     {.mesh = {0, 1, 1}, .batch = 8},
     "mesh 0x1x1: each axis must have at least one rank"},
    {PLAIN,
     {.mesh = {256, 65, 1}, .batch = 8},
     "mesh 256x65x1: more than 16384 ranks"},
    {PLAIN,
     {.mesh = {65536, 65536, 65536}, .batch = 8},
     "mesh 65536x65536x65536: more than 16384 ranks"},
    {PLAIN,
     {.mesh = {1, 1, 1}},
     "a batch of 0 rows must be divisible by 1 data ranks x 1 micro-batches"},
    {PLAIN,
     {.mesh = {2, 1, 1}, .batch = 12, .micros = 4},
     "a batch of 12 rows must be divisible by 2 data ranks x 4 micro-batches"},
    {PLAIN,
     {.mesh = {4, 1, 1}, .batch = 8, .shard_group = 2},
     "a shard group of 2 ranks needs sharded parameters; choose zero1 or "
     "sharded"},
    {PLAIN,
     {.mesh = {4, 1, 1}, .batch = 8, .mode = GW_DATA_ZERO1, .shard_group = 3},
     "a shard group of 3 does not divide the 4 ranks of the data axis"},
    {PLAIN,
     {.mesh = {1, 1, 1}, .batch = 8, .chunks = 65},
     "65 chunks per stage; use at most 64"},
    {PLAIN,
     {.mesh = {1, 1, 4}, .batch = 8},
     "n: line 6: 4 operators are too few for 4 parts (softmax stays with the "
     "operator before it)"},
    {HEAD "dense 12\nstage\nsoftmax\n",
     {.mesh = {1, 1, 3}, .batch = 8},
     "n: line 5: the network has 1 `stage` line, but 3 parts need 2"},
    {HEAD "dense 12\nstage\nrelu\nstage\nsoftmax\n",
     {.mesh = {1, 1, 2}, .batch = 8},
     "n: line 7: the network has 2 `stage` lines, but 2 parts need 1"},
    {PLAIN,
     {.mesh = {1, 5, 1}, .batch = 8},
     "n: line 3: operator 1, dense: its 12 output features must be divisible "
     "by 5 tensor ranks"},
    {HEAD "dense 12 none\ndense 10 columns\nsoftmax\n",
     {.mesh = {1, 4, 1}, .batch = 8},
     "n: line 4: operator 2, dense: its 10 output features must be divisible "
     "by 4 tensor ranks"},
    {HEAD "dense 10 none\nrelu\ndense 12 rows\nsoftmax\n",
     {.mesh = {1, 4, 1}, .batch = 8},
     "n: line 5: operator 3, dense: its 10 input features must be divisible by "
     "4 tensor ranks"},
    {HEAD "embedding 12 rows\nsoftmax\n",
     {.mesh = {1, 5, 1}, .batch = 8},
     "n: line 3: operator 1, embedding: its 12 input features must be "
     "divisible by 5 tensor ranks"},
    {HEAD "dense 10 none\nrelu columns\nsoftmax\n",
     {.mesh = {1, 4, 1}, .batch = 8},
     "n: line 4: operator 2, relu: its 10 input features must be divisible by "
     "4 tensor ranks"},
    {HEAD "dense 12 none\ntanh batch\nsoftmax none\n",
     {.mesh = {2, 4, 1}, .batch = 12},
     "n: line 4: operator 2, tanh: the 6 rows of a micro-batch must be "
     "divisible by 4 tensor ranks"},
    {HEAD "dense 12\nsoftmax columns\n",
     {.mesh = {1, 2, 1}, .batch = 8},
     "n: line 4: operator 2, softmax: it does not support the split columns"},
    {HEAD "dense 12\nrelu rows\nsoftmax\n",
     {.mesh = {1, 1, 1}, .batch = 8},
     "n: line 4: operator 2, relu: it does not support the split rows"},
};

START_TEST(what_does_not_fit_is_refused_with_its_place)
{
    struct gw_network *network = net_of(wrong[_i].text);
    struct gw_layout *layout = NULL;
    struct gw_error why = {0};
    ck_assert_int_eq(gw_layout_new(network, &wrong[_i].options, &layout, &why),
                     GW_EINVAL);
    ck_assert_str_eq(why.text, wrong[_i].sentence);
    ck_assert_ptr_null(layout);
    ck_assert_int_eq(gw_layout_new(network, &wrong[_i].options, &layout, NULL),
                     GW_EINVAL);
    gw_network_destroy(&network);
}
END_TEST

START_TEST(a_chain_made_by_hand_is_checked)
{
    struct gw_operator operators[] = {
        {.kind = GW_OP_DENSE, .in = 4, .out = 6, .line = 1},
        {.kind = GW_OP_DENSE, .in = 5, .out = 2, .line = 2},
    };
    struct gw_network network = {.name = "hand", .inputs = 4};
    struct gw_layout_options options = {.mesh = {1, 1, 1}, .batch = 1};
    struct gw_layout *layout;
    struct gw_error why = {0};
    ck_assert_int_eq(gw_layout_new(&network, &options, &layout, &why),
                     GW_EINVAL);
    ck_assert_str_eq(why.text, "hand: the network has no operators");
    network.operators = operators;
    network.operator_count = 2;
    ck_assert_int_eq(gw_layout_new(&network, &options, &layout, &why),
                     GW_EINVAL);
    ck_assert_str_eq(
        why.text,
        "hand: line 2: operator 2, dense: it expects 5 features, but gets 6");
}
END_TEST

static const struct {
    const char *text;
    struct gw_mesh mesh;
} meshes[] = {
    {"2x2x1", {2, 2, 1}},       {"4", {4, 1, 1}},
    {"3x2", {3, 2, 1}},         {"1x1x8", {1, 1, 8}},
    {"16384", {16384, 1, 1}},   {"", {0, 0, 0}},
    {"0x1x1", {0, 0, 0}},       {"2x", {0, 0, 0}},
    {"2x2x2x2", {0, 0, 0}},     {"x2", {0, 0, 0}},
    {"2 x 2", {0, 0, 0}},       {"-1", {0, 0, 0}},
    {"99999999999", {0, 0, 0}}, {"129x128x1", {0, 0, 0}},
    {"two", {0, 0, 0}},         {"2x2x1 ", {0, 0, 0}},
};

START_TEST(meshes_are_read)
{
    struct gw_mesh mesh = {0, 0, 0};
    struct gw_error why = {0};
    bool right = meshes[_i].mesh.data > 0;
    ck_assert_int_eq(gw_mesh_parse(meshes[_i].text, &mesh, &why),
                     right ? GW_OK : GW_EINVAL);
    ck_assert_uint_eq(mesh.data, meshes[_i].mesh.data);
    ck_assert_uint_eq(mesh.tensor, meshes[_i].mesh.tensor);
    ck_assert_uint_eq(mesh.pipe, meshes[_i].mesh.pipe);
    if (!right)
        ck_assert_ptr_nonnull(strstr(why.text, meshes[_i].text));
}
END_TEST

START_TEST(ranks_are_numbered_tensor_first)
{
    struct gw_mesh mesh = {3, 2, 4};
    unsigned rank = 0;
    for (unsigned p = 0; p < mesh.pipe; p++)
        for (unsigned d = 0; d < mesh.data; d++)
            for (unsigned t = 0; t < mesh.tensor; t++)
                ck_assert_uint_eq(gw_mesh_rank(&mesh, d, t, p), rank++);
    ck_assert_uint_eq(gw_mesh_size(&mesh), rank);
}
END_TEST

START_TEST(modes_have_names)
{
    enum gw_data_mode mode = GW_DATA_REPLICATED;
    struct gw_error why = {0};
    for (unsigned m = 0; m <= GW_DATA_SHARDED; m++) {
        ck_assert_int_eq(
            gw_data_mode_parse(gw_data_mode_name((enum gw_data_mode)m), &mode,
                               &why),
            GW_OK);
        ck_assert_int_eq(mode, m);
    }
    ck_assert_int_eq(gw_data_mode_parse("fsdp", &mode, &why), GW_EINVAL);
    ck_assert_str_eq(
        why.text, "\"fsdp\" is not a mode; use replicated, zero1 or sharded");
    ck_assert_str_eq(gw_sharding_name(GW_BY_FEATURE), "by feature");
}
END_TEST

Suite *suite_layout_errors(void)
{
    Suite *suite = suite_create("layout_errors");
    TCase *tests = tcase_create("layout_errors");
    tcase_add_loop_test(tests, what_does_not_fit_is_refused_with_its_place, 0,
                        sizeof wrong / sizeof *wrong);
    tcase_add_test(tests, a_chain_made_by_hand_is_checked);
    tcase_add_loop_test(tests, meshes_are_read, 0,
                        sizeof meshes / sizeof *meshes);
    tcase_add_test(tests, ranks_are_numbered_tensor_first);
    tcase_add_test(tests, modes_have_names);
    suite_add_tcase(suite, tests);
    return suite;
}
