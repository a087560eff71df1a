/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The collective of a step of ops, where these are not all-reduces that the ring
 * recovers by chunk. gw_ring_run repeats it after a death, and it leaves no
 * trace in the state. So a step is two ops: this one, and the all-reduce of the
 * hashes of its results (node_turn.c), after which joiners may come.
 */
#include "node.h"

enum gw_err node_collective(struct node *node, const struct gw_ring_turn *turn,
                            struct gw_error *why)
{
    const unsigned number = node->config.number;
    struct gw_ring_result result;
    struct gw_call call;
    node_be_slow(node);
    work_collective_call(node->work, node->state, number, &call);
    enum gw_err code = gw_ring_run(node->ring, &call, &result, why);
    if (code == GW_ELOST)
        return GW_PENDING; /* for all: the root is dead */
    if (code)
        return code;
    return work_collective_evaluate(node->work, node->state, number,
                                    turn->initial_members[0], &result, why);
}
