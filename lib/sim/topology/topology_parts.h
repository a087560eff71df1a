/* SPDX-License-Identifier: MIT
 *
 * Internals of topologies (gradwire/topology.h) and their simulation:
 *   topology_parse.c   statements, from the text to the struct below
 *   topology_read.c    names and settings in statements
 *   topology_names.c   hosts, racks and nodes by name
 *   topology.c         loading, defaults, queries: ranks, links, paths
 *   topology_fabric.c  fat trees and tori, read by topology_fabric_read.c
 *   topology_graph.c   servers inside: a graph and its routes, read by
 *                      topology_graph_read.c
 *   topology_ring.c    the order of ranks with the cheapest ring
 *   topology_print.c   printing as text
 * traffic*.c simulate a plan on a topology, see traffic.h.
 */
#ifndef GW__TOPOLOGY_PARTS_H
#define GW__TOPOLOGY_PARTS_H

#include "sim/faults/faults_words.h"

#include <gradwire/topology.h>

enum { GW__TOPOLOGY_BYTES_MAX = 4 << 20 }; /* size of a text */

/* The settings of a link, as a default or for a single link. Missing settings
 * of a single link have the default's values. An uplink's rate may be a ratio:
 * the total rate of the rack's NICs to the uplink. */
struct gw__link_settings {
    bool has_rate, has_latency;
    uint64_t rate;
    uint64_t latency_ns;
    uint32_t over, under; /* a ratio such as 4:1 instead of a rate; 0: none */
};

struct gw__host {
    char name[GW_TOPOLOGY_NAME_MAX];
    unsigned rack;
    unsigned ranks;    /* capacity */
    unsigned assigned; /* assigned by the order */
    struct gw__link_settings nic, inner;
};

/* Hosts first .. first + count - 1. */
struct gw__rack {
    char name[GW_TOPOLOGY_NAME_MAX];
    unsigned first, count;
    unsigned turn; /* interleaved: position of the next search */
    struct gw__link_settings uplink;
    struct gw__link_settings resolved; /* with all defaults applied */
};

/* Indexes by name: open addressing, with index + 1 in each used entry. */
struct gw__names {
    uint32_t *place;
    size_t room; /* a power of two; 0: empty */
    size_t count;
};

enum gw__fabric_kind { GW__RACKS, GW__FAT_TREE, GW__TORUS, GW__GRAPH };

/* The network between the hosts, if it is not made of single racks. */
struct gw__fabric {
    enum gw__fabric_kind kind;
    unsigned k, levels; /* fat tree */
    /* torus; the size is 1 in unused dimensions */
    unsigned dimensions, size[3];
    struct gw__link_settings link;
    struct gw__link_settings resolved;
};

/* ---- servers as a graph ---- */

enum {
    GW__GRAPH_NODES_MAX = 512,
    GW__EDGES_MAX = 4096,
    GW__EDGE_KINDS_MAX = 12,
    GW__EDGE_KIND_NAME_MAX = 14 /* with the terminating zero */
};

/* Accelerators and memory have ranks and are ends of routes; all others
 * forward. */
enum gw__node_kind {
    GW__NODE_SOCKET,
    GW__NODE_MEMORY,
    GW__NODE_SWITCH,
    GW__NODE_ACCELERATOR,
    GW__NODE_NIC,
    GW__NODE_KINDS
};

struct gw__topology_node {
    char name[GW_TOPOLOGY_NAME_MAX];
    enum gw__node_kind kind;
    uint32_t server; /* its rack; UINT32_MAX: between servers */
};

/* Two directed links: number 2 e from `a` to `b`, and 2 e + 1 back. */
struct gw__edge {
    uint32_t a, b;
    uint32_t kind; /* index in graph.kinds */
    struct gw__link_settings link;
};

struct gw__graph {
    struct gw__topology_node *nodes;
    uint32_t *node_of_host; /* the reverse is by the host's name */
    struct gw__edge *edges;
    /* [host][node]: the link on which the route from `host` enters `node` */
    uint32_t *via;
    unsigned node_count, edge_count;
    size_t node_room, edge_room, host_room;
    char kinds[GW__EDGE_KINDS_MAX][GW__EDGE_KIND_NAME_MAX];
    unsigned kind_count;
    unsigned left_out; /* a kind, starting at 1; 0: none */
};

struct gw_topology {
    char name[GW_TOPOLOGY_NAME_MAX];
    struct gw__link_settings nic, inner, uplink; /* defaults */
    struct gw__fabric fabric;
    struct gw__graph graph; /* for GW__GRAPH */
    struct gw__host *hosts;
    struct gw__rack *racks;
    unsigned host_count, rack_count;
    size_t host_room, rack_room;
    struct gw__names host_names, rack_names, node_names;
    /* order in the text; GW_ORDER_FILE: see `listed` */
    enum gw_rank_order default_order;
    uint32_t *listed; /* GW_ORDER_FILE: the host of each rank */
    unsigned listed_count;
    size_t listed_room;
    uint32_t *host_of; /* current host of each rank */
    unsigned ranks;
    unsigned capacity; /* total ranks of all hosts */
};

