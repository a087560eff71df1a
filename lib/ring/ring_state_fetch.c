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

static const uint64_t again_ns = 100000000; /* then a piece is retried */
static const uint64_t donor_ns = 300000000; /* of silence: another donor */
static const uint64_t rest_ns = 2000000;    /* there was nothing new */

/* ---- the donor ---- */

static bool may_give(const struct gw_ring *ring, unsigned node)
{
    int rank = gw__view_rank(&ring->known, node);
    return rank >= 0 && node != ring->session.node;
}

static void forget_item(struct gw__pull *pull)
{
    memset(pull->window, 0, sizeof pull->window);
    pull->item = (struct gw__foreign_item){.kind = GW__ITEM_NONE};
    pull->asked = pull->got = 0;
}

/* The member after the present donor, in the ring's order. */
static void next_donor(struct gw_ring *ring, uint64_t now_ns)
{
    struct gw__pull *pull = &ring->pull;
    const struct gw__view *view = &ring->known;
    unsigned count = view->ring_count;
    int at = pull->donor_known ? gw__view_rank(view, pull->donor) : -1;
    forget_item(pull);
    pull->donor_known = false;
    pull->heard_ns = now_ns;
    for (unsigned i = 0; i < count && !pull->donor_known; i++) {
        unsigned node = view->ring[((unsigned)(at + 1) + i) % count].node;
        pull->donor = node;
        pull->donor_known = may_give(ring, node);
    }
}

/* ---- asking ---- */

static void request_piece(struct gw_ring *ring, unsigned slot, uint64_t offset,
                          uint64_t now_ns)
{
    struct gw__pull *pull = &ring->pull;
    struct gw__foreign message = {.kind = GW__FOREIGN_ASK};
    uint8_t out[GW__FOREIGN_BYTES_MAX];
    message.ask = (struct gw__foreign_ask){.have_op = pull->have_op,
                                           .wants_state = !pull->copied,
                                           .offset = offset,
                                           .item = pull->item};
    const char *endpoint = gw__driver_endpoint(ring->session.driver);
    strncpy(message.ask.endpoint, endpoint, GW__ENDPOINT_MAX - 1);
    pull->window[slot].used = true;
    pull->window[slot].offset = offset;
    pull->window[slot].asked_ns = now_ns;
    gw__driver_send(ring->session.driver, pull->donor, out,
                    gw__foreign_encode(&message, out));
}

static void fill_window(struct gw_ring *ring, uint64_t now_ns)
{
    struct gw__pull *pull = &ring->pull;
    for (unsigned i = 0; i < GW__RING_WINDOW; i++) {
        bool used = pull->window[i].used;
        if (used && now_ns - pull->window[i].asked_ns >= again_ns)
            request_piece(ring, i, pull->window[i].offset, now_ns);
        if (used || pull->asked >= pull->item.bytes)
            continue;
        request_piece(ring, i, pull->asked, now_ns);
        pull->asked += GW__PIECE_BYTES;
    }
}

static void ask_offer(struct gw_ring *ring, uint64_t now_ns)
{
    const struct gw__pull *pull = &ring->pull;
    if (!pull->window[0].used || now_ns - pull->window[0].asked_ns >= again_ns)
        request_piece(ring, 0, 0, now_ns);
}

bool gw__pull_whole(const struct gw__pull *pull)
{
    return pull->item.kind != GW__ITEM_NONE && pull->got == pull->item.bytes;
}

void gw__pull_next(struct gw__pull *pull)
{
    forget_item(pull);
    pull->rest_ns = 0;
    pull->heard_ns = gw_now_ns();
}

void gw__pull_news(struct gw_ring *ring)
{
    const struct gw__pull *pull = &ring->pull;
    if (pull->donor_known && !may_give(ring, pull->donor) &&
        !gw__pull_whole(pull))
        next_donor(ring, gw_now_ns());
}

