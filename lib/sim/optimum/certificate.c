/* SPDX-License-Identifier: MIT
 *
 * Judges a certificate (certificate.h): the sums over its cut, and for each
 * flow the capacities, conservation at every node but the sink, and the amount
 * that arrives.
 */
#include "certificate.h"

#include <stdlib.h>

enum gw_err gw__certificate_init(struct gw__certificate *c, unsigned ranks,
                                 unsigned nodes, size_t edges,
                                 struct gw_error *why)
{
    *c = (struct gw__certificate){
        .ranks = ranks, .nodes = nodes, .edges = edges};
    c->from = calloc(edges + 1, sizeof *c->from);
    c->to = calloc(edges + 1, sizeof *c->to);
    c->edge_capacity = calloc(edges + 1, sizeof *c->edge_capacity);
    c->weight = calloc(ranks, sizeof *c->weight);
    c->sinks = calloc(ranks, sizeof *c->sinks);
    c->inside = calloc(nodes, sizeof *c->inside);
    c->flow = calloc(ranks * (ranks + edges), sizeof *c->flow);
    return c->from && c->to && c->edge_capacity && c->weight && c->sinks &&
                   c->inside && c->flow
               ? GW_OK
               : gw_fail(why, GW_ENOMEM, "a certificate of %zu edges", edges);
}

void gw__certificate_fini(struct gw__certificate *c)
{
    free(c->from);
    free(c->to);
    free(c->edge_capacity);
    free(c->weight);
    free(c->sinks);
    free(c->inside);
    free(c->flow);
    *c = (struct gw__certificate){0};
}

static enum gw_err check_shape(const struct gw__certificate *c,
                               struct gw_error *why)
{
    bool right = c->ranks > 0 && c->ranks <= c->nodes && c->sink_count > 0 &&
                 c->sink_count <= c->ranks && c->blocks > 0 && c->capacity > 0;
    for (size_t e = 0; e < c->edges; e++)
        right = right && c->from[e] < c->nodes && c->to[e] < c->nodes &&
                c->edge_capacity[e] >= 0;
    for (unsigned s = 0; s < c->sink_count; s++)
        right = right && c->sinks[s] < c->ranks;
    return right ? GW_OK
                 : gw_fail(why, GW_EINTERNAL,
                           "certificate: an edge, a sink or the ratio is out "
                           "of range");
}

/* The blocks inside and the capacity that leaves must be those of the ratio,
 * and a sink must be outside. */
static enum gw_err check_cut(const struct gw__certificate *c,
                             struct gw_error *why)
{
    int64_t blocks = 0, capacity = 0;
    bool outside = false, right = true;
    for (unsigned r = 0; r < c->ranks; r++)
        right = !__builtin_add_overflow(blocks, c->inside[r] ? c->weight[r] : 0,
                                        &blocks) &&
                right;
    for (size_t e = 0; e < c->edges; e++)
        if (c->inside[c->from[e]] && !c->inside[c->to[e]])
            right = !__builtin_add_overflow(capacity, c->edge_capacity[e],
                                            &capacity) &&
                    right;
    for (unsigned s = 0; s < c->sink_count; s++)
        outside = outside || !c->inside[c->sinks[s]];
    if (right && outside && blocks == c->blocks && capacity == c->capacity)
        return GW_OK;
    return gw_fail(why, GW_EINTERNAL,
                   "certificate: the cut has %lld blocks and capacity %lld, "
                   "not %lld and %lld%s",
                   (long long)blocks, (long long)capacity, (long long)c->blocks,
                   (long long)c->capacity, outside ? "" : ", and no sink");
}

static bool within(int64_t flow, int64_t factor, int64_t capacity)
{
    int64_t most;
    return flow >= 0 && !__builtin_mul_overflow(factor, capacity, &most) &&
           flow <= most;
}

/* The flow to one sink. net[node]: what arrives, less what leaves. */
static enum gw_err check_flow(const struct gw__certificate *c, unsigned s,
                              int64_t *net, struct gw_error *why)
{
    const int64_t *start = c->flow + s * (c->ranks + c->edges);
    const int64_t *on = start + c->ranks;
    int64_t wanted = 0;
    bool right = true;
    for (unsigned n = 0; n < c->nodes; n++)
        net[n] = 0;
    for (unsigned r = 0; r < c->ranks; r++) {
        right = right && within(start[r], c->capacity, c->weight[r]);
        right = right && !__builtin_add_overflow(net[r], start[r], &net[r]);
        wanted += c->capacity * c->weight[r];
    }
    for (size_t e = 0; e < c->edges; e++) {
        int64_t *from = &net[c->from[e]], *to = &net[c->to[e]];
        right = right && within(on[e], c->blocks, c->edge_capacity[e]);
        right = right && !__builtin_sub_overflow(*from, on[e], from);
        right = right && !__builtin_add_overflow(*to, on[e], to);
    }
    for (unsigned n = 0; n < c->nodes; n++)
        right = right && net[n] == (n == c->sinks[s] ? wanted : 0);
    return right ? GW_OK
                 : gw_fail(why, GW_EINTERNAL,
                           "certificate: the flow to rank %u exceeds a "
                           "capacity, is not conserved or is too small",
                           c->sinks[s]);
}

enum gw_err gw__certificate_check(const struct gw__certificate *c,
                                  struct gw_error *why)
{
    enum gw_err err = check_shape(c, why);
    if (!err)
        err = check_cut(c, why);
    int64_t *net = err ? NULL : calloc(c->nodes, sizeof *net);
    if (!err && !net)
        err = gw_fail(why, GW_ENOMEM, "a flow between %u nodes", c->nodes);
    for (unsigned s = 0; s < c->sink_count && !err; s++)
        err = check_flow(c, s, net, why);
    free(net);
    return err;
}
