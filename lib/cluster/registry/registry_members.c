/* SPDX-License-Identifier: MIT
 *
 * Membership: register, admit, leave, and the effect of a removal on the view.
 * The state diagram and the reasons are in registry.h.
 */
#include "registry_parts.h"

#include <string.h>

struct gw__member *gw__registry_member(struct gw__registry *r, unsigned node,
                                       struct gw__answer *answer)
{
    if (node < GW__NODES_MAX && r->members[node].state != GW__NO_MEMBER)
        return &r->members[node];
    gw__refuse(answer, GW_EINVAL, "node %u does not exist", node);
    return NULL;
}

struct gw__member *gw__registry_active(struct gw__registry *r,
                                       struct gw__process who,
                                       struct gw__answer *answer)
{
    struct gw__member *m = gw__registry_member(r, who.node, answer);
    if (!m)
        return NULL;
    if (!gw__id_equal(m->incarnation, who.incarnation))
        gw__refuse(answer, GW_EINVAL, "node %u is now another process",
                   who.node);
    else if (m->state == GW__JOINING)
        gw__refuse(answer, GW_EINVAL, "node %u is still joining", who.node);
    else if (m->state == GW__CONFIRMED_DEAD)
        gw__refuse(answer, GW_EINVAL, "node %u is already declared dead",
                   who.node);
    else if (m->state == GW__LEFT)
        gw__refuse(answer, GW_EINVAL, "node %u has already left", who.node);
    return answer->code ? NULL : m;
}

/* ---- register ---- */

/* A number that was never used, else the first one whose owner is gone: numbers
 * stay unique in a log for as long as possible. */
static unsigned free_node(const struct gw__registry *r, unsigned limit)
{
    for (unsigned i = 0; i < limit; i++)
        if (r->members[i].state == GW__NO_MEMBER)
            return i;
    for (unsigned i = 0; i < limit; i++)
        if (r->members[i].state >= GW__CONFIRMED_DEAD)
            return i;
    return limit;
}

/* A process that asks again has not received the answer: it gets the number
 * that it already has. */
static unsigned any_node(const struct gw__registry *r,
                         struct gw__id incarnation, unsigned limit)
{
    for (unsigned i = 0; i < limit; i++)
        if (r->members[i].state != GW__NO_MEMBER &&
            gw__id_equal(r->members[i].incarnation, incarnation))
            return i;
    return free_node(r, limit);
}

static bool is_later(struct gw__id a, struct gw__id b)
{
    return a.high >> GW__LIFE_BITS == b.high >> GW__LIFE_BITS &&
           a.high > b.high;
}

/* Removes the former incarnation of an active member whose process has started
 * again as a later one. */
static void end_former(struct gw__registry *r, unsigned node,
                       struct gw__id incarnation)
{
    const struct gw__member *m = &r->members[node];
    if (m->state == GW__ACTIVE && m->ring &&
        is_later(incarnation, m->incarnation))
        gw__registry_remove(r, gw__nodes_only(node), GW__CONFIRMED_DEAD);
}

static bool may_register(const struct gw__registry *r, unsigned node,
                         struct gw__id incarnation, struct gw__answer *answer)
{
    const struct gw__member *m = &r->members[node];
    bool same = gw__id_equal(m->incarnation, incarnation);
    if (m->state == GW__CONFIRMED_DEAD && same)
        gw__refuse(answer, GW_EINVAL,
                   "node %u is declared dead; start it again as a new process",
                   node);
    else if (m->state == GW__LEFT && same)
        gw__refuse(answer, GW_EINVAL, "node %u has already left", node);
    else if (m->state == GW__ACTIVE && !same)
        gw__refuse(answer, GW_EINVAL,
                   "node %u is active as another process, which must leave or "
                   "be declared dead first",
                   node);
    return !answer->code;
}

/* There is no state to copy first. */
static void activate(struct gw__registry *r, struct gw__member *m)
{
    m->state = GW__ACTIVE;
    r->view.epoch += gw__role_is_ps_members(m->role);
    gw__registry_route(r);
}

