/* SPDX-License-Identifier: MIT
 *
 * The bound of a collective on a topology: known optima, the search against all
 * cuts of small random graphs, and a checker that refuses every certificate
 * that has been tampered with.
 */
#include "sim/optimum/cut.h"

#include <gradwire/optimum.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_optimum(void);

static struct gw_topology *parse(const char *text)
{
    struct gw_topology *t;
    struct gw_error why = {0};
    enum gw_err err = gw_topology_parse(text, strlen(text), "t", &t, &why);
    ck_assert_msg(err == GW_OK, "%s\n%s", why.text, text);
    return t;
}

/* The bound of a buffer of a million bytes, in microseconds. */
static double bound(const char *text, enum gw_collective collective,
                    struct gw_optimum *o)
{
    struct gw_error why = {0};
    struct gw_topology *t = parse(text);
    enum gw_err err =
        gw_optimum_find(t, collective, gw_topology_ranks(t), 0, o, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    gw_topology_destroy(&t);
    return gw_optimum_us(o, 1000000);
}

/* A million bytes per second: one byte per microsecond. */
#define RATE "rate=976.5625K"
#define RACK "topology t\nnic " RATE " latency=3us\nrack a: h[0-7]\n"

START_TEST(one_rack_of_equal_nics)
{
    struct gw_optimum o;
    ck_assert_double_eq_tol(bound(RACK, GW_ALLGATHER, &o), 875000, 1e-3);
    ck_assert_uint_eq(o.numerator, 7);
    ck_assert_uint_eq(o.denominator, 8000000);
    ck_assert(o.reached);
    ck_assert_double_eq(o.latency_us, 6);
    ck_assert_str_eq(o.cut, "host h0's NIC (in)");
    ck_assert_double_eq_tol(bound(RACK, GW_REDUCE_SCATTER, &o), 875000, 1e-3);
    ck_assert_str_eq(o.cut, "host h0's NIC (out)");
    ck_assert_double_eq_tol(bound(RACK, GW_BROADCAST, &o), 1000000, 1e-3);
    ck_assert_double_eq_tol(bound(RACK, GW_GATHER, &o), 875000, 1e-3);
    ck_assert_double_eq_tol(bound(RACK, GW_ALLREDUCE, &o), 1750000, 1e-3);
    ck_assert(o.reached);
    ck_assert_double_eq_tol(bound(RACK, GW_ALLTOALL, &o), 875000, 1e-3);
    ck_assert_double_eq(bound(RACK, GW_BARRIER, &o), 6);
}
END_TEST

START_TEST(a_slow_uplink_is_the_cut)
{
    struct gw_optimum o;
    /* Of 4 blocks out of a rack and 7 into a host, the 7 take longer. */
    bound("topology t\nnic " RATE "\nrack p: p[0-3]\nrack r1: q[0-3]\n"
          "uplink r1 " RATE "\n",
          GW_ALLGATHER, &o);
    ck_assert_ptr_nonnull(strstr(o.cut, "NIC"));
    double us = bound("topology t\nnic " RATE "\nrack p: p[0-3]\n"
                      "rack r1: q[0-3]\nuplink r1 rate=244.140625K\n",
                      GW_ALLGATHER, &o);
    ck_assert_double_eq_tol(us, 2000000, 1e-3);
    ck_assert_msg(strcmp(o.cut, "rack r1's uplink out") == 0 ||
                      strcmp(o.cut, "rack r1's uplink in") == 0,
                  "%s", o.cut);
    ck_assert_ptr_nonnull(strstr(o.reason, "4 of 8 blocks must pass rack r1"));
}
END_TEST

START_TEST(links_without_a_limit_limit_nothing)
{
    struct gw_optimum o;
    const char *text = "topology t\nnic latency=2us\nrack a: h[0-2]\n";
    ck_assert_double_eq(bound(text, GW_ALLREDUCE, &o), 4);
    ck_assert_uint_eq(o.numerator, 0);
    ck_assert_str_eq(o.cut, "-");
}
END_TEST

START_TEST(what_cannot_be_answered_is_refused)
{
    struct gw_error why;
    struct gw_optimum o;
    struct gw_topology *t = parse(RACK);
    ck_assert_int_eq(gw_optimum_find(t, GW_ALLGATHER, 9, 0, &o, &why),
                     GW_EINVAL);
    ck_assert_ptr_nonnull(strstr(why.text, "the topology has 8"));
    ck_assert_int_eq(gw_optimum_find(t, GW_BROADCAST, 8, 8, &o, &why),
                     GW_EINVAL);
    gw_topology_destroy(&t);
    t = parse("topology t\nrack r: h[0-99]\nnic h0 rate=1125899906842597\n"
              "nic h1 rate=1125899906842589\n");
    ck_assert_int_eq(gw_optimum_find(t, GW_ALLGATHER, 100, 0, &o, &why),
                     GW_EINVAL);
    ck_assert_msg(strstr(why.text, "round them"), "%s", why.text);
    gw_topology_destroy(&t);
}
END_TEST

/* ---- random graphs ---- */

enum { RANKS = 5, NODES = 7, EDGES = 22 };

static void draw_graph(struct gw__network *n, struct gw__network_edge *edges,
                       uint64_t seed)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, seed);
    *n = (struct gw__network){
        .ranks = RANKS, .nodes = NODES, .edge_count = EDGES, .edges = edges};
    for (uint32_t i = 0; i < EDGES; i++) {
        uint32_t by = 1 + (uint32_t)gw_rng_below(&rng, NODES - 1);
        edges[i] = (struct gw__network_edge){
            .from = i % NODES,
            .to = (i + (i < NODES ? 1 : by)) % NODES,
            .capacity = 1 + (int64_t)gw_rng_below(&rng, 9)};
    }
}

