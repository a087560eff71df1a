/* SPDX-License-Identifier: MIT
 *
 * Packing and unpacking of bundles; see bundle.h.
 */
#include "bundle.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC    0x31425767u /* "gWB1" */
#define ENVELOPE 0x31455767u /* "gWE1" */

struct head {
    uint32_t magic;
    uint32_t count;
};

struct sizes {
    uint32_t part_count;
    uint32_t node; /* envelopes: the other end, of this incarnation */
    uint64_t incarnation_high, incarnation_low;
    uint32_t bytes[GW__MESSENGER_PARTS];
};
_Static_assert(sizeof(struct head) % 8 == 0, "messages are aligned");
_Static_assert(sizeof(struct sizes) % 8 == 0, "so are parts");

static size_t aligned(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

/* ---- packing ---- */

/* The size of the message in a bundle; 0: it is too large for one. */
static size_t packed_bytes(const struct gw__message_out *message)
{
    size_t bytes = 0, packed = sizeof(struct sizes);
    for (unsigned i = 0; i < message->part_count; i++) {
        if (message->parts[i].bytes >= GW__BUNDLE_SMALL - bytes)
            return 0;
        bytes += message->parts[i].bytes;
        packed += aligned(message->parts[i].bytes);
    }
    return packed;
}

/* Appends the message. Lent parts of the first message are not copied yet, but
 * get their space. */
static void pack(struct gw__bundle_to *to,
                 const struct gw__message_out *message,
                 const struct gw__bundle_end *end)
{
    struct sizes sizes = {.part_count = message->part_count,
                          .node = end->node,
                          .incarnation_high = end->incarnation_high,
                          .incarnation_low = end->incarnation_low};
    uint8_t *at = to->data + to->used + sizeof sizes;
    bool first = to->count == 0 && !to->envelope;
    if (first)
        to->first = *message;
    for (unsigned i = 0; i < message->part_count; i++) {
        size_t bytes = message->parts[i].bytes;
        bool later = first && message->borrowed >> i & 1;
        sizes.bytes[i] = (uint32_t)bytes;
        if (bytes > 0 && !later)
            memcpy(at, message->parts[i].data, bytes);
        if (first && !later)
            to->first.parts[i].data = at;
        memset(at + bytes, 0, aligned(bytes) - bytes);
        at += aligned(bytes);
    }
    memcpy(to->data + to->used, &sizes, sizeof sizes);
    to->used = (size_t)(at - to->data);
    to->count++;
}

/* Copies the lent parts of the first message, since a second one follows. */
static void complete_first(struct gw__bundle_to *to)
{
    const struct gw__message_out *first = &to->first;
    uint8_t *at = to->data + sizeof(struct head) + sizeof(struct sizes);
    for (unsigned i = 0; i < first->part_count; i++) {
        size_t bytes = first->parts[i].bytes;
        if (first->borrowed >> i & 1 && bytes > 0)
            memcpy(at, first->parts[i].data, bytes);
        at += aligned(bytes);
    }
    if (first->borrowed)
        first->back(first->context);
}

void gw__bundles_flush_node(struct gw__bundles *bundles, unsigned node)
{
    struct gw__bundle_to *to = &bundles->to[node];
    struct gw__message_out message = {.node = node, .part_count = 1};
    if (!gw__nodes_has(&bundles->waiting, node))
        return;
    gw__nodes_remove(&bundles->waiting, node);
    const struct head head = {to->envelope ? ENVELOPE : MAGIC, to->count};
    memcpy(to->data, &head, sizeof head);
    message.parts[0] = (struct gw__messenger_part){to->data, to->used};
    bundles->saved += to->count - 1;
    bool alone = to->count == 1 && !to->envelope;
    bundles->send(bundles->context, alone ? &to->first : &message);
}

/* Makes room for a message of this size, in a bundle of the same kind. False:
 * out of memory. */
static bool reserve_bundle(struct gw__bundles *bundles, unsigned node,
                           size_t bytes, bool envelope)
{
    struct gw__bundle_to *to = &bundles->to[node];
    if (to->used + bytes > GW__BUNDLE_ROOM || to->envelope != envelope)
        gw__bundles_flush_node(bundles, node);
    if (!to->data)
        to->data = malloc(GW__BUNDLE_ROOM);
    if (!to->data)
        return false;
    if (!gw__nodes_has(&bundles->waiting, node)) {
        to->used = sizeof(struct head);
        to->count = 0;
        to->envelope = envelope;
        gw__nodes_add(&bundles->waiting, node);
    }
    return true;
}

void gw__bundles_send(struct gw__bundles *bundles,
                      const struct gw__message_out *message)
{
    if (bundles->off || message->node >= GW__MESSENGER_NODES) {
        bundles->send(bundles->context, message);
        return;
    }
    size_t bytes = packed_bytes(message);
    bool first = !gw__nodes_has(&bundles->begun, message->node);
    gw__nodes_add(&bundles->begun, message->node);
    if (first || bytes == 0 ||
        !reserve_bundle(bundles, message->node, bytes, false)) {
        gw__bundles_flush_node(bundles, message->node);
        bundles->send(bundles->context, message);
        return;
    }
    struct gw__bundle_to *to = &bundles->to[message->node];
    if (to->count == 1)
        complete_first(to);
    pack(to, message, &(struct gw__bundle_end){0});
    if (to->count > 1 && message->borrowed)
        message->back(message->context);
}

bool gw__bundles_forward(struct gw__bundles *bundles,
                         const struct gw__message_out *message,
                         const struct gw__bundle_end *end)
{
    size_t bytes =
        message->node < GW__MESSENGER_NODES ? packed_bytes(message) : 0;
    if (bytes == 0 || !reserve_bundle(bundles, message->node, bytes, true))
        return false;
    pack(&bundles->to[message->node], message, end);
    if (message->borrowed)
        message->back(message->context);
    return true;
}

void gw__bundles_greet(struct gw__bundles *bundles, unsigned node)
{
    const struct head head = {ENVELOPE, 0};
    const struct gw__message_out message = {
        .node = node, .part_count = 1, .parts = {{&head, sizeof head}}};
    bundles->send(bundles->context, &message);
}

void gw__bundles_flush(struct gw__bundles *bundles)
{
    bundles->begun = (struct gw_nodes){{0}};
    for (unsigned node = gw__nodes_next(&bundles->waiting, 0);
         node < GW__NODES_MAX;
         node = gw__nodes_next(&bundles->waiting, node + 1))
        gw__bundles_flush_node(bundles, node);
}

void gw__bundles_fini(struct gw__bundles *bundles)
{
    for (unsigned i = 0; i < GW__MESSENGER_NODES; i++) {
        struct gw__bundle_to *to = &bundles->to[i];
        bool alone = to->count == 1 && !to->envelope;
        if (gw__nodes_has(&bundles->waiting, i) && alone && to->first.borrowed)
            to->first.back(to->first.context);
        free(to->data);
        *to = (struct gw__bundle_to){.data = NULL};
    }
    bundles->begun = bundles->waiting = (struct gw_nodes){{0}};
}

/* ---- unpacking ---- */

struct bundled {
    struct gw__message_in message; /* must be first: freed by its address */
    struct gw__message_in *bundle;
};

static uint32_t magic_of(const struct gw__message_in *message)
{
    uint32_t magic = 0;
    if (message->part_count == 1 &&
        message->parts[0].bytes >= sizeof(struct head))
        memcpy(&magic, message->parts[0].data, sizeof magic);
    return magic;
}

bool gw__is_bundle(const struct gw__message_in *message)
{
    return magic_of(message) == MAGIC;
}

bool gw__is_envelope(const struct gw__message_in *message)
{
    return magic_of(message) == ENVELOPE;
}

/* The end of the inner message at `at`; 0: it exceeds the bundle. */
static size_t check_message(const uint8_t *data, size_t at, size_t end)
{
    struct sizes sizes;
    if (end - at < sizeof sizes)
        return 0;
    memcpy(&sizes, data + at, sizeof sizes);
    at += sizeof sizes;
    if (sizes.part_count > GW__MESSENGER_PARTS)
        return 0;
    for (unsigned i = 0; i < sizes.part_count; i++) {
        if (aligned(sizes.bytes[i]) > end - at)
            return 0;
        at += aligned(sizes.bytes[i]);
    }
    return at;
}

enum gw_err gw__bundle_check(const struct gw__message_in *message,
                             unsigned *count, struct gw_error *why)
{
    const uint8_t *data = message->parts[0].data;
    size_t at = sizeof(struct head), end = message->parts[0].bytes;
    struct head head;
    *count = 0;
    if (!gw__is_bundle(message) && !gw__is_envelope(message))
        return gw_fail(why, GW_EDATA, "malformed bundle of messages");
    memcpy(&head, data, sizeof head);
    for (unsigned i = 0; i < head.count; i++) {
        at = check_message(data, at, end);
        if (at == 0)
            return gw_fail(why, GW_EDATA,
                           "message %u of a bundle of %u extends past its end",
                           i, head.count);
    }
    if (at != end)
        return gw_fail(why, GW_EDATA,
                       "%zu extra bytes after a bundle of %u messages",
                       end - at, head.count);
    *count = head.count;
    return GW_OK;
}

/* Reads the checked inner message at `at`. Returns its end. */
static size_t find_message(const struct gw__message_in *bundle, size_t at,
                           struct gw__message_in *found)
{
    struct sizes sizes;
    const uint8_t *data = bundle->parts[0].data;
    memcpy(&sizes, data + at, sizeof sizes);
    at += sizeof sizes;
    found->part_count = sizes.part_count;
    for (unsigned i = 0; i < sizes.part_count; i++) {
        found->parts[i] =
            (struct gw__messenger_part){data + at, sizes.bytes[i]};
        at += aligned(sizes.bytes[i]);
    }
    bool envelope = gw__is_envelope(bundle);
    found->from = envelope ? sizes.node : bundle->from;
    found->incarnation_high =
        envelope ? sizes.incarnation_high : bundle->incarnation_high;
    found->incarnation_low =
        envelope ? sizes.incarnation_low : bundle->incarnation_low;
    return at;
}

static void free_bundled(struct gw__message_in *message)
{
    struct bundled *bundled = (struct bundled *)(void *)message;
    gw__message_in_release(bundled->bundle);
    free(bundled);
}

struct gw__message_in *gw__bundle_next(struct gw__message_in *bundle,
                                       size_t *at)
{
    struct bundled *bundled = calloc(1, sizeof *bundled);
    struct gw__message_in found = {.free = free_bundled};
    *at = find_message(bundle, *at ? *at : sizeof(struct head), &found);
    if (!bundled)
        return NULL;
    bundled->bundle = bundle;
    gw__message_in_hold(bundle);
    bundled->message = found;
    atomic_init(&bundled->message.holds, 1);
    return &bundled->message;
}
