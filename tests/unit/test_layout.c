/* SPDX-License-Identifier: MIT
 *
 * Layouts: every entry of the table of conversions, the splits chosen for AUTO,
 * that any split can follow any other, the boundaries of pieces, and
 * Megatron-LM's four all-reduces per layer. test_layout_price.c has the costs
 * of layouts, test_layout_errors.c the errors.
 */
#include "nets.h"

#include <check.h>
#include <pipe/layout/layout_parts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_layout(void);

/* ---- conversions ---- */

/* 12 rows of 8 features on 4 ranks: 384 bytes, 96 of them on each rank. */
static const struct {
    enum gw_sharding from, to;
    enum gw_collective collective;
    uint64_t bytes;
} table[] = {
    {GW_REPLICATED, GW_REPLICATED, GW_COLLECTIVES, 0},
    {GW_REPLICATED, GW_BY_ROW, GW_COLLECTIVES, 0},
    {GW_REPLICATED, GW_BY_FEATURE, GW_COLLECTIVES, 0},
    {GW_BY_ROW, GW_REPLICATED, GW_ALLGATHER, 3 * 96},
    {GW_BY_ROW, GW_BY_ROW, GW_COLLECTIVES, 0},
    {GW_BY_ROW, GW_BY_FEATURE, GW_ALLTOALL, 3 * 24},
    {GW_BY_FEATURE, GW_REPLICATED, GW_ALLGATHER, 3 * 96},
    {GW_BY_FEATURE, GW_BY_ROW, GW_ALLTOALL, 3 * 24},
    {GW_BY_FEATURE, GW_BY_FEATURE, GW_COLLECTIVES, 0},
    {GW_PARTIAL, GW_REPLICATED, GW_ALLREDUCE, 2 * 3 * 96},
    {GW_PARTIAL, GW_BY_ROW, GW_REDUCE_SCATTER, 3 * 96},
    {GW_PARTIAL, GW_BY_FEATURE, GW_REDUCE_SCATTER, 3 * 96},
};

START_TEST(the_table_defines_what_converts)
{
    struct gw_conversion made =
        gw__convert(table[_i].from, table[_i].to, 12, 8, 4);
    ck_assert_int_eq(made.needed, table[_i].from != table[_i].to);
    ck_assert_int_eq(made.from, table[_i].from);
    ck_assert_int_eq(made.to, table[_i].to);
    ck_assert_int_eq(made.collective, table[_i].collective);
    ck_assert_uint_eq(made.bytes, table[_i].bytes);
}
END_TEST

START_TEST(what_does_not_divide_is_padded)
{
    struct gw_conversion made = gw__convert(GW_PARTIAL, GW_REPLICATED, 7, 3, 4);
    ck_assert_uint_eq(made.bytes, 2 * 3 * 6 * sizeof(float));
}
END_TEST

/* ---- splits ---- */

/* The four shardings of an operator as letters, such as "RffP": of its input,
 * its output, the gradient of its output and the gradient of its input. */
static void conversions(const struct gw_operator_layout *op_layout, char out[5])
{
    static const char initials[] = {'R', 'r', 'f', 'P'};
    out[0] = initials[op_layout->in];
    out[1] = initials[op_layout->out];
    out[2] = initials[op_layout->grad_out];
    out[3] = initials[op_layout->grad_in];
    out[4] = 0;
}

static const struct {
    const char *text; /* of the operator in the middle */
    const char *ways;
    unsigned local_in, local_out;
    size_t parameters_local;
    bool weights_partial;
} splits[] = {
    {"dense 8 none", "RRRR", 16, 8, 136, false},
    {"dense 8 columns", "RffP", 16, 2, 34, false},
    {"dense 8 rows", "fPRf", 4, 8, 40, false},
    {"dense 8 batch", "rrrr", 16, 8, 136, true},
    {"relu none", "RRRR", 16, 16, 0, false},
    {"relu columns", "ffff", 4, 4, 0, false},
    {"tanh batch", "rrrr", 16, 16, 0, false},
};

START_TEST(a_split_decides_how_all_lies)
{
    char text[160], lies[5];
    snprintf(text, sizeof text,
             "network n\ninput 4\ndense 16 none\n%s\n"
             "softmax\n",
             splits[_i].text);
    struct gw_network *network = net_of(text);
    struct gw_layout *layout = layout_of(
        network, (struct gw_layout_options){.mesh = {1, 4, 1}, .batch = 12});
    const struct gw_operator_layout *op_layout = &layout->op_layouts[1];
    conversions(op_layout, lies);
    ck_assert_str_eq(lies, splits[_i].ways);
    ck_assert_uint_eq(op_layout->local_in, splits[_i].local_in);
    ck_assert_uint_eq(op_layout->local_out, splits[_i].local_out);
    ck_assert_uint_eq(op_layout->parameters_local, splits[_i].parameters_local);
    ck_assert_int_eq(op_layout->weights_partial, splits[_i].weights_partial);
    gw_layout_destroy(&layout);
    gw_network_destroy(&network);
}
END_TEST

