/* SPDX-License-Identifier: MIT
 *
 * The primary's side of replication: entries and notes to the followers, and
 * their answers.
 */
#include "ps/server/server_parts.h"

enum { WINDOW_ENTRIES = 4096, LEND_BYTES = 16384 };

struct gw__peer *gw__slot_peer(struct gw__slot *slot, unsigned node)
{
    for (unsigned i = 0; i < slot->peer_count; i++)
        if (slot->peers[i].node == node)
            return &slot->peers[i];
    return NULL;
}

static struct gw__append record_of(const struct gw__slot *slot)
{
    return (struct gw__append){.term = slot->term,
                               .leader_since = slot->leader_since,
                               .log_base = slot->log_base,
                               .committed = slot->committed,
                               .slot = slot->number};
}

/* Lent memory must stay unchanged. The worker may overwrite it after the
 * acknowledgement, which does not wait for peers that are not needed. */
static bool may_lend(const struct gw__slot *slot, const struct gw__peer *peer,
                     const struct gw__entry *entry)
{
    return gw__entry_bytes(entry) >= LEND_BYTES &&
           (!entry->message ||
            (peer->needed && !slot->server->config.ack_primary));
}

static void send_entry(struct gw__slot *slot, uint64_t now_ns,
                       struct gw__peer *peer, struct gw__entry *entry)
{
    struct {
        struct gw__ps_head head;
        struct gw__append record;
    } out = {.head = {.magic = GW__PS_MAGIC,
                      .kind = GW__PS_APPEND,
                      .flags = entry->half ? GW__PS_HALF : 0,
                      .sequence = entry->sequence,
                      .low_watermark = entry->low_watermark,
                      .clock = entry->clock,
                      .key_list = entry->keys ? entry->keys->signature : 0,
                      .keys = entry->key_count,
                      .table = entry->table,
                      .group = entry->group,
                      .segments = 1},
             .record = record_of(slot)};
    out.record.index = entry->index;
    out.record.incarnation = entry->incarnation;
    out.record.node = entry->node;
    out.record.kind = entry->kind;
    out.record.keys = entry->key_count;
    struct gw__message_out message = {.node = peer->node, .part_count = 3};
    message.parts[0] = (struct gw__messenger_part){&out, sizeof out};
    message.parts[1] = (struct gw__messenger_part){
        entry->keys ? entry->keys->keys : entry->key_data,
        entry->key_count * sizeof(uint64_t)};
    message.parts[2] = (struct gw__messenger_part){entry->data, entry->bytes};
    if (may_lend(slot, peer, entry)) {
        gw__entry_lend(entry);
        message.borrowed = 1U << 1 | 1U << 2;
        message.back = gw__entry_back;
        message.context = entry;
    }
    peer->sent_ns = now_ns;
    peer->notified = slot->committed;
    gw__server_send(slot->server, &message);
}

void gw__peer_pump(struct gw__slot *slot, uint64_t now_ns,
                   struct gw__peer *peer)
{
    if (slot->fenced)
        return;
    if (!peer->synced) {
        slot->server->notify_due |= !peer->learner;
        return;
    }
    if (peer->sent == peer->acked && peer->sent < slot->last)
        peer->progress_ns = now_ns;
    while (peer->sent < slot->last &&
           peer->sent - peer->acked < WINDOW_ENTRIES) {
        struct gw__entry *entry = gw__slot_entry(slot, peer->sent + 1);
        if (!entry) {
            gw__server_trouble(slot->server,
                               "slot %u: server %u needs entry %llu, which is "
                               "no longer stored here",
                               slot->number, peer->node,
                               (unsigned long long)peer->sent + 1);
            return;
        }
        send_entry(slot, now_ns, peer, entry);
        peer->sent++;
    }
}

static void rewind_peer(struct gw__peer *peer, uint64_t now_ns)
{
    peer->sent = peer->acked;
    peer->rewound_ns = now_ns;
}

void gw__replicate_tick(struct gw__slot *slot, uint64_t now_ns)
{
    uint64_t resend_ns = slot->server->config.resend_ns;
    for (unsigned i = 0; i < slot->peer_count; i++) {
        struct gw__peer *peer = &slot->peers[i];
        if (!peer->synced || peer->acked >= slot->last)
            continue;
        if (now_ns - peer->progress_ns >= resend_ns &&
            now_ns - peer->rewound_ns >= resend_ns)
            rewind_peer(peer, now_ns);
        gw__peer_pump(slot, now_ns, peer);
    }
}