void gw__pull_turn(struct gw_ring *ring, uint64_t now_ns)
{
    struct gw__pull *pull = &ring->pull;
    gw__session_lock(&ring->session);
    if (pull->active && !gw__pull_whole(pull)) {
        bool silent = now_ns > pull->heard_ns + donor_ns;
        if (!pull->donor_known || !may_give(ring, pull->donor) || silent)
            next_donor(ring, now_ns);
        if (pull->donor_known && pull->item.kind != GW__ITEM_NONE)
            fill_window(ring, now_ns);
        else if (pull->donor_known && now_ns >= pull->rest_ns)
            ask_offer(ring, now_ns);
    }
    gw__session_unlock(&ring->session);
}

/* ---- arriving pieces ---- */

static bool reserve_state(struct gw__pull *pull, size_t bytes)
{
    if (bytes <= pull->room && pull->data)
        return true;
    free(pull->data);
    pull->data = malloc(bytes ? bytes : 1);
    pull->room = pull->data ? bytes : 0;
    return pull->data;
}

static void take_offer(struct gw_ring *ring,
                       const struct gw__foreign_piece *piece)
{
    struct gw__pull *pull = &ring->pull;
    const struct gw__foreign_item *item = &piece->item;
    size_t ours = gw__state_bytes(ring);
    if (item->kind == GW__ITEM_SNAPSHOT && item->bytes != ours) {
        gw_fail(&ring->failed, GW_EMISMATCH,
                "node %u has a state of %llu bytes, but this node has %zu",
                pull->donor, (unsigned long long)item->bytes, ours);
        return;
    }
    size_t value = gw_dtype_size(piece->result.type);
    bool fits = item->kind == GW__ITEM_SNAPSHOT
                    ? item->op >= pull->have_op
                    : pull->copied && piece->result.op == pull->have_op &&
                          piece->result.count == item->bytes / value &&
                          item->bytes % value == 0;
    if (!fits || piece->offset != 0)
        return;
    if (!reserve_state(pull, item->bytes)) {
        gw_fail(&ring->failed, GW_ENOMEM, "a state of %llu bytes",
                (unsigned long long)item->bytes);
        return;
    }
    forget_item(pull);
    pull->item = *item;
    pull->digest = piece->digest;
    pull->epoch = piece->epoch;
    pull->result = piece->result;
    pull->result.data = pull->data;
    pull->asked = pull->got = piece->bytes;
    if (piece->bytes)
        memcpy(pull->data, piece->data, piece->bytes);
}

static void take_piece(struct gw__pull *pull,
                       const struct gw__foreign_piece *piece)
{
    if (piece->item.kind != pull->item.kind ||
        piece->item.id != pull->item.id ||
        piece->item.bytes != pull->item.bytes) {
        if (piece->item.kind == GW__ITEM_NONE) /* dropped there */
            forget_item(pull);
        return;
    }
    for (unsigned i = 0; i < GW__RING_WINDOW; i++)
        if (pull->window[i].used && pull->window[i].offset == piece->offset) {
            memcpy(pull->data + piece->offset, piece->data, piece->bytes);
            pull->got += piece->bytes;
            pull->window[i].used = false;
            return;
        }
}

static void apply_piece(struct gw_ring *ring,
                        const struct gw__foreign_piece *piece, uint64_t now_ns)
{
    struct gw__pull *pull = &ring->pull;
    pull->heard_ns = now_ns;
    if (!piece->gives) {
        next_donor(ring, now_ns);
        pull->rest_ns = now_ns + rest_ns;
        return;
    }
    pull->donor_op = piece->donor_op;
    if (pull->item.kind != GW__ITEM_NONE)
        take_piece(pull, piece);
    else if (piece->item.kind != GW__ITEM_NONE)
        take_offer(ring, piece);
    else {
        pull->window[0].used = false;
        pull->rest_ns = now_ns + rest_ns;
    }
}

void gw__pull_piece(struct gw_ring *ring, unsigned from,
                    const struct gw__foreign_piece *piece)
{
    const struct gw__pull *pull = &ring->pull;
    gw__session_lock(&ring->session);
    if (pull->active && pull->donor_known && pull->donor == from &&
        !gw__pull_whole(pull)) {
        apply_piece(ring, piece, gw_now_ns());
        if (piece->item.kind != GW__ITEM_NONE)
            gw__failpoint(GW__AT_COPY_PIECE);
        gw__ring_raise_stop(ring);
        gw__session_wake(&ring->session);
    }
    gw__session_unlock(&ring->session);
}
