/* SPDX-License-Identifier: MIT
 *
 * A cluster as data: hosts in racks, the rates and latencies of their links,
 * and the host of each rank. The same file is used for simulations (below) and
 * for the emulated links of a real run (ringctl(1)).
 *
 *     rank --- host --nic--> rack switch --uplink--> spine
 *
 * A host has a NIC, a rack an uplink. Each is two independent links: `out`
 * (away from the host, towards the spine) and `in`. Ranks of one host use its
 * inner link. A link has a rate and a latency, the time from one end to the
 * other. The path between two ranks is
 *
 *     on one host       its inner link
 *     in one rack       nic out, nic in
 *     between racks     nic out, uplink out, uplink in, nic in
 *
 * and takes the sum of the latencies. Switches and spine have no limit of their
 * own. Rates are bytes per second, as in link profiles; 0: no limit.
 *
 * Instead of single racks a topology may be a fat tree or a torus
 * (gradwire-topology(5)). The edge switches of a fat tree are racks, with an
 * uplink to each switch above; the rows of a torus are racks, and its hosts are
 * the switches. Or it describes the inside of servers: sockets, their memory,
 * PCIe switches, accelerators and NICs are the nodes of a graph. The file names
 * its links, and the path is the route of least cost. There a server is a rack,
 * and accelerators and memory are hosts.
 */
#ifndef GRADWIRE_TOPOLOGY_H
#define GRADWIRE_TOPOLOGY_H

#include <gradwire/base.h>
#include <gradwire/event.h>
#include <gradwire/plan.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Limits, so that a file cannot exhaust memory. */
enum {
    GW_HOSTS_MAX = 131072, /* the same limit for ranks */
    GW_RACKS_MAX = 4096,
    GW_PATH_LINKS_MAX = 512,  /* links of a path */
    GW_TOPOLOGY_NAME_MAX = 32 /* bytes of a name with its final 0 */
};

struct gw_topology;

/* ---- text form (gradwire-topology(5)) ---- */

/* Parses the text of a topology, which is not trusted. The caller frees
 * *topology with gw_topology_destroy. GW_EDATA: the text is wrong, and the
 * sentence begins with "NAME:LINE:COLUMN: "; *topology is NULL. */
GW_API GW_MUST_CHECK enum gw_err
gw_topology_parse(const char *text, size_t bytes, const char *name,
                  struct gw_topology **topology, struct gw_error *why);
/* Reads a topology from a file, as gw_topology_parse. GW_EDATA also if the file
 * cannot be read. */
GW_API GW_MUST_CHECK enum gw_err gw_topology_load(const char *path,
                                                  struct gw_topology **topology,
                                                  struct gw_error *why);
/* Writes the text form. gw_topology_parse reads it into an equal topology.
 * GW_ESYS: the file cannot be written. */
GW_API GW_MUST_CHECK enum gw_err
gw_topology_print(const struct gw_topology *topology, FILE *file,
                  struct gw_error *why);
/* Frees a topology and sets the pointer to NULL. */
GW_API void gw_topology_destroy(struct gw_topology **topology);

/* ---- ranks ---- */

/* The order in which ranks are assigned to hosts. */
enum gw_rank_order {
    GW_ORDER_FILE,        /* the order of the file; without one, racks */
    GW_ORDER_RACKS,       /* host after host, rack after rack */
    GW_ORDER_INTERLEAVED, /* racks in turn, in a rack its hosts in turn */
    /* The cheapest ring that was found: each link costs its latency and
     * the time of 1 MiB. As racks with more than 512 ranks, or out of
     * memory. */
    GW_ORDER_RING
};
/* Returns the name of an order: "file", "racks", "interleaved", "ring". */
GW_API const char *gw_rank_order_name(enum gw_rank_order order);
/* Assigns the ranks to hosts. A new topology has GW_ORDER_FILE. */
GW_API void gw_topology_order(struct gw_topology *topology,
                              enum gw_rank_order order);
/* Returns the order that GW_ORDER_FILE means: itself if the file lists the
 * hosts one by one. */
GW_API enum gw_rank_order
gw_topology_default_order(const struct gw_topology *topology);

/* Returns the name of the topology. */
GW_API const char *gw_topology_name(const struct gw_topology *topology);
/* Returns the number of ranks in the current order. */
GW_API unsigned gw_topology_ranks(const struct gw_topology *topology);
/* Returns the number of hosts. */
GW_API unsigned gw_topology_hosts(const struct gw_topology *topology);
/* Returns the number of racks. */
GW_API unsigned gw_topology_racks(const struct gw_topology *topology);
/* Returns the number of ranks per rack, or 0 if racks differ. */
GW_API unsigned gw_topology_rack_ranks(const struct gw_topology *topology);
/* Returns the name of the host of `rank`. */
GW_API const char *gw_topology_host(const struct gw_topology *topology,
                                    unsigned rank);
/* Returns the name of the rack of `rank`. */
GW_API const char *gw_topology_rack(const struct gw_topology *topology,
                                    unsigned rank);

/* ---- links ---- */

/* The kinds of links. */
enum gw_topology_kind {
    GW_LINK_NIC,
    GW_LINK_INNER,  /* inside a host */
    GW_LINK_UPLINK, /* of a rack */
    /* Between switches: of a torus, the pods of a fat tree, a graph. */
    GW_LINK_TRUNK
};

/* A directed link. */
struct gw_topology_link {
    enum gw_topology_kind kind;
    bool out; /* away from the host; false for an inner link */
    /* The number of the host or rack, from 0. Of a trunk: the host or pod
     * at its beginning or end; in a graph the node. */
    unsigned owner;
    /* The name of its kind in the file of a graph, such as "pcie";
     * otherwise NULL. It belongs to the topology. */
    const char *word;
    uint64_t rate;       /* bytes per second; 0: no limit */
    uint64_t latency_ns; /* from one end to the other */
};

