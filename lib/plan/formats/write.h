/* SPDX-License-Identifier: MIT
 *
 * The writers of other formats, one file each: msccl_write.c, goal_write.c,
 * chakra_write.c and dot_write.c. The plan is verified.
 */
#ifndef GW__FORMATS_WRITE_H
#define GW__FORMATS_WRITE_H

#include <gradwire/plan.h>

struct gw__export {
    const struct gw_plan *plan;
    const struct gw_export *options;
    FILE *file;
};

/* The bytes that a transfer moves. */
uint64_t gw__export_bytes(const struct gw__export *e,
                          const struct gw_transfer *transfer);

GW_MUST_CHECK enum gw_err gw__msccl_write(const struct gw__export *e,
                                          struct gw_error *why);
GW_MUST_CHECK enum gw_err gw__goal_write(const struct gw__export *e,
                                         struct gw_error *why);
GW_MUST_CHECK enum gw_err gw__chakra_write(const struct gw__export *e,
                                           struct gw_error *why);
GW_MUST_CHECK enum gw_err gw__dot_write(const struct gw__export *e,
                                        struct gw_error *why);

#endif