/* The largest ratio over all cuts that `sinks` are not all inside of. */
static void try_all_cuts(const struct gw__network *n, const int64_t *weight,
                         uint32_t sink, int64_t best[2])
{
    best[0] = 0;
    best[1] = 1;
    for (unsigned set = 0; set < 1u << NODES; set++) {
        int64_t blocks = 0, capacity = 0;
        bool outside = false;
        for (unsigned r = 0; r < RANKS; r++) {
            blocks += set >> r & 1 ? weight[r] : 0;
            outside |= !(set >> r & 1) && (sink == GW__NO_SINK || sink == r);
        }
        for (size_t e = 0; e < n->edge_count; e++)
            if (set >> n->edges[e].from & 1 && !(set >> n->edges[e].to & 1))
                capacity += n->edges[e].capacity;
        if (outside && blocks * best[1] > best[0] * capacity) {
            best[0] = blocks;
            best[1] = capacity;
        }
    }
}

START_TEST(no_cut_of_a_small_graph_is_worse_than_the_one_found)
{
    struct gw__network n;
    struct gw__network_edge edges[EDGES];
    struct gw_error why = {0};
    struct gw__certificate c;
    int64_t best[2], weight[RANKS];
    draw_graph(&n, edges, (uint64_t)_i);
    for (unsigned r = 0; r < RANKS; r++)
        weight[r] = _i % 3 == 0 ? 1 : (int64_t)(r + (unsigned)_i) % 3;
    weight[1] += 1;
    struct gw__demand demand = {.weight = weight,
                                .sink = _i % 2 ? GW__NO_SINK : 0};
    try_all_cuts(&n, weight, demand.sink, best);
    enum gw_err err = gw__cut_find(&n, &demand, &c, &why);
    ck_assert_msg(err == GW_OK, "seed %d: %s", _i, why.text);
    ck_assert_int_eq(c.blocks * best[1], best[0] * c.capacity);
    gw__certificate_fini(&c);
}
END_TEST

