/* SPDX-License-Identifier: MIT
 *
 * Plans in virtual time on a topology, one link and one message at a time: the
 * alpha-beta-gamma formulas without shared links, max-min fair shares with
 * them, and the dependencies of waits. Whole clusters are in
 * test_traffic_racks.c.
 */
#include "traffic_run.h"

#include <check.h>

Suite *suite_traffic(void);

enum { PATH_US = 6 }; /* between two hosts of RACK */

/* ---- no shared links ---- */

/* 2(p-1)(alpha + latency + n/p beta) + (p-1) n/p gamma */
START_TEST(a_ring_takes_the_time_of_the_formula)
{
    for (unsigned p = 2; p <= 17; p++) {
        struct gw_topology *t = traffic_topology(RACK);
        struct gw_plan *plan = traffic_make(GW_ALLREDUCE, "ring", p, 0);
        double us = traffic_time(t, plan, 640 * (size_t)p, 2, 0.5);
        traffic_expect(us, 2 * (p - 1) * (2 + PATH_US + 640.0) +
                               (p - 1) * 640 * 0.5);
        gw_plan_destroy(&plan);
        gw_topology_destroy(&t);
    }
}
END_TEST

/* Segments to one rank follow each other: (k+p-2)(alpha + n/k beta), and the
 * latency once per hop. */
START_TEST(a_chain_is_a_pipeline)
{
    struct gw_error why = {0};
    for (unsigned k = 1; k <= 5; k++) {
        struct gw_topology *t = traffic_topology(RACK);
        struct gw_plan *plan;
        struct gw_algo_args args = {.ranks = 8, .segments = k};
        ck_assert_msg(gw_plan_make(GW_BROADCAST, "chain", &args, &plan, &why) ==
                          GW_OK,
                      "%s", why.text);
        double us = traffic_time(t, plan, 6400 * (size_t)k, 2, 0);
        traffic_expect(us, (k + 6) * (2 + 6400.0) + 7 * PATH_US);
        gw_plan_destroy(&plan);
        gw_topology_destroy(&t);
    }
}
END_TEST

START_TEST(a_barrier_takes_messages_and_latencies_alone)
{
    struct gw_topology *t = traffic_topology(RACK);
    struct gw_plan *plan = traffic_make(GW_BARRIER, "dissemination", 8, 0);
    traffic_expect(traffic_time(t, plan, 5000, 2, 1), 3 * (2 + PATH_US));
    gw_plan_destroy(&plan);
    gw_topology_destroy(&t);
}
END_TEST

START_TEST(without_limits_bytes_take_no_time)
{
    struct gw_topology *t =
        traffic_topology("topology t\nnic latency=3us\nrack a: h[0-17]\n");
    struct gw_plan *plan = traffic_make(GW_ALLREDUCE, "ring", 4, 0);
    traffic_expect(traffic_time(t, plan, 64000, 2, 0), 6 * (2 + PATH_US));
    gw_plan_destroy(&plan);
    gw_topology_destroy(&t);
}
END_TEST

/* Chunks to one rank in one step are one message, in two steps they are two. */
START_TEST(messages_are_what_goes_to_one_rank_in_one_step)
{
    static const char *const texts[] = {
        "broadcast ranks=2 chunks=2\nstep 0>1 c0 = 0>1 c1 =\n",
        "broadcast ranks=2 chunks=2\nstep 0>1 c0 =\nstep 0>1 c1 =\n",
    };
    for (unsigned i = 0; i < 2; i++) {
        struct gw_topology *t = traffic_topology(RACK);
        struct gw_plan *plan = traffic_read(texts[i]);
        struct gw_topology_result *r = traffic_simulate(t, plan, 1280, 2, 0);
        ck_assert_uint_eq(r->messages, 1 + i);
        traffic_expect(r->time_us, 2 * (1 + i) + 1280 + PATH_US);
        gw_topology_result_destroy(&r);
        gw_plan_destroy(&plan);
        gw_topology_destroy(&t);
    }
}
END_TEST

START_TEST(ranks_of_a_host_use_its_internal_link)
{
    struct gw_topology *t =
        traffic_topology("topology t\nnic rate=" RATE "\ninner rate=9765.625K "
                         "latency=1us\nrack a: h[0-1]\nhost h0 ranks=2\n");
    struct gw_plan *plan = traffic_read("broadcast ranks=2 chunks=1\n"
                                        "step 0>1 c0 =\n");
    traffic_expect(traffic_time(t, plan, 1000, 2, 0), 2 + 100 + 1);
    gw_plan_destroy(&plan);
    gw_topology_destroy(&t);
}
END_TEST

/* ---- shared links ---- */

