/* SPDX-License-Identifier: MIT
 *
 * The follower's side of replication (slot.h explains leadership). Messages
 * with an older term are refused; the answer has the newer term.
 *
 * After a change of leadership, old entries through the new primary's
 * `committed` are valid: they were committed, so all replicas in sync have the
 * same ones. The other old entries are replaced one by one as the primary sends
 * its own. They are not dropped earlier: they may be committed, too, and this
 * replica may be the next primary.
 */
#include "ps/server/server_parts.h"

#include "base/failpoint.h"

#include <string.h>

/* A referenced message occupies memory of its sender, which is limited, and the
 * sender may need it for the message that lets this replica continue. So small
 * entries are copied at once, and of large ones only HOLD_BYTES stay in place.
 */
#define HOLD_BYTES ((uint64_t)8 << 20)
enum { HOLD_LEAST = 16384 };

/* The entry's keys as a segment with cached places, if the primary does the
 * same. */
static struct gw__keys *keys_of(struct gw__server *server,
                                const struct gw__ps_head *head,
                                const struct gw__append *record,
                                const uint64_t *data)
{
    struct gw__key_list *list =
        gw__key_cache_find(server->cache, head->key_list);
    if (list && list->count == 1 && list->segments[0]->count == record->keys &&
        list->segments[0]->slot == record->slot &&
        list->segments[0]->table == head->table &&
        memcmp(list->segments[0]->keys, data, record->keys * sizeof *data) ==
            0) {
        gw__keys_hold(list->segments[0]);
        return list->segments[0];
    }
    struct gw__keys *keys =
        gw__keys_new(head->table, record->slot, data, record->keys);
    if (keys)
        gw__key_cache_add(server->cache, head->key_list, &keys, 1);
    return keys;
}

static bool is_sound(const struct gw__server *server,
                     const struct gw__message_in *message,
                     const struct gw__ps_head *head,
                     const struct gw__append *record)
{
    if (message->part_count < 3 || record->kind == 0 ||
        record->kind >= GW__ENTRY_KINDS || head->group >= GW_PS_GROUPS_MAX ||
        record->node >= GW_PS_NODES || head->table >= GW_PS_TABLES_MAX ||
        message->parts[1].bytes != record->keys * sizeof(uint64_t))
        return false;
    if (record->kind != GW__ENTRY_PUSH)
        return true;
    size_t size = head->flags & GW__PS_HALF ? 2 : 4;
    return gw__server_has_table(server, head->table) &&
           message->parts[2].bytes ==
               record->keys * size * server->routes.tables[head->table].width;
}

static struct gw__entry *make_entry(struct gw__server *server,
                                    struct gw__message_in *message,
                                    const struct gw__ps_head *head,
                                    const struct gw__append *record)
{
    struct gw__entry like = {.kind = (enum gw__entry_kind)record->kind,
                             .index = record->index,
                             .node = record->node,
                             .incarnation = record->incarnation,
                             .sequence = head->sequence,
                             .low_watermark = head->low_watermark,
                             .clock = head->clock,
                             .table = head->table,
                             .group = head->group,
                             .half = head->flags & GW__PS_HALF,
                             .key_data = message->parts[1].data,
                             .key_count = record->keys,
                             .data = message->parts[2].data,
                             .bytes = message->parts[2].bytes,
                             .message = message};
    if (head->key_list && record->keys > 0)
        like.keys = keys_of(server, head, record, like.key_data);
    struct gw__entry *entry = gw__entry_new(&like);
    gw__keys_release(like.keys);
    bool owns = entry && (gw__entry_bytes(entry) < HOLD_LEAST ||
                          server->log_bytes > HOLD_BYTES);
    if (owns && !gw__entry_own(entry)) {
        gw__entry_release(entry);
        entry = NULL;
    }
    return entry;
}

static void begin_leadership(struct gw__slot *slot,
                             const struct gw__append *record)
{
    slot->leader_since = record->leader_since;
    gw__slot_truncate(slot, record->log_base);
    slot->matched =
        record->committed < slot->last ? record->committed : slot->last;
    if (slot->matched < slot->applied)
        slot->matched = slot->applied;
}

