/* SPDX-License-Identifier: MIT
 *
 * Suspicions, and when they declare a member dead: two observers' suspicions,
 * one observer's certainty, or its suspicion alone (see registry.h). At most
 * one suspicion waits for another, since the second one decides.
 */
#include "registry_parts.h"

void gw__suspicion_drop(struct gw__member *member)
{
    member->suspected_by = (struct gw__process){0};
    member->suspected_ms = 0;
}

static unsigned observers_of(const struct gw__registry *r, unsigned suspected)
{
    unsigned count = 0;
    for (unsigned i = gw__nodes_next(&r->known, 0); i < GW__NODES_MAX;
         i = gw__nodes_next(&r->known, i + 1))
        count += i != suspected && r->members[i].state == GW__ACTIVE;
    return count;
}

/* Is there an earlier suspicion of this member by another observer that has not
 * lapsed? */
static bool is_seconded(const struct gw__registry *r,
                        const struct gw__member *m, unsigned by)
{
    return !gw__id_is_none(m->suspected_by.incarnation) &&
           m->suspected_by.node != by &&
           r->time_ms - m->suspected_ms <= GW__SUSPICION_LAPSE_MS;
}

enum gw_err gw__apply_suspect(struct gw__registry *r,
                              const struct gw__command *c,
                              struct gw__answer *answer)
{
    unsigned by = c->who.node, node = c->suspect.suspected.node;
    if (!gw__registry_active(r, c->who, answer))
        return answer->code;
    if (c->suspect.certain)
        return gw__registry_remove_ended(r, c, answer);
    if (!gw__registry_may_suspect(r, c->who, c->suspect.suspected, answer))
        return answer->code;
    struct gw__member *m = &r->members[node];
    bool enough =
        c->suspect.alone || is_seconded(r, m, by) || observers_of(r, node) == 1;
    if (!enough) {
        m->suspected_by = c->who;
        m->suspected_ms = r->time_ms;
        return gw__append_text(answer, "node %u is suspected by node %u", node,
                               by);
    }
    if (gw__registry_is_last(r, node, answer))
        return answer->code;
    if (c->suspect.alone && gw__registry_needs(r, node, answer))
        return answer->code;
    gw__registry_remove(r, gw__nodes_only(node), GW__CONFIRMED_DEAD);
    return gw__append_text(answer, "node %u is declared dead: epoch %llu", node,
                           (unsigned long long)r->view.epoch);
}
