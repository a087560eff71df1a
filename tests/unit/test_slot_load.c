/* SPDX-License-Identifier: MIT
 *
 * Balance by load: rates from counters, the desired places of slots, and that
 * slots do not move back and forth. The real registry moves them
 * (route_sim.h), under loads that are skewed and noisy and change half way.
 */
#include <cluster/routes/slot_load.h>

#include "route_sim.h"

#include <math.h>

Suite *suite_slot_load(void);

enum { SEEDS = 400, WINDOWS = 150, SECOND = 1000000000 };

/* ---- rates ---- */

START_TEST(rates_begin_again)
{
    static struct gw__slot_load load;
    memset(&load, 0, sizeof load);
    const struct gw__slot_rate *rate = &load.rate[3];
    gw__slot_load_record(&load, 3, 1, 1000, 64000, SECOND);
    ck_assert_double_eq(rate->keys, 0);
    gw__slot_load_record(&load, 3, 1, 1800, 72000, 2ULL * SECOND);
    ck_assert_double_eq(rate->keys, 800);
    ck_assert_double_eq(rate->bytes, 8000);
    gw__slot_load_record(&load, 3, 1, 3400, 88000, 4ULL * SECOND);
    ck_assert_double_eq(rate->bytes, 8000);
    /* Another primary has its own counters, and so has another process. */
    gw__slot_load_record(&load, 3, 2, 90000, 9000000, 5ULL * SECOND);
    ck_assert_double_eq(rate->keys, 800);
    gw__slot_load_record(&load, 3, 2, 100, 800, 6ULL * SECOND);
    ck_assert_double_eq(rate->keys, 800);
    gw__slot_load_record(&load, 3, 2, 350, 2400, 7ULL * SECOND);
    ck_assert_double_eq(rate->keys, 250);
}
END_TEST

/* ---- a plan ---- */

static struct gw__routes routes;

/* Assigns slots to servers 0, 1, ... in turn, with neighbours as replicas. */
static void assign_slots(unsigned slots, unsigned servers, unsigned replicas)
{
    gw__routes_init(&routes);
    ck_assert(!gw__routes_open(&routes, slots, replicas, servers, NULL));
    for (unsigned i = 0; i < slots; i++) {
        struct gw__slot_route *slot = &routes.slots[i];
        slot->term = 1;
        slot->count = (uint16_t)replicas;
        for (unsigned k = 0; k < replicas; k++)
            slot->replica[k] = (uint16_t)((i + k) % servers);
        slot->primary = slot->replica[0];
    }
}

START_TEST(the_hot_slot_stays_and_others_leave)
{
    struct gw__advice advice;
    double load[GW_PS_SLOTS_MAX] = {6, 1, 1, 1, 1, 1, 1, 1};
    assign_slots(8, 2, 1);
    ck_assert_double_eq_tol(
        gw__slot_balance(&routes, load, NODE_BITS(3), &advice), 1 - 7.0 / 9,
        1e-9);
    ck_assert_uint_eq(advice.node[0][0], 0);
    unsigned moved = 0;
    for (unsigned i = 0; i < 8; i++)
        moved += advice.node[i][0] != i % 2;
    ck_assert_uint_eq(moved, 2);
}
END_TEST

START_TEST(nothing_moves_that_gains_nothing)
{
    struct gw__advice advice;
    double one[GW_PS_SLOTS_MAX] = {9}, even[GW_PS_SLOTS_MAX] = {1, 1, 1, 1};
    assign_slots(4, 2, 1);
    ck_assert_double_eq(gw__slot_balance(&routes, one, NODE_BITS(3), &advice),
                        0);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_uint_eq(advice.node[i][0], i % 2);
    ck_assert_double_eq(gw__slot_balance(&routes, even, NODE_BITS(3), &advice),
                        0);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_uint_eq(advice.node[i][0], i % 2);
}
END_TEST

/* Of two equally good servers the one in sync is chosen; the other would have
 * to copy. */
START_TEST(who_is_in_sync_comes_first)
{
    struct gw__advice advice;
    double load[GW_PS_SLOTS_MAX] = {2, 1, 1, 2, 1, 1, 1, 1, 1};
    assign_slots(9, 3, 2);
    ck_assert_double_eq_tol(
        gw__slot_balance(&routes, load, NODE_BITS(7), &advice), 1 - 4.0 / 5,
        1e-9);
    for (unsigned i = 0; i < 9; i++)
        for (unsigned k = 0; k < 2; k++)
            ck_assert(gw__route_in_sync(&routes.slots[i], advice.node[i][k]));
}
END_TEST

