/* SPDX-License-Identifier: MIT
 *
 * Changing how a tensor lies along the tensor axis: what a struct gw_conversion
 * says, carried out. Memory is row by row, so shares by row lie one after the
 * other, and shares by feature are packed into blocks before they travel and
 * unpacked after it.
 */
#ifndef GW__RESHARD_H
#define GW__RESHARD_H

#include <gradwire/coll.h>
#include <gradwire/layout.h>

/* One tensor of rows x features, whole; all ranks of `comm` take part. */
struct gw__reshard {
    struct gw_comm *comm; /* of the tensor axis */
    size_t rows, features;
    enum gw_sharding from, to;
    const float *in;  /* this rank's part as `from` says */
    float *out;       /* as `to` says; not `in` */
    float *scratch;   /* gw__reshard_scratch elements */
    const char *algo; /* of an all-reduce; NULL: partitioned */
};

/* Elements of a rank's part of such a tensor among `ranks`. */
size_t gw__shard_elements(size_t rows, size_t features,
                          enum gw_sharding sharding, unsigned ranks);
size_t gw__reshard_scratch(size_t rows, size_t features, unsigned ranks);
/* What it sends is what gw_layout_price says: only algorithms that send each
 * element once or, to reduce, twice. */
GW_MUST_CHECK enum gw_err gw__reshard(const struct gw__reshard *reshard,
                                      struct gw_error *why);

#endif