/* ---- topology_read.c ---- */

/* Settings of a statement, KEY=VALUE. */
enum gw__setting {
    GW__RATE = 1,
    GW__LATENCY = 2,
    GW__OVERSUBSCRIPTION = 4,
    GW__RANKS = 8,
    GW__PORTS = 16,
    GW__LEVELS = 32
};

struct gw__settings {
    unsigned present; /* bits of enum gw__setting */
    struct gw__link_settings link;
    uint32_t ranks;
    uint32_t ports, levels;
};

/* Reads the rest of the line: at least one of the `allowed` settings, each at
 * most once. Functions return false after an error that is recorded in
 * words->source. */
bool gw__settings_read(struct gw__words *words, unsigned allowed,
                       struct gw__settings *settings);
/* Does the word contain `=`? */
bool gw__is_setting(const struct gw__words *words);

/* Receives a name; `at` is the position of its word. */
typedef bool gw__on_name(void *context, const char *name, size_t at);
/* Reads the names in the word from `begin` to `end`: one, or several with a
 * range at the end: b[0-7]. */
bool gw__names_read(struct gw__words *words, size_t begin, size_t end,
                    gw__on_name *on_name, void *context);

/* ---- topology_fabric_read.c ---- */

/* Reads the rest of a statement; fabric->kind is already set. */
bool gw__fat_tree_read(struct gw__words *words, struct gw__fabric *fabric);
bool gw__torus_read(struct gw__words *words, struct gw__fabric *fabric);

/* ---- topology_graph_read.c ---- */

/* Is the next word `server`, `switch` or `link`? */
bool gw__graph_statement(const struct gw__words *words);
/* Reads that statement. */
bool gw__graph_read(struct gw__words *words, struct gw_topology *t);

/* ---- topology_names.c ---- */

/* The index of the host with that name (`length` bytes), or UINT32_MAX. */
uint32_t gw__host_find(const struct gw_topology *t, const char *name,
                       size_t length);
uint32_t gw__rack_find(const struct gw_topology *t, const char *name,
                       size_t length);
/* Appends a host with a new name. False: out of memory. */
bool gw__host_add(struct gw_topology *t, const char *name);
bool gw__rack_add(struct gw_topology *t, const char *name);
uint32_t gw__node_find(const struct gw_topology *t, const char *name,
                       size_t length);
/* `server`: UINT32_MAX for a switch between servers. An accelerator is a host
 * with one rank, memory a host without a rank. */
bool gw__node_add(struct gw_topology *t, const char *name,
                  enum gw__node_kind kind, uint32_t server);
bool gw__edge_add(struct gw_topology *t, const struct gw__edge *edge);
/* Puts the next rank on this host. */
bool gw__host_list(struct gw_topology *t, uint32_t host);

/* ---- topology_fabric.c ---- */

unsigned gw__fabric_hosts(const struct gw__fabric *fabric);
unsigned gw__fabric_rack_hosts(const struct gw__fabric *fabric);
/* Numbered from 0; all have the same rate. */
unsigned gw__fabric_links(const struct gw__fabric *fabric);
void gw__fabric_link(const struct gw__fabric *fabric, unsigned index,
                     struct gw_topology_link *link);
void gw__fabric_link_name(const struct gw_topology *t, unsigned index,
                          char out[64]);
/* The path between two hosts; returns the number of links. */
unsigned gw__fabric_path(const struct gw__fabric *fabric, unsigned from,
                         unsigned to, unsigned *links);
/* Sets missing rates and latencies of its links from those of the NICs. */
void gw__fabric_resolve(struct gw__fabric *fabric,
                        const struct gw__link_settings *nic);

/* ---- topology_graph.c ---- */

const char *gw__node_kind_name(enum gw__node_kind kind);
void gw__graph_link(const struct gw_topology *t, unsigned index,
                    struct gw_topology_link *link);
void gw__graph_link_name(const struct gw_topology *t, unsigned index,
                         char out[64]);
unsigned gw__graph_path(const struct gw_topology *t, unsigned from, unsigned to,
                        unsigned *links);
/* Computes all routes. GW_EDATA: two hosts are not connected. */
GW_MUST_CHECK enum gw_err gw__graph_compute_routes(struct gw_topology *t,
                                                   struct gw_error *why);

/* ---- topology_ring.c ---- */

/* The cost of a link for a message of 1 MiB: latency and transfer time. */
uint64_t gw__link_cost(uint64_t rate, uint64_t latency_ns);
/* Reorders the ranks, which are in rack order, for a cheap ring. */
void gw__ring_order(struct gw_topology *t);

/* ---- topology.c ---- */

/* Call this after the last statement: computes uplinks and places the ranks. */
GW_MUST_CHECK enum gw_err gw__topology_finish(struct gw_topology *t,
                                              struct gw_error *why);

#endif
