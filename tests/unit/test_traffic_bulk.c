/* SPDX-License-Identifier: MIT
 *
 * Algorithms without a plan (traffic_algo.c) against the same algorithms chunk
 * by chunk (traffic_plan.c): two ways to find the waits, on clusters with
 * uneven links. And algorithms of a hundred thousand ranks, by formula.
 */
#include "traffic_run.h"

#include <sim/traffic/traffic.h>

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_traffic_bulk(void);

/* ---- the same times as chunk by chunk ---- */

static struct gw_topology_result *without_plan(const struct gw_topology *t,
                                               const struct gw_algo *algo,
                                               unsigned ranks, size_t bytes,
                                               double alpha_us)
{
    struct gw_topology_result *result;
    struct gw_error why = {0};
    struct gw_algo_args args = {.ranks = ranks};
    struct gw_topology_run simulation = {.algo = algo,
                                         .args = &args,
                                         .count = bytes,
                                         .elem_bytes = 1,
                                         .message_us = alpha_us};
    enum gw_err err = gw_topology_simulate(t, &simulation, &result, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    return result;
}

static void expect_close(const char *what, const char *algo, double value,
                         double expected)
{
    ck_assert_msg(fabs(value - expected) <= 1e-3 + 1e-6 * expected,
                  "%s, %s: %.9g us without a plan, %.9g with one", algo, what,
                  value, expected);
}

/* The size of a refused plan is counted exactly, before it is built. */
static void expect_count(const struct gw_algo *algo, unsigned ranks,
                         uint64_t messages)
{
    struct gw_algo_args args = {.ranks = ranks};
    struct gw_error why;
    uint64_t counted, runs = UINT64_MAX;
    ck_assert(!gw__traffic_check(algo, &args, runs, &counted, &why));
    ck_assert_msg(counted == messages, "%s: %lu messages counted, %lu sent",
                  algo->name, (unsigned long)counted, (unsigned long)messages);
}

static void expect_same(const struct gw_topology *t, const struct gw_algo *algo,
                        unsigned ranks, size_t bytes, double alpha_us)
{
    struct gw_plan *plan = traffic_make(algo->collective, algo->name, ranks, 0);
    struct gw_topology_result *exact =
        traffic_simulate(t, plan, bytes, alpha_us, 0);
    struct gw_topology_result *bulk =
        without_plan(t, algo, ranks, bytes, alpha_us);
    const char *name = algo->name;
    expect_close("the end", name, bulk->time_us, exact->time_us);
    for (unsigned rank = 0; rank < ranks; rank++)
        expect_close("a rank's end", name, bulk->rank_us[rank],
                     exact->rank_us[rank]);
    ck_assert_uint_eq(bulk->messages, exact->messages);
    expect_count(algo, ranks, exact->messages);
    ck_assert_uint_eq(bulk->bytes, exact->bytes);
    ck_assert_uint_eq(bulk->rounds, exact->rounds);
    ck_assert_uint_eq(bulk->uplink_bytes, exact->uplink_bytes);
    ck_assert(memcmp(bulk->link_bytes, exact->link_bytes,
                     exact->links * sizeof *exact->link_bytes) == 0);
    ck_assert(bulk->hops > 0 && bulk->hop[0].end_us <= bulk->time_us);
    gw_topology_result_destroy(&bulk);
    gw_topology_result_destroy(&exact);
    gw_plan_destroy(&plan);
}

static void expect_all_same(const struct gw_topology *t, unsigned ranks,
                            size_t bytes, double alpha_us)
{
    size_t count;
    const struct gw_algo *const *algos = gw_algo_list(&count);
    for (size_t i = 0; i < count; i++)
        if (algos[i]->valid(ranks))
            expect_same(t, algos[i], ranks, bytes, alpha_us);
}

static const char *const uneven[] = {
    "topology t\nnic rate=1M latency=3us\nuplink oversubscription=4:1 "
    "latency=10us\nrack a: a[0-7]\nrack b: b[0-4]\nrack c: c[0-10]\n"
    "rack d: d0\nhost a[0-3] ranks=2\ninner rate=8M latency=1us\n"
    "nic b3 rate=98K\nnic c2 rate=333K latency=17us\nuplink c rate=700K\n",
    "topology t\nnic rate=1M latency=1us\ntorus 4x3x3 rate=300K latency=2us\n"
    "nic h5 rate=50K\n",
    "topology t\nnic rate=1M latency=1us\n"
    "fat-tree k=6 levels=3 oversubscription=3:1 latency=2us\nnic h7 rate=90K\n",
};

START_TEST(every_algorithm_takes_as_long_as_its_plan)
{
    struct gw_topology *t = traffic_topology(uneven[_i]);
    expect_all_same(t, 24, 3000, 1);
    expect_all_same(t, 13, 40000, 2.5);
    gw_topology_order(t, GW_ORDER_INTERLEAVED);
    expect_all_same(t, 17, 1000, 0);
    gw_topology_destroy(&t);
}
END_TEST

/* Random rates and latencies; the seed is in the message. */
START_TEST(so_it_does_on_clusters_by_chance)
{
    unsigned seed = 1000 + (unsigned)_i;
    char text[2048];
    int used = snprintf(text, sizeof text,
                        "topology s%u\nnic rate=1M latency=1us\n"
                        "uplink rate=1500K\nrack a: a[0-5]\nrack b: b[0-5]\n"
                        "rack c: c[0-5]\n",
                        seed);
    srand(seed);
    for (unsigned i = 0; i < 6; i++)
        for (char rack = 'a'; rack <= 'c'; rack++)
            used += snprintf(text + used, sizeof text - (size_t)used,
                             "nic %c%u rate=%dK latency=%dus\n", rack, i,
                             50 + rand() % 900, 1 + rand() % 40);
    struct gw_topology *t = traffic_topology(text);
    expect_all_same(t, 18, (size_t)(1 + rand() % 20000), rand() % 5);
    expect_all_same(t, 16, (size_t)(1 + rand() % 20000), rand() % 5);
    gw_topology_destroy(&t);
}
END_TEST

/* As with too many chunks for a table. */
START_TEST(so_it_does_by_lists_of_segments)
{
    uint64_t table = gw__traffic_cells_max;
    struct gw_topology *t = traffic_topology(uneven[_i]);
    gw__traffic_cells_max = 0;
    expect_all_same(t, 24, 3000, 1);
    expect_all_same(t, 13, 40000, 2.5);
    expect_all_same(t, 22, 7000, 1);
    gw__traffic_cells_max = table;
    gw_topology_destroy(&t);
}
END_TEST

static bool is_among(unsigned chunk, const struct gw__steps *s)
{
    return chunk >= s->first && chunk <= s->last &&
           (chunk - s->first) % s->stride == 0;
}

START_TEST(rows_of_chunks_are_adjacent_and_cover)
{
    enum { FIRST = 9, STRIDE = 7, COUNT = 6, LAST = FIRST + STRIDE * COUNT };
    enum { ROWS = FIRST * STRIDE * COUNT };
    struct gw__steps rows[ROWS];
    for (unsigned i = 0; i < ROWS; i++)
        rows[i] = gw__steps_of(i % FIRST, 1 + i / FIRST % STRIDE,
                               1 + i / FIRST / STRIDE);
    for (unsigned i = 0; i < ROWS * ROWS; i++) {
        const struct gw__steps *a = &rows[i / ROWS], *b = &rows[i % ROWS];
        unsigned common = 0, some = 0;
        for (unsigned chunk = 0; chunk < LAST; chunk++) {
            common += is_among(chunk, a) && is_among(chunk, b);
            some += is_among(chunk, b);
        }
        ck_assert_msg(gw__steps_intersect(a, b) == (common > 0) &&
                          gw__steps_cover(a, b) == (common == some),
                      "%u, +%u, to %u; %u, +%u, to %u", a->first, a->stride,
                      a->last, b->first, b->stride, b->last);
    }
}
END_TEST

/* Hundreds of ranks at different times are coupled by their links. Shares are
 * then recomputed as far as a change has effects, and links are distinguished
 * by their place in a chain. */
START_TEST(ranks_that_run_apart_take_as_long_as_their_plan)
{
    static const char *const clusters[] = {
        "topology t\nnic rate=1M latency=3us\nrack a: h[0-499]\n",
        ("topology t\nnic rate=1M latency=3us\n"
         "fat-tree k=8 oversubscription=4:1\n"),
        "topology t\nnic rate=1M latency=3us\ntorus 12x10\n"};
    static const struct {
        enum gw_collective collective;
        const char *name;
    } cases[] = {
        {GW_BROADCAST, "circulant"}, {GW_BROADCAST, "chain"},
        {GW_REDUCE, "circulant"},    {GW_BROADCAST, "scatter_allgather"},
        {GW_ALLREDUCE, "swing"},     {GW_ALLREDUCE, "double_tree"}};
    struct gw_topology *t = traffic_topology(clusters[_i]);
    unsigned ranks = _i == 0 ? 300 : 120;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_same(t, gw_algo_find(cases[i].collective, cases[i].name), ranks,
                    50000, 1);
    gw_topology_destroy(&t);
}
END_TEST

/* One value of one chunk, so the reductions are equal, too. */
START_TEST(reducing_whole_values_is_the_same)
{
    static const char *const names[] = {"recursive_doubling", "one_shot",
                                        "reduce_broadcast",   "ring",
                                        "partitioned",        "double_tree"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct gw_topology *t = traffic_topology(uneven[0]);
        struct gw_plan *plan = traffic_make(GW_ALLREDUCE, names[i], 16, 0);
        struct gw_topology_result *exact =
            traffic_simulate(t, plan, 5000, 1, 0.3);
        struct gw_algo_args args = {.ranks = 16};
        struct gw_topology_run simulation = {
            .algo = gw_algo_find(GW_ALLREDUCE, names[i]),
            .args = &args,
            .count = 5000,
            .elem_bytes = 1,
            .message_us = 1,
            .reduce_us_per_byte = 0.3};
        struct gw_topology_result *bulk;
        ck_assert(gw_topology_simulate(t, &simulation, &bulk, NULL) == GW_OK);
        expect_close("reducing", names[i], bulk->time_us, exact->time_us);
        gw_topology_result_destroy(&bulk);
        gw_topology_result_destroy(&exact);
        gw_plan_destroy(&plan);
        gw_topology_destroy(&t);
    }
}
END_TEST

/* ---- many ---- */

static struct gw_topology *many(unsigned hosts)
{
    char text[128];
    snprintf(text, sizeof text,
             "topology t\nnic rate=" RATE " latency=3us\nrack a: h[0-%u]\n",
             hosts - 1);
    return traffic_topology(text);
}

static unsigned log2_ceil(unsigned ranks)
{
    unsigned rounds = 0;
    while (1u << rounds < ranks)
        rounds++;
    return rounds;
}

/* ceil(log2 p) rounds of alpha + latency, and the bytes of all of them. SLOW: a
 * hundred thousand ranks. */
START_TEST(logarithmic_algorithms_of_many_ranks)
{
    enum bytes { NONE, ALL_EACH_ROUND, EACH_BLOCK_ONCE };
    static const struct {
        enum gw_collective collective;
        const char *name;
        enum bytes bytes;
    } cases[] = {
        {GW_BARRIER, "dissemination", NONE},
        {GW_ALLREDUCE, "recursive_doubling", ALL_EACH_ROUND},
        {GW_ALLGATHER, "bruck", EACH_BLOCK_ONCE},
        {GW_ALLGATHER, "pat", EACH_BLOCK_ONCE},
        {GW_REDUCE_SCATTER, "circulant", EACH_BLOCK_ONCE},
    };
    unsigned hosts = getenv("SLOW") ? 100000 : 25000;
    struct gw_topology *t = many(hosts);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct gw_algo *algo =
            gw_algo_find(cases[i].collective, cases[i].name);
        unsigned rounds = log2_ceil(hosts), ranks = hosts;
        if (cases[i].bytes == ALL_EACH_ROUND) /* a power of two */
            ranks = 1u << --rounds;
        const double bytes[] = {0, 10.0 * rounds, 10.0 * (ranks - 1)};
        struct gw_topology_result *r = without_plan(t, algo, ranks, 10, 2);
        ck_assert_uint_eq(r->rounds, rounds);
        traffic_expect(r->time_us, rounds * (2 + 6) + bytes[cases[i].bytes]);
        gw_topology_result_destroy(&r);
    }
    gw_topology_destroy(&t);
}
END_TEST

