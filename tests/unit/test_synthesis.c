/* SPDX-License-Identifier: MIT
 *
 * Plans that reach the bound of a topology: forests in random graphs, in which
 * no edge is used more than it can be and every root has all its trees; and
 * plans whose busiest link is busy for the time of the bound, and no longer.
 */
#include "sim/optimum/cut.h"
#include "sim/synthesis/synthesis.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_synthesis(void);

/* ---- random graphs ---- */

enum { RANKS = 6, NODES = 9, LINKS = 16 };

/* Links between random nodes, with the same capacity in both directions. */
static void draw_graph(struct gw__network *n,
                       struct gw__network_edge edges[2 * LINKS], uint64_t seed)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, seed);
    *n = (struct gw__network){.ranks = RANKS,
                              .nodes = NODES,
                              .edge_count = 2 * LINKS,
                              .edges = edges};
    for (uint32_t i = 0; i < LINKS; i++) {
        uint32_t by = 1 + (uint32_t)gw_rng_below(&rng, NODES - 1);
        uint32_t a = i % NODES, b = (a + (i < NODES ? 1 : by)) % NODES;
        int64_t capacity = 1 + (int64_t)gw_rng_below(&rng, 6);
        edges[2 * i] = (struct gw__network_edge){
            .from = a, .to = b, .link = i, .capacity = capacity};
        edges[2 * i + 1] = (struct gw__network_edge){
            .from = b, .to = a, .link = i, .capacity = capacity};
    }
}

/* A tree: every rank once, and every way up ends at the root. */
static void check_tree(const struct gw__tree *tree, int64_t used[RANKS][RANKS])
{
    for (uint32_t r = 0; r < RANKS; r++) {
        uint32_t at = r, steps = 0;
        while (at != tree->root && steps++ < RANKS)
            at = tree->parent[at];
        ck_assert_uint_eq(at, tree->root);
        if (r != tree->root)
            used[tree->parent[r]][r] += tree->weight;
    }
}

static void check_forest(const struct gw__digraph *g,
                         const struct gw__forest *forest)
{
    int64_t used[RANKS][RANKS] = {0}, trees[RANKS] = {0};
    for (size_t i = 0; i < forest->tree_count; i++) {
        check_tree(&forest->trees[i], used);
        trees[forest->trees[i].root] += forest->trees[i].weight;
    }
    for (size_t i = 0; i < g->edge_count; i++)
        used[g->edges[i].from][g->edges[i].to] -= g->edges[i].capacity;
    for (uint32_t a = 0; a < RANKS; a++) {
        ck_assert_int_eq(trees[a], g->start[a]);
        for (uint32_t b = 0; b < RANKS; b++)
            ck_assert_int_le(used[a][b], 0);
    }
}

/* The edges between ranks use no physical link more than it has. */
static void check_links(const struct gw__network *n,
                        const struct gw__digraph *before,
                        const struct gw__digraph *g)
{
    int64_t used[LINKS] = {0};
    for (size_t i = 0; i < g->edge_count; i++) {
        ck_assert_uint_lt(g->edges[i].from, RANKS);
        ck_assert_uint_lt(g->edges[i].to, RANKS);
        for (uint32_t l = 0; l < g->edges[i].length; l++)
            used[g->paths[g->edges[i].path + l]] += g->edges[i].capacity;
    }
    for (size_t i = 0; i < n->edge_count; i++)
        used[n->edges[i].link] -= before->edges[i].capacity;
    for (unsigned l = 0; l < LINKS; l++)
        ck_assert_int_le(used[l], 0);
}

