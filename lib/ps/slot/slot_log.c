/* SPDX-License-Identifier: MIT
 *
 * A slot's log: a ring of entries. A primary appends and commits; a replica
 * stores received entries by index, and cuts.
 *
 * An entry is committed when all required replicas have it. With `ack_primary`
 * pushes are applied earlier and may be lost with the primary. Round commits
 * and clock commands are never lost: all slots must agree on them.
 */
#include "ps/server/hogwild.h"

#include "base/failpoint.h"

#include <stdlib.h>
#include <string.h>

struct gw__entry *gw__slot_entry(const struct gw__slot *slot, uint64_t index)
{
    if (index < slot->first || index > slot->last)
        return NULL;
    return slot->ring[index & (slot->room - 1)];
}

static bool reserve_entry(struct gw__slot *slot)
{
    uint64_t kept = slot->last + 1 - slot->first;
    if (kept < slot->room)
        return true;
    size_t room = slot->room ? 2 * slot->room : 64;
    struct gw__entry **ring = calloc(room, sizeof *ring);
    if (!ring)
        return false;
    for (uint64_t i = slot->first; i <= slot->last; i++)
        ring[i & (room - 1)] = slot->ring[i & (slot->room - 1)];
    free(slot->ring);
    slot->ring = ring;
    slot->room = room;
    return true;
}

static void drop_entry(struct gw__slot *slot, uint64_t index)
{
    struct gw__entry **at = &slot->ring[index & (slot->room - 1)];
    struct gw__entry *entry = *at;
    *at = NULL;
    slot->server->log_bytes -= gw__entry_bytes(entry);
    gw__finish_waits(slot->server, slot->server->now_ns, entry->waits, false);
    entry->waits = NULL;
    gw__entry_release(entry);
}

void gw__slot_log_fini(struct gw__slot *slot)
{
    for (uint64_t i = slot->first; i <= slot->last && slot->ring; i++)
        drop_entry(slot, i);
    free(slot->ring);
    slot->ring = NULL;
    slot->room = 0;
    slot->first = 1;
    slot->last = slot->applied = slot->committed = slot->matched = 0;
}

bool gw__slot_put(struct gw__slot *slot, struct gw__entry *entry)
{
    uint64_t index = entry->index;
    if (index <= slot->last)
        drop_entry(slot, index);
    else if (reserve_entry(slot))
        slot->last = index;
    else
        return false;
    slot->ring[index & (slot->room - 1)] = entry;
    slot->server->log_bytes += gw__entry_bytes(entry);
    return true;
}

void gw__slot_truncate(struct gw__slot *slot, uint64_t last)
{
    while (slot->last > last && slot->last > slot->applied) {
        uint64_t index = slot->last;
        drop_entry(slot, index);
        slot->last--;
    }
}

/* ---- primary ---- */

/* True without followers and waiting entries: the log is not needed. */
static bool is_alone(const struct gw__slot *slot)
{
    return slot->peer_count == 0 && slot->applied == slot->last;
}

static enum gw_err apply_at_once(struct gw__slot *slot, uint64_t now_ns,
                                 struct gw__entry *like)
{
    like->index = slot->last + 1;
    like->at_once = true;
    if (!gw__slot_apply(slot, like))
        return GW_ENOMEM;
    slot->committed = slot->applied = slot->last = like->index;
    slot->first = slot->last + 1;
    if (!like->waits || !gw__hogwild_join(slot, like->node, like->incarnation,
                                          like->sequence, like->waits))
        gw__finish_waits(slot->server, now_ns, like->waits, true);
    return GW_OK;
}

static bool is_over_bound(const struct gw__server *server,
                          const struct gw__entry *entry)
{
    uint64_t bound = server->config.log_bytes;
    if (entry->kind != GW__ENTRY_PUSH)
        bound *= 2;
    return server->log_bytes > 0 &&
           server->log_bytes + gw__entry_bytes(entry) > bound;
}