enum gw_err gw__apply_register(struct gw__registry *r,
                               const struct gw__command *c,
                               struct gw__answer *answer)
{
    const unsigned limit = GW__NODES_MAX;
    unsigned node = c->who.node == GW__NODE_ANY
                        ? any_node(r, c->who.incarnation, limit)
                        : c->who.node;
    if (node >= limit)
        return gw__refuse(answer, GW_EINVAL,
                          c->who.node == GW__NODE_ANY
                              ? "all %u numbers are taken"
                              : "node numbers must be below %u",
                          limit);
    if (gw__id_is_none(c->who.incarnation))
        return gw__refuse(answer, GW_EINVAL,
                          "the incarnation of node %u is missing", node);
    end_former(r, node, c->who.incarnation);
    if (!may_register(r, node, c->who.incarnation, answer))
        return answer->code;
    struct gw__member *m = &r->members[node];
    answer->node = node;
    if (m->state == GW__ACTIVE)
        return gw__append_text(answer, "node %u is active", node);
    *m = (struct gw__member){.state = GW__JOINING,
                             .role = c->join.role,
                             .ring = c->join.ring,
                             .incarnation = c->who.incarnation};
    memcpy(m->endpoint, c->join.endpoint, sizeof m->endpoint);
    m->ring = m->ring && gw__role_is_ps_members(m->role);
    gw__nodes_add(&r->known, node);
    if (!m->ring)
        activate(r, m);
    return gw__append_text(answer, "node %u is %s as %s", node,
                           m->state == GW__ACTIVE ? "active" : "joining",
                           gw__role_name(m->role));
}

/* ---- admit ---- */

static bool may_admit(struct gw__registry *r, struct gw__process who,
                      const struct gw_nodes *admitted,
                      struct gw__answer *answer)
{
    struct gw__member *m = gw__registry_member(r, who.node, answer);
    if (!m)
        return false;
    if (!gw__id_equal(m->incarnation, who.incarnation))
        gw__refuse(answer, GW_EINVAL, "node %u is now another process",
                   who.node);
    else if (m->state == GW__ACTIVE || gw__nodes_has(admitted, who.node))
        gw__refuse(answer, GW_EINVAL, "node %u is already active", who.node);
    else if (m->state != GW__JOINING)
        gw__refuse(answer, GW_EINVAL,
                   "node %u has left or is dead; it must register again",
                   who.node);
    return !answer->code;
}

static void admit_member(struct gw__registry *r, struct gw__process who,
                         uint64_t from_op)
{
    struct gw__member *m = &r->members[who.node];
    m->state = GW__ACTIVE;
    r->view.ring[r->view.ring_count++] = (struct gw__ring_member){
        .node = who.node, .incarnation = who.incarnation, .from_op = from_op};
}

/* True if no member can have completed `from_op`, or be about to complete it,
 * without the joiners. */
static bool is_boundary(const struct gw__registry *r, uint64_t from_op,
                        uint64_t ring_epoch, struct gw__answer *answer)
{
    uint64_t decided = 0;
    for (unsigned i = 0; i < r->decision_count; i++)
        if (r->decisions[i].op >= decided)
            decided = r->decisions[i].op + 1;
    if (r->flush.open)
        gw__refuse(answer, GW_PENDING,
                   "a decision for epoch %llu is pending; try again later",
                   (unsigned long long)r->view.epoch);
    else if (ring_epoch != r->view.ring_epoch)
        gw__refuse(answer, GW_EINVAL,
                   "the ring of epoch %llu is out of date; the current one is "
                   "of epoch %llu",
                   (unsigned long long)ring_epoch,
                   (unsigned long long)r->view.ring_epoch);
    else if (from_op < r->view.op_low_watermark)
        gw__refuse(answer, GW_EINVAL, "op %llu is already complete",
                   (unsigned long long)from_op);
    else if (from_op < decided)
        gw__refuse(answer, GW_EINVAL, "op %llu is already decided",
                   (unsigned long long)from_op);
    return !answer->code;
}

enum gw_err gw__apply_admit(struct gw__registry *r, const struct gw__command *c,
                            struct gw__answer *answer)
{
    struct gw_nodes admitted = {{0}};
    if (!is_boundary(r, c->admit.from_op, c->admit.ring_epoch, answer))
        return answer->code;
    if (r->view.ring_count + c->admit.count > GW_RING_MEMBERS_MAX)
        return gw__refuse(
            answer, GW_EINVAL,
            "%u more members do not fit into a ring of %u: the limit is %d, "
            "because the list of members is one message",
            c->admit.count, r->view.ring_count, GW_RING_MEMBERS_MAX);
    if (c->admit.count == 0 && gw__view_in_order(&r->view, &c->admit.order))
        return gw__refuse(
            answer, GW_EINVAL,
            "the request admits no joiner and does not change the order");
    for (unsigned i = 0; i < c->admit.count; i++) {
        if (!may_admit(r, c->admit.joiners[i], &admitted, answer))
            return answer->code;
        gw__nodes_add(&admitted, c->admit.joiners[i].node);
    }
    r->view.epoch++;
    for (unsigned i = 0; i < c->admit.count; i++)
        admit_member(r, c->admit.joiners[i], c->admit.from_op);
    gw__view_reorder(&r->view, &c->admit.order);
    r->view.from_op = c->admit.from_op;
    r->view.ring_epoch = r->view.epoch;
    return gw__append_text(answer, "%u admitted from op %llu on: epoch %llu",
                           c->admit.count, (unsigned long long)c->admit.from_op,
                           (unsigned long long)r->view.epoch);
}