START_TEST(a_forest_of_the_bound_fits_into_every_graph)
{
    struct gw__network n;
    struct gw__network_edge edges[2 * LINKS];
    struct gw__certificate c;
    struct gw__digraph before, g;
    struct gw__forest forest;
    struct gw__route_parts routes = {0};
    struct gw_error why = {0};
    int64_t weight[RANKS];
    for (unsigned r = 0; r < RANKS; r++)
        weight[r] = _i % 3 == 0 ? r == 2 : 1;
    const struct gw__demand demand = {.weight = weight, .sink = GW__NO_SINK};
    draw_graph(&n, edges, (uint64_t)_i);
    ck_assert_int_eq(gw__cut_find(&n, &demand, &c, &why), GW_OK);
    ck_assert_int_eq(gw__digraph_init(&before, &n, &why), GW_OK);
    ck_assert_int_eq(gw__digraph_init(&g, &n, &why), GW_OK);
    unsigned trees =
        gw__scale(&before, &n, weight, c.blocks, c.capacity, 1, 1000);
    ck_assert_uint_eq(trees,
                      gw__scale(&g, &n, weight, c.blocks, c.capacity, 1, 1000));
    ck_assert(gw__digraph_holds(&g));
    if (_i % 2)
        gw__trim(&g);
    enum gw_err err = gw__split_all(&g, &routes, &why);
    ck_assert_msg(err == GW_OK, "seed %d: %s", _i, why.text);
    check_links(&n, &before, &g);
    err = gw__pack_trees(&g, &forest, &why);
    ck_assert_msg(err == GW_OK, "seed %d: %s", _i, why.text);
    check_forest(&g, &forest);
    gw__forest_fini(&forest);
    gw__digraph_fini(&g);
    gw__digraph_fini(&before);
    gw__certificate_fini(&c);
}
END_TEST

/* ---- plans ---- */

