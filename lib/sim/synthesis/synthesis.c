/* SPDX-License-Identifier: MIT
 *
 * Makes the fastest plan among those that reach the bound (synthesis.h): for
 * some multiples of the fewest trees the forest, for some numbers of parts its
 * plan, and for each plan its time. Large clusters have few candidates. For a
 * host flat plans are compared with these.
 */
#include "synthesis.h"

#include "sim/optimum/bounds.h"

#include <math.h>
#include <stdlib.h>

enum {
    TREES_MAX = 64,          /* per root */
    TRANSFERS_MAX = 1 << 17, /* of a candidate, after the first */
    UNTRIMMED_RANKS_MAX = 16,
    ROUTED_RANKS_MAX = 64
};

/* The share of the time that must be gained before more is tried. */
static const double gain_min = 0.001;

struct synthesis {
    const struct gw_topology *topology;
    const struct gw_synthesis *wanted;
    struct gw__network network;
    struct gw__route_parts routes;
    int64_t *weight;          /* trees start here */
    int64_t blocks, capacity; /* the bound */
    struct gw_plan *best;
    struct gw_synthesis_result *result;
};

/* All but the rooted collectives have trees from every rank. */
static bool has_blocks(enum gw_collective collective)
{
    return !gw_collective_rooted(collective);
}

static bool has_trees(enum gw_collective collective)
{
    switch (collective) {
    case GW_BROADCAST:
    case GW_REDUCE:
    case GW_ALLGATHER:
    case GW_REDUCE_SCATTER:
    case GW_ALLREDUCE:
        return true;
    default:
        return false;
    }
}

static bool may_be_flat(const struct gw_synthesis *wanted)
{
    return wanted->predict && wanted->trees == 0 && wanted->parts == 0;
}

static bool may_be_tree(const struct gw_synthesis *wanted)
{
    return has_trees(wanted->collective) &&
           !(wanted->flat && may_be_flat(wanted));
}

static enum gw_err check_wanted(const struct gw_synthesis *wanted,
                                struct gw_error *why)
{
    if (!may_be_tree(wanted) && !may_be_flat(wanted))
        return gw_fail(why, GW_EINVAL,
                       "trees make broadcast, reduce, allgather, "
                       "reduce_scatter and allreduce, not %s",
                       gw_collective_name(wanted->collective));
    if (wanted->ranks < 2)
        return gw_fail(why, GW_EINVAL, "a plan to synthesise needs 2 ranks");
    return GW_OK;
}

/* ---- candidates ---- */

/* Is the best plan so far so near to the bound that others need not be tried? */
static bool is_good(const struct synthesis *s)
{
    return s->best && s->result->bound_us > 0.99 * s->result->time_us;
}

static enum gw_err make_forest(struct synthesis *s, unsigned times, bool trim,
                               struct gw__forest *forest, unsigned *trees,
                               struct gw_error *why)
{
    struct gw__digraph graph;
    *forest = (struct gw__forest){0};
    enum gw_err err = gw__digraph_init(&graph, &s->network, why);
    if (!err) {
        *trees = gw__scale(&graph, &s->network, s->weight, s->blocks,
                           s->capacity, times, TREES_MAX);
        if (*trees == 0)
            err = gw_fail(why, GW_ENOMEM, "a graph of %u nodes", graph.nodes);
    }
    if (!err && trim && graph.nodes > graph.ranks)
        gw__trim(&graph);
    if (!err)
        err = gw__split_all(&graph, &s->routes, why);
    if (!err)
        err = gw__pack_trees(&graph, forest, why);
    gw__digraph_fini(&graph);
    return err;
}

static enum gw_err simulate(const struct synthesis *s,
                            const struct gw_plan *plan, double *time_us,
                            struct gw_error *why)
{
    struct gw_topology_result *result;
    const struct gw_synthesis *w = s->wanted;
    bool shared =
        w->collective == GW_ALLGATHER || w->collective == GW_REDUCE_SCATTER;
    struct gw_topology_run run = {
        .plan = plan,
        .count = (size_t)(w->bytes / (shared ? w->ranks : 1)),
        .elem_bytes = 1,
        .message_us = w->message_us};
    run.count = run.count ? run.count : 1;
    enum gw_err err = gw_topology_simulate(s->topology, &run, &result, why);
    if (!err)
        *time_us = result->time_us;
    gw_topology_result_destroy(&result);
    return err;
}

