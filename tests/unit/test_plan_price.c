/* SPDX-License-Identifier: MIT
 *
 * The price of plans, against the formulas of the textbooks: rounds, messages,
 * bytes per rank and per link, predicted time; and the lower bounds.
 */
#include <gradwire/plan.h>

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

Suite *suite_plan_price(void);

static const struct gw_cost_model model = {
    .alpha_us = 10, .beta_us_per_byte = 0.01, .gamma_us_per_byte = 0.002};

static const char ring[] = "allreduce ranks=P chunks=P\n"
                           "for s in 0..P-2:\n"
                           "    step for i in 0..P-1: i>(i+1)%P c(i-s)%P +\n"
                           "for s in 0..P-2:\n"
                           "    step for i in 0..P-1: i>(i+1)%P c(i+1-s)%P =\n";

static struct gw_plan *parse(const char *text, unsigned ranks)
{
    struct gw_plan *plan;
    struct gw_error why = {0};
    enum gw_err err =
        gw_plan_parse(text, strlen(text), "t", ranks, &plan, &why);
    ck_assert_msg(err == GW_OK, "%s\n%s", why.text, text);
    return plan;
}

static struct gw_price price(const struct gw_plan *plan, size_t count,
                             size_t elem_bytes)
{
    struct gw_price price;
    struct gw_error why = {0};
    ck_assert_msg(
        gw_plan_price(plan, count, elem_bytes, &model, &price, &why) == GW_OK,
        "%s", why.text);
    return price;
}

static void expect_us(double value, double expected)
{
    ck_assert_msg(fabs(value - expected) <= 1e-9 * (1 + fabs(expected)),
                  "%.12g us, not %.12g", value, expected);
}

/* 2(p-1) rounds; each rank sends 2(p-1)/p n and reduces (p-1)/p n. */
START_TEST(ring_allreduce_costs_what_it_should)
{
    for (unsigned p = 1; p <= 17; p++) {
        struct gw_plan *plan = parse(ring, p);
        size_t count = (size_t)p * 4096;
        uint64_t part = 4096 * 4, rounds = 2 * (p - 1);
        struct gw_price cost = price(plan, count, 4);
        ck_assert_uint_eq(cost.rounds, rounds);
        ck_assert_uint_eq(cost.messages, rounds * p);
        ck_assert_uint_eq(cost.bytes, rounds * p * part);
        ck_assert_uint_eq(cost.rank_messages_max, rounds);
        ck_assert_uint_eq(cost.rank_bytes_max, rounds * part);
        ck_assert_uint_eq(cost.rank_received_max, rounds * part);
        ck_assert_uint_eq(cost.link_bytes_max, rounds * part);
        ck_assert_uint_eq(cost.rank_reduced_max, (p - 1) * part);
        double step = 10 + 0.01 * (double)part;
        expect_us(cost.predicted_us,
                  (double)rounds * step + 0.002 * (double)((p - 1) * part));
        expect_us(cost.bound_us,
                  gw_bound_us(GW_ALLREDUCE, p, count, 4, &model));
        ck_assert(cost.predicted_us >= cost.bound_us);
        gw_plan_destroy(&plan);
    }
}
END_TEST

/* Bytes are exact if the buffer is not divisible: the chunks' extents count. */
START_TEST(uneven_chunks_are_counted_exactly)
{
    static const size_t counts[] = {0, 1, 2, 3, 5, 1000, 4099, 100003};
    struct gw_plan *plan = parse(ring, 3);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        size_t offset, length[3], largest = 0;
        for (unsigned c = 0; c < 3; c++) {
            gw_plan_extent(plan, c, counts[i], 4, &offset, &length[c]);
            largest = length[c] > largest ? length[c] : largest;
        }
        struct gw_price cost = price(plan, counts[i], 4);
        /* Every chunk travels four times; every step moves all three. */
        ck_assert_uint_eq(cost.bytes, 4 * 4 * counts[i]);
        ck_assert_uint_eq(cost.messages, 12);
        double worst = 10 + 0.01 * 4 * (double)largest;
        ck_assert(cost.predicted_us <=
                  4 * worst + 2 * 0.002 * 4 * (double)largest + 1e-9);
        ck_assert(cost.predicted_us >= 4 * worst);
    }
    gw_plan_destroy(&plan);
}
END_TEST