static struct gw_topology *parse(const char *text)
{
    struct gw_topology *t;
    struct gw_error why = {0};
    enum gw_err err = gw_topology_parse(text, strlen(text), "t", &t, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    return t;
}

/* The time for which the busiest link is busy, in microseconds. */
static double busiest_us(const struct gw_topology *t,
                         const struct gw_plan *plan, size_t count)
{
    struct gw_error why;
    struct gw_topology_result *result;
    struct gw_topology_run run = {
        .plan = plan, .count = count, .elem_bytes = 1};
    double most = 0;
    ck_assert_int_eq(gw_topology_simulate(t, &run, &result, &why), GW_OK);
    for (unsigned l = 0; l < result->links; l++) {
        struct gw_topology_link link;
        gw_topology_link(t, l, &link);
        double us =
            link.rate ? 1e6 * (double)result->link_bytes[l] / (double)link.rate
                      : 0;
        most = us > most ? us : most;
    }
    gw_topology_result_destroy(&result);
    return most;
}

#define RACKS                                                                  \
    "topology t\nnic rate=1M latency=5us\nuplink oversubscription=4:1\n"       \
    "rack a: a[0-3]\nrack b: b[0-3]\nrack c: c[0-3]\n"
/* Two links to the next, one to the one after it. */
#define MESH                                                                   \
    "topology t\nserver s: accelerator g[0-3]\n"                               \
    "link fast g0: g1 rate=2M\nlink fast g1: g2 rate=2M\n"                     \
    "link fast g2: g3 rate=2M\nlink fast g3: g0 rate=2M\n"                     \
    "link slow g0: g2 rate=1M\nlink slow g1: g3 rate=1M\n"

START_TEST(the_busiest_link_is_busy_for_the_time_of_the_bound)
{
    static const char *const topologies[] = {RACKS, MESH};
    static const enum gw_collective ops[] = {
        GW_ALLGATHER, GW_REDUCE_SCATTER, GW_ALLREDUCE, GW_BROADCAST, GW_REDUCE};
    struct gw_error why = {0};
    struct gw_plan *plan;
    struct gw_synthesis_result result;
    struct gw_topology *t = parse(topologies[_i / 5]);
    struct gw_synthesis wanted = {.collective = ops[_i % 5],
                                  .ranks = gw_topology_ranks(t),
                                  .bytes = 12 * 5760 * 16,
                                  .trees = _i % 5 > 2 ? 8 : 1,
                                  .parts = 16};
    struct gw_optimum o;
    ck_assert_int_eq(
        gw_optimum_find(t, wanted.collective, wanted.ranks, 0, &o, &why),
        GW_OK);
    enum gw_err err = gw_synthesize(t, &wanted, &plan, &result, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    bool whole = gw_plan_block(plan, plan->chunks - 1) == 0;
    size_t count = (size_t)wanted.bytes / (whole ? 1 : wanted.ranks);
    double bound = 1e6 * (double)wanted.bytes * (double)o.numerator /
                   (double)o.denominator;
    /* Chunks differ by 64 bytes at most. */
    ck_assert_double_le(busiest_us(t, plan, count), bound * 1.02);
    ck_assert_double_ge(result.time_us, bound);
    ck_assert_double_le(result.time_us, bound * 1.3);
    gw_plan_destroy(&plan);
    gw_topology_destroy(&t);
}
END_TEST

/* The optima of Zhao et al., "ForestColl", for two servers each, and of Cai et
 * al., "Synthesizing optimal collective algorithms", for the DGX-1: no link of
 * the plan carries more than they allow. */
START_TEST(plans_of_published_topologies_load_no_link_beyond_the_optimum)
{
    static const char *const names[] = {"dgx-1", "dgx-a100", "mi250"};
    char path[64];
    struct gw_error why = {0};
    struct gw_topology *t;
    struct gw_plan *plan;
    struct gw_synthesis_result result;
    struct gw_optimum o;
    snprintf(path, sizeof path, "labs/topologies/%s.topo", names[_i]);
    ck_assert_msg(gw_topology_load(path, &t, &why) == GW_OK, "%s", why.text);
    const struct gw_synthesis wanted = {.collective = GW_ALLGATHER,
                                        .ranks = gw_topology_ranks(t),
                                        .bytes = 256 << 20,
                                        .trees = 1,
                                        .parts = 1};
    enum gw_err err = gw_synthesize(t, &wanted, &plan, &result, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    ck_assert_int_eq(
        gw_optimum_find(t, wanted.collective, wanted.ranks, 0, &o, &why),
        GW_OK);
    double bound = 1e6 * (double)wanted.bytes * (double)o.numerator /
                   (double)o.denominator;
    double busiest = busiest_us(t, plan, wanted.bytes / wanted.ranks);
    ck_assert_double_le(busiest, bound * 1.02);
    ck_assert_double_ge(busiest, bound * 0.999);
    gw_plan_destroy(&plan);
    gw_topology_destroy(&t);
}
END_TEST

START_TEST(what_has_no_such_plan_is_refused)
{
    struct gw_error why;
    struct gw_plan *plan;
    struct gw_synthesis_result result;
    struct gw_topology *t = parse(RACKS);
    struct gw_synthesis wanted = {
        .collective = GW_ALLTOALL, .ranks = 4, .bytes = 64};
    ck_assert_int_eq(gw_synthesize(t, &wanted, &plan, &result, &why),
                     GW_EINVAL);
    ck_assert_ptr_null(plan);
    wanted.collective = GW_ALLREDUCE;
    wanted.ranks = 1;
    ck_assert_int_eq(gw_synthesize(t, &wanted, &plan, &result, &why),
                     GW_EINVAL);
    gw_topology_destroy(&t);
    t = parse("topology t\nrack a: a[0-3]\n");
    wanted.ranks = 4;
    ck_assert_int_eq(gw_synthesize(t, &wanted, &plan, &result, &why),
                     GW_EINVAL);
    ck_assert_ptr_nonnull(strstr(why.text, "add rate="));
    gw_topology_destroy(&t);
}
END_TEST

/* ---- hosts ---- */

/* A host on which each step and each transfer has a cost. */
struct host {
    double step_us, transfer_us;
    unsigned predictions;
};

static enum gw_err predict(void *context, const struct gw_plan *plan,
                           double *time_us, struct gw_error *why)
{
    struct host *host = context;
    (void)why;
    host->predictions++;
    *time_us = host->step_us * plan->steps +
               host->transfer_us * (double)plan->step_begin[plan->steps];
    return GW_OK;
}

static enum gw_err fail_to_predict(void *context, const struct gw_plan *plan,
                                   double *time_us, struct gw_error *why)
{
    (void)context;
    (void)plan;
    (void)time_us;
    return gw_fail(why, GW_ENOMEM, "no prediction");
}

static const char host_text[] = "topology t\ninner rate=10G\nrack r: h\n"
                                "host h ranks=4\n";

static struct gw_plan *synthesise(const struct gw_synthesis *wanted,
                                  struct gw_synthesis_result *result)
{
    struct gw_error why;
    struct gw_plan *plan;
    struct gw_verdict verdict;
    struct gw_topology *t = parse(host_text);
    enum gw_err err = gw_synthesize(t, wanted, &plan, result, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    ck_assert_int_eq(gw_plan_verify(plan, 0, &verdict, &why), GW_OK);
    gw_topology_destroy(&t);
    return plan;
}

START_TEST(every_collective_has_a_plan_of_one_step_for_a_host)
{
    struct host host = {.step_us = 1000, .transfer_us = 1};
    struct gw_synthesis_result result;
    struct gw_synthesis wanted = {.collective = (enum gw_collective)_i,
                                  .ranks = 4,
                                  .bytes = 1 << 20,
                                  .predict = predict,
                                  .context = &host};
    wanted.root = gw_collective_rooted(wanted.collective) ? 3 : 0;
    struct gw_plan *plan = synthesise(&wanted, &result);
    ck_assert_uint_eq(plan->steps, 1);
    ck_assert_uint_eq(plan->root, wanted.root);
    ck_assert_uint_eq(result.trees, 0);
    ck_assert_uint_eq(result.depth, 1);
    ck_assert_uint_eq(result.candidates, host.predictions);
    ck_assert_double_lt(result.time_us, 2 * host.step_us);
    gw_plan_destroy(&plan);
}
END_TEST

/* Where only transfers have a cost, an all-reduce by trees has fewer of them. */
START_TEST(trees_compete_with_flat_plans_where_both_are_wanted)
{
    struct host host = {.step_us = 0, .transfer_us = 1};
    struct gw_synthesis_result result;
    struct gw_synthesis wanted = {.collective = GW_ALLREDUCE,
                                  .ranks = 4,
                                  .bytes = 1 << 20,
                                  .predict = predict,
                                  .context = &host};
    struct gw_plan *plan = synthesise(&wanted, &result);
    unsigned all = result.candidates;
    gw_plan_destroy(&plan);
    wanted.flat = true;
    plan = synthesise(&wanted, &result);
    ck_assert_uint_eq(result.trees, 0);
    ck_assert_uint_lt(result.candidates, all);
    gw_plan_destroy(&plan);
    wanted.trees = 2;
    plan = synthesise(&wanted, &result);
    ck_assert_uint_eq(result.trees, 2);
    ck_assert_uint_eq(result.parts, 1);
    gw_plan_destroy(&plan);
}
END_TEST

START_TEST(a_failed_prediction_is_returned)
{
    struct gw_error why;
    struct gw_plan *plan;
    struct gw_synthesis_result result;
    struct gw_topology *t = parse(host_text);
    struct gw_synthesis wanted = {.collective = GW_BROADCAST,
                                  .ranks = 4,
                                  .bytes = 1 << 20,
                                  .trees = (unsigned)_i,
                                  .predict = fail_to_predict};
    ck_assert_int_eq(gw_synthesize(t, &wanted, &plan, &result, &why),
                     GW_ENOMEM);
    ck_assert_ptr_null(plan);
    gw_topology_destroy(&t);
}
END_TEST

Suite *suite_synthesis(void)
{
    Suite *suite = suite_create("synthesis");
    TCase *tcase = tcase_create("synthesis");
    tcase_add_loop_test(tcase, a_forest_of_the_bound_fits_into_every_graph, 0,
                        60);
    tcase_add_loop_test(
        tcase, the_busiest_link_is_busy_for_the_time_of_the_bound, 0, 10);
    tcase_add_loop_test(
        tcase, plans_of_published_topologies_load_no_link_beyond_the_optimum, 0,
        3);
    tcase_add_test(tcase, what_has_no_such_plan_is_refused);
    tcase_add_loop_test(tcase,
                        every_collective_has_a_plan_of_one_step_for_a_host, 0,
                        GW_CUSTOM);
    tcase_add_test(tcase, trees_compete_with_flat_plans_where_both_are_wanted);
    tcase_add_loop_test(tcase, a_failed_prediction_is_returned, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}