enum gw_err gw__slot_append(struct gw__slot *slot, uint64_t now_ns,
                            struct gw__entry *like)
{
    if (is_alone(slot) && gw__slot_can_apply(slot, like))
        return apply_at_once(slot, now_ns, like);
    if (is_over_bound(slot->server, like))
        return GW_PENDING;
    struct gw__entry *entry = gw__entry_new(like);
    if (!entry)
        return GW_ENOMEM;
    entry->index = slot->last + 1;
    entry->waits = NULL;
    if ((!entry->message && !gw__entry_own(entry)) ||
        !gw__slot_put(slot, entry)) {
        gw__entry_release(entry);
        return GW_ENOMEM;
    }
    entry->waits = like->waits;
    if (entry->kind == GW__ENTRY_PUSH)
        gw__failpoint(GW__AT_PS_LOGGED);
    for (unsigned i = 0; i < slot->peer_count; i++)
        gw__peer_pump(slot, now_ns, &slot->peers[i]);
    gw__slot_commit(slot, now_ns);
    return GW_OK;
}

void gw__slot_commit(struct gw__slot *slot, uint64_t now_ns)
{
    uint64_t all = slot->last;
    for (unsigned i = 0; i < slot->peer_count; i++)
        if (slot->peers[i].needed && slot->peers[i].acked < all)
            all = slot->peers[i].acked;
    if (all > slot->committed) {
        slot->committed = all;
        slot->server->notify_due = true;
        gw__failpoint(GW__AT_PS_COMMITTED);
    }
    gw__slot_advance(slot, now_ns);
}

static bool may_apply(const struct gw__slot *slot,
                      const struct gw__entry *entry)
{
    if (!gw__slot_can_apply(slot, entry))
        return false;
    if (entry->index <= slot->committed)
        return true;
    return slot->role == GW_PS_PRIMARY && slot->server->config.ack_primary &&
           entry->kind == GW__ENTRY_PUSH && slot->fenced == 0;
}

/* True if a follower needs the entry after its acknowledgement. Its data must
 * then be copied out of the worker's memory. */
static bool is_needed_later(const struct gw__slot *slot, uint64_t index)
{
    for (unsigned i = 0; i < slot->peer_count; i++)
        if (slot->peers[i].keeps && slot->peers[i].acked < index)
            return true;
    return false;
}

void gw__slot_advance(struct gw__slot *slot, uint64_t now_ns)
{
    bool was_caught_up = gw__slot_is_caught_up(slot);
    while (slot->applied < slot->last) {
        struct gw__entry *entry = gw__slot_entry(slot, slot->applied + 1);
        if (!entry || !may_apply(slot, entry))
            break;
        if (entry->message && is_needed_later(slot, entry->index) &&
            !gw__entry_own(entry))
            break;
        if (!gw__slot_apply(slot, entry))
            break;
        slot->applied++;
        gw__failpoint(GW__AT_PS_APPLIED);
        struct gw__wait *waits = entry->waits;
        entry->waits = NULL;
        gw__finish_waits(slot->server, now_ns, waits, true);
    }
    slot->server->pulls_due |= !was_caught_up && gw__slot_is_caught_up(slot);
    gw__slot_trim(slot);
}

void gw__slot_trim(struct gw__slot *slot)
{
    uint64_t through = slot->applied;
    for (unsigned i = 0; i < slot->peer_count; i++)
        if (slot->peers[i].keeps && slot->peers[i].acked < through)
            through = slot->peers[i].acked;
    while (slot->first <= through) {
        drop_entry(slot, slot->first);
        slot->first++;
    }
}

struct gw__entry *gw__slot_find_push(const struct gw__slot *slot, unsigned node,
                                     uint64_t incarnation, uint64_t sequence)
{
    for (uint64_t i = slot->last; i > slot->applied; i--) {
        struct gw__entry *e = gw__slot_entry(slot, i);
        if (e && e->kind == GW__ENTRY_PUSH && e->node == node &&
            e->incarnation == incarnation && e->sequence == sequence)
            return e;
    }
    return NULL;
}

struct gw__entry *gw__slot_find_command(const struct gw__slot *slot,
                                        unsigned group, const void *data,
                                        size_t bytes)
{
    for (uint64_t i = slot->last; i > slot->applied; i--) {
        struct gw__entry *e = gw__slot_entry(slot, i);
        if (e && e->kind == GW__ENTRY_CLOCK && e->group == group &&
            e->bytes == bytes && memcmp(e->data, data, bytes) == 0)
            return e;
    }
    return NULL;
}