START_TEST(a_certificate_that_was_changed_is_refused)
{
    struct gw__network n;
    struct gw__network_edge edges[EDGES];
    struct gw_error why;
    struct gw__certificate c;
    const int64_t weight[RANKS] = {1, 1, 1, 1, 1};
    const struct gw__demand demand = {.weight = weight, .sink = GW__NO_SINK};
    draw_graph(&n, edges, (uint64_t)_i);
    ck_assert_int_eq(gw__cut_find(&n, &demand, &c, &why), GW_OK);
    int64_t *changed[] = {&c.blocks, &c.capacity, &c.flow[0],
                          &c.flow[RANKS + (size_t)_i % EDGES],
                          &c.flow[2 * (RANKS + EDGES) + RANKS]};
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++)
        for (int by = -1; by <= 1; by += 2) {
            *changed[i] += by;
            ck_assert_int_eq(gw__certificate_check(&c, &why), GW_EINTERNAL);
            *changed[i] -= by;
        }
    for (unsigned v = 0; v < NODES; v++) {
        int64_t blocks = c.blocks, capacity = c.capacity;
        c.inside[v] = !c.inside[v];
        /* Another cut of the same sums proves the same. */
        enum gw_err err = gw__certificate_check(&c, &why);
        ck_assert(err == GW_EINTERNAL ||
                  (blocks == c.blocks && capacity == c.capacity));
        c.inside[v] = !c.inside[v];
    }
    bool *all = c.inside;
    bool every[NODES] = {1, 1, 1, 1, 1, 1, 1};
    c.inside = every;
    ck_assert_int_eq(gw__certificate_check(&c, &why), GW_EINTERNAL);
    c.inside = all;
    ck_assert_int_eq(gw__certificate_check(&c, &why), GW_OK);
    gw__certificate_fini(&c);
}
END_TEST

/* ---- no plan is faster ---- */

START_TEST(no_algorithm_beats_the_bound)
{
    static const char *const topologies[] = {
        RACK,
        "topology t\nnic rate=1M latency=1us\nuplink oversubscription=3:1\n"
        "rack a: a[0-3]\nrack b: b[0-3]\n",
        "topology t\ntorus 4x2 rate=1M latency=2us\n",
        "topology t\nnic rate=1M\nfat-tree k=4 oversubscription=2:1\n",
        "topology t\nnic rate=1M\ninner rate=3M\nrack a: x y\n"
        "host x y ranks=4\n"};
    size_t count;
    const struct gw_algo *const *algos = gw_algo_list(&count);
    struct gw_topology *t = parse(topologies[_i]);
    for (size_t i = 0; i < count; i++) {
        struct gw_error why = {0};
        struct gw_optimum o;
        struct gw_plan *plan;
        struct gw_topology_result *result;
        const struct gw_algo_args args = {.ranks = 8};
        if (!algos[i]->valid(8))
            continue;
        ck_assert_int_eq(gw_plan_make(algos[i]->collective, algos[i]->name,
                                      &args, &plan, &why),
                         GW_OK);
        struct gw_topology_run run = {
            .plan = plan, .count = 8192, .elem_bytes = 1};
        ck_assert_int_eq(gw_topology_simulate(t, &run, &result, &why), GW_OK);
        ck_assert_int_eq(
            gw_optimum_find(t, algos[i]->collective, 8, 0, &o, &why), GW_OK);
        bool whole = gw_plan_block(plan, plan->chunks - 1) == 0;
        double least = gw_optimum_us(&o, whole ? 8192 : 8192 * 8);
        ck_assert_msg(result->time_us >= least * (1 - 1e-9),
                      "%s of %s: %f < %f", algos[i]->name,
                      gw_collective_name(algos[i]->collective), result->time_us,
                      least);
        gw_topology_result_destroy(&result);
        gw_plan_destroy(&plan);
    }
    gw_topology_destroy(&t);
}
END_TEST

Suite *suite_optimum(void)
{
    Suite *suite = suite_create("optimum");
    TCase *tcase = tcase_create("optimum");
    tcase_add_test(tcase, one_rack_of_equal_nics);
    tcase_add_test(tcase, a_slow_uplink_is_the_cut);
    tcase_add_test(tcase, links_without_a_limit_limit_nothing);
    tcase_add_test(tcase, what_cannot_be_answered_is_refused);
    tcase_add_loop_test(
        tcase, no_cut_of_a_small_graph_is_worse_than_the_one_found, 0, 300);
    tcase_add_loop_test(tcase, a_certificate_that_was_changed_is_refused, 0,
                        20);
    tcase_add_loop_test(tcase, no_algorithm_beats_the_bound, 0, 5);
    suite_add_tcase(suite, tcase);
    return suite;
}
