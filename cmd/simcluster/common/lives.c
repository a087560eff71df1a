/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See lives.h.
 */
#include "lives.h"

uint64_t lives_next(struct lives *lives, unsigned node)
{
    lives->processes[node] += !gw__nodes_has(&lives->stays, node);
    gw__nodes_remove(&lives->stays, node);
    uint64_t process = (uint64_t)lives->processes[node] << 16 | node;
    return process << GW__LIFE_BITS | ++lives->incarnations[node];
}

void lives_again(struct lives *lives, struct gw__sim *sim, unsigned node,
                 uint64_t after_ns)
{
    struct gw_error why;
    const struct gw__fault fault = {.kind = GW__RESTART,
                                    .at_ns = gw__sim_now(sim) + after_ns,
                                    .nodes = gw__nodes_only(node)};
    gw__nodes_add(&lives->stays, node);
    if (gw__sim_add_faults(sim, &fault, 1, &why))
        gw__sim_fail(sim, "%s", why.text);
}
