/* SPDX-License-Identifier: MIT
 *
 * Scans, also called prefix sums: the reduction of a rank's input and those of
 * the ranks before it. avg is not allowed.
 */
#ifndef GRADWIRE_SCAN_H
#define GRADWIRE_SCAN_H

#include <gradwire/base.h>
#include <gradwire/coll.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reduces `count` elements of ranks 0 to r to each rank r. */
GW_API GW_MUST_CHECK enum gw_err gw_scan(struct gw_comm *comm, const void *in,
                                         void *out, size_t count,
                                         enum gw_dtype type, enum gw_redop op);
/* Reduces `count` elements of ranks 0 to r-1 to each rank r. Rank 0 has no
 * result: its `out` may be NULL. */
GW_API GW_MUST_CHECK enum gw_err gw_exscan(struct gw_comm *comm, const void *in,
                                           void *out, size_t count,
                                           enum gw_dtype type,
                                           enum gw_redop op);

#ifdef __cplusplus
}
#endif
#endif
