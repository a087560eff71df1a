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

static void append_held(struct gw__messenger *post,
                        struct gw__messenger_message *parcel)
{
    unsigned node = parcel->parcel.from;
    struct gw__reorder_queue *line = &post->held.lines[node];
    parcel->next = NULL;
    if (line->first)
        line->last->next = parcel;
    else
        line->first = parcel;
    line->last = parcel;
    post->held.nodes |= (uint64_t)1 << node;
    post->held.count++;
}

static struct gw__messenger_message *shift(struct gw__messenger *post,
                                           unsigned node)
{
    struct gw__reorder_queue *line = &post->held.lines[node];
    struct gw__messenger_message *parcel = line->first;
    line->first = parcel->next;
    if (!line->first)
        post->held.nodes &= ~((uint64_t)1 << node);
    post->held.count--;
    if (node == post->node) {
        post->held.own_count--;
        post->held.own_bytes -= parcel->bytes;
    }
    return parcel;
}

static void drop_message(struct gw__messenger *post,
                         struct gw__messenger_message *parcel)
{
    post->counts.dropped++;
    gw__message_in_release(&parcel->parcel);
}

struct gw__messenger_message *
gw__messenger_held_take(struct gw__messenger *post)
{
    struct gw__messenger_held *held = &post->held;
    if (!held->nodes)
        return NULL;
    uint64_t now_ns = gw_now_ns();
    for (unsigned i = 0; i < GW__MESSENGER_NODES; i++) {
        unsigned node = held->turn++ % GW__MESSENGER_NODES;
        if (held->nodes >> node & 1 &&
            held->lines[node].first->due_ns <= now_ns)
            return shift(post, node);
    }
    return NULL;
}

uint64_t gw__messenger_held_due(const struct gw__messenger *post)
{
    uint64_t due_ns = UINT64_MAX;
    for (uint64_t left = post->held.nodes; left; left &= left - 1) {
        unsigned node = (unsigned)__builtin_ctzll(left);
        uint64_t first_ns = post->held.lines[node].first->due_ns;
        due_ns = first_ns < due_ns ? first_ns : due_ns;
    }
    return due_ns;
}

void gw__messenger_held_forget(struct gw__messenger *post, unsigned node)
{
    while (post->held.nodes >> node & 1)
        drop_message(post, shift(post, node));
    post->held.lines[node].due = (struct gw__due){0};
}

/* ---- link profiles ---- */

/* UINT64_MAX: lost. */
static uint64_t due_time(struct gw__messenger *post,
                         const struct gw__messenger_message *parcel)
{
    unsigned from = parcel->parcel.from;
    uint64_t now_ns = gw_now_ns(), sent_ns = parcel->sent_ns;
    if (from == post->node)
        return 0;
    if (gw__rules_down(post->rules, from))
        return UINT64_MAX;
    if (sent_ns > now_ns || now_ns - sent_ns > oldest_stamp_ns)
        sent_ns = 0;
    return gw__rules_due(post->rules, from, &post->held.lines[from].due,
                         sent_ns, parcel->bytes, true, true);
}

bool gw__messenger_held_admit(struct gw__messenger *post,
                              struct gw__messenger_message *parcel)
{
    unsigned from = parcel->parcel.from;
    bool first = !(post->held.nodes >> from & 1);
    if (!post->rules || (first && gw__rules_quiet(post->rules)))
        return true;
    parcel->due_ns = due_time(post, parcel);
    if (parcel->due_ns == UINT64_MAX) {
        drop_message(post, parcel);
        return false;
    }
    if (first && parcel->due_ns <= gw_now_ns())
        return true;
    append_held(post, parcel);
    return false;
}

static void revise(struct gw__messenger *post, unsigned node)
{
    struct gw__reorder_queue *line = &post->held.lines[node];
    struct gw__messenger_message *last = line->last, *parcel;
    line->due = (struct gw__due){0};
    do {
        parcel = shift(post, node);
        parcel->due_ns = due_time(post, parcel);
        if (parcel->due_ns == UINT64_MAX)
            drop_message(post, parcel);
        else
            append_held(post, parcel);
    } while (parcel != last);
}

void gw__messenger_held_heed(struct gw__messenger *post)
{
    uint64_t changes = post->rules ? gw__rules_changes(post->rules) : 0;
    if (changes == post->held.changes)
        return;
    post->held.changes = changes;
    for (unsigned node = 0; node < GW__MESSENGER_NODES; node++) {
        post->held.lines[node].due = (struct gw__due){0};
        if (node != post->node && post->held.nodes >> node & 1)
            revise(post, node);
    }
}

/* ---- messages to the own node ---- */

static void free_own(struct gw__message_in *parcel)
{
    free(parcel);
}

static struct gw__messenger_message *
copy_message(struct gw__messenger *post, const struct gw__message_out *letter)
{
    size_t room = sizeof(struct gw__messenger_message);
    for (unsigned i = 0; i < letter->part_count; i++)
        room += gw__messenger_padded(letter->parts[i].bytes);
    struct gw__messenger_message *copied = malloc(room);
    if (!copied)
        return NULL;
    *copied = (struct gw__messenger_message){
        .parcel = {.from = post->node,
                   .incarnation_high = post->incarnation_high,
                   .incarnation_low = post->incarnation_low,
                   .part_count = letter->part_count,
                   .free = free_own},
        .bytes = gw__message_out_bytes(letter)};
    atomic_init(&copied->parcel.holds, 1);
    unsigned char *at = (unsigned char *)(copied + 1);
    for (unsigned i = 0; i < letter->part_count; i++) {
        const struct gw__messenger_part *part = &letter->parts[i];
        if (part->bytes > 0)
            memcpy(at, part->data, part->bytes);
        copied->parcel.parts[i] = (struct gw__messenger_part){at, part->bytes};
        at += gw__messenger_padded(part->bytes);
    }
    return copied;
}

/* Lent parts are copied too: the receiver may hold the message for longer than
 * they are lent. */
enum gw_err gw__messenger_held_own(struct gw__messenger *post,
                                   const struct gw__message_out *letter)
{
    struct gw__messenger_held *held = &post->held;
    size_t bytes = gw__message_out_bytes(letter);
    if (held->own_count >= GW__MESSENGER_WAITING_MAX ||
        held->own_bytes + bytes > gw__messenger_copies_max)
        return GW_ENOMEM;
    struct gw__messenger_message *copied = copy_message(post, letter);
    if (!copied)
        return GW_ENOMEM;
    held->own_count++;
    held->own_bytes += bytes;
    append_held(post, copied);
    if (letter->lent && letter->back)
        letter->back(letter->context);
    return GW_OK;
}
