/* SPDX-License-Identifier: MIT
 *
 * From a topology to a graph (network.h). Racks, fat trees and tori have a node
 * per switch. A host with one rank is that rank. A host with several ranks has
 * two more nodes for its inner link and two for its NIC:
 *
 *     rank -> bus in --inner link--> bus out -> rank
 *     rank -> NIC out --nic out--> switch --nic in--> NIC in -> rank
 *
 * and no NIC if it has all ranks.
 *
 * In a graph of servers an accelerator with one rank is that rank; memory with
 * several ranks is a switch between them. Nodes that hold no rank and do not
 * forward are left out, together with their links.
 */
#include "network.h"

#include "sim/topology/topology_parts.h"

#include <stdlib.h>

enum { HOST_LINKS = 3 };

struct building {
    const struct gw_topology *t;
    struct gw__network *network;
    unsigned *ranks_of; /* of each host */
    unsigned *rank_of;  /* of each host: its only or last rank */
    bool divided;       /* see gw__network_init */
    bool full;          /* out of memory */
};

static void join(struct building *b, uint32_t from, uint32_t to, uint32_t link)
{
    struct gw__network *n = b->network;
    if (from == to) /* of a torus with one host in this dimension */
        return;
    if (n->edge_count == n->edge_room) {
        size_t room = n->edge_room ? 2 * n->edge_room : 256;
        struct gw__network_edge *moved =
            realloc(n->edges, room * sizeof *moved);
        if (!moved) {
            b->full = true;
            return;
        }
        n->edges = moved;
        n->edge_room = room;
    }
    struct gw__network_edge *edge = &n->edges[n->edge_count++];
    *edge = (struct gw__network_edge){.from = from, .to = to, .link = link};
    if (link == GW__NO_LINK)
        return;
    struct gw_topology_link settings;
    gw_topology_link(b->t, link, &settings);
    edge->latency_ns = settings.latency_ns;
    edge->capacity = (int64_t)settings.rate; /* below 2^63 */
}

/* The rate of a link, or if the ranks of the host divide it, a multiple of their
 * number. */
static uint64_t rate_of(const struct building *b, uint32_t link, unsigned host)
{
    struct gw_topology_link settings;
    gw_topology_link(b->t, link, &settings);
    unsigned ranks = b->ranks_of[host];
    return b->divided ? settings.rate / ranks * ranks : settings.rate;
}

/* Edges from all ranks of the host to `node`, or back: without a limit, or with
 * a share of the link. */
static void join_ranks(struct building *b, unsigned host, uint32_t node,
                       uint32_t link, bool back)
{
    uint64_t share = link == GW__NO_LINK || !b->divided
                         ? 0
                         : rate_of(b, link, host) / b->ranks_of[host];
    for (uint32_t r = 0; r < b->network->ranks && !b->full; r++) {
        if (b->t->host_of[r] != host)
            continue;
        join(b, back ? node : r, back ? r : node, GW__NO_LINK);
        if (!b->full)
            b->network->edges[b->network->edge_count - 1].capacity =
                (int64_t)share;
    }
}

/* A link that the ranks of a host share. */
static void join_shared(struct building *b, unsigned host, uint32_t from,
                        uint32_t to, uint32_t link)
{
    join(b, from, to, link);
    if (!b->full)
        b->network->edges[b->network->edge_count - 1].capacity =
            (int64_t)rate_of(b, link, host);
}

/* The host's NIC, towards the node `above` of its switch, and its inner link. */
static void join_host(struct building *b, unsigned host, uint32_t above)
{
    uint32_t links = HOST_LINKS * host;
    if (b->ranks_of[host] == 0)
        return;
    if (b->ranks_of[host] == 1) {
        join(b, b->rank_of[host], above, links);
        join(b, above, b->rank_of[host], links + 1);
        return;
    }
    if (b->ranks_of[host] < b->network->ranks) {
        uint32_t out = b->network->nodes++, in = b->network->nodes++;
        join_ranks(b, host, out, links, false);
        join_shared(b, host, out, above, links);
        join_shared(b, host, above, in, links + 1);
        join_ranks(b, host, in, links + 1, true);
    }
    uint32_t bus_in = b->network->nodes++, bus_out = b->network->nodes++;
    join_ranks(b, host, bus_in, links + 2, false);
    join_shared(b, host, bus_in, bus_out, links + 2);
    join_ranks(b, host, bus_out, links + 2, true);
}

