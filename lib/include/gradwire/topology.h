/* SPDX-License-Identifier: MIT
 *
 * A cluster as data: hosts in racks, what their links carry, and which rank is
 * on which host. The same file is simulated (below) and laid over the links of
 * a real run (ringctl(1)).
 *
 *     rank --- host --nic--> rack switch --uplink--> spine
 *
 * A host has a network card, a rack an uplink; each is two links, `out` (away
 * from the host, towards the spine) and `in`, that do not disturb each other.
 * Ranks of one host talk over its inner link. A link has a rate and a latency,
 * the time from one end to the other. The way between two ranks is
 *
 *     on one host       its inner link
 *     in one rack       nic out, nic in
 *     between racks     nic out, uplink out, uplink in, nic in
 *
 * and takes the sum of the latencies; switches and spine have no limit of their
 * own. Rates are bytes a second, as in the rules of links; 0: no limit.
 *
 * Instead of racks that are told one by one a topology may be a fat tree or a
 * torus (gradwire-topology(5)). A fat tree's edge switches are racks, with an
 * uplink to each switch above; a torus' rows are racks, and its hosts are the
 * switches. Or it looks inside servers: sockets, their memory, PCIe switches,
 * accelerators and network cards are the nodes of a graph whose links the file
 * names, and the way is the route of least cost. There a server is a rack, and
 * accelerators and memory are hosts.
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
    GW_HOSTS_MAX = 131072, /* and as many ranks on them */
    GW_RACKS_MAX = 4096,
    GW_WAY_MAX = 512,         /* links of a way */
    GW_TOPOLOGY_NAME_MAX = 32 /* bytes of a host's or rack's name, 0 included */
};

struct gw_topology;

/* ---- text form (gradwire-topology(5)) ---- */

/* The text is not trusted. On failure (GW_EDATA) the sentence begins
 * "NAME:LINE:COLUMN: " and *topology is NULL. */
GW_API GW_MUST_CHECK enum gw_err
gw_topology_parse(const char *text, size_t bytes, const char *name,
                  struct gw_topology **topology, struct gw_error *why);
GW_API GW_MUST_CHECK enum gw_err gw_topology_load(const char *path,
                                                  struct gw_topology **topology,
                                                  struct gw_error *why);
/* Writes the text form; parsing it back gives an equal topology. */
GW_API GW_MUST_CHECK enum gw_err
gw_topology_print(const struct gw_topology *topology, FILE *file,
                  struct gw_error *why);
GW_API void gw_topology_destroy(struct gw_topology **topology);

/* ---- who is where ---- */

/* Which host rank 0 is on, which rank 1, and so on. */
enum gw_rank_order {
    GW_ORDER_FILE,        /* what the file says; if it says nothing, racks */
    GW_ORDER_RACKS,       /* host after host, rack after rack */
    GW_ORDER_INTERLEAVED, /* racks in turn, and in a rack its hosts in turn */
    GW_ORDER_RING /* the cheapest ring that was found: each link costs its
                     latency and the time of 1 MiB; as racks with more than 512
                     ranks, or without memory for it */
};
/* "file", "racks", "interleaved", "ring" */
GW_API const char *gw_rank_order_name(enum gw_rank_order order);
/* Deals the ranks anew; a topology begins with GW_ORDER_FILE. */
GW_API void gw_topology_order(struct gw_topology *topology,
                              enum gw_rank_order order);
/* What GW_ORDER_FILE stands for: itself when the file names hosts one by one.
 */
GW_API enum gw_rank_order gw_topology_said(const struct gw_topology *topology);

GW_API const char *gw_topology_name(const struct gw_topology *topology);
/* How many ranks there are in the present order. */
GW_API unsigned gw_topology_ranks(const struct gw_topology *topology);
GW_API unsigned gw_topology_hosts(const struct gw_topology *topology);
GW_API unsigned gw_topology_racks(const struct gw_topology *topology);
/* Ranks that a rack's hosts hold, if that is the same in all racks; else 0. */
GW_API unsigned gw_topology_rack_ranks(const struct gw_topology *topology);
/* The name of the host that `rank` is on, and of its rack. */
GW_API const char *gw_topology_host(const struct gw_topology *topology,
                                    unsigned rank);
GW_API const char *gw_topology_rack(const struct gw_topology *topology,
                                    unsigned rank);

/* ---- links ---- */

enum gw_topology_kind {
    GW_LINK_NIC,
    GW_LINK_INNER,
    GW_LINK_UPLINK, /* of a rack */
    GW_LINK_TRUNK   /* between switches: of a torus, of a fat tree's pods; and
                       of a graph */
};

struct gw_topology_link {
    enum gw_topology_kind kind;
    bool out;            /* away from the host; false of an inner link */
    unsigned owner;      /* which host or rack, counted from 0; of a trunk the
                            host or pod that it begins or ends at, in a graph
                            the node */
    const char *word;    /* what a graph's file calls its kind, such as "pcie";
                            NULL elsewhere. As long as the topology lives */
    uint64_t rate;       /* bytes a second; 0: no limit */
    uint64_t latency_ns; /* from one end to the other */
};

