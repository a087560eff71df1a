/* SPDX-License-Identifier: MIT
 *
 * Closed forms on trees, fat trees and tori: the load of a link determines the
 * time.
 */
#include "traffic_run.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

Suite *suite_traffic_fabrics(void);

/* A byte takes a microsecond on every NIC, and three from end to end. */
#define NICS "topology t\nnic rate=" RATE " latency=3us\n"

static struct gw_topology_result *
run(const char *text, enum gw_rank_order order, enum gw_collective collective,
    const char *algo, size_t bytes, double alpha_us)
{
    struct gw_topology *t = traffic_topology(text);
    struct gw_error why = {0};
    gw_topology_order(t, order);
    struct gw_algo_args args = {.ranks = gw_topology_ranks(t)};
    struct gw_topology_run simulation = {.algo = gw_algo_find(collective, algo),
                                         .args = &args,
                                         .count = bytes,
                                         .elem_bytes = 1,
                                         .message_us = alpha_us};
    struct gw_topology_result *r;
    enum gw_err err = gw_topology_simulate(t, &simulation, &r, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    gw_topology_destroy(&t);
    return r;
}

static void expect_time(const char *text, enum gw_collective collective,
                        const char *algo, size_t bytes, double alpha_us,
                        double expected_us)
{
    struct gw_topology_result *r =
        run(text, GW_ORDER_RACKS, collective, algo, bytes, alpha_us);
    traffic_expect(r->time_us, expected_us);
    gw_topology_result_destroy(&r);
}

/* ---- trees ---- */

/* k racks of m, o:1. Rounds inside a rack share no link. In the other rounds m
 * ranks share an uplink of m/o NICs: a round takes alpha + latencies + o n beta
 * (Thakur, Rabenseifner, Gropp 2005, 4.5, with these shares). */
START_TEST(recursive_doubling_pays_for_uplinks_between_racks)
{
    for (unsigned over = 1; over <= 8; over *= 2) {
        char text[256];
        snprintf(text, sizeof text,
                 NICS "uplink oversubscription=%u:1 latency=10us\n"
                      "rack a: a[0-7]\nrack b: b[0-7]\nrack c: c[0-7]\n"
                      "rack d: d[0-7]\n",
                 over);
        expect_time(text, GW_ALLREDUCE, "recursive_doubling", 1000, 2,
                    3 * (2 + 6 + 1000.0) + 2 * (2 + 26 + over * 1000.0));
    }
}
END_TEST

/* The same for an all-gather. Messages double, so the far rounds are expensive:
 * n (2^3 - 1) inside racks, o n (2^5 - 2^3) between them (4.1 there). */
START_TEST(an_all_gather_pays_for_what_it_sends_far)
{
    for (unsigned over = 1; over <= 8; over *= 2) {
        char text[256];
        snprintf(text, sizeof text,
                 NICS "uplink oversubscription=%u:1 latency=10us\n"
                      "rack a: a[0-7]\nrack b: b[0-7]\nrack c: c[0-7]\n"
                      "rack d: d[0-7]\n",
                 over);
        expect_time(text, GW_ALLGATHER, "recursive_doubling", 100, 2,
                    3 * (2 + 6) + 2 * (2 + 26) + 100.0 * (7 + over * 24));
    }
}
END_TEST

/* ---- fat trees ---- */

/* Each host sends p - m blocks out of its rack, and m hosts share m uplinks of
 * 1/o NIC each: o (p - m) n beta, if that is more than the p - 1 blocks that
 * pass its NIC (the load factor, load of a cut over its capacity: Leiserson,
 * Fat-Trees, 1985). */
START_TEST(an_all_to_all_takes_as_long_as_a_fat_tree_is_thin)
{
    for (unsigned over = 2; over <= 4; over *= 2) {
        char text[256];
        snprintf(text, sizeof text,
                 NICS "fat-tree k=8 levels=2 oversubscription=%u:1\n", over);
        expect_time(text, GW_ALLTOALL, "linear", 100, 0,
                    over * (32 - 4) * 100.0 + 6);
    }
    expect_time(NICS "fat-tree k=8 levels=2\n", GW_ALLTOALL, "linear", 100, 0,
                31 * 100 + 6);
    expect_time(NICS "fat-tree k=4 levels=3\n", GW_ALLTOALL, "linear", 100, 0,
                15 * 100 + 6);
}
END_TEST

/* With d-mod-k paths the messages of a shift share no link (Zahavi 2012), so a
 * full fat tree is as fast as one switch: for pairwise exchange, Bruck and
 * rings. */
START_TEST(shifts_collide_nowhere_in_a_full_fat_tree)
{
    static const struct {
        enum gw_collective collective;
        const char *algo;
        double rounds, blocks;
    } cases[] = {{GW_ALLGATHER, "bruck", 7, 127},
                 {GW_ALLGATHER, "ring", 127, 127},
                 {GW_REDUCE_SCATTER, "circulant", 7, 127}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_topology_result *r =
            run(NICS "fat-tree k=8\n", GW_ORDER_RACKS, cases[i].collective,
                cases[i].algo, 100, 2);
        traffic_expect(r->time_us,
                       cases[i].rounds * (2 + 6) + cases[i].blocks * 100);
        ck_assert_uint_eq(r->ranks, 128);
        gw_topology_result_destroy(&r);
    }
}
END_TEST

/* ---- tori ---- */

#define TORUS "topology t\ntorus "
#define LINKS " rate=" RATE " latency=3us\n"

/* Around one ring every link is crossed once in each round: 2(p-1)(alpha +
 * latency + n/p beta) as on a switch (Patarasuk, Yuan 2009, "Bandwidth optimal
 * all-reduce", 3). */
START_TEST(a_ring_all_reduce_fits_a_ring)
{
    expect_time(TORUS "16" LINKS, GW_ALLREDUCE, "ring", 1600, 2,
                2 * 15 * (2 + 3 + 100.0));
}
END_TEST

/* In snake order neighbours of a ring are neighbours on a torus of two
 * dimensions, too, the last and the first by its wrap around. */
START_TEST(a_ring_in_snake_order_fits_a_torus)
{
    char text[1024] = TORUS "4x4" LINKS "order";
    for (unsigned y = 0; y < 4; y++)
        for (unsigned i = 0; i < 4; i++)
            snprintf(text + strlen(text), sizeof text - strlen(text), " h%u",
                     4 * y + (y % 2 ? 3 - i : i));
    strcat(text, "\n");
    struct gw_topology_result *r =
        run(text, GW_ORDER_FILE, GW_ALLREDUCE, "ring", 1600, 2);
    traffic_expect(r->time_us, 2 * 15 * (2 + 3 + 100.0));
    ck_assert_uint_eq(r->uplink_bytes_max, 2 * 15 * 100);
    gw_topology_result_destroy(&r);
}
END_TEST

/* All to all on a ring of k: the mean path is k/4 links (k even, p = k^d in d
 * dimensions), and each host has two links per dimension, so each link carries
 * p k/8 blocks, which determines the time (Dally, Towles, Principles and
 * Practices of Interconnection Networks, 2004, 3.3: the bisection bound is the
 * same). */
START_TEST(an_all_to_all_on_a_torus_reaches_its_bisection)
{
    static const struct {
        const char *sizes;
        unsigned ranks, side, dimensions;
    } cases[] = {{"8", 8, 8, 1},
                 {"4x4", 16, 4, 2},
                 {"8x8", 64, 8, 2},
                 {"4x4x4", 64, 4, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        snprintf(text, sizeof text, TORUS "%s" LINKS, cases[i].sizes);
        struct gw_topology_result *r =
            run(text, GW_ORDER_RACKS, GW_ALLTOALL, "linear", 100, 0);
        unsigned load = cases[i].ranks * cases[i].side / 8 * 100;
        ck_assert_uint_eq(r->uplink_bytes_max, load);
        ck_assert_msg(
            r->time_us >= load &&
                r->time_us <= load + 3 * cases[i].side * cases[i].dimensions,
            "%s: %g us, %u by the bisection", cases[i].sizes, r->time_us, load);
        gw_topology_result_destroy(&r);
    }
}
END_TEST

Suite *suite_traffic_fabrics(void)
{
    Suite *suite = suite_create("traffic_fabrics");
    TCase *forms = tcase_create("traffic: closed forms");
    tcase_add_test(forms, recursive_doubling_pays_for_uplinks_between_racks);
    tcase_add_test(forms, an_all_gather_pays_for_what_it_sends_far);
    tcase_add_test(forms, an_all_to_all_takes_as_long_as_a_fat_tree_is_thin);
    tcase_add_test(forms, shifts_collide_nowhere_in_a_full_fat_tree);
    tcase_add_test(forms, a_ring_all_reduce_fits_a_ring);
    tcase_add_test(forms, a_ring_in_snake_order_fits_a_torus);
    tcase_add_test(forms, an_all_to_all_on_a_torus_reaches_its_bisection);
    suite_add_tcase(suite, forms);
    return suite;
}
