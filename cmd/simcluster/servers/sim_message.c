/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See sim_message.h.
 */
#include "sim_message.h"

#include <ps/slot/replicate.h>

#include <stdlib.h>
#include <string.h>

struct envelope {
    uint64_t marker; /* its first byte; no control message has it */
    uint64_t to;     /* the receiver's incarnation, as the sender knows it */
    uint32_t part_count;
    uint32_t bytes[GW__MESSENGER_PARTS];
    uint32_t reserved;
};

uint64_t mailbox_member(const struct mailbox *box, unsigned node)
{
    for (unsigned i = 0; i < box->update->ps_member_count; i++)
        if (box->update->ps_members[i].node == node)
            return box->update->ps_members[i].incarnation.low;
    return 0;
}

bool message_is(const struct gw__input *input)
{
    const uint8_t *data = input->data;
    return input->kind == GW__MESSAGE && input->bytes > 0 &&
           data[0] >= GW__STATE_TRANSFER;
}

/* Adds the keys and values of a push to a replica. */
static void count_replica_bytes(const struct mailbox *box,
                                const struct gw__message_out *message)
{
    const struct gw__ps_head *head = message->parts[0].data;
    const struct gw__append *record = (const void *)(head + 1);
    if (box->replica_bytes && head->kind == GW__PS_APPEND &&
        message->part_count == 3 && record->kind == GW__ENTRY_PUSH)
        *box->replica_bytes +=
            message->parts[1].bytes + message->parts[2].bytes;
}

void message_send(const struct mailbox *box,
                  const struct gw__message_out *message)
{
    static _Alignas(8) uint8_t out[GW__MESSAGE_MAX];
    struct envelope *envelope = (void *)out;
    size_t used = sizeof *envelope;
    *envelope = (struct envelope){.marker = GW__STATE_TRANSFER,
                                  .to = mailbox_member(box, message->node),
                                  .part_count = message->part_count};
    for (unsigned i = 0; i < message->part_count; i++) {
        const struct gw__messenger_part *part = &message->parts[i];
        envelope->bytes[i] = (uint32_t)part->bytes;
        if (used + part->bytes > sizeof out)
            abort();
        if (part->bytes)
            memcpy(out + used, part->data, part->bytes);
        used += part->bytes;
    }
    count_replica_bytes(box, message);
    if (message->borrowed)
        message->back(message->context);
    box->act->send(box->act->driver, message->node, out, used);
}

static void message_free(struct gw__message_in *message)
{
    free(message);
}

/* One allocation for all of it; parts begin at multiples of 8. */
struct gw__message_in *message_of(const struct mailbox *box,
                                  const struct gw__input *input)
{
    struct envelope envelope;
    const uint8_t *from = input->data;
    memcpy(&envelope, from, sizeof envelope);
    bool named = mailbox_member(box, input->from) == input->incarnation;
    if (envelope.to != box->incarnation || (!named && !box->any_sender))
        return NULL;
    struct gw__message_in *message =
        malloc(sizeof *message + input->bytes + GW__MESSENGER_PARTS * 8);
    if (!message)
        abort();
    from += sizeof envelope;
    *message = (struct gw__message_in){.from = input->from,
                                       .incarnation_high = 1,
                                       .incarnation_low = input->incarnation,
                                       .part_count = envelope.part_count};
    atomic_init(&message->holds, 1);
    message->free = message_free;
    uint8_t *to = (uint8_t *)(message + 1);
    for (unsigned i = 0; i < envelope.part_count; i++) {
        memcpy(to, from, envelope.bytes[i]);
        message->parts[i] = (struct gw__messenger_part){to, envelope.bytes[i]};
        from += envelope.bytes[i];
        to += (envelope.bytes[i] + 7) / 8 * 8;
    }
    return message;
}