/* True if a note is due: the newest commit, or a question to a peer that has
 * not answered in this leadership. The question is ignored by a peer without
 * the membership update of this leadership, such as the previous primary.
 * Pushes wait for the answer, so the question is repeated soon. */
static bool must_notify(const struct gw__slot *slot, uint64_t now_ns,
                        const struct gw__peer *peer)
{
    uint64_t resend_ns = slot->server->config.resend_ns;
    if (peer->synced)
        return peer->notified < slot->committed ||
               (peer->knows < slot->committed &&
                now_ns - peer->notified_ns >= resend_ns);
    return !peer->learner &&
           (peer->sent_ns == 0 || now_ns - peer->sent_ns >= resend_ns / 8);
}

static void notify_node(struct gw__server *server, uint64_t now_ns,
                        unsigned node)
{
    struct {
        struct gw__ps_head head;
        struct gw__append records[GW_PS_SLOTS_MAX];
    } out; /* as many records as are due */
    unsigned count = 0;
    for (unsigned i = 0; i < server->held_count; i++) {
        struct gw__slot *slot = &server->slots[server->held[i]];
        struct gw__peer *peer = slot->role == GW_PS_PRIMARY && !slot->fenced
                                    ? gw__slot_peer(slot, node)
                                    : NULL;
        if (!peer || !must_notify(slot, now_ns, peer))
            continue;
        out.records[count++] = record_of(slot);
        peer->notified = slot->committed;
        peer->notified_ns = now_ns;
        if (!peer->synced)
            peer->sent_ns = now_ns;
    }
    if (count == 0)
        return;
    out.head = (struct gw__ps_head){
        .magic = GW__PS_MAGIC, .kind = GW__PS_APPEND, .segments = count};
    struct gw__message_out message = {.node = node, .part_count = 1};
    message.parts[0] = (struct gw__messenger_part){
        &out, sizeof out.head + count * sizeof *out.records};
    gw__server_send(server, &message);
}

void gw__replicate_notify(struct gw__server *server, uint64_t now_ns)
{
    server->notify_due = false;
    struct gw_nodes nodes = {{0}};
    for (unsigned i = 0; i < server->held_count; i++) {
        const struct gw__slot *slot = &server->slots[server->held[i]];
        for (unsigned k = 0; k < slot->peer_count; k++)
            gw__nodes_add(&nodes, slot->peers[k].node);
    }
    for (unsigned node = gw__nodes_next(&nodes, 0); node < GW__NODES_MAX;
         node = gw__nodes_next(&nodes, node + 1))
        notify_node(server, now_ns, node);
}

/* ---- answers ---- */

static void apply_ack(struct gw__slot *slot, uint64_t now_ns,
                      struct gw__peer *peer, const struct gw__appended *record)
{
    bool first = !peer->synced;
    if (peer->learner && !peer->synced)
        return;
    peer->synced = true;
    if (record->committed > peer->knows)
        peer->knows = record->committed;
    if (record->matched > peer->acked) {
        peer->acked = record->matched;
        peer->progress_ns = now_ns;
    }
    if (peer->sent < peer->acked)
        peer->sent = peer->acked;
    bool again = record->gap &&
                 now_ns - peer->sent_ns >= slot->server->config.resend_ns / 8;
    if (first || again)
        peer->sent = peer->acked;
    gw__peer_pump(slot, now_ns, peer);
    gw__slot_commit(slot, now_ns);
}

void gw__on_appended(struct gw__server *server, uint64_t now_ns,
                     const struct gw__message_in *message,
                     const struct gw__ps_head *head)
{
    const struct gw__appended *records = (const void *)(head + 1);
    if (head->segments > GW_PS_SLOTS_MAX ||
        message->parts[0].bytes !=
            sizeof *head + head->segments * sizeof *records)
        return;
    for (unsigned i = 0; i < head->segments; i++) {
        const struct gw__appended *record = &records[i];
        if (record->slot >= server->routes.slot_count)
            continue;
        struct gw__slot *slot = &server->slots[record->slot];
        struct gw__peer *peer = slot->role == GW_PS_PRIMARY
                                    ? gw__slot_peer(slot, message->from)
                                    : NULL;
        if (slot->role == GW_PS_PRIMARY && record->term > slot->term &&
            record->term > slot->fenced && !server->config.no_terms)
            slot->fenced = record->term;
        if (peer && record->leader_since == slot->leader_since &&
            record->matched <= slot->last)
            apply_ack(slot, now_ns, peer, record);
    }
}
