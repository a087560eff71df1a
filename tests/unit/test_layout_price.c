/* SPDX-License-Identifier: MIT
 *
 * The price of a layout, compared with the formulas: 2(p-1)/p S for data
 * parallelism and ZeRO-1, 3(p-1)/p S fully sharded, memory S/p, and whole
 * meshes D x T x P, whose bytes are added up here by hand.
 */
#include "nets.h"

#include <check.h>

Suite *suite_layout_price(void);

/* S = 4 * (64 * 128 + 128 + 128 * 16 + 16): all widths here are divisible. */
static const char text[] = "network n\ninput 64\ndense 128\nrelu\ndense 16\n"
                           "softmax\n";
enum { PARAMETERS = 64 * 128 + 128 + 128 * 16 + 16, S = 4 * PARAMETERS };

static struct gw_layout_price price_of(const char *network_text,
                                       struct gw_layout_options options,
                                       unsigned stage)
{
    struct gw_network *network = net_of(network_text);
    struct gw_layout *layout = layout_of(network, options);
    struct gw_layout_price price;
    gw_layout_price(layout, stage, &price);
    gw_layout_destroy(&layout);
    gw_network_destroy(&network);
    return price;
}

START_TEST(replicated_moves_two_and_holds_all)
{
    for (unsigned p = 1; p <= 16; p *= 2) {
        struct gw_layout_price price =
            price_of(text,
                     (struct gw_layout_options){
                         .mesh = {p, 1, 1}, .batch = 64, .optimiser_words = 2},
                     0);
        ck_assert_uint_eq(price.data_bytes, 2 * (p - 1) * (S / p));
        ck_assert_uint_eq(price.parameter_bytes, S);
        ck_assert_uint_eq(price.gradient_bytes, S);
        ck_assert_uint_eq(price.optimiser_bytes, 2 * S);
        ck_assert_uint_eq(price.gathered_bytes, 0);
        ck_assert_uint_eq(price.pipe_bytes + price.tensor_forward_bytes +
                              price.tensor_backward_bytes,
                          0);
    }
}
END_TEST

START_TEST(zero1_moves_two_and_shards_the_optimiser)
{
    for (unsigned p = 2; p <= 16; p *= 2) {
        struct gw_layout_price price =
            price_of(text,
                     (struct gw_layout_options){.mesh = {p, 1, 1},
                                                .mode = GW_DATA_ZERO1,
                                                .batch = 64,
                                                .optimiser_words = 2},
                     0);
        ck_assert_uint_eq(price.data_bytes, 2 * (p - 1) * (S / p));
        ck_assert_uint_eq(price.parameter_bytes, S);
        ck_assert_uint_eq(price.optimiser_bytes, 2 * S / p);
        ck_assert_uint_eq(price.gathered_bytes, 0);
    }
}
END_TEST

START_TEST(sharded_moves_three_and_holds_a_share)
{
    for (unsigned p = 2; p <= 16; p *= 2)
        for (unsigned micros = 1; micros <= 4; micros++) {
            struct gw_layout_price price =
                price_of(text,
                         (struct gw_layout_options){.mesh = {p, 1, 1},
                                                    .mode = GW_DATA_SHARDED,
                                                    .batch = 192,
                                                    .micros = micros,
                                                    .optimiser_words = 2},
                         0);
            ck_assert_uint_eq(price.data_bytes,
                              (2 * micros + 1) * (p - 1) * (S / p));
            ck_assert_uint_eq(price.parameter_bytes, S / p);
            ck_assert_uint_eq(price.gradient_bytes, S / p);
            ck_assert_uint_eq(price.optimiser_bytes, 2 * S / p);
            ck_assert_uint_eq(price.gathered_bytes, 4 * (64 * 128 + 128));
        }
}
END_TEST

