/* SPDX-License-Identifier: MIT
 *
 * The bottleneck of a collective on a network (Zhao et al., "ForestColl",
 * arXiv 2402.06787, section 4): if each rank v starts with w(v) blocks that all
 * ranks need, then no plan is faster than
 *
 *     max over cuts S of  w(S) / B+(S)
 *
 * per block, where S lacks a rank and B+(S) is the capacity that leaves it.
 * Whether a ratio a/b is the maximum is a question to flows: with a source that
 * has an edge of capacity b w(v) to each rank, and all other capacities times
 * a, the flow to each rank must be b w(V). If it is less, the smallest cut
 * has a larger ratio.
 *
 * The paper searches the ratio by bisection. Here each cut that is found is the
 * next guess (Dinkelbach, Management Science 13, 1967): the ratios grow, are
 * always those of a cut, and so the search ends exactly, after few cuts.
 */
#include "cut.h"

#include "max_flow.h"

struct cut_search {
    const struct gw__network *network;
    struct gw__certificate *c;
    struct gw__max_flow flow;
    int64_t weight; /* of all ranks */
};

static uint32_t source_of(const struct cut_search *s)
{
    return s->network->nodes;
}

/* The arcs: from the source to each rank, then the edges. */
static void add_arcs(struct cut_search *s)
{
    const struct gw__certificate *c = s->c;
    for (unsigned r = 0; r < c->ranks; r++)
        gw__max_flow_add(&s->flow, source_of(s), r, 0);
    for (size_t e = 0; e < c->edges; e++)
        gw__max_flow_add(&s->flow, c->from[e], c->to[e], 0);
}

static void set_ratio(struct cut_search *s)
{
    const struct gw__certificate *c = s->c;
    for (unsigned r = 0; r < c->ranks; r++)
        gw__max_flow_set(&s->flow, 2 * r, c->capacity * c->weight[r]);
    for (size_t e = 0; e < c->edges; e++)
        gw__max_flow_set(&s->flow, 2 * (c->ranks + (uint32_t)e),
                         c->blocks * c->edge_capacity[e]);
}

/* Sums up the cut in c->inside. */
static void sum_cut(struct cut_search *s)
{
    struct gw__certificate *c = s->c;
    c->blocks = c->capacity = 0;
    for (unsigned r = 0; r < c->ranks; r++)
        c->blocks += c->inside[r] ? c->weight[r] : 0;
    for (size_t e = 0; e < c->edges; e++)
        if (c->inside[c->from[e]] && !c->inside[c->to[e]])
            c->capacity += c->edge_capacity[e];
}

/* The first guess: all nodes but one sink. */
static enum gw_err first_cut(struct cut_search *s, struct gw_error *why)
{
    struct gw__certificate *c = s->c;
    for (unsigned i = 0; i < c->sink_count; i++) {
        for (unsigned n = 0; n < c->nodes; n++)
            c->inside[n] = n != c->sinks[i];
        sum_cut(s);
        if (c->blocks == 0)
            continue;
        if (c->capacity == 0)
            break;
        set_ratio(s);
        return GW_OK;
    }
    return gw_fail(why, GW_EDATA, "the ranks are not connected by links");
}

/* Does enough flow reach the sink? Otherwise its cut is the next guess. */
static bool passes(struct cut_search *s, uint32_t sink, int64_t *flow)
{
    struct gw__certificate *c = s->c;
    int64_t wanted = c->capacity * s->weight;
    if (gw__max_flow_find(&s->flow, source_of(s), sink, INT64_MAX) >= wanted) {
        for (size_t i = 0; i < c->ranks + c->edges; i++)
            flow[i] = gw__max_flow_on(&s->flow, 2 * (uint32_t)i);
        return true;
    }
    for (unsigned n = 0; n < c->nodes; n++)
        c->inside[n] = gw__max_flow_inside(&s->flow, n);
    sum_cut(s);
    set_ratio(s);
    return false;
}

/* Asks sink after sink until all have passed with the same ratio. */
static enum gw_err improve(struct cut_search *s, struct gw_error *why)
{
    struct gw__certificate *c = s->c;
    unsigned sink = 0, passed = 0;
    while (passed < c->sink_count) {
        int64_t *flow = c->flow + sink * (c->ranks + c->edges);
        bool pass = passes(s, c->sinks[sink], flow);
        if (c->capacity == 0)
            return gw_fail(why, GW_EDATA, "no links lead to rank %u",
                           c->sinks[sink]);
        passed = pass ? passed + 1 : 0;
        sink = pass ? (sink + 1) % c->sink_count : sink;
    }
    return gw__certificate_check(c, why);
}

static void fill_in(struct cut_search *s, const struct gw__demand *demand)
{
    const struct gw__network *n = s->network;
    struct gw__certificate *c = s->c;
    for (size_t e = 0; e < n->edge_count; e++) {
        const struct gw__network_edge *edge = &n->edges[e];
        c->from[e] = demand->reversed ? edge->to : edge->from;
        c->to[e] = demand->reversed ? edge->from : edge->to;
        c->edge_capacity[e] = edge->capacity;
    }
    for (unsigned r = 0; r < n->ranks; r++) {
        c->weight[r] = demand->weight[r];
        s->weight += demand->weight[r];
        if (demand->sink == GW__NO_SINK || demand->sink == r)
            c->sinks[c->sink_count++] = r;
    }
}

enum gw_err gw__cut_find(const struct gw__network *network,
                         const struct gw__demand *demand,
                         struct gw__certificate *certificate,
                         struct gw_error *why)
{
    struct cut_search s = {.network = network, .c = certificate};
    enum gw_err err = gw__certificate_init(
        certificate, network->ranks, network->nodes, network->edge_count, why);
    if (!err)
        err = gw__max_flow_init(&s.flow, network->nodes + 1, why);
    if (!err) {
        fill_in(&s, demand);
        add_arcs(&s);
        err = s.flow.full ? gw_fail(why, GW_ENOMEM, "a flow of %zu edges",
                                    network->edge_count)
                          : first_cut(&s, why);
    }
    if (!err)
        err = improve(&s, why);
    gw__max_flow_fini(&s.flow);
    return err;
}

int64_t gw__cut_of_group(const struct gw__network *network, const bool *group)
{
    struct gw__max_flow flow;
    struct gw_error ignored;
    uint32_t source = network->nodes, sink = source + 1;
    int64_t value = -1, unlimited = INT64_MAX / 4;
    if (gw__max_flow_init(&flow, network->nodes + 2, &ignored) == GW_OK) {
        for (uint32_t r = 0; r < network->ranks; r++)
            gw__max_flow_add(&flow, group[r] ? source : r, group[r] ? r : sink,
                             unlimited / network->ranks);
        for (size_t e = 0; e < network->edge_count; e++)
            gw__max_flow_add(&flow, network->edges[e].from,
                             network->edges[e].to, network->edges[e].capacity);
        if (!flow.full)
            value = gw__max_flow_find(&flow, source, sink, INT64_MAX);
    }
    gw__max_flow_fini(&flow);
    return value;
}
