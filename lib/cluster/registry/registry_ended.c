/* SPDX-License-Identifier: MIT
 *
 * Processes that are known to have ended, such as the members of a rack. They
 * are removed together: one new view for all.
 */
#include "registry_parts.h"

bool gw__registry_may_suspect(struct gw__registry *r, struct gw__process by,
                              struct gw__process suspected,
                              struct gw__answer *answer)
{
    if (!gw__registry_active(r, suspected, answer))
        return false;
    if (by.node == suspected.node)
        gw__refuse(answer, GW_EINVAL, "node %u cannot suspect itself", by.node);
    return !answer->code;
}

/* The processes in this list that are still active. */
static struct gw_nodes still_active(struct gw__registry *r,
                                    const struct gw__command *c)
{
    struct gw_nodes nodes = {{0}};
    for (unsigned i = 0; i < c->suspect.more_count; i++) {
        struct gw__answer unused = {.code = GW_OK};
        if (gw__registry_may_suspect(r, c->who, c->suspect.more[i], &unused))
            gw__nodes_add(&nodes, c->suspect.more[i].node);
    }
    return nodes;
}

enum gw_err gw__registry_remove_ended(struct gw__registry *r,
                                      const struct gw__command *c,
                                      struct gw__answer *answer)
{
    struct gw_nodes nodes = still_active(r, c);
    if (gw__registry_may_suspect(r, c->who, c->suspect.suspected, answer))
        gw__nodes_add(&nodes, c->suspect.suspected.node);
    if (gw__nodes_is_empty(nodes))
        return answer->code;
    answer->code = GW_OK;
    gw__registry_remove(r, nodes, GW__CONFIRMED_DEAD);
    unsigned count = gw__nodes_count(nodes);
    unsigned long long epoch = r->view.epoch;
    return count > 1
               ? gw__append_text(answer,
                                 "%u nodes are declared dead: epoch %llu",
                                 count, epoch)
               : gw__append_text(answer, "node %u is declared dead: epoch %llu",
                                 gw__nodes_next(&nodes, 0), epoch);
}
