/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The inside of a server while it is read: nodes and links, which become one
 * `server` statement and its `link` statements.
 */
#ifndef TOPO_GRAPH_H
#define TOPO_GRAPH_H

#include "topo_import.h"

enum { TOPO_NODES_MAX = 256, TOPO_LINKS_MAX = 2048, TOPO_NONE = -1 };

enum topo_kind {
    TOPO_SOCKET,
    TOPO_MEMORY,
    TOPO_SWITCH,
    TOPO_ACCELERATOR,
    TOPO_NIC,
    TOPO_KINDS
};

struct topo_node {
    enum topo_kind kind;
    char name[32];
};

struct topo_link {
    const char *word; /* a constant: "pcie" */
    int a, b;         /* nodes */
    uint64_t rate;    /* bytes per second */
    const char *latency;
};

struct topo_graph {
    int node_count;
    unsigned link_count;
    struct topo_node nodes[TOPO_NODES_MAX];
    struct topo_link links[TOPO_LINKS_MAX];
};

/* Rates for links whose file has none; they are those of the labs. */
#define TOPO_PCIE_RATE   (UINT64_C(12) << 30)
#define TOPO_QPI_RATE    (UINT64_C(9) << 30)
#define TOPO_MEMORY_RATE (UINT64_C(60) << 30)
#define TOPO_NVLINK_RATE UINT64_C(25000000000)

/* Both return TOPO_NONE or false if there are too many. A name that is already
 * used gets a number. */
int topo_graph_node(struct topo_graph *graph, enum topo_kind kind,
                    const char *name);
bool topo_graph_link(struct topo_graph *graph, const char *word, int a, int b,
                     uint64_t rate);
/* The number of nodes of a kind. */
unsigned topo_graph_count(const struct topo_graph *graph, enum topo_kind kind);
/* Links all sockets with each other. */
bool topo_graph_join_sockets(struct topo_graph *graph);
void topo_graph_write(const struct topo_graph *graph, const char *name,
                      struct topo_text *text);

#endif