static enum gw_err find_time(const struct synthesis *s,
                             const struct gw_plan *plan, double *time_us,
                             struct gw_error *why)
{
    const struct gw_synthesis *w = s->wanted;
    return w->predict ? w->predict(w->context, plan, time_us, why)
                      : simulate(s, plan, time_us, why);
}

/* Keeps the plan if it is the fastest so far. */
static void keep(struct synthesis *s, struct gw_plan *plan, double time_us,
                 unsigned trees, unsigned parts)
{
    struct gw_synthesis_result *r = s->result;
    r->candidates++;
    if (s->best && time_us >= r->time_us) {
        gw_plan_destroy(&plan);
        return;
    }
    gw_plan_destroy(&s->best);
    s->best = plan;
    r->time_us = time_us;
    r->trees = trees;
    r->parts = parts;
}

static enum gw_err try_parts(struct synthesis *s,
                             const struct gw__forest *forest, unsigned trees,
                             unsigned parts, double *time_us,
                             struct gw_error *why)
{
    struct gw_plan *plan;
    enum gw_err err = gw__tree_plan(forest, s->wanted->collective,
                                    s->wanted->root, trees, parts, &plan, why);
    if (!err)
        err = find_time(s, plan, time_us, why);
    if (err)
        gw_plan_destroy(&plan);
    else
        keep(s, plan, *time_us, trees, parts);
    return err;
}

/* Doubles the parts until that no longer helps. */
static enum gw_err try_forest(struct synthesis *s,
                              const struct gw__forest *forest, unsigned trees,
                              struct gw_error *why)
{
    double time_us = (double)INFINITY, before;
    const struct gw_synthesis *w = s->wanted;
    size_t roots = has_blocks(w->collective) ? w->ranks : 1;
    size_t transfers = roots * trees * w->ranks;
    unsigned parts = w->parts ? w->parts : 1;
    enum gw_err err;
    do {
        before = time_us;
        err = try_parts(s, forest, trees, parts, &time_us, why);
        parts *= 2;
    } while (!err && !w->parts && time_us < before * (1 - gain_min) &&
             transfers * parts <= TRANSFERS_MAX);
    return err;
}

static enum gw_err try_multiple(struct synthesis *s, unsigned times, bool trim,
                                struct gw_error *why)
{
    unsigned trees;
    struct gw__forest forest;
    enum gw_err err = make_forest(s, times, trim, &forest, &trees, why);
    if (!err)
        err = try_forest(s, &forest, trees, why);
    gw__forest_fini(&forest);
    return err;
}

/* Multiples of the fewest trees, until they are no longer faster. Trees from one
 * root are not compared with each other: the first are often chains. */
static enum gw_err try_multiples(struct synthesis *s, bool trim,
                                 struct gw_error *why)
{
    static const unsigned multiples[] = {1, 2, 4, 8};
    const struct gw_synthesis *w = s->wanted;
    size_t roots = has_blocks(w->collective) ? w->ranks : 1;
    enum gw_err err = GW_OK;
    for (unsigned i = 0; i < 4 && !err; i++) {
        unsigned times = w->trees ? w->trees : multiples[i];
        double before = s->best ? s->result->time_us : (double)INFINITY;
        if (i > 0 && (w->trees || roots * w->ranks * times > TRANSFERS_MAX ||
                      is_good(s)))
            break;
        err = try_multiple(s, times, trim, why);
        if (roots > 1 && s->result->time_us > before * (1 - gain_min))
            break;
    }
    return err;
}

/* Trees along the routes. At the bound, blocks / capacity of the time of a block
 * on a link of the network's unit, so many trees of that rate fill a link. */
static enum gw_err try_routes(struct synthesis *s, struct gw_error *why)
{
    static const unsigned numbers[] = {2, 4, 8, 16};
    const struct gw_synthesis *w = s->wanted;
    enum gw_err err = GW_OK;
    for (unsigned i = 0; i < 4 && !err; i++) {
        unsigned trees = w->trees ? w->trees : numbers[i];
        size_t roots = has_blocks(w->collective) ? w->ranks : 1;
        if ((i > 0 && (w->trees || is_good(s))) ||
            roots * w->ranks * trees > TRANSFERS_MAX)
            break;
        double rate = (double)s->network.unit * (double)s->capacity /
                      (double)s->blocks / trees;
        struct gw__forest forest;
        err = gw__route_trees(s->topology, w->ranks, s->weight, trees, rate,
                              &forest, why);
        if (!err)
            err = try_forest(s, &forest, trees, why);
        gw__forest_fini(&forest);
    }
    return err;
}