/* A new server gets its share, of replicas too. */
START_TEST(who_has_come_gets_its_share)
{
    struct gw__advice advice;
    double load[GW_PS_SLOTS_MAX], of = 0;
    unsigned replicas = 0;
    assign_slots(32, 3, 2);
    for (unsigned i = 0; i < 32; i++)
        load[i] = 1;
    gw__slot_balance(&routes, load, NODE_BITS(15), &advice);
    for (unsigned i = 0; i < 32; i++) {
        of += advice.node[i][0] == 3 ? load[i] : 0;
        replicas += advice.node[i][0] == 3 || advice.node[i][1] == 3;
    }
    ck_assert_double_eq(of, 8);
    ck_assert_uint_ge(replicas, 15);
}
END_TEST

/* ---- in the registry ---- */

struct run {
    struct route_sim routes;
    struct gw__slot_load load;
    double weight[GW_PS_SLOTS_MAX]; /* true bytes per second */
    uint64_t answered[GW_PS_SLOTS_MAX][GW__NODES_MAX];
    unsigned was[GW_PS_SLOTS_MAX][2]; /* the previous primaries */
    unsigned back;                    /* slots that came back */
    unsigned advised;
    uint64_t now_ns;
    double noise;
};

static struct run r;

/* Zipf's law, on slots in any order. */
static void draw_weights(void)
{
    double skew = 1.2 * gw_rng_unit(&r.routes.rng);
    unsigned slots = r.routes.routes.slot_count,
             shift = routes_draw(&r.routes, slots);
    for (unsigned i = 0; i < slots; i++)
        r.weight[(i * 7 + shift) % slots] = 1e6 * pow(1 + i, -skew);
    for (unsigned i = 0; i < slots; i++)
        if (r.weight[i] <= 0) /* slots divide by 7 */
            r.weight[i] = 1e5;
}

static void record_slots(void)
{
    for (unsigned i = 0; i < r.routes.routes.slot_count; i++) {
        unsigned primary = r.routes.routes.slots[i].primary;
        double wrong = r.noise * (2 * gw_rng_unit(&r.routes.rng) - 1);
        uint64_t *answered = &r.answered[i][primary];
        *answered += (uint64_t)(r.weight[i] * (1 + wrong));
        gw__slot_load_record(&r.load, i, primary, *answered / 16, *answered,
                             r.now_ns);
        if (primary == r.was[i][0])
            continue;
        r.back += primary == r.was[i][1];
        r.was[i][1] = r.was[i][0];
        r.was[i][0] = primary;
    }
}

/* Plays so many windows; some copies end while slots move. Returns the number
 * of windows with advice in the second half. */
static unsigned play(unsigned windows)
{
    static struct gw__advice advice;
    unsigned late = 0;
    for (unsigned n = 0; n < windows; n++) {
        r.now_ns += SECOND;
        record_slots();
        if (gw__slot_load_end_window(&r.load, &r.routes.routes,
                                     NODE_BITS(r.routes.servers), &advice)) {
            routes_advise(&r.routes, &advice);
            r.advised++;
            late += n >= windows / 2;
        }
        for (unsigned i = routes_draw(&r.routes, 12); i > 0; i--)
            routes_advance(&r.routes);
    }
    return late;
}

static void begin_run(uint64_t seed, double noise)
{
    memset(&r, 0, sizeof r);
    r.routes = routes_begin(seed);
    r.noise = noise;
    unsigned servers = r.routes.routes.servers;
    servers = servers < 2 ? 2 : servers;
    routes_set_servers(&r.routes, ((uint64_t)1 << servers) - 1);
    routes_converge(&r.routes);
    for (unsigned i = 0; i < r.routes.routes.slot_count; i++)
        r.was[i][0] = r.was[i][1] = GW__NO_NODE;
}

/* The gain that the true loads would allow now. */
static double gain(void)
{
    static struct gw__advice ignored;
    return gw__slot_balance(&r.routes.routes, r.weight,
                            NODE_BITS(r.routes.servers), &ignored);
}

static double uneven(void)
{
    static struct gw__slot_load truth;
    for (unsigned i = 0; i < r.routes.routes.slot_count; i++)
        truth.rate[i].bytes = r.weight[i];
    return gw__slot_load_uneven(&truth, &r.routes.routes,
                                NODE_BITS(r.routes.servers));
}

