/* SPDX-License-Identifier: MIT
 *
 * Letters as messages of the simulator, and messages as parcels: what the post
 * does in the real world.
 */
#include "world.h"

#include <stdlib.h>

struct envelope {
    uint64_t talk;
    uint64_t to; /* the receiver's incarnation, as the sender knows it */
    uint32_t part_count;
    uint32_t bytes[GW__POST_PARTS];
    uint32_t reserved;
};

void parcel_send(const struct member *member, const struct gw__letter *letter)
{
    static _Alignas(8) uint8_t out[GW__MESSAGE_MAX];
    struct envelope *envelope = (void *)out;
    size_t used = sizeof *envelope;
    *envelope = (struct envelope){.talk = TALK_DATA,
                                  .to = member_of(member, letter->node),
                                  .part_count = letter->part_count};
    for (unsigned i = 0; i < letter->part_count; i++) {
        const struct gw__post_part *part = &letter->parts[i];
        envelope->bytes[i] = (uint32_t)part->bytes;
        if (used + part->bytes > sizeof out)
            abort();
        if (part->bytes)
            memcpy(out + used, part->data, part->bytes);
        used += part->bytes;
    }
    if (letter->lent)
        letter->back(letter->context);
    member->act->send(member->act->driver, letter->node, out, used);
}

static void parcel_free(struct gw__parcel *parcel)
{
    free(parcel);
}

/* One piece of memory for all of it; parts begin at multiples of 8. NULL: it is
 * for, or from, a process that is no more: the post drops such. */
struct gw__parcel *parcel_of(const struct member *member,
                             const struct gw__input *input)
{
    struct envelope envelope;
    const uint8_t *from = input->data;
    memcpy(&envelope, from, sizeof envelope);
    if (envelope.to != member->incarnation ||
        member_of(member, input->from) != input->incarnation)
        return NULL;
    struct gw__parcel *parcel =
        calloc(1, sizeof *parcel + input->bytes + GW__POST_PARTS * 8);
    if (!parcel)
        abort();
    from += sizeof envelope;
    parcel->from = input->from;
    parcel->incarnation_high = 1;
    parcel->incarnation_low = input->incarnation;
    parcel->part_count = envelope.part_count;
    atomic_init(&parcel->holds, 1);
    parcel->free = parcel_free;
    uint8_t *to = (uint8_t *)(parcel + 1);
    for (unsigned i = 0; i < envelope.part_count; i++) {
        memcpy(to, from, envelope.bytes[i]);
        parcel->parts[i] = (struct gw__post_part){to, envelope.bytes[i]};
        from += envelope.bytes[i];
        to += (envelope.bytes[i] + 7) / 8 * 8;
    }
    return parcel;
}
