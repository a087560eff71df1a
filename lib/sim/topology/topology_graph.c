/* SPDX-License-Identifier: MIT
 *
 * The inside of servers as a graph: sockets, the links between them (QPI, UPI),
 * the memory of each socket (NUMA), PCIe switches, accelerators and direct
 * links between these. A message takes the cheapest route (Dijkstra 1959). The
 * cost of a link is its latency plus the time of 1 MiB; among equal routes the
 * one with fewer links is taken. Accelerators and memory do not forward. So two
 * accelerators without a direct link use PCIe, and the sockets if necessary, as
 * without a library that copies twice.
 *
 *     via[h][n]   the link by which the route from host h enters node n, so
 *                 that a route is read backwards from its end
 *
 * A kind of links can be left out (gw_topology_leave_out), to measure its
 * effect; the numbers of the links stay the same.
 */
#include "topology_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const node_kinds[GW__NODE_KINDS] = {
    "socket", "memory", "switch", "accelerator", "nic"};

const char *gw__node_kind_name(enum gw__node_kind kind)
{
    return node_kinds[kind];
}

void gw__graph_link(const struct gw_topology *t, unsigned index,
                    struct gw_topology_link *link)
{
    const struct gw__edge *edge = &t->graph.edges[index / 2];
    *link = (struct gw_topology_link){
        .kind = GW_LINK_TRUNK,
        .out = index % 2 == 0,
        .owner = index % 2 ? edge->b : edge->a,
        .word = t->graph.kinds[edge->kind],
        .rate = edge->link.rate,
        .latency_ns = edge->link.latency_ns,
    };
}

void gw__graph_link_name(const struct gw_topology *t, unsigned index,
                         char out[64])
{
    const struct gw__graph *g = &t->graph;
    const struct gw__edge *edge = &g->edges[index / 2];
    uint32_t from = index % 2 ? edge->b : edge->a;
    uint32_t to = index % 2 ? edge->a : edge->b;
    snprintf(out, 64, "%.24s>%.24s %.13s", g->nodes[from].name,
             g->nodes[to].name, g->kinds[edge->kind]);
}

/* ---- routes ---- */

struct search {
    const struct gw_topology *t;
    uint32_t source;
    uint64_t cost[GW__GRAPH_NODES_MAX]; /* UINT64_MAX: not reached */
    bool done[GW__GRAPH_NODES_MAX];
    uint32_t *via;
    uint32_t *first, *next; /* directed links by the node they leave */
};

/* The cheapest node whose links are not processed yet; UINT32_MAX: none. */
static uint32_t nearest(const struct search *s)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t n = 0; n < s->t->graph.node_count; n++)
        if (!s->done[n] && s->cost[n] != UINT64_MAX &&
            (best == UINT32_MAX || s->cost[n] < s->cost[best]))
            best = n;
    return best;
}

static bool forwards(const struct search *s, uint32_t node)
{
    enum gw__node_kind kind = s->t->graph.nodes[node].kind;
    return node == s->source ||
           (kind != GW__NODE_ACCELERATOR && kind != GW__NODE_MEMORY);
}

/* Relaxes the links of the node. Each link has a small extra cost, so that
 * among equal routes the one with fewer links is taken. */
static void extend(struct search *s, uint32_t node)
{
    const struct gw__graph *g = &s->t->graph;
    for (uint32_t l = s->first[node]; l != UINT32_MAX; l = s->next[l]) {
        const struct gw__edge *edge = &g->edges[l / 2];
        uint32_t to = l % 2 ? edge->a : edge->b;
        uint64_t cost = s->cost[node] + 1 +
                        gw__link_cost(edge->link.rate, edge->link.latency_ns);
        if (edge->kind + 1 != g->left_out && cost < s->cost[to]) {
            s->cost[to] = cost;
            s->via[to] = l;
        }
    }
}

static void search_from(struct search *s, uint32_t host)
{
    const struct gw__graph *g = &s->t->graph;
    s->source = g->node_of_host[host];
    s->via = g->via + (size_t)host * g->node_count;
    for (uint32_t n = 0; n < g->node_count; n++) {
        s->cost[n] = UINT64_MAX;
        s->done[n] = false;
        s->via[n] = UINT32_MAX;
    }
    s->cost[s->source] = 0;
    for (uint32_t n; (n = nearest(s)) != UINT32_MAX;) {
        s->done[n] = true;
        if (forwards(s, n))
            extend(s, n);
    }
}

