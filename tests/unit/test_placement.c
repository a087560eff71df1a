/* SPDX-License-Identifier: MIT
 *
 * Placement policies: their questions, the order of these, and the effects of
 * the answers. Slots are at their advised places as soon as nothing is under
 * way, whichever servers come and go; and the registry keeps its invariants
 * meanwhile (route_sim.h).
 */
#include <cluster/routes/placement.h>

#include "plugin_file.h"
#include "route_sim.h"

#include <gradwire/plugin.h>

#include <math.h>

Suite *suite_placement(void);

enum { RUNS = 200, STEPS = 80 };

static struct gw_error why;

/* ---- asking ---- */

static unsigned first(const struct gw_placement_question *q)
{
    return 0 * q->server_count;
}

static unsigned beyond(const struct gw_placement_question *q)
{
    return q->server_count;
}

static unsigned lightest(const struct gw_placement_question *q)
{
    unsigned best = 0;
    for (unsigned i = 1; i < q->server_count; i++)
        if (q->servers[i].weight < q->servers[best].weight)
            best = i;
    return best;
}

static const struct gw_placement policies[] = {
    {.choose = first}, {.choose = beyond}, {.choose = lightest}};

START_TEST(given_settings_are_reported)
{
    struct gw__advice advice;
    struct gw__placement_case input = {
        .slots = 3, .replicas = 2, .servers = {{0x70}}, .weight = {1, 1, 1}};
    ck_assert_int_eq(gw__placement_run(&policies[0], &input, &advice, &why),
                     GW_OK);
    ck_assert_uint_eq(advice.slots, 3);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(advice.node[i][0], 4);
        ck_assert_uint_eq(advice.node[i][1], 5);
        ck_assert_uint_eq(advice.node[i][2], GW__NO_NODE);
    }
    input.replicas = 5; /* there are three servers */
    ck_assert_int_eq(gw__placement_run(&policies[0], &input, &advice, &why),
                     GW_OK);
    ck_assert_uint_eq(advice.node[0][2], 6);
    ck_assert_uint_eq(advice.node[0][3], GW__NO_NODE);
}
END_TEST

START_TEST(who_is_not_there_is_refused)
{
    struct gw__advice advice;
    struct gw__placement_case input = {
        .slots = 2, .replicas = 1, .servers = {{3}}, .weight = {1, 1}};
    ck_assert_int_eq(gw__placement_run(&policies[1], &input, &advice, &why),
                     GW_EINVAL);
    ck_assert_str_eq(why.text, "slot 0, replica 0: the placement chose server "
                               "2; the 2 servers are numbered from 0");
    input.servers = (struct gw_nodes){{0}};
    ck_assert_int_eq(gw__placement_run(&policies[0], &input, &advice, &why),
                     GW_EINVAL);
}
END_TEST

/* Graham 1969: the heaviest first, each to the least loaded, is at most
 * 4/3 - 1/(3 m) of the best, which is at least the mean and the heaviest. */
START_TEST(the_heaviest_come_first)
{
    struct gw__advice advice;
    struct gw_rng rng;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct gw__placement_case input = {.slots = GW_PS_SLOTS_DEFAULT,
                                           .replicas = 1};
        double load[GW__ROUTE_NODES] = {0}, sum = 0, most = 0, heaviest = 0;
        gw_rng_seed(&rng, seed);
        unsigned servers = 2 + (unsigned)gw_rng_below(&rng, 7);
        input.servers = gw__nodes_first(servers);
        for (unsigned i = 0; i < input.slots; i++) {
            input.weight[i] = pow(1 + (double)i, -2 * gw_rng_unit(&rng));
            sum += input.weight[i];
            heaviest = fmax(heaviest, input.weight[i]);
        }
        ck_assert_int_eq(gw__placement_run(&policies[2], &input, &advice, &why),
                         GW_OK);
        for (unsigned i = 0; i < input.slots; i++)
            load[advice.node[i][0]] += input.weight[i];
        for (unsigned n = 0; n < servers; n++)
            most = fmax(most, load[n]);
        double best = fmax(sum / servers, heaviest);
        ck_assert_msg(most <= best * 4 / 3 + 1e-9, "seed %llu: %g of %g",
                      (unsigned long long)seed, most, best);
    }
}
END_TEST

/* ---- the example ---- */

START_TEST(the_example_spreads)
{
    struct plugin_file file = plugin_file_from_source("labs/plugins/spread.c");
    struct gw_plugin *plugin;
    enum gw_err err =
        gw_plugin_open(file.path, GW_PLUGIN_PLACEMENT, &plugin, &why);
    ck_assert_msg(!err, "%s", why.text);
    ck_assert_str_eq(plugin->name, "spread");
    struct gw__advice advice;
    struct gw__placement_case input = {
        .slots = GW_PS_SLOTS_DEFAULT, .replicas = 2, .servers = {{0x3f}}};
    unsigned primaries[6] = {0};
    for (unsigned i = 0; i < input.slots; i++)
        input.weight[i] = 1;
    ck_assert_int_eq(
        gw__placement_run(plugin->placement, &input, &advice, &why), GW_OK);
    for (unsigned i = 0; i < input.slots; i++) {
        ck_assert_uint_ne(advice.node[i][0] % 2, advice.node[i][1] % 2);
        primaries[advice.node[i][0]]++;
    }
    for (unsigned n = 0; n < 6; n++)
        ck_assert_uint_le(primaries[n], GW_PS_SLOTS_DEFAULT / 6 + 1);
    gw_plugin_close(&plugin);
    plugin_file_remove(&file);
}
END_TEST