/* With all capacity, small clusters may find shorter ways. */
static enum gw_err try_trees(struct synthesis *s, struct gw_error *why)
{
    enum gw_err err = try_multiples(s, true, why);
    bool switches = s->network.nodes > s->network.ranks;
    if (!err && !is_good(s) && switches &&
        s->wanted->ranks <= UNTRIMMED_RANKS_MAX)
        err = try_multiples(s, false, why);
    if (!err && !is_good(s) && switches && s->wanted->ranks <= ROUTED_RANKS_MAX)
        err = try_routes(s, why);
    return err;
}

static enum gw_err try_flat(struct synthesis *s, struct gw_error *why)
{
    size_t next = 0;
    struct gw_plan *plan;
    enum gw_err err = gw__flat_plan(s->wanted, &next, &plan, why);
    while (!err && plan) {
        double time_us;
        err = find_time(s, plan, &time_us, why);
        if (err) {
            gw_plan_destroy(&plan);
            break;
        }
        keep(s, plan, time_us, 0, 1);
        err = gw__flat_plan(s->wanted, &next, &plan, why);
    }
    return err;
}

/* ---- the whole ---- */

/* The bound as a cut; and the weights, from which trees start. */
static enum gw_err find_bound(struct synthesis *s, struct gw_error *why)
{
    struct gw__certificate c;
    const struct gw_synthesis *w = s->wanted;
    bool blocks = has_blocks(w->collective);
    enum gw_err err = gw__optimum_cut(
        &s->network, blocks ? GW_ALLGATHER : GW_BROADCAST, w->root, &c, why);
    s->blocks = c.blocks;
    s->capacity = c.capacity;
    gw__certificate_fini(&c);
    for (unsigned r = 0; r < w->ranks; r++)
        s->weight[r] = blocks || r == w->root;
    return err;
}

static enum gw_err prepare_trees(struct synthesis *s, struct gw_error *why)
{
    struct gw_optimum optimum;
    const struct gw_synthesis *w = s->wanted;
    enum gw_err err = gw_optimum_find(s->topology, w->collective, w->ranks,
                                      w->root, &optimum, why);
    if (!err && optimum.numerator == 0)
        err = gw_fail(why, GW_EINVAL,
                      "no link of the topology has a rate, so every plan is "
                      "as good; add rate= to a link");
    if (!err)
        err = gw__network_init(&s->network, s->topology, w->ranks, true, why);
    if (err)
        return err;
    if (!w->predict)
        s->result->bound_us = gw_optimum_us(&optimum, w->bytes);
    s->weight = calloc(w->ranks, sizeof *s->weight);
    if (!s->weight)
        return gw_fail(why, GW_ENOMEM, "a plan of %u ranks", w->ranks);
    err = gw__route_parts_init(&s->routes, s->topology, w->ranks, why);
    return err ? err : find_bound(s, why);
}

static enum gw_err try_all(struct synthesis *s, struct gw_error *why)
{
    enum gw_err err = check_wanted(s->wanted, why);
    if (!err && may_be_flat(s->wanted))
        err = try_flat(s, why);
    if (err || !may_be_tree(s->wanted))
        return err;
    err = prepare_trees(s, why);
    return err ? err : try_trees(s, why);
}

/* Messages from a root to the last rank. */
static unsigned depth_of_plan(const struct gw_plan *plan,
                              const struct gw_synthesis_result *result)
{
    unsigned phases = plan->collective == GW_ALLREDUCE ? 2 : 1;
    return result->trees ? plan->steps / phases - result->parts + 1
                         : plan->steps;
}

static enum gw_err check_best(struct synthesis *s, struct gw_error *why)
{
    struct gw_verdict verdict;
    if (!s->best)
        return gw_fail(why, GW_EINVAL, "%s has no flat plan",
                       gw_collective_name(s->wanted->collective));
    s->result->depth = depth_of_plan(s->best, s->result);
    return gw_plan_verify(s->best, 0, &verdict, why);
}

enum gw_err gw_synthesize(const struct gw_topology *topology,
                          const struct gw_synthesis *wanted,
                          struct gw_plan **plan,
                          struct gw_synthesis_result *result,
                          struct gw_error *why)
{
    struct synthesis s = {
        .topology = topology, .wanted = wanted, .result = result};
    *plan = NULL;
    *result = (struct gw_synthesis_result){0};
    enum gw_err err = try_all(&s, why);
    if (!err)
        err = check_best(&s, why);
    if (err)
        gw_plan_destroy(&s.best);
    *plan = s.best;
    gw__route_parts_fini(&s.routes);
    gw__network_fini(&s.network);
    free(s.weight);
    return err;
}