/* The root's NIC is busy from the first message to the last byte. */
START_TEST(a_nic_is_shared)
{
    static const struct {
        enum gw_collective collective;
        const char *algo;
        double first_us;
    } cases[] = {{GW_BROADCAST, "direct", 2},
                 {GW_SCATTER, "linear", 2},
                 {GW_GATHER, "linear", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_topology *t = traffic_topology(RACK);
        struct gw_plan *plan =
            traffic_make(cases[i].collective, cases[i].algo, 8, 0);
        traffic_expect(traffic_time(t, plan, 1000, 2, 0),
                       cases[i].first_us + 7 * 1000 + PATH_US);
        gw_plan_destroy(&plan);
        gw_topology_destroy(&t);
    }
}
END_TEST

/* A flow with a small limit keeps it; the others share the rest: 4 = 1 + 1.5 +
 * 1.5. */
START_TEST(shares_are_max_min_fair)
{
    struct gw_topology *t =
        traffic_topology("topology t\nrack a: h[0-17]\nnic h0 rate=" RATE "\n"
                         "nic h1 h2 rate=9765.625K\nnic h3 rate=3906.25K\n");
    struct gw_plan *plan = traffic_read("gather ranks=4 chunks=4 root=3\n"
                                        "step 0>3 c0 = 1>3 c1 = 2>3 c2 =\n");
    struct gw_topology_result *r = traffic_simulate(t, plan, 1200, 0, 0);
    traffic_expect(r->rank_us[0], 1200);
    traffic_expect(r->rank_us[1], 800);
    traffic_expect(r->rank_us[2], 800);
    traffic_expect(r->rank_us[3], 1200);
    gw_topology_result_destroy(&r);
    gw_plan_destroy(&plan);
    gw_topology_destroy(&t);
}
END_TEST

/* Two flows have 2 bytes per microsecond each. When one has sent its 1200, the
 * other has as many left, and a rate of 4. */
START_TEST(who_stays_gets_what_is_released)
{
    struct gw_topology *t = traffic_topology(
        "topology t\nrack a: h[0-17]\nnic h0 h1 rate=9765.625K\n"
        "nic h2 rate=3906.25K\n");
    struct gw_plan *plan = traffic_read("gather ranks=3 chunks=6 root=2\n"
                                        "step 0>2 c0 = 0>2 c1 = 1>2 c2 =\n");
    size_t offset, length;
    gw_plan_extent(plan, 0, 2560, 1, &offset, &length);
    ck_assert_uint_eq(length, 1280);
    struct gw_topology_result *r = traffic_simulate(t, plan, 2560, 0, 0);
    traffic_expect(r->rank_us[1], 640);
    traffic_expect(r->rank_us[0], 640 + 320);
    traffic_expect(r->time_us, 960);
    gw_topology_result_destroy(&r);
    gw_plan_destroy(&plan);
    gw_topology_destroy(&t);
}
END_TEST

/* ---- waits ---- */

/* Two values arrive together; the second is reduced after the first. */
START_TEST(a_rank_reduces_one_value_at_a_time)
{
    struct gw_topology *t = traffic_topology(RACK);
    struct gw_plan *plan = traffic_read("reduce ranks=3 chunks=2 root=2\n"
                                        "step 0>2 c0 + 1>2 c1 +\n");
    traffic_expect(traffic_time(t, plan, 1280, 0, 0.25),
                   1280 + PATH_US + 1280 * 0.25);
    gw_plan_destroy(&plan);
    gw_topology_destroy(&t);
}
END_TEST

/* The new value has arrived after 1006 us, but the old one is being sent until
 * 2000. */
START_TEST(what_is_still_to_leave_is_not_overwritten)
{
    struct gw_topology *t = traffic_topology(RACK "nic h1 rate=488.28125K\n");
    struct gw_plan *plan = traffic_read("broadcast ranks=3 chunks=1\n"
                                        "step 0>1 c0 =\nstep 2>0 c0 =\n");
    struct gw_topology_result *r = traffic_simulate(t, plan, 1000, 0, 0);
    traffic_expect(r->rank_us[2], 1000);
    traffic_expect(r->rank_us[0], 2000);
    traffic_expect(r->rank_us[1], 2000 + PATH_US);
    gw_topology_result_destroy(&r);
    gw_plan_destroy(&plan);
    gw_topology_destroy(&t);
}
END_TEST

START_TEST(the_critical_path_is_reported_backwards)
{
    struct gw_topology *t = traffic_topology(RACK);
    struct gw_plan *plan = traffic_read("broadcast ranks=4 chunks=1\n"
                                        "step 0>3 c0 =\nstep 3>1 c0 =\n"
                                        "step 1>2 c0 =\n");
    struct gw_topology_result *r = traffic_simulate(t, plan, 100, 2, 0);
    ck_assert_uint_eq(r->hops, 3);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(r->hop[i].step, 3 - i);
        ck_assert_uint_eq(r->hop[i].bytes, 100);
        traffic_expect(r->hop[i].begin_us, (2 - i) * (102 + PATH_US));
        traffic_expect(r->hop[i].end_us, (3 - i) * (102 + PATH_US));
    }
    ck_assert_uint_eq(r->hop[0].src, 1);
    ck_assert_uint_eq(r->hop[0].dst, 2);
    ck_assert_uint_eq(r->hop[2].src, 0);
    gw_topology_result_destroy(&r);
    gw_plan_destroy(&plan);
    gw_topology_destroy(&t);
}
END_TEST

Suite *suite_traffic(void)
{
    Suite *suite = suite_create("traffic");
    TCase *plain = tcase_create("traffic: no sharing");
    tcase_add_test(plain, a_ring_takes_the_time_of_the_formula);
    tcase_add_test(plain, a_chain_is_a_pipeline);
    tcase_add_test(plain, a_barrier_takes_messages_and_latencies_alone);
    tcase_add_test(plain, without_limits_bytes_take_no_time);
    tcase_add_test(plain, messages_are_what_goes_to_one_rank_in_one_step);
    tcase_add_test(plain, ranks_of_a_host_use_its_internal_link);
    suite_add_tcase(suite, plain);
    TCase *shared = tcase_create("traffic: shares and waits");
    tcase_add_test(shared, a_nic_is_shared);
    tcase_add_test(shared, shares_are_max_min_fair);
    tcase_add_test(shared, who_stays_gets_what_is_released);
    tcase_add_test(shared, a_rank_reduces_one_value_at_a_time);
    tcase_add_test(shared, what_is_still_to_leave_is_not_overwritten);
    tcase_add_test(shared, the_critical_path_is_reported_backwards);
    suite_add_tcase(suite, shared);
    return suite;
}