/* Two log2 p rounds, and each block of a buffer but the own one twice; blocks
 * go in runs whose strides are powers of two. */
START_TEST(swing_moves_the_blocks_of_16384_ranks)
{
    enum { RANKS = 1 << 14 };
    struct gw_topology *t = many(RANKS);
    struct gw_topology_result *r = without_plan(
        t, gw_algo_find(GW_ALLREDUCE, "swing"), RANKS, 10 * RANKS, 2);
    ck_assert_uint_eq(r->rounds, 28);
    ck_assert_uint_eq(r->bytes, 2 * UINT64_C(10) * RANKS * (RANKS - 1));
    traffic_expect(r->time_us, 28 * (2 + 6) + 2 * 10.0 * (RANKS - 1));
    gw_topology_result_destroy(&r);
    gw_topology_destroy(&t);
}
END_TEST

/* A root's NIC sends one message after another. All NICs at once form an
 * all-to-all of one class: p - 1 blocks leave each. */
START_TEST(what_is_alike_is_computed_as_one)
{
    enum { RANKS = 512 };
    struct gw_topology *t = many(RANKS);
    struct gw_topology_result *r =
        without_plan(t, gw_algo_find(GW_ALLTOALL, "linear"), RANKS, 100, 0);
    ck_assert_uint_eq(r->messages, RANKS * (RANKS - 1));
    traffic_expect(r->time_us, (RANKS - 1) * 100 + 6);
    gw_topology_result_destroy(&r);
    r = without_plan(t, gw_algo_find(GW_ALLREDUCE, "one_shot"), RANKS, 1000, 1);
    traffic_expect(r->time_us, 1 + (RANKS - 1) * 1000 + 6);
    gw_topology_result_destroy(&r);
    gw_topology_destroy(&t);
}
END_TEST

