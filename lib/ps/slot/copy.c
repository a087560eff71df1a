/* SPDX-License-Identifier: MIT
 *
 * Copies a slot's state to a learner. The state is saved at one instant, as of
 * the last applied entry, and sent in blocks, several at a time. When the
 * learner has loaded it, it follows the log like any replica.
 *
 * The leadership and the entry identify a copy. A learner that receives a newer
 * copy drops the old one.
 */
#include "ps/server/server_parts.h"

#include "base/failpoint.h"

#include <stdlib.h>
#include <string.h>

enum { COPY_BLOCK_BYTES = 1 << 20, WINDOW_BYTES = 8 << 20 };
#define COPY_MAX ((uint64_t)1 << 40)

struct gw__copy {
    unsigned holds; /* the slot and messages */
    unsigned node;
    uint64_t index;
    uint64_t total, acked, sent;
    uint64_t sent_ns, progress_ns;
    uint8_t data[];
};

/* ---- primary ---- */

static void release_copy(struct gw__copy *copy)
{
    if (copy && --copy->holds == 0)
        free(copy);
}

static void back(void *copy)
{
    release_copy(copy);
}

void gw__copy_free(struct gw__slot *slot)
{
    release_copy(slot->copy);
    slot->copy = NULL;
}

static bool begin_copy(struct gw__slot *slot, uint64_t now_ns,
                       struct gw__peer *peer)
{
    size_t bytes = gw__slot_save(slot, NULL, 0);
    struct gw__copy *copy = malloc(sizeof *copy + bytes);
    if (!copy) {
        gw__server_trouble(slot->server, "slot %u: no memory for a copy",
                           slot->number);
        return false;
    }
    *copy = (struct gw__copy){.holds = 1,
                              .node = peer->node,
                              .index = slot->applied,
                              .total = bytes,
                              .progress_ns = now_ns};
    gw__slot_save(slot, copy->data, bytes);
    slot->copy = copy;
    peer->keeps = true;
    peer->acked = peer->sent = slot->applied;
    return true;
}

static void send_block(struct gw__slot *slot, uint64_t now_ns)
{
    struct gw__copy *copy = slot->copy;
    uint64_t bytes = copy->total - copy->sent;
    gw__failpoint(GW__AT_PS_COPY);
    if (bytes > COPY_BLOCK_BYTES)
        bytes = COPY_BLOCK_BYTES;
    struct {
        struct gw__ps_head head;
        struct gw__copy_record record;
    } out = {
        .head = {.magic = GW__PS_MAGIC, .kind = GW__PS_COPY, .segments = 1},
        .record = {.term = slot->term,
                   .leader_since = slot->leader_since,
                   .index = copy->index,
                   .total = copy->total,
                   .offset = copy->sent,
                   .slot = slot->number}};
    struct gw__message_out message = {.node = copy->node, .part_count = 3};
    message.parts[0] = (struct gw__messenger_part){&out, sizeof out};
    message.parts[1] = (struct gw__messenger_part){"", 0};
    message.parts[2] =
        (struct gw__messenger_part){copy->data + copy->sent, bytes};
    message.borrowed = 1U << 2;
    message.back = back;
    message.context = copy;
    copy->holds++;
    copy->sent += bytes;
    copy->sent_ns = now_ns;
    gw__server_send(slot->server, &message);
}

static void pump(struct gw__slot *slot, uint64_t now_ns)
{
    struct gw__copy *copy = slot->copy;
    while (copy->sent < copy->total && copy->sent - copy->acked < WINDOW_BYTES)
        send_block(slot, now_ns);
}

static struct gw__peer *learner_of(struct gw__slot *slot)
{
    for (unsigned i = 0; i < slot->peer_count; i++)
        if (slot->peers[i].learner)
            return &slot->peers[i];
    return NULL;
}

void gw__copy_tick(struct gw__slot *slot, uint64_t now_ns)
{
    struct gw__peer *peer = learner_of(slot);
    if (!peer || peer->synced || slot->fenced || !gw__slot_is_caught_up(slot))
        return;
    if (slot->copy && slot->copy->node != peer->node)
        gw__copy_free(slot);
    if (!slot->copy && !begin_copy(slot, now_ns, peer))
        return;
    struct gw__copy *copy = slot->copy;
    uint64_t resend_ns = slot->server->config.resend_ns;
    if (now_ns - copy->progress_ns >= resend_ns &&
        now_ns - copy->sent_ns >= resend_ns)
        copy->sent = copy->acked;
    pump(slot, now_ns);
}

static const struct gw__copy_record *
record_of(const struct gw__message_in *message, const struct gw__ps_head *head,
          const struct gw__server *server)
{
    const struct gw__copy_record *record = (const void *)(head + 1);
    bool sound = message->parts[0].bytes == sizeof *head + sizeof *record &&
                 record->slot < server->routes.slot_count &&
                 record->total > 0 && record->total <= COPY_MAX &&
                 record->offset <= record->total;
    return sound ? record : NULL;
}

