/* SPDX-License-Identifier: MIT
 *
 * Promotion and handover, said by a slot's primary.
 *
 *   learner   once it has nearly all, commits wait for it too; once it has what
 *             was appended before that, nothing can be acknowledged that it
 *             lacks, and it may be promoted
 *   learner in the primary's own place, or an heir
 *             the primary stops serving, waits until the other has everything,
 *             and asks; it serves again only when newer routes say so
 *
 * The proposal names the term, so one that comes late changes nothing.
 *
 * A server's proposals go to the controllers one after the other, so it stops
 * serving one slot at a time: else the last of many would stand still until all
 * before it are through.
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
    for (unsigned s = 0; s < server->routes.slot_count; s++)
        if (server->slots[s].frozen && server->slots[s].role == GW_PS_PRIMARY &&
            !server->slots[s].fenced)
            return true;
    return false;
}

/* True: it is not served any more. */
static bool freeze(struct gw__slot *slot, uint64_t now_ns)
{
    if (slot->frozen)
        return true;
    if (another_is_frozen(slot->server))
        return false;
    slot->frozen = true;
    slot->frozen_ns = now_ns;
    gw__failpoint(GW__AT_PS_FREEZE);
    slot->server->look_at_pulls = true;
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

/* Everything is committed, and it has all of it. */
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
    if (slot->fenced || route->term != slot->term || !gw__slot_is_settled(slot))
        return;
    for (unsigned i = 0; i < slot->peer_count; i++) {
        struct gw__peer *peer = &slot->peers[i];
        if (peer->learner) {
            promote(slot, now_ns, route, peer);
        } else if (peer->node == route->heir && has_nearly_all(slot, peer) &&
                   freeze(slot, now_ns) && is_complete(slot, peer)) {
            propose(slot, now_ns, GW__PROPOSE_HANDOVER, peer->node);
        }
    }
}
