/* SPDX-License-Identifier: MIT
 *
 * Changes the sharding of a tensor along the tensor axis, as described by a
 * struct gw_conversion. Memory is row-major: shares by row are contiguous, and
 * shares by feature are packed into blocks before they are sent and unpacked
 * after.
 */
#ifndef GW__RESHARD_H
#define GW__RESHARD_H

#include <gradwire/coll.h>
#include <gradwire/layout.h>

/* One tensor of rows x features in total; all ranks of `comm` take part. */
struct gw__reshard {
    struct gw_comm *comm; /* of the tensor axis */
    size_t rows, features;
    enum gw_sharding from, to;
    const float *in; /* this rank's part, sharded as `from` */
    float *out;      /* its part, sharded as `to`; not `in` */
    float *scratch;  /* gw__reshard_scratch elements */
    /* of an all-reduce; NULL: reduce-scatter and all-gather */
    const char *algo;
};

/* The elements of a rank's part of such a tensor among `ranks`. */
size_t gw__shard_elements(size_t rows, size_t features,
                          enum gw_sharding sharding, unsigned ranks);
size_t gw__reshard_scratch(size_t rows, size_t features, unsigned ranks);
/* Sends exactly what gw_layout_price computes: its algorithms send each element
 * once or, for a reduction, twice. */
GW_MUST_CHECK enum gw_err gw__reshard(const struct gw__reshard *reshard,
                                      struct gw_error *why);

#endif