/* Up to a tenth of noise in each rate. */
START_TEST(no_slot_moves_back_and_forth)
{
    unsigned moved = 0, unchanged = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin_run(seed, 0.1 * (double)(seed % 5) / 4);
        for (unsigned load = 0; load < 2; load++) {
            draw_weights();
            memset(r.was, GW__NO_NODE, sizeof r.was);
            r.back = 0;
            unsigned late = play(WINDOWS);
            unchanged += late == 0;
            ck_assert_msg(r.back == 0, "seed %llu: %u slots came back",
                          (unsigned long long)seed, r.back);
            ck_assert_msg(uneven() < GW__LOAD_UNEVEN * 1.1 ||
                              gain() < GW__LOAD_GAIN * 1.5,
                          "seed %llu: %g times the mean, gain %g",
                          (unsigned long long)seed, uneven(), gain());
        }
        moved += r.advised > 0;
    }
    ck_assert_uint_gt(moved, SEEDS / 4);
    /* Noise rarely suggests a late gain. */
    ck_assert_uint_ge(unchanged, 2 * SEEDS * 99 / 100);
}
END_TEST

/* Servers come and go while slots move; promises are checked on the way. */
START_TEST(servers_come_and_go)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin_run(seed, 0.1);
        draw_weights();
        for (unsigned i = 0; i < 4; i++) {
            play(2 + routes_draw(&r.routes, 20));
            unsigned node = routes_draw(&r.routes, 8);
            uint64_t servers = r.routes.servers ^ node_bit(node);
            if (count_nodes(servers) >= 2 && r.routes.routes.replicas > 1)
                routes_set_servers(&r.routes, servers);
        }
        if (routes_lost(&r.routes) > 0)
            continue; /* both replicas died */
        play(WINDOWS);
        ck_assert_msg(uneven() < GW__LOAD_UNEVEN * 1.1 ||
                          gain() < GW__LOAD_GAIN * 1.5,
                      "seed %llu: %g times the mean, gain %g",
                      (unsigned long long)seed, uneven(), gain());
    }
}
END_TEST

START_TEST(little_load_moves_nothing)
{
    static struct gw__advice advice;
    begin_run(3, 0);
    for (unsigned i = 0; i < r.routes.routes.slot_count; i++)
        r.weight[i] = i == 0 ? GW__LOAD_LEAST / 4 : 0;
    for (unsigned n = 0; n < 20; n++) {
        r.now_ns += SECOND;
        record_slots();
        ck_assert(!gw__slot_load_end_window(
            &r.load, &r.routes.routes, NODE_BITS(r.routes.servers), &advice));
    }
}
END_TEST

/* Applies `windows` windows of the loads; returns the number with advice. */
static unsigned apply_windows(const double *load, unsigned windows)
{
    static struct gw__advice advice;
    unsigned count = 0;
    for (unsigned n = 0; n < windows; n++) {
        for (unsigned i = 0; i < routes.slot_count; i++)
            r.load.rate[i].bytes = load[i] * 1e6;
        count +=
            gw__slot_load_end_window(&r.load, &routes, NODE_BITS(3), &advice);
    }
    return count;
}

START_TEST(a_burst_moves_nothing)
{
    static const double even[] = {1, 1, 1, 1}, burst[] = {5, 1, 5, 1};
    memset(&r, 0, sizeof r);
    assign_slots(4, 2, 1);
    ck_assert_uint_eq(apply_windows(even, 20), 0);
    for (unsigned n = 0; n < 20; n++) {
        ck_assert_uint_eq(apply_windows(burst, 2), 0);
        ck_assert_uint_eq(apply_windows(even, 1), 0);
    }
    ck_assert_uint_eq(apply_windows(burst, 3), 1);
}
END_TEST

/* 1.26 times the mean; without its small slots the server still has 66 of
 * 72. */
START_TEST(a_small_gain_is_none)
{
    static const double load[GW_PS_SLOTS_MAX] = {66, 20, 3, 20, 3, 2};
    struct gw__advice advice;
    memset(&r, 0, sizeof r);
    assign_slots(6, 2, 1);
    ck_assert_double_eq_tol(
        gw__slot_balance(&routes, load, NODE_BITS(3), &advice), 1 - 66.0 / 72,
        1e-9);
    ck_assert_uint_eq(apply_windows(load, 20), 0);
}
END_TEST

Suite *suite_slot_load(void)
{
    Suite *suite = suite_create("slot_load");
    TCase *plans = tcase_create("plans");
    TCase *runs = tcase_create("runs");
    tcase_add_test(plans, rates_begin_again);
    tcase_add_test(plans, the_hot_slot_stays_and_others_leave);
    tcase_add_test(plans, nothing_moves_that_gains_nothing);
    tcase_add_test(plans, who_is_in_sync_comes_first);
    tcase_add_test(plans, who_has_come_gets_its_share);
    tcase_add_test(plans, a_burst_moves_nothing);
    tcase_add_test(plans, a_small_gain_is_none);
    tcase_add_test(runs, no_slot_moves_back_and_forth);
    tcase_add_test(runs, servers_come_and_go);
    tcase_add_test(runs, little_load_moves_nothing);
    suite_add_tcase(suite, plans);
    suite_add_tcase(suite, runs);
    return suite;
}
