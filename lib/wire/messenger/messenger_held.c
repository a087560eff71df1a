/* SPDX-License-Identifier: MIT
 *
 * Messages that have arrived and are not given out yet: those held back by link
 * profiles, and those to the own node. There is one queue per node, in the
 * order of its messages: no message of a link overtakes the previous one.
 *
 * When the profiles change, they are applied again to all held messages: a cut
 * drops them, and a slow link that is restored releases them.
 */
#include "messenger_parts.h"

#include <stdlib.h>
#include <string.h>

/* An older time stamp, or one in the future, is of another host's clock, or of
 * a message that waited for its receiver. */
static const uint64_t oldest_stamp_ns = 1000000000U;

/* ---- queues ---- */

static void append_held(struct gw__messenger *messenger,
                        struct gw__messenger_message *message)
{
    unsigned node = message->in.from;
    struct gw__reorder_queue *queue = &messenger->held.queues[node];
    message->next = NULL;
    if (queue->first)
        queue->last->next = message;
    else
        queue->first = message;
    queue->last = message;
    gw__nodes_add(&messenger->held.nodes, node);
    messenger->held.count++;
}

static struct gw__messenger_message *shift(struct gw__messenger *messenger,
                                           unsigned node)
{
    struct gw__reorder_queue *queue = &messenger->held.queues[node];
    struct gw__messenger_message *message = queue->first;
    queue->first = message->next;
    if (!queue->first)
        gw__nodes_remove(&messenger->held.nodes, node);
    messenger->held.count--;
    if (node == messenger->node) {
        messenger->held.own_count--;
        messenger->held.own_bytes -= message->bytes;
    }
    return message;
}

static void drop_message(struct gw__messenger *messenger,
                         struct gw__messenger_message *message)
{
    messenger->counts.dropped++;
    gw__message_in_release(&message->in);
}

static struct gw__messenger_message *
pop_between(struct gw__messenger *messenger, unsigned first, unsigned end,
            uint64_t now_ns)
{
    struct gw__messenger_held *held = &messenger->held;
    for (unsigned node = gw__nodes_next(&held->nodes, first); node < end;
         node = gw__nodes_next(&held->nodes, node + 1))
        if (held->queues[node].first->due_ns <= now_ns) {
            held->turn = node + 1;
            return shift(messenger, node);
        }
    return NULL;
}

struct gw__messenger_message *
gw__messenger_held_pop(struct gw__messenger *messenger)
{
    struct gw__messenger_held *held = &messenger->held;
    if (held->count == 0)
        return NULL;
    uint64_t now_ns = gw_now_ns();
    unsigned begin = held->turn % GW__MESSENGER_NODES;
    struct gw__messenger_message *message =
        pop_between(messenger, begin, GW__MESSENGER_NODES, now_ns);
    return message ? message : pop_between(messenger, 0, begin, now_ns);
}

uint64_t gw__messenger_held_due(const struct gw__messenger *messenger)
{
    uint64_t due_ns = UINT64_MAX;
    const struct gw_nodes *nodes = &messenger->held.nodes;
    for (unsigned node = gw__nodes_next(nodes, 0); node < GW__NODES_MAX;
         node = gw__nodes_next(nodes, node + 1)) {
        uint64_t first_ns = messenger->held.queues[node].first->due_ns;
        due_ns = first_ns < due_ns ? first_ns : due_ns;
    }
    return due_ns;
}

void gw__messenger_held_forget(struct gw__messenger *messenger, unsigned node)
{
    while (gw__nodes_has(&messenger->held.nodes, node))
        drop_message(messenger, shift(messenger, node));
    messenger->held.queues[node].due = (struct gw__due){0};
}

/* ---- link profiles ---- */

/* UINT64_MAX: lost. */
static uint64_t due_time(struct gw__messenger *messenger,
                         const struct gw__messenger_message *message)
{
    unsigned from = message->in.from;
    uint64_t now_ns = gw_now_ns(), sent_ns = message->sent_ns;
    if (from == messenger->node)
        return 0;
    if (gw__link_profiles_down(messenger->profiles, from))
        return UINT64_MAX;
    if (sent_ns > now_ns || now_ns - sent_ns > oldest_stamp_ns)
        sent_ns = 0;
    return gw__link_profiles_due(messenger->profiles, from,
                                 &messenger->held.queues[from].due, sent_ns,
                                 message->bytes, true, true);
}