static void accept_entry(struct gw__slot *slot, struct gw__message_in *message,
                         const struct gw__ps_head *head,
                         const struct gw__append *record)
{
    slot->ack_gap |= record->index > slot->matched + 1;
    if (record->index != slot->matched + 1 ||
        !is_sound(slot->server, message, head, record))
        return;
    struct gw__entry *entry = make_entry(slot->server, message, head, record);
    if (!entry)
        return;
    gw__failpoint(GW__AT_PS_ENTRY);
    if (gw__slot_put(slot, entry))
        slot->matched++;
    else
        gw__entry_release(entry);
}

static bool follows(struct gw__slot *slot, const struct gw__append *record)
{
    if (slot->role == GW_PS_LEARNER)
        return slot->loaded && record->leader_since == slot->leader_since;
    return slot->role == GW_PS_SECONDARY && !slot->silent;
}

/* Fencing: a message with an older term is refused, and the answer has the
 * newer term. A primary that receives a newer term stops. */
static bool is_fenced(struct gw__slot *slot,
                      const struct gw__message_in *message,
                      const struct gw__append *record)
{
    if (slot->server->config.no_terms)
        return false;
    if (slot->role == GW_PS_PRIMARY && record->term > slot->term) {
        if (record->term > slot->fenced)
            slot->fenced = record->term;
        return true;
    }
    if (record->term >= slot->term)
        return false;
    slot->ack_due = slot->role != GW_PS_NOT_HERE;
    slot->leader = message->from;
    slot->server->counts.fenced++;
    return true;
}

static void on_record(struct gw__slot *slot, uint64_t now_ns,
                      struct gw__message_in *message,
                      const struct gw__ps_head *head,
                      const struct gw__append *record)
{
    if (is_fenced(slot, message, record))
        return;
    if (!follows(slot, record))
        return;
    slot->term = record->term;
    slot->leader = message->from;
    slot->ack_due = true;
    if (record->leader_since != slot->leader_since)
        begin_leadership(slot, record);
    if (record->index)
        accept_entry(slot, message, head, record);
    uint64_t committed =
        record->committed < slot->matched ? record->committed : slot->matched;
    if (committed > slot->committed)
        slot->committed = committed;
    gw__slot_advance(slot, now_ns);
}

void gw__on_append(struct gw__server *server, uint64_t now_ns,
                   struct gw__message_in *message,
                   const struct gw__ps_head *head)
{
    const struct gw__append *records = (const void *)(head + 1);
    if (head->segments > GW_PS_SLOTS_MAX ||
        message->parts[0].bytes !=
            sizeof *head + head->segments * sizeof *records)
        return;
    for (unsigned i = 0; i < head->segments; i++)
        if (records[i].slot < server->routes.slot_count &&
            (records[i].index == 0 || head->segments == 1))
            on_record(&server->slots[records[i].slot], now_ns, message, head,
                      &records[i]);
}

/* The answer to an older term has this replica's own term, and a `matched` that
 * does not belong to the sender's leadership. */
void gw__flush_acks(struct gw__server *server)
{
    struct {
        struct gw__ps_head head;
        struct gw__appended records[GW_PS_SLOTS_MAX];
    } out; /* as many records as are due */
    out.head =
        (struct gw__ps_head){.magic = GW__PS_MAGIC, .kind = GW__PS_APPENDED};
    for (unsigned i = 0; i < server->held_count; i++) {
        if (!server->slots[server->held[i]].ack_due)
            continue;
        unsigned node = server->slots[server->held[i]].leader, count = 0;
        for (unsigned j = i; j < server->held_count; j++) {
            struct gw__slot *slot = &server->slots[server->held[j]];
            if (!slot->ack_due || slot->leader != node)
                continue;
            out.records[count++] = (struct gw__appended){
                slot->term,      slot->leader_since, slot->matched,
                slot->committed, slot->number,       slot->ack_gap};
            slot->ack_due = slot->ack_gap = false;
        }
        out.head.segments = count;
        gw__failpoint(GW__AT_PS_FOLLOWED);
        struct gw__message_out message = {.node = node, .part_count = 1};
        message.parts[0] = (struct gw__messenger_part){
            &out, sizeof out.head + count * sizeof *out.records};
        gw__server_send(server, &message);
    }
}