/* One switch per rack; the spine, if there are several racks. */
static void build_racks(struct building *b)
{
    const struct gw_topology *t = b->t;
    struct gw__network *n = b->network;
    uint32_t first = n->nodes, spine = first + t->rack_count;
    n->nodes += t->rack_count + 1;
    for (unsigned h = 0; h < t->host_count; h++)
        join_host(b, h, first + t->hosts[h].rack);
    for (unsigned r = 0; r < t->rack_count && t->rack_count > 1; r++) {
        join(b, first + r, spine, HOST_LINKS * t->host_count + 2 * r);
        join(b, spine, first + r, HOST_LINKS * t->host_count + 2 * r + 1);
    }
}

/* The switch of each host, linked as topology_fabric.c numbers the links. */
static void build_torus(struct building *b)
{
    const struct gw__fabric *f = &b->t->fabric;
    uint32_t first = b->network->nodes, link = HOST_LINKS * b->t->host_count;
    b->network->nodes += b->t->host_count;
    for (unsigned h = 0; h < b->t->host_count; h++) {
        unsigned stride = 1;
        join_host(b, h, first + h);
        for (unsigned d = 0; d < f->dimensions; d++) {
            unsigned size = f->size[d], place = h / stride % size;
            unsigned base = h - place * stride;
            unsigned next = base + (place + 1) % size * stride;
            unsigned before = base + (place + size - 1) % size * stride;
            join(b, first + h, first + next, link++);
            join(b, first + h, first + before, link++);
            stride *= size;
        }
    }
}

/* Edge switches, then upper switches (two levels: spines), then cores. */
static void build_fat_tree(struct building *b)
{
    const struct gw__fabric *f = &b->t->fabric;
    unsigned m = f->k / 2, hosts = b->t->host_count, edges = hosts / m;
    unsigned uppers = f->levels == 2 ? m : edges;
    unsigned cores = f->levels == 2 ? 0 : m * m;
    uint32_t first = b->network->nodes, link = HOST_LINKS * hosts;
    uint32_t upper = first + edges, core = upper + uppers;
    b->network->nodes += edges + uppers + cores;
    for (unsigned h = 0; h < hosts; h++)
        join_host(b, h, first + h / m);
    for (unsigned e = 0; e < edges; e++)
        for (unsigned i = 0; i < m; i++) {
            uint32_t to = upper + (f->levels == 2 ? i : e / m * m + i);
            join(b, first + e, to, link++);
            join(b, to, first + e, link++);
        }
    for (unsigned u = 0; u < uppers && cores > 0; u++)
        for (unsigned j = 0; j < m; j++) {
            join(b, upper + u, core + u % m * m + j, link++);
            join(b, core + u % m * m + j, upper + u, link++);
        }
}

/* The node of the network for a node of the graph, or GW__NO_LINK: left out. */
static uint32_t graph_node(struct building *b, const uint32_t *host_of_node,
                           uint32_t node, uint32_t first)
{
    enum gw__node_kind kind = b->t->graph.nodes[node].kind;
    bool holds = kind == GW__NODE_ACCELERATOR || kind == GW__NODE_MEMORY;
    if (!holds)
        return first + node;
    unsigned host = host_of_node[node];
    return b->ranks_of[host] == 0   ? GW__NO_LINK
           : b->ranks_of[host] == 1 ? b->rank_of[host]
                                    : first + node;
}

