/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the parts of collrun price: price.c (the table), price_why.c
 * (the reasons) and price_links.c (the links of a topology).
 */
#ifndef PRICE_H
#define PRICE_H

#include "common/output.h"

#include <gradwire/gradwire.h>

struct price_question {
    const char *wire;
    enum gw_collective collective;
    unsigned ranks;
    uint64_t bytes;
    size_t count, elem_bytes;
};

/* Notes in sentences: the wire's costs, the algorithm of a call and its
 * advantage, and the size at which another one is better. */
void price_explain(struct output *output,
                   const struct price_question *question);

/* The time for which the busiest link is busy, and the least such time of all
 * plans (NaN: unknown). GW_EINVAL: more ranks than the topology has;
 * GW_ENOMEM. */
GW_MUST_CHECK enum gw_err price_links(const struct gw_topology *topology,
                                      const struct gw_plan *plan,
                                      const struct price_question *question,
                                      double *link_us, double *optimum_us,
                                      struct gw_error *why);

#endif
