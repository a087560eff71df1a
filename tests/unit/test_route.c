/* SPDX-License-Identifier: MIT
 *
 * Routes under random joins, deaths, promotions, handovers and drains.
 */
#include "route_sim.h"

Suite *suite_route(void);

enum { RUNS = 300, STEPS = 60 };

static unsigned rounded_up(unsigned a, unsigned b)
{
    return (a + b - 1) / b;
}

/* The results of all runs. */
struct sums {
    unsigned joins, joins_over;
    unsigned deaths, deaths_beyond;
};

/* A new server, from a quiet state. */
static void join(struct route_sim *w, unsigned servers_max, struct sums *sums)
{
    unsigned node =
        routes_draw_node(w, ~w->servers & (node_bit(servers_max) - 1));
    bool is_assigned = w->routes.slots[0].term > 0;
    w->copies = w->handovers = 0;
    routes_set_servers(w, w->servers | node_bit(node));
    routes_converge(w);
    unsigned n = count_nodes(w->servers & ~w->drained);
    unsigned slots = w->routes.slot_count;
    unsigned wanted = n < w->routes.replicas ? n : w->routes.replicas;
    if (!is_assigned || routes_lost(w))
        return;
    ck_assert_msg(w->copies <= rounded_up(slots * wanted, n),
                  "seed %llu: %u replicas of %u slots moved to one of %u",
                  (unsigned long long)w->seed, w->copies, slots, n);
    ck_assert_msg(w->handovers <= rounded_up(slots, n) + n,
                  "seed %llu: %u of %u primaries moved to one of %u",
                  (unsigned long long)w->seed, w->handovers, slots, n);
    sums->joins++;
    sums->joins_over += w->handovers > rounded_up(slots, n);
}

/* Initially only the slots of the dead server change. */
static void die(struct route_sim *w, struct sums *sums)
{
    unsigned node = routes_draw_node(w, w->servers);
    uint64_t had = 0;
    for (unsigned i = 0; i < w->routes.slot_count; i++)
        if (gw__route_in_sync(&w->routes.slots[i], node))
            had |= node_bit(i);
    w->touched = 0;
    w->copies = 0;
    routes_set_servers(w, w->servers & ~node_bit(node));
    ck_assert_uint_eq(w->touched & ~had, 0);
    routes_converge(w);
    sums->deaths++;
    sums->deaths_beyond += w->copies > count_nodes(had);
}

START_TEST(one_after_the_other)
{
    struct sums sums = {0};
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct route_sim w = routes_begin(seed);
        unsigned servers_max = 2 + routes_draw(&w, 19);
        for (unsigned step = 0; step < STEPS; step++) {
            unsigned servers = count_nodes(w.servers);
            if (servers < servers_max && (servers < 3 || routes_draw(&w, 2)))
                join(&w, servers_max, &sums);
            else if (servers > 1)
                die(&w, &sums);
            routes_check_quiet(&w);
        }
    }
    ck_assert_uint_gt(sums.joins, 1000);
    ck_assert_uint_lt(sums.joins_over, sums.joins / 200);
    ck_assert_uint_lt(sums.deaths_beyond, sums.deaths / 10);
}
END_TEST

START_TEST(all_at_once)
{
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct route_sim w = routes_begin(seed);
        unsigned servers_max = 2 + routes_draw(&w, 19);
        for (unsigned step = 0; step < 10 * STEPS; step++) {
            unsigned dice = routes_draw(&w, 20);
            unsigned servers = count_nodes(w.servers);
            if (dice < 2 && servers < servers_max)
                routes_set_servers(
                    &w, w.servers |
                            node_bit(routes_draw_node(
                                &w, ~w.servers & (node_bit(servers_max) - 1))));
            else if (dice == 2 && servers > 1)
                routes_set_servers(
                    &w, w.servers & ~node_bit(routes_draw_node(&w, w.servers)));
            else if (dice == 3 && count_nodes(w.servers & ~w.drained) > 1)
                routes_drain(&w, routes_draw_node(&w, w.servers));
            else if (dice > 10)
                routes_advance(&w);
        }
        routes_converge(&w);
        routes_check_quiet(&w);
    }
}
END_TEST

Suite *suite_route(void)
{
    Suite *suite = suite_create("route");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, one_after_the_other);
    tcase_add_test(t, all_at_once);
    suite_add_tcase(suite, t);
    return suite;
}