START_TEST(an_embedding_by_rows_takes_all_words)
{
    char lies[5];
    struct gw_network *network = net_of("network n\ninput 100\n"
                                        "embedding 8 rows\nsoftmax\n");
    struct gw_layout *layout = layout_of(
        network, (struct gw_layout_options){.mesh = {1, 4, 1}, .batch = 4});
    conversions(&layout->op_layouts[0], lies);
    ck_assert_str_eq(lies, "RPRR");
    ck_assert_uint_eq(layout->op_layouts[0].local_in, 25);
    ck_assert_uint_eq(layout->op_layouts[0].parameters_local, 200);
    ck_assert_int_eq(layout->op_layouts[1].forward.collective, GW_ALLREDUCE);
    ck_assert(!layout->op_layouts[1].backward.needed);
    gw_layout_destroy(&layout);
    gw_network_destroy(&network);
}
END_TEST

/* The splits chosen for AUTO, as a list of words. */
static void expect_splits(const char *text, struct gw_mesh mesh,
                          const char *expected)
{
    char list[256] = "";
    struct gw_network *network = net_of(text);
    struct gw_layout *layout = layout_of(
        network, (struct gw_layout_options){.mesh = mesh, .batch = 8});
    for (unsigned i = 0; i < layout->operator_count; i++) {
        size_t at = strlen(list);
        snprintf(list + at, sizeof list - at, "%s%s", i ? " " : "",
                 gw_split_name(layout->op_layouts[i].split));
    }
    ck_assert_str_eq(list, expected);
    gw_layout_destroy(&layout);
    gw_network_destroy(&network);
}

START_TEST(auto_alternates_columns_and_rows)
{
    const struct gw_mesh two = {1, 2, 1};
    expect_splits("network n\ninput 4\ndense 8\nrelu\ndense 8\ntanh\ndense 4\n"
                  "softmax",
                  two, "columns columns rows none columns none");
    expect_splits("network n\ninput 5\nembedding 8\ndense 3\ndense 2\nsoftmax",
                  two, "columns rows columns none");
    expect_splits("network n\ninput 4\ndense 8 batch\nrelu\ndense 3\nsoftmax",
                  two, "batch batch batch batch");
    expect_splits("network n\ninput 4\nrelu columns\ndense 3\nrelu\nsoftmax",
                  two, "columns rows none none");
}
END_TEST

START_TEST(one_tensor_rank_splits_nothing)
{
    expect_splits("network n\ninput 5\ndense 7 columns\nrelu batch\n"
                  "dense 3 rows\nsoftmax batch",
                  (struct gw_mesh){2, 1, 2}, "none none none none");
}
END_TEST

/* ---- any split after any other ---- */

/* Checks a conversion: both shardings, and the collective in the table. */
static void expect_conversion(const struct gw_conversion *made,
                              enum gw_sharding from, enum gw_sharding to)
{
    ck_assert_int_ne(to, GW_PARTIAL);
    ck_assert_int_eq(made->from, from);
    ck_assert_int_eq(made->to, to);
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].from == from && table[i].to == to) {
            ck_assert_int_eq(made->needed, from != to);
            ck_assert_int_eq(made->collective, table[i].collective);
            ck_assert_uint_eq(made->bytes, table[i].bytes);
            return;
        }
    ck_abort_msg("no conversion from %s to %s", gw_sharding_name(from),
                 gw_sharding_name(to));
}

/* 12 rows and 8 features everywhere, as in the table. */
static void expect_chain(const char *const words[3], const char *loss)
{
    char text[160];
    snprintf(text, sizeof text,
             "network n\ninput 8\ndense 8 %s\nrelu %s\ndense 8 %s\n"
             "softmax %s\n",
             words[0], words[1], words[2], loss);
    struct gw_network *network = net_of(text);
    struct gw_layout *layout = layout_of(
        network, (struct gw_layout_options){.mesh = {1, 4, 1}, .batch = 12});
    ck_assert(!layout->op_layouts[0].forward.needed);
    ck_assert(!layout->op_layouts[0].backward.needed);
    for (unsigned i = 1; i < layout->operator_count; i++) {
        const struct gw_operator_layout *op_layout = &layout->op_layouts[i];
        expect_conversion(&op_layout->forward, op_layout[-1].out,
                          op_layout->in);
        expect_conversion(&op_layout->backward, op_layout->grad_in,
                          op_layout[-1].grad_out);
    }
    gw_layout_destroy(&layout);
    gw_network_destroy(&network);
}