/* ---- following ---- */

static struct gw__advice draw_advice(struct route_sim *w)
{
    struct gw__advice advice = {.slots = w->routes.slot_count};
    memset(advice.node, GW__NO_NODE, sizeof advice.node);
    for (unsigned i = 0; i < advice.slots; i++) {
        uint64_t left = w->servers & ~w->drained;
        for (unsigned k = 0; k < w->routes.replicas && left; k++) {
            unsigned node = routes_draw_node(w, left);
            advice.node[i][k] = (uint16_t)node;
            left &= ~node_bit(node);
        }
    }
    return advice;
}

static bool is_among(const uint16_t nodes[GW_PS_REPLICAS_MAX], unsigned node)
{
    for (unsigned k = 0; k < GW_PS_REPLICAS_MAX; k++)
        if (nodes[k] == node)
            return true;
    return false;
}

static void check_followed(const struct route_sim *w)
{
    for (unsigned i = 0; i < w->routes.slot_count; i++) {
        const struct gw__slot_route *slot = &w->routes.slots[i];
        const uint16_t *nodes = w->routes.advice.node[i];
        if (slot->count == 0)
            continue; /* lost */
        ck_assert_msg(slot->primary == nodes[0], "seed %llu: slot %u",
                      (unsigned long long)w->seed, i);
        for (unsigned k = 0; k < slot->count; k++)
            ck_assert(is_among(nodes, slot->replica[k]));
    }
}

static void something_happens(struct route_sim *w, unsigned servers_max)
{
    unsigned dice = routes_draw(w, 12), servers = count_nodes(w->servers);
    if (dice == 0 && servers < servers_max)
        routes_set_servers(
            w, w->servers | node_bit(routes_draw_node(
                                w, ~w->servers & (node_bit(servers_max) - 1))));
    else if (dice == 1 && servers > 1)
        routes_set_servers(w, w->servers &
                                  ~node_bit(routes_draw_node(w, w->servers)));
    else if (dice == 2 && count_nodes(w->servers & ~w->drained) > 1)
        routes_drain(w, routes_draw_node(w, w->servers));
    else if (dice == 3) {
        struct gw__advice advice = draw_advice(w);
        routes_advise(w, &advice);
    } else
        routes_advance(w);
}

START_TEST(slots_go_where_they_are_advised_to_be)
{
    unsigned followed = 0;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct route_sim w = routes_begin(seed);
        unsigned servers_max = 2 + routes_draw(&w, 10);
        for (unsigned step = 0; step < STEPS; step++)
            something_happens(&w, servers_max);
        if (w.servers == 0 || !(w.servers & ~w.drained))
            continue;
        struct gw__advice advice = draw_advice(&w);
        routes_advise(&w, &advice);
        routes_converge(&w);
        routes_check_quiet(&w);
        if (w.routes.slots[0].term == 0)
            continue;
        check_followed(&w);
        followed++;
        routes_advise(&w, &(struct gw__advice){0}); /* even again */
        routes_converge(&w);
        routes_check_quiet(&w);
    }
    ck_assert_uint_gt(followed, RUNS / 2);
}
END_TEST

/* Before the slots are opened: then nothing has to move. */
START_TEST(advice_may_come_first)
{
    struct route_sim w = {.seed = 1};
    gw_rng_seed(&w.rng, 1);
    gw__routes_init(&w.routes);
    struct gw__advice advice = {.slots = 4};
    memset(advice.node, GW__NO_NODE, sizeof advice.node);
    for (unsigned i = 0; i < 4; i++)
        advice.node[i][0] = i == 0;
    gw__routes_advise(&w.routes, &advice, 0);
    ck_assert_uint_eq(w.routes.version, 0);
    ck_assert_int_eq(gw__routes_open(&w.routes, 4, 1, 2, &why), GW_OK);
    routes_set_servers(&w, 3);
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_uint_eq(w.routes.slots[i].primary, i == 0);
        ck_assert_uint_eq(w.routes.slots[i].term, 1);
    }
    ck_assert(!routes_advance(&w));
}
END_TEST

Suite *suite_placement(void)
{
    Suite *suite = suite_create("placement");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, given_settings_are_reported);
    tcase_add_test(t, who_is_not_there_is_refused);
    tcase_add_test(t, the_heaviest_come_first);
    tcase_add_test(t, the_example_spreads);
    tcase_add_test(t, slots_go_where_they_are_advised_to_be);
    tcase_add_test(t, advice_may_come_first);
    suite_add_tcase(suite, t);
    return suite;
}