/* g ranks share one copy: 3 (g-1)/g S inside, 2 (G-1)/G S/g across. */
START_TEST(groups_are_replicas_of_each_other)
{
    for (unsigned g = 1; g <= 8; g *= 2) {
        unsigned groups = 8 / g;
        struct gw_layout_options options = {.mesh = {8, 1, 1},
                                            .mode = GW_DATA_SHARDED,
                                            .shard_group = g,
                                            .batch = 8,
                                            .optimiser_words = 1};
        uint64_t across = 2 * (groups - 1) * (S / g / groups);
        struct gw_layout_price price = price_of(text, options, 0);
        ck_assert_uint_eq(price.data_bytes, 3 * (g - 1) * (S / g) + across);
        ck_assert_uint_eq(price.parameter_bytes, S / g);
        ck_assert_uint_eq(price.optimiser_bytes, S / g);
        options.mode = GW_DATA_ZERO1;
        price = price_of(text, options, 0);
        ck_assert_uint_eq(price.data_bytes, 2 * (g - 1) * (S / g) + across);
        ck_assert_uint_eq(price.parameter_bytes, S);
        ck_assert_uint_eq(price.optimiser_bytes, S / g);
    }
}
END_TEST

/* An operator of 15 parameters on 2 x 2 ranks: 16. */
START_TEST(blocks_are_even)
{
    struct gw_network *network =
        net_of("network n\ninput 2\ndense 5 batch\nsoftmax batch\n");
    struct gw_layout_options options = {
        .mesh = {2, 2, 1}, .mode = GW_DATA_SHARDED, .batch = 8};
    struct gw_layout *layout = layout_of(network, options);
    ck_assert_uint_eq(layout->op_layouts[0].parameters_local, 15);
    ck_assert_uint_eq(gw_layout_block(layout, 15), 8);
    ck_assert_uint_eq(gw_layout_block(layout, 16), 8);
    ck_assert_uint_eq(gw_layout_block(layout, 17), 10);
    ck_assert_uint_eq(gw_layout_block(layout, 0), 0);
    gw_layout_destroy(&layout);
    options.mode = GW_DATA_REPLICATED;
    layout = layout_of(network, options);
    ck_assert_uint_eq(layout->options.shard_group, 1);
    ck_assert_uint_eq(gw_layout_block(layout, 15), 16);
    gw_layout_destroy(&layout);
    gw_network_destroy(&network);
}
END_TEST

/* Split by batch, T ranks hold the same weights and see different rows. */
START_TEST(rows_split_by_batch_share_weight_gradients)
{
    struct gw_layout_price price =
        price_of("network n\ninput 64\ndense 128 batch\nrelu\ndense 16 batch\n"
                 "softmax batch\n",
                 (struct gw_layout_options){.mesh = {2, 4, 1}, .batch = 64}, 0);
    ck_assert_uint_eq(price.tensor_weight_bytes, 2 * 3 * (S / 4));
    ck_assert_uint_eq(price.tensor_forward_bytes, 0);
    ck_assert_uint_eq(price.tensor_backward_bytes, 0);
    ck_assert_uint_eq(price.tensor_collectives, 0);
    ck_assert_uint_eq(price.data_bytes, 2 * 1 * (S / 2));
}
END_TEST

/* Two stages and two micro-batches of 32 rows for each of two data ranks:
 *   dense 128 columns, relu by feature | dense 16 rows, all-reduce, softmax
 * Gradients and activations of 128 features cross the cut by feature. */
START_TEST(a_mesh_of_all_three_adds_up)
{
    struct gw_layout_options options = {
        .mesh = {2, 2, 2}, .batch = 128, .micros = 2};
    struct gw_layout_price first = price_of(text, options, 0);
    struct gw_layout_price last = price_of(text, options, 1);
    enum { ROWS = 32, CROSSING = 2 * ROWS * (128 / 2) * 4 };
    ck_assert_uint_eq(first.pipe_bytes, CROSSING);
    ck_assert_uint_eq(last.pipe_bytes, CROSSING);
    ck_assert_uint_eq(first.tensor_collectives, 0);
    ck_assert_uint_eq(last.tensor_collectives, 1);
    ck_assert_uint_eq(first.tensor_forward_bytes, 0);
    ck_assert_uint_eq(last.tensor_forward_bytes, 2 * ROWS * 16 * 4);
    ck_assert_uint_eq(last.tensor_backward_bytes, 0);
    /* half of the weights and biases; the biases by rows are replicated */
    enum { FIRST = (64 * 128 + 128) / 2, LAST = 64 * 16 + 16 };
    ck_assert_uint_eq(first.parameter_bytes, 4 * FIRST);
    ck_assert_uint_eq(last.parameter_bytes, 4 * LAST);
    ck_assert_uint_eq(first.data_bytes, 2 * 4 * FIRST / 2);
    ck_assert_uint_eq(last.data_bytes, 2 * 4 * LAST / 2);
}
END_TEST