START_TEST(any_split_can_follow_any_other)
{
    static const char *const dense[] = {"auto", "none", "columns", "rows",
                                        "batch"};
    static const char *const element[] = {"auto", "none", "columns", "batch"};
    static const char *const loss[] = {"auto", "none", "batch"};
    for (unsigned a = 0; a < 5; a++)
        for (unsigned b = 0; b < 4; b++)
            for (unsigned c = 0; c < 5; c++)
                for (unsigned d = 0; d < 3; d++)
                    expect_chain(
                        (const char *const[]){dense[a], element[b], dense[c]},
                        loss[d]);
}
END_TEST

/* ---- Megatron-LM (Shoeybi et al. 2019) ---- */

START_TEST(columns_and_rows_need_one_all_reduce_each_way)
{
    struct gw_network *network = net_of_blocks(2, 8);
    struct gw_layout *layout = layout_of(
        network, (struct gw_layout_options){.mesh = {1, 2, 1}, .batch = 4});
    /* columns relu rows | columns relu rows | softmax */
    for (unsigned i = 0; i < layout->operator_count; i++) {
        const struct gw_operator_layout *op_layout = &layout->op_layouts[i];
        bool begins = i == 3 || i == 6;
        ck_assert_int_eq(op_layout->forward.needed, begins);
        ck_assert_int_eq(op_layout->backward.needed, i == 3);
        if (begins)
            ck_assert_int_eq(op_layout->forward.collective, GW_ALLREDUCE);
        if (i == 3)
            ck_assert_int_eq(op_layout->backward.collective, GW_ALLREDUCE);
    }
    gw_layout_destroy(&layout);
    gw_network_destroy(&network);
}
END_TEST

static void price_blocks(unsigned count, unsigned width, unsigned batch,
                         unsigned tensor, struct gw_layout_price *price)
{
    struct gw_network *network = net_of_blocks(count, width);
    struct gw_layout *layout =
        layout_of(network, (struct gw_layout_options){.mesh = {1, tensor, 1},
                                                      .batch = batch});
    gw_layout_price(layout, 0, price);
    gw_layout_destroy(&layout);
    gw_network_destroy(&network);
}

/* A layer of a transformer is two such blocks. One more layer adds four
 * all-reduces of batch x width: 8 b h (T-1)/T elements. */
START_TEST(a_layer_costs_four_all_reduces)
{
    enum { BATCH = 16, WIDTH = 32 };
    for (unsigned tensor = 2; tensor <= 16; tensor *= 2)
        for (unsigned layers = 1; layers < 4; layers++) {
            struct gw_layout_price few, more;
            price_blocks(2 * layers, WIDTH, BATCH, tensor, &few);
            price_blocks(2 * layers + 2, WIDTH, BATCH, tensor, &more);
            uint64_t bytes =
                more.tensor_forward_bytes + more.tensor_backward_bytes -
                few.tensor_forward_bytes - few.tensor_backward_bytes;
            ck_assert_uint_eq(more.tensor_collectives - few.tensor_collectives,
                              4);
            ck_assert_uint_eq(bytes, 8 * BATCH * WIDTH * (tensor - 1) / tensor *
                                         sizeof(float));
        }
}
END_TEST

/* ---- pieces ---- */

/* The first operators of the pieces, such as "0 2 4"; the last number is the
 * count of operators. */
static void expect_segments(const char *text, unsigned pipe, unsigned chunks,
                            const char *expected)
{
    char list[128] = "";
    struct gw_network *network = net_of(text);
    struct gw_layout *layout = layout_of(
        network, (struct gw_layout_options){
                     .mesh = {1, 1, pipe}, .batch = 4, .chunks = chunks});
    for (unsigned i = 0; i <= layout->virtual_stages; i++) {
        size_t at = strlen(list);
        snprintf(list + at, sizeof list - at, "%s%u", i ? " " : "",
                 layout->virtual_begin[i]);
    }
    ck_assert_str_eq(list, expected);
    for (unsigned i = 0; i < layout->operator_count; i++) {
        unsigned segment = layout->op_layouts[i].virtual_stage;
        ck_assert_uint_eq(layout->op_layouts[i].index, i);
        ck_assert_uint_ge(i, layout->virtual_begin[segment]);
        ck_assert_uint_lt(i, layout->virtual_begin[segment + 1]);
    }
    gw_layout_destroy(&layout);
    gw_network_destroy(&network);
}

