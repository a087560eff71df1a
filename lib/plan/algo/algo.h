/* SPDX-License-Identifier: MIT
 *
 * Declares every algorithm of the library. Each one has its own file:
 * `COLLECTIVE_NAME.c` defines `gw__algo_COLLECTIVE_NAME` with its formula and
 * source. A new algorithm needs a file and a line here.
 */
#ifndef GW__ALGO_H
#define GW__ALGO_H

#include <gradwire/plan.h>

#define GW__ALGOS(X)                                                           \
    X(broadcast_direct)                                                        \
    X(broadcast_binomial)                                                      \
    X(broadcast_chain)                                                         \
    X(broadcast_scatter_allgather)                                             \
    X(broadcast_circulant)                                                     \
    X(broadcast_hierarchical)                                                  \
    X(reduce_direct)                                                           \
    X(reduce_partitioned)                                                      \
    X(reduce_binomial)                                                         \
    X(reduce_chain)                                                            \
    X(reduce_circulant)                                                        \
    X(reduce_hierarchical)                                                     \
    X(allreduce_one_shot)                                                      \
    X(allreduce_partitioned)                                                   \
    X(allreduce_reduce_broadcast)                                              \
    X(allreduce_recursive_doubling)                                            \
    X(allreduce_ring)                                                          \
    X(allreduce_rabenseifner)                                                  \
    X(allreduce_double_tree)                                                   \
    X(allreduce_circulant)                                                     \
    X(allreduce_swing)                                                         \
    X(allreduce_hierarchical)                                                  \
    X(allreduce_main_replica)                                                  \
    X(gather_linear)                                                           \
    X(gather_binomial)                                                         \
    X(scatter_linear)                                                          \
    X(scatter_binomial)                                                        \
    X(allgather_direct)                                                        \
    X(allgather_ring)                                                          \
    X(allgather_recursive_doubling)                                            \
    X(allgather_bruck)                                                         \
    X(allgather_neighbor)                                                      \
    X(allgather_pat)                                                           \
    X(allgather_gather_broadcast)                                              \
    X(allgather_hierarchical)                                                  \
    X(reduce_scatter_direct)                                                   \
    X(reduce_scatter_ring)                                                     \
    X(reduce_scatter_recursive_halving)                                        \
    X(reduce_scatter_circulant)                                                \
    X(reduce_scatter_reduce_scatter_root)                                      \
    X(reduce_scatter_hierarchical)                                             \
    X(alltoall_linear)                                                         \
    X(alltoall_pairwise)                                                       \
    X(alltoall_bruck)                                                          \
    X(alltoall_hierarchical)                                                   \
    X(barrier_direct)                                                          \
    X(barrier_dissemination)                                                   \
    X(scan_direct)                                                             \
    X(scan_chain)                                                              \
    X(scan_hillis_steele)                                                      \
    X(scan_recursive_doubling)                                                 \
    X(exscan_direct)                                                           \
    X(exscan_chain)                                                            \
    X(exscan_hillis_steele)                                                    \
    X(exscan_recursive_doubling)

#define X(name) extern const struct gw_algo gw__algo_##name;
GW__ALGOS(X)
#undef X

#endif
