/* SPDX-License-Identifier: MIT
 *
 * The parts of the bound of a collective on a topology (gradwire/optimum.h):
 *   network.c          the topology as a graph
 *   flow.c             maximum flow
 *   cut.c              the cut that limits a collective, and its certificate
 *   certificate.c      judges that
 *   certificate_file.c certificates as text
 *   optimum.c          the bound of each collective
 *   optimum_sets.c     allreduce and alltoall: bounds by sets of ranks
 *   optimum_latency.c  the largest latency
 *   optimum_name.c     the cut in words
 * synthesis.h of lib/sim/synthesis describes the way from here to a plan.
 */
#ifndef GW__BOUNDS_H
#define GW__BOUNDS_H

#include "certificate.h"
#include "network.h"

#include <gradwire/optimum.h>

/* ---- optimum.c ---- */

/* Sets the fraction numerator / (factor * rate), rate in bytes per second. */
GW_MUST_CHECK enum gw_err gw__optimum_ratio(struct gw_optimum *optimum,
                                            uint64_t numerator, uint64_t factor,
                                            uint64_t rate,
                                            struct gw_error *why);
/* The certificate of the cut of a collective whose bound is a cut. */
GW_MUST_CHECK enum gw_err gw__optimum_cut(const struct gw__network *network,
                                          enum gw_collective collective,
                                          unsigned root,
                                          struct gw__certificate *certificate,
                                          struct gw_error *why);

/* ---- optimum_sets.c ---- */

/* The bound of allreduce or alltoall. */
GW_MUST_CHECK enum gw_err gw__optimum_sets(struct gw_optimum *optimum,
                                           const struct gw_topology *topology,
                                           const struct gw__network *network,
                                           struct gw_error *why);

/* ---- optimum_latency.c ---- */

GW_MUST_CHECK enum gw_err gw__optimum_latency(struct gw_optimum *optimum,
                                              const struct gw__network *network,
                                              struct gw_error *why);

/* ---- optimum_name.c ---- */

/* Sets `cut` and `cut_links`; inside[node]: the side of the cut. */
void gw__optimum_name_cut(struct gw_optimum *optimum,
                          const struct gw_topology *topology,
                          const struct gw__network *network,
                          const bool *inside);

#endif
