/* SPDX-License-Identifier: MIT
 *
 * The best possible plan on a topology: the least time that any plan needs, the
 * cut that limits it, and a plan that reaches it.
 *
 * gradwire/plan.h has the bound of ranks with one port each; this one knows the
 * links. A cut divides the ranks into two sets. The blocks that must go from
 * the one to the other, divided by the rate of the links between them, are a
 * time that no plan can beat, on any route. The largest such time is the bound
 * (Zhao et al., "ForestColl", arXiv 2402.06787). The shares of a rank's buffer
 * that must pass a cut S, with p ranks in all, s of them in S:
 *
 *   allgather, gather            s/p     the blocks of the ranks in S
 *   reduce_scatter, scatter      s/p     in the opposite direction
 *   broadcast, reduce            1       if the root is in S, or not in S
 *   alltoall                     s(p-s)/p
 *   allreduce, k sets of ranks   2(k-1)  through the links out of all sets
 *                                together: k - 1 additions and k - 1 copies
 *
 * For allreduce the sets are single ranks, racks, or the two sides of the
 * all-gather's cut; for alltoall the cuts are ranks and racks: a bound, but
 * perhaps not the largest. For the others the cut is the largest of all, found
 * by maximum flows, and a checker that shares no code with the search has
 * judged it and the flows.
 */
#ifndef GRADWIRE_OPTIMUM_H
#define GRADWIRE_OPTIMUM_H

#include <gradwire/topology.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { GW_OPTIMUM_RANKS_MAX = 1024 };

/* The bound of a collective. */
struct gw_optimum {
    enum gw_collective collective;
    unsigned ranks, root;
    /* Seconds per byte of a rank's whole buffer, all blocks of it: an exact
     * fraction. 0/1: no link has a limit, or nothing moves. */
    uint64_t numerator, denominator;
    /* Trees that reach all ranks at this rate exist; false: not known. */
    bool reached;
    /* The largest latency between two ranks (with a root: from it, or to it)
     * over the fastest links. */
    double latency_us;
    unsigned cut_links; /* links that leave the cut */
    char cut[128];      /* "host a0's NIC (in)" */
    char reason[256];   /* "31 of 32 blocks must pass host a0's NIC (in)" */
};

/* Computes the bound for the first `ranks` ranks of the topology in its current
 * order. GW_EINVAL: more ranks than the topology has or than
 * GW_OPTIMUM_RANKS_MAX, a root that is not a rank, or rates whose sums would
 * not fit 64 bits. GW_EDATA: ranks without a connection. GW_EINTERNAL: the
 * certificate is wrong. GW_ENOMEM. */
GW_API GW_MUST_CHECK enum gw_err
gw_optimum_find(const struct gw_topology *topology,
                enum gw_collective collective, unsigned ranks, unsigned root,
                struct gw_optimum *optimum, struct gw_error *why);
/* Returns the bound for a buffer of `bytes` in microseconds: the larger of the
 * times of the bytes and of the latency. No plan is faster. */
GW_API double gw_optimum_us(const struct gw_optimum *optimum, uint64_t bytes);

/* A certificate that has been checked. The bound is blocks / (parts * capacity *
 * unit) seconds per byte of the buffer. */
struct gw_certified {
    unsigned ranks;
    unsigned flows;    /* to so many ranks */
    uint64_t blocks;   /* that must leave the cut */
    uint64_t capacity; /* of the cut */
    uint64_t unit;     /* bytes per second of a capacity of 1 */
    unsigned parts;    /* blocks of a buffer */
};

/* Writes the certificate of a bound as text: the graph, the cut, and the flows
 * that show that no other cut is worse. GW_ENOTSUP: the collective is not
 * broadcast, reduce, gather, scatter, allgather or reduce_scatter, or nothing
 * limits the bytes. GW_ENOMEM; otherwise the error of the file. */
GW_API GW_MUST_CHECK enum gw_err
gw_optimum_certify(const struct gw_topology *topology,
                   const struct gw_optimum *optimum, FILE *file,
                   struct gw_error *why);
/* Reads such a file and checks it: the sums over the cut, and of each flow the
 * capacities, its conservation and the amount that arrives. GW_EDATA: it is not
 * a certificate, or proves nothing. GW_ENOMEM. */
GW_API GW_MUST_CHECK enum gw_err
gw_certificate_load(const char *path, struct gw_certified *certified,
                    struct gw_error *why);

#ifdef __cplusplus
}
#endif
#endif