static void expect_rank_sums(const struct gw_plan *plan, size_t count)
{
    struct gw_price cost = price(plan, count, 8);
    uint64_t messages[32], bytes[32];
    struct gw_price sum = {.rounds = cost.rounds};
    for (unsigned rank = 0; rank < plan->ranks; rank++) {
        uint64_t rank_messages = 0, rank_bytes = 0;
        gw_plan_price_rank(plan, count, 8, rank, messages, bytes);
        ck_assert_uint_eq(messages[rank], 0);
        for (unsigned peer = 0; peer < plan->ranks; peer++) {
            rank_messages += messages[peer];
            rank_bytes += bytes[peer];
            if (bytes[peer] > sum.link_bytes_max)
                sum.link_bytes_max = bytes[peer];
        }
        sum.messages += rank_messages;
        sum.bytes += rank_bytes;
        if (rank_messages > sum.rank_messages_max)
            sum.rank_messages_max = rank_messages;
        if (rank_bytes > sum.rank_bytes_max)
            sum.rank_bytes_max = rank_bytes;
    }
    ck_assert_uint_eq(sum.messages, cost.messages);
    ck_assert_uint_eq(sum.bytes, cost.bytes);
    ck_assert_uint_eq(sum.rank_messages_max, cost.rank_messages_max);
    ck_assert_uint_eq(sum.rank_bytes_max, cost.rank_bytes_max);
    ck_assert_uint_eq(sum.link_bytes_max, cost.link_bytes_max);
}

START_TEST(ranks_add_up_to_the_whole)
{
    static const char *const texts[] = {
        ring,
        "alltoall ranks=P chunks=P*P\n"
        "step for i in 0..P-1: for d in 1..P-1: i>(i+d)%P c(i*P+(i+d)%P) =\n",
        "gather ranks=P chunks=2*P root=P/2\n"
        "step for i in 1..P-1: for k in 0..1:\n"
        "    (i+root)%P>root c(2*((i+root)%P)+k) =\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (unsigned p = 1; p <= 9; p++) {
            struct gw_plan *plan = parse(texts[i], p);
            expect_rank_sums(plan, 1001);
            gw_plan_destroy(&plan);
        }
}
END_TEST

/* Chunks to one peer in one step are one message; in two steps, or to two
 * peers, they are two. */
START_TEST(messages_are_step_and_peer)
{
    struct gw_plan *plan = parse("broadcast ranks=3 chunks=4\n"
                                 "step 0>1 c0 = 0>2 c1 = 0>1 c1 =\n"
                                 "step 0>1 c2 = 0>1 c3 = 0>2 c0 =\n"
                                 "step 0>2 c2 = 0>2 c3 =\n",
                                 0);
    uint64_t messages[3], bytes[3];
    gw_plan_price_rank(plan, 400, 1, 0, messages, bytes);
    ck_assert_uint_eq(messages[1], 2);
    ck_assert_uint_eq(messages[2], 3);
    ck_assert_uint_eq(bytes[1], 400);
    ck_assert_uint_eq(bytes[2], 400);
    struct gw_price cost = price(plan, 400, 1);
    ck_assert_uint_eq(cost.messages, 5);
    ck_assert_uint_eq(cost.rank_messages_max, 5);
    /* The root sends: 2, 2 and 1 messages of 300, 300 and 200 bytes. */
    expect_us(cost.predicted_us, 10 * 5 + 0.01 * 800);
    gw_plan_destroy(&plan);
}
END_TEST

/* The slowest rank may be the one that receives and adds. */
START_TEST(the_slowest_rank_ends_a_step)
{
    struct gw_plan *plan = parse("reduce ranks=4 chunks=1\n"
                                 "step 1>0 c0 + 2>0 c0 + 3>0 c0 +\n",
                                 0);
    struct gw_price cost = price(plan, 1000, 4);
    expect_us(cost.predicted_us, 3 * 10 + 12000 * 0.01 + 12000 * 0.002);
    ck_assert_uint_eq(cost.rank_messages_max, 1);
    ck_assert_uint_eq(cost.rank_bytes_max, 4000);
    ck_assert_uint_eq(cost.rank_received_max, 12000);
    ck_assert_uint_eq(cost.rank_reduced_max, 12000);
    gw_plan_destroy(&plan);
}
END_TEST

/* For blocks `count` is of one block. */
START_TEST(block_collectives_count_blocks)
{
    struct gw_plan *plan =
        parse("allgather ranks=P chunks=P\n"
              "for s in 0..P-2: step for i in 0..P-1: i>(i+1)%P c(i-s)%P =\n",
              5);
    struct gw_price cost = price(plan, 1000, 2);
    ck_assert_uint_eq(cost.rank_bytes_max, 4 * 2000);
    ck_assert_uint_eq(cost.rank_reduced_max, 0);
    expect_us(cost.predicted_us, 4 * (10 + 0.01 * 2000));
    expect_us(cost.bound_us, 3 * 10 + 0.01 * 4 * 2000);
    gw_plan_destroy(&plan);
}
END_TEST