START_TEST(what_is_too_much_is_refused)
{
    static const struct {
        enum gw_collective collective;
        const char *name;
        unsigned ranks;
        const char *sentence;
    } cases[] = {
        {GW_ALLTOALL, "bruck", 100000,
         "alltoall of 100000 ranks moves 10000000000 different chunks; at "
         "most 16777216 can be simulated"},
        {GW_ALLGATHER, "ring", 16384,
         "allgather ring of 16384 ranks sends too many chunks to simulate; use "
         "fewer ranks or an algorithm with logarithmic rounds"},
        {GW_ALLGATHER, "recursive_doubling", 12,
         "allgather recursive_doubling does not support 12 ranks"},
        {GW_BROADCAST, "binomial", 100001,
         "the plan is for 100001 ranks, but topology t has 100000"},
    };
    struct gw_topology *t = many(100000);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_topology_result *r;
        struct gw_error why = {0};
        struct gw_algo_args args = {.ranks = cases[i].ranks};
        struct gw_topology_run simulation = {
            .algo = gw_algo_find(cases[i].collective, cases[i].name),
            .args = &args,
            .count = 1,
            .elem_bytes = 1};
        ck_assert(gw_topology_simulate(t, &simulation, &r, &why) == GW_EINVAL);
        ck_assert_str_eq(why.text, cases[i].sentence);
        ck_assert_ptr_null(r);
    }
    gw_topology_destroy(&t);
}
END_TEST