void gw__on_copied(struct gw__server *server, uint64_t now_ns,
                   const struct gw__message_in *message,
                   const struct gw__ps_head *head)
{
    const struct gw__copy_record *record = record_of(message, head, server);
    struct gw__slot *slot = record ? &server->slots[record->slot] : NULL;
    if (!slot || slot->role != GW_PS_PRIMARY || !slot->copy ||
        record->leader_since != slot->leader_since ||
        record->index != slot->copy->index ||
        record->total != slot->copy->total || message->from != slot->copy->node)
        return;
    struct gw__copy *copy = slot->copy;
    struct gw__peer *peer = gw__slot_peer(slot, message->from);
    if (record->offset > copy->acked)
        copy->progress_ns = now_ns;
    copy->acked = record->offset;
    if (copy->sent < copy->acked)
        copy->sent = copy->acked;
    if (!peer || copy->acked < copy->total) {
        pump(slot, now_ns);
        return;
    }
    peer->synced = true;
    peer->progress_ns = now_ns;
    gw__copy_free(slot);
    gw__peer_pump(slot, now_ns, peer);
}

/* ---- learner ---- */

void gw__copy_forget(struct gw__slot *slot)
{
    free(slot->copy_data);
    slot->copy_data = NULL;
    slot->copy_have = slot->copy_total = 0;
    slot->copy_leader_since = slot->copy_index = 0;
    slot->loaded = false;
}

static bool is_newer(const struct gw__slot *slot,
                     const struct gw__copy_record *record)
{
    if (slot->copy_total == 0 ||
        record->leader_since != slot->copy_leader_since)
        return record->leader_since >= slot->copy_leader_since;
    return record->index > slot->copy_index;
}

static bool begin_to_learn(struct gw__slot *slot,
                           const struct gw__copy_record *record)
{
    gw__slot_drop(slot);
    slot->role = GW_PS_LEARNER;
    slot->copy_data = malloc(record->total);
    if (!slot->copy_data)
        return false;
    slot->copy_leader_since = record->leader_since;
    slot->copy_index = record->index;
    slot->copy_total = record->total;
    return true;
}

static void load_copy(struct gw__slot *slot)
{
    struct gw_error why = {.code = GW_OK};
    gw__slot_clear_state(slot);
    if (gw__slot_load(slot, slot->copy_data, slot->copy_total, false, &why)) {
        gw__server_trouble(slot->server, "slot %u: the copy is damaged: %s",
                           slot->number, why.text);
        gw__slot_clear_state(slot);
        slot->copy_have = 0;
        return;
    }
    free(slot->copy_data);
    slot->copy_data = NULL;
    slot->loaded = true;
    slot->leader_since = slot->copy_leader_since;
    slot->applied = slot->committed = slot->matched = slot->last =
        slot->copy_index;
    slot->first = slot->last + 1;
    gw__failpoint(GW__AT_PS_LOADED);
}

void gw__on_copy(struct gw__server *server, uint64_t now_ns,
                 const struct gw__message_in *message,
                 const struct gw__ps_head *head)
{
    (void)now_ns;
    const struct gw__copy_record *record = record_of(message, head, server);
    struct gw__slot *slot = record ? &server->slots[record->slot] : NULL;
    if (!slot || slot->role != GW_PS_LEARNER || record->term < slot->term ||
        message->part_count < 3 ||
        message->parts[2].bytes > record->total - record->offset)
        return;
    slot->term = record->term;
    bool same = slot->copy_leader_since == record->leader_since &&
                slot->copy_index == record->index &&
                slot->copy_total == record->total;
    if (!same && (!is_newer(slot, record) || !begin_to_learn(slot, record)))
        return;
    if (!slot->loaded && record->offset == slot->copy_have) {
        memcpy(slot->copy_data + slot->copy_have, message->parts[2].data,
               message->parts[2].bytes);
        slot->copy_have += message->parts[2].bytes;
        gw__failpoint(GW__AT_PS_LEARN);
        if (slot->copy_have == slot->copy_total)
            load_copy(slot);
    }
    slot->leader = message->from;
    slot->copied_due = true;
}

void gw__flush_copied(struct gw__server *server)
{
    for (unsigned i = 0; i < server->held_count; i++) {
        struct gw__slot *slot = &server->slots[server->held[i]];
        if (!slot->copied_due)
            continue;
        slot->copied_due = false;
        struct {
            struct gw__ps_head head;
            struct gw__copy_record record;
        } out = {.head = {.magic = GW__PS_MAGIC,
                          .kind = GW__PS_COPIED,
                          .segments = 1},
                 .record = {.term = slot->term,
                            .leader_since = slot->copy_leader_since,
                            .index = slot->copy_index,
                            .total = slot->copy_total,
                            .offset = slot->loaded ? slot->copy_total
                                                   : slot->copy_have,
                            .slot = slot->number}};
        struct gw__message_out message = {.node = slot->leader,
                                          .part_count = 1};
        message.parts[0] = (struct gw__messenger_part){&out, sizeof out};
        gw__server_send(server, &message);
    }
}
