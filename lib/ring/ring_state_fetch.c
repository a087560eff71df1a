/* SPDX-License-Identifier: MIT
 *
 * A joiner copies the state: the control thread's part. It asks one donor at a
 * time for the ops after those in its state, is offered an item (a snapshot, or
 * the next result), and fetches the rest of it in pieces, several in flight at
 * once. The main thread uses the item (ring_copy.c), and then the next one is
 * requested.
 *
 *     resting --> asking --offer--> fetching --all here--> whole --used--+
 *       ^          | nothing yet      | silence: the next donor         |
 *       +----------+                  v                                 |
 *              ^----------------------+---------------------------------+
 */
#include "ring_parts.h"

#include "base/failpoint.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t again_ns = 100000000;  /* then a piece is retried */
static const uint64_t server_ns = 300000000; /* of silence: another donor */
static const uint64_t rest_ns = 2000000;     /* there was nothing new */

/* ---- the donor ---- */

static bool may_serve(const struct gw_ring *ring, unsigned node)
{
    int rank = gw__view_rank(&ring->known, node);
    return rank >= 0 && node != ring->session.node;
}

static void forget_item(struct gw__fetch *fetch)
{
    memset(fetch->window, 0, sizeof fetch->window);
    fetch->item = (struct gw__state_transfer_item){.kind = GW__ITEM_NONE};
    fetch->requested = fetch->got = 0;
}

/* The member after the present donor, in the ring's order. */
static void next_server(struct gw_ring *ring, uint64_t now_ns)
{
    struct gw__fetch *fetch = &ring->fetch;
    const struct gw__view *view = &ring->known;
    unsigned count = view->ring_count;
    int at = fetch->server_known ? gw__view_rank(view, fetch->server) : -1;
    forget_item(fetch);
    fetch->server_known = false;
    fetch->received_ns = now_ns;
    for (unsigned i = 0; i < count && !fetch->server_known; i++) {
        unsigned node = view->ring[((unsigned)(at + 1) + i) % count].node;
        fetch->server = node;
        fetch->server_known = may_serve(ring, node);
    }
}

/* ---- asking ---- */

static void request_block(struct gw_ring *ring, unsigned slot, uint64_t offset,
                          uint64_t now_ns)
{
    struct gw__fetch *fetch = &ring->fetch;
    struct gw__state_transfer message = {.kind = GW__TRANSFER_REQUEST};
    uint8_t out[GW__TRANSFER_BYTES_MAX];
    message.request =
        (struct gw__transfer_request){.have_op = fetch->have_op,
                                      .wants_state = !fetch->copied,
                                      .offset = offset,
                                      .item = fetch->item};
    const char *endpoint = gw__driver_endpoint(ring->session.driver);
    strncpy(message.request.endpoint, endpoint, GW__ENDPOINT_MAX - 1);
    fetch->window[slot].used = true;
    fetch->window[slot].offset = offset;
    fetch->window[slot].requested_ns = now_ns;
    gw__driver_send(ring->session.driver, fetch->server, out,
                    gw__state_transfer_encode(&message, out));
}

static void fill_window(struct gw_ring *ring, uint64_t now_ns)
{
    struct gw__fetch *fetch = &ring->fetch;
    for (unsigned i = 0; i < GW__RING_WINDOW; i++) {
        bool used = fetch->window[i].used;
        if (used && now_ns - fetch->window[i].requested_ns >= again_ns)
            request_block(ring, i, fetch->window[i].offset, now_ns);
        if (used || fetch->requested >= fetch->item.bytes)
            continue;
        request_block(ring, i, fetch->requested, now_ns);
        fetch->requested += GW__STATE_BLOCK_BYTES;
    }
}

static void request_offer(struct gw_ring *ring, uint64_t now_ns)
{
    const struct gw__fetch *fetch = &ring->fetch;
    if (!fetch->window[0].used ||
        now_ns - fetch->window[0].requested_ns >= again_ns)
        request_block(ring, 0, 0, now_ns);
}

bool gw__fetch_whole(const struct gw__fetch *fetch)
{
    return fetch->item.kind != GW__ITEM_NONE && fetch->got == fetch->item.bytes;
}

void gw__fetch_next(struct gw__fetch *fetch)
{
    forget_item(fetch);
    fetch->rest_ns = 0;
    fetch->received_ns = gw_now_ns();
}

void gw__fetch_update(struct gw_ring *ring)
{
    const struct gw__fetch *fetch = &ring->fetch;
    if (fetch->server_known && !may_serve(ring, fetch->server) &&
        !gw__fetch_whole(fetch))
        next_server(ring, gw_now_ns());
}