/* Returns whether a link connects racks, switches or the nodes of a graph. */
static inline bool gw_topology_is_shared(const struct gw_topology_link *link)
{
    return link->kind == GW_LINK_UPLINK || link->kind == GW_LINK_TRUNK;
}

/* Returns the number of directed links. They are numbered from 0. */
GW_API unsigned gw_topology_links(const struct gw_topology *topology);
/* Reads a link. */
GW_API void gw_topology_link(const struct gw_topology *topology, unsigned index,
                             struct gw_topology_link *link);
/* Writes the name of a link: "a uplink out", "a0 nic in", "a0 inner". */
GW_API void gw_topology_link_name(const struct gw_topology *topology,
                                  unsigned index, char out[64]);
/* Returns the kinds of links that the file of a graph names, in its order; NULL
 * after the last one. */
GW_API const char *gw_topology_link_word(const struct gw_topology *topology,
                                         unsigned index);
/* Computes all routes without the links of one kind; NULL: with all links.
 * Links keep their numbers. Afterwards an order by ring must be assigned again.
 * GW_EINVAL: an unknown kind, or two hosts would have no route; nothing is
 * changed. GW_ENOMEM: the topology can only be destroyed. */
GW_API GW_MUST_CHECK enum gw_err
gw_topology_leave_out(struct gw_topology *topology, const char *word,
                      struct gw_error *why);
/* Writes the links of the path from rank `src` to rank `dst`, in order, and
 * returns their number. */
GW_API unsigned gw_topology_path(const struct gw_topology *topology,
                                 unsigned src, unsigned dst,
                                 unsigned links[GW_PATH_LINKS_MAX]);
/* Sums a path up: the sum of the latencies and the least rate (0: no link has a
 * limit). */
GW_API void gw_topology_path_sum(const struct gw_topology *topology,
                                 unsigned src, unsigned dst, uint64_t *rate,
                                 uint64_t *latency_ns);

/* ---- a plan in virtual time ---- */

/* A run of `plan` by ranks 0 .. plan->ranks - 1 of the topology. */
struct gw_topology_run {
    const struct gw_plan *plan;
    size_t count; /* elements, as in gw_plan_price */
    size_t elem_bytes;
    /* The size of each chunk, instead of `count` and `elem_bytes`: several
     * collectives of different sizes in one plan. NULL: none. */
    const uint64_t *chunk_bytes;
    double message_us;         /* alpha: time of the sender per message */
    double reduce_us_per_byte; /* gamma: per byte reduced */
    struct gw_sink *events;    /* owned by the caller; NULL: none */
    /* With `plan` NULL: an algorithm whose transfers are not stored. Then
     * up to 131072 ranks and 41943040 messages are possible, a message is
     * received as a whole, and there are no events. */
    const struct gw_algo *algo;
    const struct gw_algo_args *args;
};

/* A message on the critical path: from the time when the data that it waited
 * for was complete until it had been received at `dst`. */
struct gw_topology_hop {
    unsigned step; /* from 1 */
    unsigned src, dst;
    uint64_t bytes;
    double begin_us, end_us;
};

enum { GW_HOPS_MAX = 16 };

/* The result of a simulation. */
struct gw_topology_result {
    double time_us;
    uint64_t messages;
    uint64_t bytes; /* sent, all ranks */
    unsigned links;
    uint64_t *link_bytes; /* of each link of the topology */
    /* Over the busiest uplink or trunk, one direction. */
    uint64_t uplink_bytes_max;
    uint64_t uplink_bytes; /* over all uplinks out of their racks */
    unsigned ranks;
    double *rank_us; /* when each rank had finished */
    /* The last hops of the longest chain of messages that wait for each
     * other, the last one first. */
    unsigned hops;
    struct gw_topology_hop hop[GW_HOPS_MAX];
    unsigned rounds; /* steps of the plan */
};

/* Simulates the run, message by message. A message is all that one rank sends
 * to another in one step:
 *
 *   leave   when the values that it carries are complete at its sender and the
 *           preceding message to the same rank has left: data dependencies, no
 *           lock-step
 *   alpha   it takes its sender `message_us`, one message after another. Of
 *           messages that are ready together the first in the plan is first
 *   bytes   then its bytes share every link of their path with all other
 *           messages, max-min fair
 *   arrive  the latency of the path after its last byte has left
 *   reduce  a value is written when all its sources have arrived and its old
 *           value has left; a rank reduces one value at a time
 *
 * The same job gives the same result, to the bit. The events are those of a run
 * (SEND, APPLY, OP_BEGIN, OP_END), in order of virtual time from 0. Time is
 * kept in picoseconds. The caller frees *result with
 * gw_topology_result_destroy. GW_EINVAL: more ranks than the topology has,
 * elements that gw_plan_price refuses, negative costs, or a run of more than 53
 * days; GW_ENOMEM. On failure *result is NULL. */
GW_API GW_MUST_CHECK enum gw_err
gw_topology_simulate(const struct gw_topology *topology,
                     const struct gw_topology_run *run,
                     struct gw_topology_result **result, struct gw_error *why);
/* Frees a result and sets the pointer to NULL. */
GW_API void gw_topology_result_destroy(struct gw_topology_result **result);
/* Returns the utilisation of a link: the bytes that it carried as a share of
 * its capacity in that time; 0 for links without a limit. */
GW_API double gw_topology_utilisation(const struct gw_topology *topology,
                                      const struct gw_topology_result *result,
                                      unsigned link);

#ifdef __cplusplus
}
#endif
#endif