/* Checks that the host reaches all others. */
static enum gw_err check_reachable(const struct gw_topology *t, uint32_t host,
                                   struct gw_error *why)
{
    const struct gw__graph *g = &t->graph;
    for (uint32_t to = 0; to < t->host_count; to++)
        if (to != host &&
            g->via[(size_t)host * g->node_count + g->node_of_host[to]] ==
                UINT32_MAX)
            return gw_fail(why, GW_EDATA,
                           "topology %s: no route from %s to %s%s%s", t->name,
                           t->hosts[host].name, t->hosts[to].name,
                           g->left_out ? " without " : "",
                           g->left_out ? g->kinds[g->left_out - 1] : "");
    return GW_OK;
}

/* Lists the links of each node in ascending order. */
static void list_links(const struct gw__graph *g, struct search *s)
{
    for (uint32_t n = 0; n < g->node_count; n++)
        s->first[n] = UINT32_MAX;
    for (uint32_t l = 2 * g->edge_count; l-- > 0;) {
        const struct gw__edge *edge = &g->edges[l / 2];
        uint32_t from = l % 2 ? edge->b : edge->a;
        s->next[l] = s->first[from];
        s->first[from] = l;
    }
}

static enum gw_err find_routes(struct gw_topology *t, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    struct gw__graph *g = &t->graph;
    struct search s = {.t = t};
    s.first =
        calloc(g->node_count + 2 * (size_t)g->edge_count, sizeof *s.first);
    if (!s.first)
        return gw_fail(why, GW_ENOMEM, "routes of a topology");
    s.next = s.first + g->node_count;
    list_links(g, &s);
    for (uint32_t host = 0; host < t->host_count && !err; host++) {
        search_from(&s, host);
        err = check_reachable(t, host, why);
    }
    free(s.first);
    return err;
}

enum gw_err gw__graph_compute_routes(struct gw_topology *t,
                                     struct gw_error *why)
{
    struct gw__graph *g = &t->graph;
    g->via = malloc((size_t)t->host_count * g->node_count * sizeof *g->via);
    if (!g->via)
        return gw_fail(why, GW_ENOMEM, "routes of a topology");
    return find_routes(t, why);
}

unsigned gw__graph_path(const struct gw_topology *t, unsigned from, unsigned to,
                        unsigned *links)
{
    const struct gw__graph *g = &t->graph;
    const uint32_t *via = g->via + (size_t)from * g->node_count;
    unsigned count = 0;
    for (uint32_t n = g->node_of_host[to]; n != g->node_of_host[from];) {
        const struct gw__edge *edge = &g->edges[via[n] / 2];
        links[count++] = via[n];
        n = via[n] % 2 ? edge->b : edge->a;
    }
    for (unsigned i = 0; i < count / 2; i++) {
        unsigned link = links[i];
        links[i] = links[count - 1 - i];
        links[count - 1 - i] = link;
    }
    return count;
}

/* ---- kinds ---- */

const char *gw_topology_link_word(const struct gw_topology *topology,
                                  unsigned index)
{
    const struct gw__graph *g = &topology->graph;
    return index < g->kind_count ? g->kinds[index] : NULL;
}

enum gw_err gw_topology_leave_out(struct gw_topology *topology,
                                  const char *word, struct gw_error *why)
{
    struct gw__graph *g = &topology->graph;
    unsigned before = g->left_out, kind = 0;
    while (word && kind < g->kind_count && strcmp(g->kinds[kind], word) != 0)
        kind++;
    if (word && kind == g->kind_count)
        return gw_fail(why, GW_EINVAL, "topology %s: unknown links `%.40s`",
                       topology->name, word);
    g->left_out = word ? kind + 1 : 0;
    if (g->left_out == before)
        return GW_OK;
    struct gw_error ignored;
    enum gw_err err = find_routes(topology, why);
    if (err == GW_EDATA) {
        g->left_out = before;
        return find_routes(topology, &ignored) ? GW_ENOMEM : GW_EINVAL;
    }
    return err;
}
