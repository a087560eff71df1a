/* SPDX-License-Identifier: MIT
 *
 * Promotion and handover, proposed by a slot's primary.
 *
 *   learner   once it is nearly complete, commits wait for it, too. When it has
 *             all entries appended before that, no acknowledged entry can be
 *             missing there, and it may be promoted.
 *   learner that replaces the primary, or the successor
 *             the primary stops serving, waits until the other is complete, and
 *             proposes. It serves again only when newer routes arrive.
 *
 * A proposal has the term, so a late one changes nothing.
 *
 * A server's proposals are answered one after the other, so it stops serving
 * one slot at a time. Otherwise the last of many slots would be out of service
 * until all others are done.
 */
#include "ps/server/server_parts.h"

#include "base/failpoint.h"

enum {
    NEARLY = 64,
    FROZEN_MOST = 2 /* at a time: proposals are answered one by one */
};

static bool has_nearly_all(const struct gw__slot *slot,
                           const struct gw__peer *peer)
{
    return peer->synced && slot->last - peer->acked <= NEARLY;
}

static bool another_is_frozen(const struct gw__server *server)
{
    for (unsigned i = 0; i < server->held_count; i++) {
        const struct gw__slot *slot = &server->slots[server->held[i]];
        if (slot->frozen && slot->role == GW_PS_PRIMARY && !slot->fenced)
            return true;
    }
    return false;
}

/* Stops serving the slot. False: another slot is frozen now. */
static bool freeze(struct gw__slot *slot, uint64_t now_ns)
{
    if (slot->frozen)
        return true;
    if (another_is_frozen(slot->server))
        return false;
    slot->frozen = true;
    slot->frozen_ns = now_ns;
    gw__failpoint(GW__AT_PS_FREEZE);
    slot->server->pulls_due = true;
    for (unsigned g = 0; g < GW_PS_GROUPS_MAX; g++)
        if (slot->clocks[g])
            slot->server->clocks_changed |= 1U << g;
    return true;
}

static void propose(struct gw__slot *slot, uint64_t now_ns,
                    enum gw__proposal what, unsigned node)
{
    if (slot->proposed_ns && now_ns - slot->proposed_ns < GW__PROPOSE_NS)
        return;
    slot->proposed_ns = now_ns;
    gw__failpoint(what == GW__PROPOSE_HANDOVER ? GW__AT_PS_HANDOVER
                                               : GW__AT_PS_PROMOTE);
    gw__server_propose(slot->server, what, slot->number, slot->term, node);
}

/* All entries are committed, and the peer has all of them. */
static bool is_complete(const struct gw__slot *slot,
                        const struct gw__peer *peer)
{
    return slot->applied == slot->last && slot->committed == slot->last &&
           peer->acked == slot->last;
}

static void promote(struct gw__slot *slot, uint64_t now_ns,
                    const struct gw__slot_route *route, struct gw__peer *peer)
{
    if (!peer->needed && has_nearly_all(slot, peer)) {
        peer->needed = true;
        peer->need_from = slot->last;
    }
    if (!peer->needed || peer->acked < peer->need_from)
        return;
    bool own_place = route->leaver == slot->server->config.node;
    if (!own_place || (freeze(slot, now_ns) && is_complete(slot, peer)))
        propose(slot, now_ns, GW__PROPOSE_PROMOTE, peer->node);
}

void gw__move_tick(struct gw__slot *slot, uint64_t now_ns)
{
    const struct gw__slot_route *route =
        &slot->server->routes.slots[slot->number];
    if (slot->fenced || route->term != slot->term ||
        !gw__slot_is_caught_up(slot))
        return;
    for (unsigned i = 0; i < slot->peer_count; i++) {
        struct gw__peer *peer = &slot->peers[i];
        if (peer->learner) {
            promote(slot, now_ns, route, peer);
        } else if (peer->node == route->successor &&
                   has_nearly_all(slot, peer) && freeze(slot, now_ns) &&
                   is_complete(slot, peer)) {
            propose(slot, now_ns, GW__PROPOSE_HANDOVER, peer->node);
        }
    }
}