/* ---- removing ---- */

/* Active ring members other than `node`. */
static unsigned active_others(const struct gw__registry *r, unsigned node)
{
    unsigned count = 0;
    for (unsigned i = gw__nodes_next(&r->known, 0); i < GW__NODES_MAX;
         i = gw__nodes_next(&r->known, i + 1))
        count += i != node && r->members[i].state == GW__ACTIVE &&
                 r->members[i].ring;
    return count;
}

bool gw__registry_is_last(struct gw__registry *r, unsigned node,
                          struct gw__answer *answer)
{
    if (!r->members[node].ring || active_others(r, node) > 0)
        return false;
    gw__refuse(answer, GW_EINVAL, "cannot remove %u: it is the last member",
               node);
    return true;
}

/* Removes the nodes from the ring. */
static void leave_ring(struct gw__view *view, const struct gw_nodes *nodes)
{
    unsigned kept = 0, before = view->ring_count;
    for (unsigned i = 0; i < before; i++)
        if (!gw__nodes_has(nodes, view->ring[i].node))
            view->ring[kept++] = view->ring[i];
    memset(view->ring + kept, 0, (before - kept) * sizeof *view->ring);
    view->ring_count = kept;
}

/* Suspicions by removed members no longer count. */
static void forget_suspicions(struct gw__registry *r, const struct gw_nodes *by)
{
    for (unsigned i = gw__nodes_next(&r->known, 0); i < GW__NODES_MAX;
         i = gw__nodes_next(&r->known, i + 1)) {
        struct gw__member *m = &r->members[i];
        if (gw__nodes_has(by, m->suspected_by.node))
            gw__suspicion_drop(m);
    }
}

/* The state is lost with the last member: the next ring begins at op 0. */
static void end_ring(struct gw__registry *r)
{
    memset(r->decisions, 0, sizeof r->decisions);
    r->decision_count = 0;
    r->view.op_low_watermark = 0;
    r->flush.open = false;
}

void gw__registry_remove(struct gw__registry *r, struct gw_nodes nodes,
                         enum gw__member_state state)
{
    bool new_epoch = false;
    for (unsigned i = gw__nodes_next(&r->known, 0); i < GW__NODES_MAX;
         i = gw__nodes_next(&r->known, i + 1)) {
        struct gw__member *m = &r->members[i];
        if (!gw__nodes_has(&nodes, i))
            continue;
        new_epoch = new_epoch || gw__role_is_ps_members(m->role);
        m->state = state;
        gw__suspicion_drop(m);
    }
    forget_suspicions(r, &nodes);
    r->view.epoch += new_epoch;
    gw__registry_route(r);
    if (gw__nodes_is_empty(gw__nodes_and(gw__view_nodes(&r->view), nodes)))
        return;
    gw__flush_begin(r);
    leave_ring(&r->view, &nodes);
    r->view.ring_epoch = r->view.epoch;
    r->flush.reported = gw__nodes_minus(r->flush.reported, nodes);
    if (r->view.ring_count == 0)
        end_ring(r);
    else
        gw__flush_check(r);
}

/* It no longer waits for admission. */
static bool has_withdrawn(struct gw__registry *r, struct gw__process who)
{
    struct gw__member *m =
        who.node < GW__NODES_MAX ? &r->members[who.node] : NULL;
    if (!m || m->state != GW__JOINING ||
        !gw__id_equal(m->incarnation, who.incarnation))
        return false;
    m->state = GW__LEFT;
    return true;
}

enum gw_err gw__apply_leave(struct gw__registry *r, const struct gw__command *c,
                            struct gw__answer *answer)
{
    if (has_withdrawn(r, c->who))
        return gw__append_text(
            answer, "node %u has left before it was admitted", c->who.node);
    if (!gw__registry_active(r, c->who, answer) ||
        gw__registry_is_last(r, c->who.node, answer) ||
        gw__registry_needs(r, c->who.node, answer))
        return answer->code;
    gw__registry_remove(r, gw__nodes_only(c->who.node), GW__LEFT);
    return gw__append_text(answer, "node %u has left: epoch %llu", c->who.node,
                           (unsigned long long)r->view.epoch);
}