/* One that lies between racks, switches or the nodes of a graph. */
static inline bool gw_topology_is_shared(const struct gw_topology_link *link)
{
    return link->kind == GW_LINK_UPLINK || link->kind == GW_LINK_TRUNK;
}

/* Directed links are numbered from 0. */
GW_API unsigned gw_topology_links(const struct gw_topology *topology);
GW_API void gw_topology_link(const struct gw_topology *topology, unsigned index,
                             struct gw_topology_link *link);
/* "a uplink out", "a0 nic in", "a0 inner". */
GW_API void gw_topology_link_name(const struct gw_topology *topology,
                                  unsigned index, char out[64]);
/* The kinds of links that a graph's file names, in its order; NULL after the
 * last one. */
GW_API const char *gw_topology_link_word(const struct gw_topology *topology,
                                         unsigned index);
/* Finds all routes without the links of that kind; NULL: with all links. Links
 * keep their numbers; an order by ring is to be dealt anew after it. GW_EINVAL,
 * nothing changed: no such kind, or two hosts would have no route; GW_ENOMEM:
 * the topology is of no more use. */
GW_API GW_MUST_CHECK enum gw_err
gw_topology_leave_out(struct gw_topology *topology, const char *word,
                      struct gw_error *why);
/* The links on the way from rank `src` to rank `dst`, in order; returns how
 * many. */
GW_API unsigned gw_topology_way(const struct gw_topology *topology,
                                unsigned src, unsigned dst,
                                unsigned links[GW_WAY_MAX]);
/* What a way does as a whole: the sum of the latencies, the least rate (0: no
 * link of it has a limit). */
GW_API void gw_topology_way_sum(const struct gw_topology *topology,
                                unsigned src, unsigned dst, uint64_t *rate,
                                uint64_t *latency_ns);

/* ---- a plan in virtual time ---- */

/* A run of `plan` by ranks 0 .. plan->ranks - 1 of the topology. */
struct gw_topology_job {
    const struct gw_plan *plan;
    size_t count; /* elements, as of gw_plan_price */
    size_t elem_bytes;
    /* Of each chunk of the plan, instead of what count and elem_bytes make it:
     * several collectives of different size in one plan. NULL: none. */
    const uint64_t *chunk_bytes;
    double message_us;         /* alpha: what a message costs its sender */
    double reduce_us_per_byte; /* gamma: a byte that is reduced */
    struct gw_sink *events;    /* not owned; NULL: none */
    /* Instead of a plan (NULL): an algorithm, whose transfers are never written
     * down. Then there may be 131072 ranks and 41943040 messages, a message is
     * taken in as a whole, and there are no events. */
    const struct gw_algo *algo;
    const struct gw_algo_args *args;
};

/* A message on the critical path: from when what it waited for was there until
 * it had been taken in at `dst`. */
struct gw_topology_hop {
    unsigned step; /* counted from 1 */
    unsigned src, dst;
    uint64_t bytes;
    double begin_us, end_us;
};

enum { GW_HOPS_MAX = 16 };

struct gw_topology_result {
    double time_us;
    uint64_t messages;
    uint64_t bytes; /* sent, all ranks */
    unsigned links;
    uint64_t *link_bytes;      /* of each link of the topology */
    uint64_t uplink_bytes_max; /* over the busiest uplink or trunk, one
                                  direction */
    uint64_t uplink_bytes;     /* over all uplinks out of their racks */
    unsigned ranks;
    double *rank_us; /* when each rank had finished */
    /* The last hops of the longest chain of messages that wait for each other,
     * the last one first. */
    unsigned hops;
    struct gw_topology_hop hop[GW_HOPS_MAX];
    unsigned rounds; /* steps of the plan */
};

/* Simulates the run, message by message (a message is what one rank sends to
 * another in a step):
 *
 *   leave   when the values that it carries are complete at its sender and the
 *           message before it to the same rank has left: data dependencies, no
 *           lock-step
 *   alpha   it takes `message_us` of its sender, one message after another,
 *           and of those that are ready at one time the first in the plan first
 *   bytes   then its bytes share every link on their way with all messages that
 *           are under way, max-min fair
 *   arrive  the way's latency after the last byte has left
 *   reduce  a value is written when all that goes into it has arrived and what
 *           it replaces has left; a rank reduces one value at a time
 *
 * The same job gives the same result, to the bit. Events are those that a run
 * emits (SEND, APPLY, OP_BEGIN, OP_END), in order of virtual time from 0. Time
 * is kept in picoseconds. GW_EINVAL: more ranks than the topology has, elements
 * that no plan takes (gw_plan_price), costs that are negative, or a run of more
 * than 53 days; GW_ENOMEM. */
GW_API GW_MUST_CHECK enum gw_err
gw_topology_simulate(const struct gw_topology *topology,
                     const struct gw_topology_job *job,
                     struct gw_topology_result **result, struct gw_error *why);
GW_API void gw_topology_result_destroy(struct gw_topology_result **result);
/* Bytes that a link carried, as a share of what it could have in that time; 0
 * for links without a limit. */
GW_API double gw_topology_use(const struct gw_topology *topology,
                              const struct gw_topology_result *result,
                              unsigned link);

#ifdef __cplusplus
}
#endif
#endif