Suite *suite_traffic_bulk(void)
{
    Suite *suite = suite_create("traffic_bulk");
    TCase *same = tcase_create("traffic without a plan: the same");
    tcase_add_loop_test(same, every_algorithm_takes_as_long_as_its_plan, 0,
                        sizeof uneven / sizeof *uneven);
    tcase_add_loop_test(same, so_it_does_on_clusters_by_chance, 0, 6);
    tcase_add_loop_test(same, so_it_does_by_lists_of_segments, 0,
                        sizeof uneven / sizeof *uneven);
    tcase_add_test(same, rows_of_chunks_are_adjacent_and_cover);
    tcase_add_loop_test(same, ranks_that_run_apart_take_as_long_as_their_plan,
                        0, 3);
    tcase_add_test(same, reducing_whole_values_is_the_same);
    suite_add_tcase(suite, same);
    TCase *large = tcase_create("traffic without a plan: many");
    tcase_set_timeout(large, 120);
    tcase_add_test(large, logarithmic_algorithms_of_many_ranks);
    tcase_add_test(large, swing_moves_the_blocks_of_16384_ranks);
    tcase_add_test(large, what_is_alike_is_computed_as_one);
    tcase_add_test(large, what_is_too_much_is_refused);
    suite_add_tcase(suite, large);
    return suite;
}
