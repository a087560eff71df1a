/* SPDX-License-Identifier: MIT
 *
 * Internals of layouts (gradwire/layout.h):
 *   layout.c             the layout as a whole; checks of sizes
 *   layout_mesh.c        meshes, names of shardings and data modes
 *   layout_split.c       the effect of a split on one operator
 *   layout_conversion.c  the table of conversions, and their bytes
 *   layout_partition.c   division into virtual stages
 *   layout_price.c       bytes per step and memory per rank
 *   layout_time.c        a step on a topology in virtual time
 *   layout_axis.c        one collective by all groups of an axis there
 */
#ifndef GW__PIPE_LAYOUT_PARTS_H
#define GW__PIPE_LAYOUT_PARTS_H

#include <gradwire/layout.h>

/* Does this kind of operator support this split? */
bool gw__split_fits(enum gw_operator_kind kind, enum gw_split split);
/* The meaning of AUTO for an operator whose input has this sharding. */
enum gw_split gw__split_choose(enum gw_operator_kind kind,
                               enum gw_sharding incoming);
/* Sets all fields of `placed` except index, piece and the conversions. `split`
 * is not AUTO. */
void gw__split_apply(const struct gw_operator *op, enum gw_split split,
                     unsigned tensor, struct gw_operator_layout *op_layout);

/* The conversion between two shardings of a tensor of rows x features among
 * `tensor` ranks. `to` is not PARTIAL. */
struct gw_conversion gw__convert(enum gw_sharding from, enum gw_sharding to,
                                 unsigned rows, unsigned features,
                                 unsigned tensor);

/* Divides the network: virtual stage k has operators begin[k] to begin[k + 1] -
 * 1. GW_EINVAL: too few operators, or `stage` lines that do not fit. */
enum gw_err gw__network_partition(const struct gw_network *network,
                                  unsigned virtual_stages, unsigned *begin,
                                  struct gw_error *why);

/* The bytes of a rank's share of a micro-batch's tensor with this sharding. */
uint64_t gw__share_bytes(const struct gw_layout *layout,
                         enum gw_sharding sharding, unsigned features);

#endif
