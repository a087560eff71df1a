/* SPDX-License-Identifier: MIT
 *
 * Checks that are common to all messages of the data path. A message is checked
 * completely before use, and messages from unknown senders are refused.
 */
#include "message.h"

static bool has_segments(unsigned kind)
{
    return kind == GW__PS_PUSH || kind == GW__PS_PULL ||
           kind == GW__PS_PUSH_PULL;
}

static size_t part_bytes(const struct gw__message_in *message, unsigned part)
{
    return part < message->part_count ? message->parts[part].bytes : 0;
}

/* Slots must be distinct and not empty, and the sum must match the head. */
static enum gw_err check_segments(const struct gw__ps_head *head,
                                  const struct gw__ps_segment *segments,
                                  struct gw_error *why)
{
    uint64_t slots[GW_PS_SLOTS_MAX / 64] = {0}, keys = 0;
    for (unsigned i = 0; i < head->segments; i++) {
        if (segments[i].slot >= GW_PS_SLOTS_MAX)
            return gw_fail(why, GW_EDATA, "slot %u does not exist",
                           segments[i].slot);
        uint64_t bit = UINT64_C(1) << segments[i].slot % 64;
        uint64_t *word = &slots[segments[i].slot / 64];
        if (*word & bit)
            return gw_fail(why, GW_EDATA, "slot %u occurs twice",
                           segments[i].slot);
        if (segments[i].keys == 0)
            return gw_fail(why, GW_EDATA, "slot %u has no keys",
                           segments[i].slot);
        *word |= bit;
        keys += segments[i].keys;
    }
    if (keys != head->keys)
        return gw_fail(
            why, GW_EDATA, "%llu keys announced, but %llu in segments",
            (unsigned long long)head->keys, (unsigned long long)keys);
    return GW_OK;
}

static enum gw_err check_request(const struct gw__message_in *message,
                                 const struct gw__ps_head *head,
                                 struct gw_error *why)
{
    size_t keys = part_bytes(message, 1), values = part_bytes(message, 2);
    if (head->segments == 0 || head->segments > GW_PS_SEGMENTS_MAX)
        return gw_fail(why, GW_EDATA, "%u segments", head->segments);
    if (message->parts[0].bytes !=
        sizeof *head + head->segments * sizeof(struct gw__ps_segment))
        return gw_fail(why, GW_EDATA, "%zu bytes do not fit %u segments",
                       message->parts[0].bytes, head->segments);
    if (!(keys == 0 && head->key_list != 0) &&
        (keys % 8 != 0 || keys / 8 != head->keys))
        return gw_fail(why, GW_EDATA, "%zu bytes do not fit %llu keys", keys,
                       (unsigned long long)head->keys);
    size_t size = head->flags & GW__PS_HALF ? 2 : 4;
    if (head->kind == GW__PS_PULL ? values != 0 : values % size != 0)
        return gw_fail(why, GW_EDATA, "wrong number of bytes of values: %zu",
                       values);
    return check_segments(
        head, (const struct gw__ps_segment *)(const void *)(head + 1), why);
}

enum gw_err gw__ps_check(const struct gw__message_in *message,
                         const struct gw__ps_head **head,
                         const struct gw__ps_segment **segments,
                         struct gw_error *why)
{
    *head = NULL;
    *segments = NULL;
    if (part_bytes(message, 0) < sizeof **head)
        return gw_fail(why, GW_EDATA, "a message of %zu bytes",
                       part_bytes(message, 0));
    const struct gw__ps_head *h = message->parts[0].data;
    if (h->magic != GW__PS_MAGIC)
        return gw_fail(why, GW_EDATA, "the message is not of this version");
    if (h->kind == 0 || h->kind >= GW__PS_KINDS)
        return gw_fail(why, GW_EDATA, "unknown kind of message: %u", h->kind);
    if (message->part_count > 3)
        return gw_fail(why, GW_EDATA, "%u parts", message->part_count);
    if (has_segments(h->kind)) {
        enum gw_err err = check_request(message, h, why);
        if (err)
            return err;
        *segments = (const struct gw__ps_segment *)(const void *)(h + 1);
    }
    *head = h;
    return GW_OK;
}

static uint64_t mix_hash(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* Four independent chains hide the latency of the multiplication. */
uint64_t gw__ps_key_list(const struct gw__ps_segment *segments,
                         unsigned segment_count, const uint64_t *keys,
                         size_t key_count, unsigned table)
{
    uint64_t chain[4] = {mix_hash(1, table), mix_hash(2, key_count),
                         mix_hash(3, segment_count), 4};
    for (unsigned i = 0; i < segment_count; i++)
        chain[3] = mix_hash(chain[3], (uint64_t)segments[i].slot << 32 |
                                          segments[i].keys);
    size_t i = 0;
    for (; i + 4 <= key_count; i += 4)
        for (unsigned j = 0; j < 4; j++)
            chain[j] = mix_hash(chain[j], keys[i + j]);
    for (; i < key_count; i++)
        chain[0] = mix_hash(chain[0], keys[i]);
    uint64_t hash =
        mix_hash(mix_hash(chain[0], chain[1]), mix_hash(chain[2], chain[3]));
    return hash ? hash : 1;
}
