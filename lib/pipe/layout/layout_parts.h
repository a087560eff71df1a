/* SPDX-License-Identifier: MIT
 *
 * Between the parts that lay a network on a mesh (gradwire/layout.h):
 *   layout.c             all of it together, and what does not fit
 *   layout_mesh.c        meshes, and the names of shardings and data modes
 *   layout_rules.c       what a split makes of one operator
 *   layout_conversion.c  the table of conversions, and their bytes
 *   layout_pieces.c      where the network is cut into pieces
 *   layout_price.c       bytes of a step and memory of a rank
 *   layout_time.c        a step on a topology in virtual time
 *   layout_axis.c        one collective of all groups of an axis there
 */
#ifndef GW__PIPE_LAYOUT_PARTS_H
#define GW__PIPE_LAYOUT_PARTS_H

#include <gradwire/layout.h>

/* Does an operator of this kind take this split? */
bool gw__split_fits(enum gw_operator_kind kind, enum gw_split split);
/* What AUTO becomes for an operator whose input comes in lying so. */
enum gw_split gw__split_choose(enum gw_operator_kind kind,
                               enum gw_sharding incoming);
/* Sets everything of `placed` but index, piece and the conversions. `split` is
 * not AUTO. */
void gw__place(const struct gw_operator *op, enum gw_split split,
               unsigned tensor, struct gw_placed *placed);
/* How the gradient of a tensor lies, whose values lie so. */
enum gw_sharding gw__gradient_of(enum gw_sharding values);

/* From one sharding to another of a tensor of rows x features among `tensor`
 * ranks. `to` is not PARTIAL. */
struct gw_conversion gw__convert(enum gw_sharding from, enum gw_sharding to,
                                 unsigned rows, unsigned features,
                                 unsigned tensor);

/* Where each piece begins: begin[0..pieces]. GW_EINVAL: there are too few
 * operators or `stage` lines do not fit. */
enum gw_err gw__cut(const struct gw_network *network, unsigned pieces,
                    unsigned *begin, struct gw_error *why);

/* Elements of a flat array of `parameters`, padded so that blocks, and blocks
 * of blocks, are whole. */
size_t gw__layout_padded(const struct gw_layout *layout, size_t parameters);

/* Bytes of what a rank has of a micro-batch's tensor that lies so. */
uint64_t gw__share_bytes(const struct gw_layout *layout,
                         enum gw_sharding sharding, unsigned features);

#endif
