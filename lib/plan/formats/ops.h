/* SPDX-License-Identifier: MIT
 *
 * A rank's part of a plan as operations with dependencies, for the writers of
 * other formats: an operation comes after those on which it depends, and the
 * operations of a rank are in an order in which they can run. The sends of a
 * step come before its writes, because they read the values from before it.
 */
#ifndef GW__FORMATS_OPS_H
#define GW__FORMATS_OPS_H

#include <gradwire/plan.h>

enum gw__op_kind {
    GW__OP_SEND,
    GW__OP_RECV,  /* replaces, or adds to nothing */
    GW__OP_RADD,  /* adds the received value */
    GW__OP_COPY,  /* inside the rank */
    GW__OP_REDUCE /* adds inside the rank */
};

struct gw__rank_op {
    enum gw__op_kind kind;
    uint32_t transfer;
    uint32_t dep_begin, dep_count; /* in `deps`: operations before it */
};

struct gw__rank_ops {
    const struct gw_plan *plan;
    unsigned rank;
    struct gw__rank_op *ops;
    size_t count;
    uint32_t *deps;
    size_t dep_count, dep_room;
};

GW_MUST_CHECK enum gw_err gw__rank_ops_init(struct gw__rank_ops *ops,
                                            const struct gw_plan *plan,
                                            unsigned rank,
                                            struct gw_error *why);
void gw__rank_ops_fini(struct gw__rank_ops *ops);

#endif