START_TEST(the_largest_segment_is_small)
{
    static const char deep[] = "network n\ninput 8\ndense 8\nrelu\ndense 8\n"
                               "relu\ndense 8\nrelu\ndense 8\nsoftmax";
    expect_segments(deep, 1, 0, "0 8");
    expect_segments(deep, 2, 0, "0 4 8");
    expect_segments(deep, 4, 0, "0 2 4 6 8");
    expect_segments(deep, 2, 2, "0 2 4 6 8");
    expect_segments(deep, 7, 0, "0 1 2 3 4 5 6 8");
    /* 640 multiplications, then 160 and 40 */
    expect_segments("network n\ninput 64\ndense 10\ndense 16\ntanh\ndense 4\n"
                    "softmax",
                    2, 0, "0 1 5");
    /* equal work either way: the cut with fewer features */
    expect_segments("network n\ninput 2\ndense 16\ndense 2\ndense 8\ndense 4\n"
                    "dense 8\nsoftmax",
                    2, 0, "0 2 6");
}
END_TEST

START_TEST(stage_lines_decide)
{
    static const char text[] = "network n\ninput 8\ndense 8\nstage\nrelu\n"
                               "dense 8\ndense 8\nstage\nsoftmax";
    expect_segments(text, 3, 0, "0 1 4 5");
    expect_segments(text, 1, 3, "0 1 4 5");
    expect_segments(text, 1, 0, "0 5");
}
END_TEST

/* The smallest possible largest piece, by trying all cuts. */
static uint64_t try_all(const uint64_t *work, unsigned count, unsigned segments)
{
    uint64_t sum = 0, best = UINT64_MAX;
    if (segments == 1) {
        for (unsigned i = 0; i < count; i++)
            sum += work[i];
        return sum;
    }
    for (unsigned last = count; last-- > segments - 1;) {
        sum += work[last];
        uint64_t rest = try_all(work, last, segments - 1);
        uint64_t largest = sum > rest ? sum : rest;
        best = largest < best ? largest : best;
    }
    return best;
}

START_TEST(split_points_are_optimal)
{
    enum { DENSES = 9 };
    struct gw_rng rng;
    gw_rng_seed(&rng, 5);
    for (unsigned round = 0; round < 40; round++) {
        uint64_t work[DENSES];
        char text[256] = "network n\ninput 3\n";
        unsigned width = 3;
        for (unsigned i = 0; i < DENSES; i++) {
            unsigned out = 1 + (unsigned)gw_rng_below(&rng, 12);
            size_t at = strlen(text);
            snprintf(text + at, sizeof text - at, "dense %u\n", out);
            work[i] = (uint64_t)width * out;
            width = out;
        }
        size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "softmax\n");
        struct gw_network *network = net_of(text);
        for (unsigned segments = 2; segments <= DENSES; segments++) {
            unsigned begin[DENSES + 2];
            uint64_t largest = 0;
            ck_assert_int_eq(
                gw__network_partition(network, segments, begin, NULL), GW_OK);
            for (unsigned p = 0; p < segments; p++) {
                uint64_t sum = 0;
                for (unsigned i = begin[p]; i < begin[p + 1] && i < DENSES; i++)
                    sum += work[i];
                largest = sum > largest ? sum : largest;
                ck_assert_uint_lt(begin[p], begin[p + 1]);
            }
            ck_assert_uint_eq(largest, try_all(work, DENSES, segments));
        }
        gw_network_destroy(&network);
    }
}
END_TEST

Suite *suite_layout(void)
{
    Suite *suite = suite_create("layout");
    TCase *tests = tcase_create("layout");
    tcase_add_loop_test(tests, the_table_defines_what_converts, 0,
                        sizeof table / sizeof *table);
    tcase_add_test(tests, what_does_not_divide_is_padded);
    tcase_add_loop_test(tests, a_split_decides_how_all_lies, 0,
                        sizeof splits / sizeof *splits);
    tcase_add_test(tests, an_embedding_by_rows_takes_all_words);
    tcase_add_test(tests, auto_alternates_columns_and_rows);
    tcase_add_test(tests, one_tensor_rank_splits_nothing);
    tcase_add_test(tests, any_split_can_follow_any_other);
    tcase_add_test(tests, columns_and_rows_need_one_all_reduce_each_way);
    tcase_add_test(tests, a_layer_costs_four_all_reduces);
    tcase_add_test(tests, the_largest_segment_is_small);
    tcase_add_test(tests, stage_lines_decide);
    tcase_add_test(tests, split_points_are_optimal);
    suite_add_tcase(suite, tests);
    return suite;
}
