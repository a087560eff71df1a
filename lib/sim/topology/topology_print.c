/* SPDX-License-Identifier: MIT
 *
 * Prints a topology as text, with the file's contents in a fixed order. Rates
 * are in bytes and latencies in integers, so that parsing gives equal values.
 */
#include "sim/faults/faults.h"
#include "topology_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LINE_COLUMNS = 80 };

static void print_settings(FILE *file, const struct gw__link_settings *link)
{
    char latency[32];
    if (link->has_rate)
        fprintf(file, " rate=%" PRIu64, link->rate);
    if (link->under)
        fprintf(file, " oversubscription=%u:%u", link->over, link->under);
    gw__format_ns(link->latency_ns, latency);
    if (link->has_latency)
        fprintf(file, " latency=%s", latency);
    fputc('\n', file);
}

static void print_line(FILE *file, const char *statement, const char *name,
                       const struct gw__link_settings *link)
{
    if (!link->has_rate && !link->under && !link->has_latency)
        return;
    fprintf(file, "%s%s%s", statement, name ? " " : "", name ? name : "");
    print_settings(file, link);
}

static void print_fabric(const struct gw__fabric *fabric, FILE *file)
{
    if (fabric->kind == GW__FAT_TREE)
        fprintf(file, "fat-tree k=%u levels=%u", fabric->k, fabric->levels);
    else
        fprintf(file, "torus %u", fabric->size[0]);
    for (unsigned d = 1; d < fabric->dimensions; d++)
        fprintf(file, "x%u", fabric->size[d]);
    print_settings(file, &fabric->link);
}

static void print_racks(const struct gw_topology *t, FILE *file)
{
    for (unsigned r = 0; r < t->rack_count; r++) {
        const struct gw__rack *rack = &t->racks[r];
        fprintf(file, "rack %s:", rack->name);
        for (unsigned h = rack->first; h < rack->first + rack->count; h++)
            fprintf(file, " %s", t->hosts[h].name);
        fputc('\n', file);
    }
}

static void print_nodes(const struct gw_topology *t, uint32_t server,
                        FILE *file)
{
    enum gw__node_kind kind = GW__NODE_KINDS;
    for (unsigned n = 0; n < t->graph.node_count; n++) {
        const struct gw__topology_node *node = &t->graph.nodes[n];
        if (node->server != server)
            continue;
        if (server == UINT32_MAX)
            fputs("switch", file);
        else if (node->kind != kind)
            fprintf(file, " %s", gw__node_kind_name(node->kind));
        kind = node->kind;
        fprintf(file, " %s%s", node->name, server == UINT32_MAX ? "\n" : "");
    }
}

static void print_graph(const struct gw_topology *t, FILE *file)
{
    const struct gw__graph *g = &t->graph;
    for (unsigned r = 0; r < t->rack_count; r++) {
        fprintf(file, "server %s:", t->racks[r].name);
        print_nodes(t, r, file);
        fputc('\n', file);
    }
    print_nodes(t, UINT32_MAX, file);
    for (unsigned e = 0; e < g->edge_count; e++) {
        const struct gw__edge *edge = &g->edges[e];
        fprintf(file, "link %s %s: %s", g->kinds[edge->kind],
                g->nodes[edge->a].name, g->nodes[edge->b].name);
        print_settings(file, &edge->link);
    }
}

static unsigned usual_ranks(const struct gw_topology *t, unsigned host)
{
    const struct gw__graph *g = &t->graph;
    return t->fabric.kind != GW__GRAPH ||
           g->nodes[g->node_of_host[host]].kind != GW__NODE_MEMORY;
}

/* Prints the settings of single hosts and racks. */
static void print_own(const struct gw_topology *t, FILE *file)
{
    for (unsigned r = 0; r < t->rack_count; r++)
        print_line(file, "uplink", t->racks[r].name, &t->racks[r].uplink);
    for (unsigned h = 0; h < t->host_count; h++) {
        const struct gw__host *host = &t->hosts[h];
        print_line(file, "nic", host->name, &host->nic);
        print_line(file, "inner", host->name, &host->inner);
        if (host->ranks != usual_ranks(t, h))
            fprintf(file, "host %s ranks=%u\n", host->name, host->ranks);
    }
}

/* Successive order lines are concatenated. */
static void print_order(const struct gw_topology *t, FILE *file)
{
    size_t column = 0;
    if (t->default_order != GW_ORDER_FILE)
        fprintf(file, "order %s\n", gw_rank_order_name(t->default_order));
    for (unsigned i = 0; i < t->listed_count; i++) {
        const char *name = t->hosts[t->listed[i]].name;
        size_t length = strlen(name) + 1;
        if (column == 0 || column + length > LINE_COLUMNS) {
            fprintf(file, "%sorder", column ? "\n" : "");
            column = strlen("order");
        }
        fprintf(file, " %s", name);
        column += length;
    }
    if (column)
        fputc('\n', file);
}

enum gw_err gw_topology_print(const struct gw_topology *topology, FILE *file,
                              struct gw_error *why)
{
    fprintf(file, "topology %s\n", topology->name);
    print_line(file, "nic", NULL, &topology->nic);
    print_line(file, "inner", NULL, &topology->inner);
    print_line(file, "uplink", NULL, &topology->uplink);
    if (topology->fabric.kind == GW__RACKS)
        print_racks(topology, file);
    else if (topology->fabric.kind == GW__GRAPH)
        print_graph(topology, file);
    else
        print_fabric(&topology->fabric, file);
    print_own(topology, file);
    print_order(topology, file);
    if (fflush(file) || ferror(file))
        return gw_fail_errno(why, "printing a topology");
    return GW_OK;
}
