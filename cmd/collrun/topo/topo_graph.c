/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A server as nodes and links, and its statements (topo_graph.h).
 */
#include "topo_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_used(const struct topo_graph *g, const char *name)
{
    for (int i = 0; i < g->node_count; i++)
        if (strcmp(g->nodes[i].name, name) == 0)
            return true;
    return false;
}

int topo_graph_node(struct topo_graph *graph, enum topo_kind kind,
                    const char *name)
{
    if (graph->node_count == TOPO_NODES_MAX)
        return TOPO_NONE;
    struct topo_node *node = &graph->nodes[graph->node_count];
    *node = (struct topo_node){.kind = kind};
    topo_text_name(name, node->name);
    for (unsigned i = 1; is_used(graph, node->name); i++)
        snprintf(node->name, sizeof node->name, "%.20s-%u", name, i);
    return graph->node_count++;
}

bool topo_graph_link(struct topo_graph *graph, const char *word, int a, int b,
                     uint64_t rate)
{
    static const char *const words[] = {"memory", "100ns", "nvlink", "700ns"};
    const char *latency = "500ns";
    if (graph->link_count == TOPO_LINKS_MAX || a == TOPO_NONE || b == TOPO_NONE)
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i += 2)
        if (strcmp(words[i], word) == 0)
            latency = words[i + 1];
    graph->links[graph->link_count++] =
        (struct topo_link){word, a, b, rate, latency};
    return true;
}

unsigned topo_graph_count(const struct topo_graph *graph, enum topo_kind kind)
{
    unsigned count = 0;
    for (int i = 0; i < graph->node_count; i++)
        count += graph->nodes[i].kind == kind;
    return count;
}

bool topo_graph_join_sockets(struct topo_graph *graph)
{
    bool room = true;
    for (int a = 0; a < graph->node_count; a++)
        for (int b = a + 1; b < graph->node_count; b++)
            if (graph->nodes[a].kind == TOPO_SOCKET &&
                graph->nodes[b].kind == TOPO_SOCKET)
                room =
                    room && topo_graph_link(graph, "qpi", a, b, TOPO_QPI_RATE);
    return room;
}

void topo_graph_write(const struct topo_graph *graph, const char *name,
                      struct topo_text *text)
{
    static const char *const kinds[TOPO_KINDS] = {"socket", "memory", "switch",
                                                  "accelerator", "nic"};
    topo_text_add(text, "topology %s\nserver box:", name);
    for (enum topo_kind kind = TOPO_SOCKET; kind < TOPO_KINDS; kind++) {
        if (topo_graph_count(graph, kind) > 0)
            topo_text_add(text, " %s", kinds[kind]);
        for (int i = 0; i < graph->node_count; i++)
            if (graph->nodes[i].kind == kind)
                topo_text_add(text, " %s", graph->nodes[i].name);
    }
    topo_text_add(text, "\n");
    for (unsigned i = 0; i < graph->link_count; i++) {
        const struct topo_link *link = &graph->links[i];
        topo_text_add(text, "link %s %s: %s rate=%" PRIu64 " latency=%s\n",
                      link->word, graph->nodes[link->a].name,
                      graph->nodes[link->b].name, link->rate, link->latency);
    }
}