static void build_graph(struct building *b)
{
    const struct gw_topology *t = b->t;
    const struct gw__graph *g = &t->graph;
    uint32_t first = b->network->nodes, link = HOST_LINKS * t->host_count;
    uint32_t *host_of_node = calloc(g->node_count + 1, sizeof *host_of_node);
    if (!host_of_node) {
        b->full = true;
        return;
    }
    b->network->nodes += g->node_count;
    for (unsigned h = 0; h < t->host_count; h++) {
        uint32_t node = g->node_of_host[h];
        host_of_node[node] = h;
        if (b->ranks_of[h] < 2)
            continue;
        join_ranks(b, h, first + node, GW__NO_LINK, false);
        join_ranks(b, h, first + node, GW__NO_LINK, true);
    }
    for (unsigned e = 0; e < g->edge_count; e++) {
        uint32_t from = graph_node(b, host_of_node, g->edges[e].a, first);
        uint32_t to = graph_node(b, host_of_node, g->edges[e].b, first);
        bool left_out = g->edges[e].kind + 1 == g->left_out;
        if (from == GW__NO_LINK || to == GW__NO_LINK || left_out)
            continue;
        join(b, from, to, link + 2 * e);
        join(b, to, from, link + 2 * e + 1);
    }
    free(host_of_node);
}

/* ---- capacities ---- */

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b > 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Divides the rates by their greatest common divisor. */
static enum gw_err set_capacities(struct gw__network *n, struct gw_error *why)
{
    int64_t sum = 0, most;
    bool fits = true;
    for (size_t i = 0; i < n->edge_count; i++)
        n->unit = common_divisor(n->unit, (uint64_t)n->edges[i].capacity);
    n->limited = n->unit > 0;
    n->unit = n->limited ? n->unit : 1;
    for (size_t i = 0; i < n->edge_count; i++) {
        n->edges[i].capacity /= (int64_t)n->unit;
        fits = fits && !__builtin_add_overflow(sum, n->edges[i].capacity, &sum);
    }
    fits = fits && !__builtin_add_overflow(sum, sum + 1, &sum);
    for (size_t i = 0; i < n->edge_count; i++)
        if (n->edges[i].capacity == 0)
            n->edges[i].capacity = sum;
    /* The solver multiplies a sum of capacities by the number of ranks. */
    fits = fits && !__builtin_mul_overflow(
                       sum, (int64_t)(n->edge_count + 1) * n->ranks, &most);
    return fits ? GW_OK
                : gw_fail(why, GW_EINVAL,
                          "the rates of the links have too many digits for "
                          "exact sums; round them, for example to whole M");
}

enum gw_err gw__network_init(struct gw__network *network,
                             const struct gw_topology *topology, unsigned ranks,
                             bool divided, struct gw_error *why)
{
    const struct gw_topology *t = topology;
    *network = (struct gw__network){.ranks = ranks, .nodes = ranks};
    if (ranks > t->ranks || ranks > GW_OPTIMUM_RANKS_MAX)
        return gw_fail(why, GW_EINVAL,
                       "%u ranks: the topology has %u, and a bound is computed "
                       "for at most %d",
                       ranks, t->ranks, GW_OPTIMUM_RANKS_MAX);
    struct building b = {.t = t, .network = network, .divided = divided};
    b.ranks_of = calloc(2 * (size_t)t->host_count, sizeof *b.ranks_of);
    if (!b.ranks_of)
        return gw_fail(why, GW_ENOMEM, "a graph of %u hosts", t->host_count);
    b.rank_of = b.ranks_of + t->host_count;
    for (unsigned r = 0; r < ranks; r++) {
        b.ranks_of[t->host_of[r]]++;
        b.rank_of[t->host_of[r]] = r;
    }
    if (t->fabric.kind == GW__RACKS)
        build_racks(&b);
    else if (t->fabric.kind == GW__TORUS)
        build_torus(&b);
    else if (t->fabric.kind == GW__FAT_TREE)
        build_fat_tree(&b);
    else
        build_graph(&b);
    free(b.ranks_of);
    return b.full ? gw_fail(why, GW_ENOMEM, "a graph of %u ranks", ranks)
                  : set_capacities(network, why);
}

void gw__network_fini(struct gw__network *network)
{
    free(network->edges);
    *network = (struct gw__network){0};
}