START_TEST(a_barrier_moves_no_bytes)
{
    struct gw_plan *plan =
        parse("barrier ranks=P chunks=1\n"
              "for s in 0..log2(P)-1:\n"
              "    step for i in 0..P-1: i>(i+2**s)%P c0 |\n",
              6);
    struct gw_price cost = price(plan, 1000, 4);
    ck_assert_uint_eq(cost.rounds, 3);
    ck_assert_uint_eq(cost.messages, 18);
    ck_assert_uint_eq(cost.bytes, 0);
    expect_us(cost.predicted_us, 30);
    expect_us(cost.bound_us, 30);
    gw_plan_destroy(&plan);
}
END_TEST

/* Rows of the table in gradwire(7): alpha, beta and gamma, one at a time. */
START_TEST(bounds_follow_the_table)
{
    static const struct {
        enum gw_collective collective;
        double sent, reduced; /* for 5 ranks and 100 elements of 4 bytes */
    } rows[] = {
        {GW_BROADCAST, 400, 0},
        {GW_REDUCE, 400, 320},
        {GW_ALLREDUCE, 640, 320},
        {GW_GATHER, 1600, 0},
        {GW_SCATTER, 1600, 0},
        {GW_ALLGATHER, 1600, 0},
        {GW_REDUCE_SCATTER, 1600, 1600},
        {GW_ALLTOALL, 1600, 0},
        {GW_BARRIER, 0, 0},
        {GW_SCAN, 400, 400},
        {GW_EXSCAN, 400, 400},
    };
    ck_assert_uint_eq(sizeof rows / sizeof *rows, GW_CUSTOM);
    expect_us(gw_bound_us(GW_CUSTOM, 5, 100, 4, &model), 0);
    for (size_t i = 0; i < GW_CUSTOM; i++) {
        enum gw_collective c = rows[i].collective;
        struct gw_cost_model alpha = {.alpha_us = 1};
        struct gw_cost_model beta = {.beta_us_per_byte = 1};
        struct gw_cost_model gamma = {.gamma_us_per_byte = 1};
        expect_us(gw_bound_us(c, 5, 100, 4, &alpha), 3);
        expect_us(gw_bound_us(c, 5, 100, 4, &beta), rows[i].sent);
        expect_us(gw_bound_us(c, 5, 100, 4, &gamma), rows[i].reduced);
        expect_us(gw_bound_us(c, 1, 100, 4, &model), 0);
        expect_us(gw_bound_us(c, 2, 100, 4, &alpha), 1);
        expect_us(gw_bound_us(c, 8, 100, 4, &alpha), 3);
        expect_us(gw_bound_us(c, 9, 100, 4, &alpha), 4);
    }
}
END_TEST

START_TEST(impossible_sizes_are_refused)
{
    struct gw_plan *plan = parse(ring, 3);
    struct gw_price cost;
    struct gw_error why;
    ck_assert_int_eq(gw_plan_price(plan, 1, 0, &model, &cost, &why), GW_EINVAL);
    ck_assert_str_eq(why.text, "an element must have 1 to 64 bytes, not 0");
    ck_assert_int_eq(gw_plan_price(plan, 1, 65, &model, &cost, &why),
                     GW_EINVAL);
    ck_assert_int_eq(gw_plan_price(plan, SIZE_MAX / 8, 8, &model, &cost, &why),
                     GW_EINVAL);
    ck_assert_int_eq(gw_plan_price(plan, SIZE_MAX, 8, &model, &cost, &why),
                     GW_EINVAL);
    gw_plan_destroy(&plan);
}
END_TEST

Suite *suite_plan_price(void)
{
    Suite *suite = suite_create("plan_price");
    TCase *t = tcase_create("all");
    tcase_add_test(t, ring_allreduce_costs_what_it_should);
    tcase_add_test(t, uneven_chunks_are_counted_exactly);
    tcase_add_test(t, ranks_add_up_to_the_whole);
    tcase_add_test(t, messages_are_step_and_peer);
    tcase_add_test(t, the_slowest_rank_ends_a_step);
    tcase_add_test(t, block_collectives_count_blocks);
    tcase_add_test(t, a_barrier_moves_no_bytes);
    tcase_add_test(t, bounds_follow_the_table);
    tcase_add_test(t, impossible_sizes_are_refused);
    suite_add_tcase(suite, t);
    return suite;
}