bool gw__messenger_held_admit(struct gw__messenger *messenger,
                              struct gw__messenger_message *message)
{
    unsigned from = message->in.from;
    bool first = !gw__nodes_has(&messenger->held.nodes, from);
    if (!messenger->profiles ||
        (first && gw__link_profiles_quiet(messenger->profiles)))
        return true;
    message->due_ns = due_time(messenger, message);
    if (message->due_ns == UINT64_MAX) {
        drop_message(messenger, message);
        return false;
    }
    if (first && message->due_ns <= gw_now_ns())
        return true;
    append_held(messenger, message);
    return false;
}

static void revise(struct gw__messenger *messenger, unsigned node)
{
    struct gw__reorder_queue *queue = &messenger->held.queues[node];
    struct gw__messenger_message *last = queue->last, *message;
    queue->due = (struct gw__due){0};
    do {
        message = shift(messenger, node);
        message->due_ns = due_time(messenger, message);
        if (message->due_ns == UINT64_MAX)
            drop_message(messenger, message);
        else
            append_held(messenger, message);
    } while (message != last);
}

void gw__messenger_held_heed(struct gw__messenger *messenger)
{
    uint64_t changes = messenger->profiles
                           ? gw__link_profiles_changes(messenger->profiles)
                           : 0;
    if (changes == messenger->held.changes)
        return;
    messenger->held.changes = changes;
    for (unsigned node = 0; node < GW__MESSENGER_NODES; node++) {
        messenger->held.queues[node].due = (struct gw__due){0};
        if (node != messenger->node &&
            gw__nodes_has(&messenger->held.nodes, node))
            revise(messenger, node);
    }
}

/* ---- messages to the own node ---- */

static void free_own(struct gw__message_in *message)
{
    free(message);
}

static struct gw__messenger_message *
copy_message(struct gw__messenger *messenger,
             const struct gw__message_out *message)
{
    size_t room = sizeof(struct gw__messenger_message);
    for (unsigned i = 0; i < message->part_count; i++)
        room += gw__messenger_padded(message->parts[i].bytes);
    struct gw__messenger_message *copied = malloc(room);
    if (!copied)
        return NULL;
    *copied = (struct gw__messenger_message){
        .in = {.from = messenger->node,
               .incarnation_high = messenger->incarnation_high,
               .incarnation_low = messenger->incarnation_low,
               .part_count = message->part_count,
               .free = free_own},
        .bytes = gw__message_out_bytes(message)};
    atomic_init(&copied->in.holds, 1);
    unsigned char *at = (unsigned char *)(copied + 1);
    for (unsigned i = 0; i < message->part_count; i++) {
        const struct gw__messenger_part *part = &message->parts[i];
        if (part->bytes > 0)
            memcpy(at, part->data, part->bytes);
        copied->in.parts[i] = (struct gw__messenger_part){at, part->bytes};
        at += gw__messenger_padded(part->bytes);
    }
    return copied;
}

/* Lent parts are copied too: the receiver may hold the message for longer than
 * they are lent. */
enum gw_err gw__messenger_held_own(struct gw__messenger *messenger,
                                   const struct gw__message_out *message)
{
    struct gw__messenger_held *held = &messenger->held;
    size_t bytes = gw__message_out_bytes(message);
    if (held->own_count >= GW__MESSENGER_WAITING_MAX ||
        held->own_bytes + bytes > gw__messenger_copies_max)
        return GW_ENOMEM;
    struct gw__messenger_message *copied = copy_message(messenger, message);
    if (!copied)
        return GW_ENOMEM;
    held->own_count++;
    held->own_bytes += bytes;
    append_held(messenger, copied);
    if (message->borrowed && message->back)
        message->back(message->context);
    return GW_OK;
}