void gw__fetch_turn(struct gw_ring *ring, uint64_t now_ns)
{
    struct gw__fetch *fetch = &ring->fetch;
    gw__session_lock(&ring->session);
    if (fetch->active && !gw__fetch_whole(fetch)) {
        bool silent = now_ns > fetch->received_ns + server_ns;
        if (!fetch->server_known || !may_serve(ring, fetch->server) || silent)
            next_server(ring, now_ns);
        if (fetch->server_known && fetch->item.kind != GW__ITEM_NONE)
            fill_window(ring, now_ns);
        else if (fetch->server_known && now_ns >= fetch->rest_ns)
            request_offer(ring, now_ns);
    }
    gw__session_unlock(&ring->session);
}

/* ---- arriving pieces ---- */

static bool reserve_state(struct gw__fetch *fetch, size_t bytes)
{
    if (bytes <= fetch->room && fetch->data)
        return true;
    free(fetch->data);
    fetch->data = malloc(bytes ? bytes : 1);
    fetch->room = fetch->data ? bytes : 0;
    return fetch->data;
}

static void accept_offer(struct gw_ring *ring,
                         const struct gw__state_transfer_block *block)
{
    struct gw__fetch *fetch = &ring->fetch;
    const struct gw__state_transfer_item *item = &block->item;
    size_t ours = gw__state_bytes(ring);
    if (item->kind == GW__ITEM_SNAPSHOT && item->bytes != ours) {
        gw_fail(&ring->failed, GW_EMISMATCH,
                "node %u has a state of %llu bytes, but this node has %zu",
                fetch->server, (unsigned long long)item->bytes, ours);
        return;
    }
    size_t value = gw_dtype_size(block->result.type);
    bool fits = item->kind == GW__ITEM_SNAPSHOT
                    ? item->op >= fetch->have_op
                    : fetch->copied && block->result.op == fetch->have_op &&
                          block->result.count == item->bytes / value &&
                          item->bytes % value == 0;
    if (!fits || block->offset != 0)
        return;
    if (!reserve_state(fetch, item->bytes)) {
        gw_fail(&ring->failed, GW_ENOMEM, "a state of %llu bytes",
                (unsigned long long)item->bytes);
        return;
    }
    forget_item(fetch);
    fetch->item = *item;
    fetch->digest = block->digest;
    fetch->epoch = block->epoch;
    fetch->result = block->result;
    fetch->result.data = fetch->data;
    fetch->requested = fetch->got = block->bytes;
    if (block->bytes)
        memcpy(fetch->data, block->data, block->bytes);
}

static void store_block(struct gw__fetch *fetch,
                        const struct gw__state_transfer_block *block)
{
    if (block->item.kind != fetch->item.kind ||
        block->item.id != fetch->item.id ||
        block->item.bytes != fetch->item.bytes) {
        if (block->item.kind == GW__ITEM_NONE) /* dropped there */
            forget_item(fetch);
        return;
    }
    for (unsigned i = 0; i < GW__RING_WINDOW; i++)
        if (fetch->window[i].used && fetch->window[i].offset == block->offset) {
            memcpy(fetch->data + block->offset, block->data, block->bytes);
            fetch->got += block->bytes;
            fetch->window[i].used = false;
            return;
        }
}

static void apply_block(struct gw_ring *ring,
                        const struct gw__state_transfer_block *block,
                        uint64_t now_ns)
{
    struct gw__fetch *fetch = &ring->fetch;
    fetch->received_ns = now_ns;
    if (!block->has_state) {
        next_server(ring, now_ns);
        fetch->rest_ns = now_ns + rest_ns;
        return;
    }
    fetch->server_op = block->server_op;
    if (fetch->item.kind != GW__ITEM_NONE)
        store_block(fetch, block);
    else if (block->item.kind != GW__ITEM_NONE)
        accept_offer(ring, block);
    else {
        fetch->window[0].used = false;
        fetch->rest_ns = now_ns + rest_ns;
    }
}

void gw__fetch_block(struct gw_ring *ring, unsigned from,
                     const struct gw__state_transfer_block *block)
{
    const struct gw__fetch *fetch = &ring->fetch;
    gw__session_lock(&ring->session);
    if (fetch->active && fetch->server_known && fetch->server == from &&
        !gw__fetch_whole(fetch)) {
        apply_block(ring, block, gw_now_ns());
        if (block->item.kind != GW__ITEM_NONE)
            gw__failpoint(GW__AT_COPY_BLOCK);
        gw__ring_raise_stop(ring);
        gw__session_wake(&ring->session);
    }
    gw__session_unlock(&ring->session);
}