/* A conversion between stages happens before the send: forward in the first
 * stage, backward in the second. The data crosses in the receiver's sharding: R
 * forward, after an all-reduce; R backward, after another. */
START_TEST(stages_convert_what_they_send)
{
    static const char split_text[] =
        "network n\ninput 8\ndense 8 columns\nrelu\n"
        "dense 4 rows\nstage\ndense 8 columns\n"
        "dense 4 rows\nsoftmax\n";
    struct gw_layout_options options = {.mesh = {1, 2, 2}, .batch = 16};
    struct gw_layout_price first = price_of(split_text, options, 0);
    struct gw_layout_price last = price_of(split_text, options, 1);
    enum { TENSOR = 16 * 4 * 4 };
    ck_assert_uint_eq(first.tensor_forward_bytes, TENSOR);
    ck_assert_uint_eq(first.tensor_backward_bytes, 0);
    ck_assert_uint_eq(last.tensor_forward_bytes, TENSOR); /* before softmax */
    ck_assert_uint_eq(last.tensor_backward_bytes, TENSOR);
    ck_assert_uint_eq(first.pipe_bytes, TENSOR);
    ck_assert_uint_eq(last.pipe_bytes, TENSOR);
}
END_TEST

/* Stage 0 has pieces 0 and 2, stage 1 has 1 and 3: three boundaries each way,
 * of 8 features and 4 rows. A stage sends nothing to itself. */
START_TEST(chunks_cross_stages_more_often)
{
    static const char deep[] = "network n\ninput 8\ndense 8\ndense 8\ndense 8\n"
                               "dense 8\nsoftmax\n";
    enum { MESSAGE = 4 * 8 * 4 };
    struct gw_layout_options options = {
        .mesh = {1, 1, 2}, .batch = 8, .micros = 2, .chunks = 2};
    /* forward 0>1 and 2>3, backward 2>1 */
    ck_assert_uint_eq(price_of(deep, options, 0).pipe_bytes, 2 * 3 * MESSAGE);
    /* forward 1>2, backward 3>2 and 1>0 */
    ck_assert_uint_eq(price_of(deep, options, 1).pipe_bytes, 2 * 3 * MESSAGE);
    options.mesh.pipe = 1;
    ck_assert_uint_eq(price_of(deep, options, 0).pipe_bytes, 0);
}
END_TEST

/* For every mesh, each parameter is stored exactly once. */
START_TEST(parameters_add_up_over_the_mesh)
{
    static const char even[] = "network n\ninput 64\ndense 128 columns\nrelu\n"
                               "dense 64 columns\ndense 64 columns\nsoftmax\n";
    for (unsigned data = 1; data <= 4; data *= 2)
        for (unsigned tensor = 1; tensor <= 4; tensor *= 2)
            for (unsigned pipe = 1; pipe <= 3; pipe++) {
                uint64_t sum = 0;
                for (unsigned stage = 0; stage < pipe; stage++)
                    sum += price_of(even,
                                    (struct gw_layout_options){
                                        .mesh = {data, tensor, pipe},
                                        .mode = GW_DATA_SHARDED,
                                        .batch = 64},
                                    stage)
                               .parameter_bytes;
                struct gw_network *network = net_of(even);
                ck_assert_uint_eq(sum * data * tensor,
                                  4 * gw_network_parameters(network));
                gw_network_destroy(&network);
            }
}
END_TEST

Suite *suite_layout_price(void)
{
    Suite *suite = suite_create("layout_price");
    TCase *tests = tcase_create("layout_price");
    tcase_add_test(tests, replicated_moves_two_and_holds_all);
    tcase_add_test(tests, zero1_moves_two_and_shards_the_optimiser);
    tcase_add_test(tests, sharded_moves_three_and_holds_a_share);
    tcase_add_test(tests, groups_are_replicas_of_each_other);
    tcase_add_test(tests, blocks_are_even);
    tcase_add_test(tests, rows_split_by_batch_share_weight_gradients);
    tcase_add_test(tests, a_mesh_of_all_three_adds_up);
    tcase_add_test(tests, stages_convert_what_they_send);
    tcase_add_test(tests, chunks_cross_stages_more_often);
    tcase_add_test(tests, parameters_add_up_over_the_mesh);
    suite_add_tcase(suite, tests);
    return suite;
}
