/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The cluster that --topo names: a file, or a fabric in a word, "torus:8x8" and
 * "fat-tree:k=8,levels=2".
 */
#ifndef CLUSTER_H
#define CLUSTER_H

#include <gradwire/topology.h>

/* NULL: one rack of `ranks` hosts. The NICs of such a rack and of fabrics have
 * 1 GiB/s and a latency of 5 us. */
GW_MUST_CHECK enum gw_err cluster_get(const char *word, unsigned ranks,
                                      struct gw_topology **topology,
                                      struct gw_error *why);

#endif
