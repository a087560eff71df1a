/* SPDX-License-Identifier: MIT
 *
 * Serving the state to joiners, in the control thread: the next result if it is
 * one of the two that are kept, else a snapshot. A snapshot is taken on
 * request, with `apply` locked out. It serves all requests for a while, and is
 * dropped when it was not requested for some seconds.
 */
#include "ring_parts.h"

#include "base/failpoint.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static const uint64_t fresh_ns = 300000000, forget_ns = 3000000000;

/* ---- snapshots; only the control thread uses them ---- */

static struct gw__ring_snapshot *find_snapshot(struct gw_ring *ring,
                                               uint64_t id)
{
    for (unsigned i = 0; id && i < GW__RING_SNAPSHOTS; i++)
        if (ring->snapshots[i].id == id)
            return &ring->snapshots[i];
    return NULL;
}

static bool serves(const struct gw__ring_snapshot *snapshot,
                   const struct gw__transfer_request *ask)
{
    return snapshot->op > ask->have_op ||
           (ask->wants_state && snapshot->op == ask->have_op);
}

static struct gw__ring_snapshot *
find_fresh(struct gw_ring *ring, const struct gw__transfer_request *ask,
           uint64_t now_ns)
{
    for (unsigned i = 0; i < GW__RING_SNAPSHOTS; i++) {
        struct gw__ring_snapshot *s = &ring->snapshots[i];
        if (s->id && now_ns - s->made_ns < fresh_ns && serves(s, ask))
            return s;
    }
    return NULL;
}

/* Replaces the one that was not requested for longest. NULL: no memory. */
static struct gw__ring_snapshot *make_snapshot(struct gw_ring *ring,
                                               uint64_t now_ns)
{
    const struct gw_ring_config *config = &ring->config;
    struct gw__ring_snapshot *s = &ring->snapshots[0];
    for (unsigned i = 1; i < GW__RING_SNAPSHOTS; i++)
        if (ring->snapshots[i].used_ns < s->used_ns)
            s = &ring->snapshots[i];
    s->id = 0;
    if (getrandom(&s->id, sizeof s->id, 0) != sizeof s->id)
        s->id = 0;
    pthread_mutex_lock(&ring->state_lock);
    if (!s->data || s->bytes != config->state_bytes) {
        free(s->data);
        s->data = malloc(config->state_bytes ? config->state_bytes : 1);
    }
    s->bytes = config->state_bytes;
    if (s->data && s->bytes)
        memcpy(s->data, config->state, s->bytes);
    s->op = ring->state_op;
    s->digest = ring->digest;
    s->epoch = ring->state_epoch;
    pthread_mutex_unlock(&ring->state_lock);
    if (!s->data || s->id == 0) {
        s->id = 0;
        return NULL;
    }
    s->id |= 1;
    s->made_ns = now_ns;
    return s;
}

void gw__state_serve_turn(struct gw_ring *ring, uint64_t now_ns)
{
    for (unsigned i = 0; i < GW__RING_SNAPSHOTS; i++) {
        struct gw__ring_snapshot *s = &ring->snapshots[i];
        if (!s->data || now_ns < s->used_ns + forget_ns)
            continue;
        free(s->data);
        *s = (struct gw__ring_snapshot){.id = 0};
    }
}

/* ---- pieces ---- */

static void fill_piece(struct gw__state_transfer_piece *piece,
                       const unsigned char *data, uint64_t offset)
{
    uint64_t left = offset < piece->item.bytes ? piece->item.bytes - offset : 0;
    piece->offset = offset < piece->item.bytes ? offset : piece->item.bytes;
    piece->data = data + piece->offset;
    piece->bytes = left < GW__PIECE_BYTES ? (size_t)left : GW__PIECE_BYTES;
}

/* With the lock, which keeps the main thread from beginning an op in this
 * memory. */
static bool cut_result(const struct gw_ring *ring,
                       const struct gw__transfer_request *ask,
                       struct gw__state_transfer_piece *piece)
{
    const struct gw__kept *kept = &ring->kept[ask->have_op % GW__OP_TABLE_OPS];
    if (ask->wants_state || ask->item.kind == GW__ITEM_SNAPSHOT ||
        !kept->complete || !kept->applied || kept->result.op != ask->have_op)
        return false;
    piece->result = kept->result;
    piece->digest = kept->digest;
    piece->epoch = kept->result.epoch;
    piece->item = (struct gw__state_transfer_item){
        .kind = GW__ITEM_RESULT,
        .id = ask->have_op,
        .op = ask->have_op + 1,
        .bytes = kept->result.count * gw_dtype_size(kept->result.type)};
    fill_piece(piece, kept->data, ask->offset);
    return true;
}

static void cut_snapshot(struct gw_ring *ring,
                         const struct gw__transfer_request *ask,
                         struct gw__state_transfer_piece *piece)
{
    uint64_t now_ns = gw_now_ns();
    struct gw__ring_snapshot *s = NULL;
    if (ask->item.kind == GW__ITEM_SNAPSHOT)
        s = find_snapshot(ring, ask->item.id);
    else if (ask->item.kind == GW__ITEM_NONE) {
        s = find_fresh(ring, ask, now_ns);
        if (!s)
            s = make_snapshot(ring, now_ns);
        if (s && !serves(s, ask))
            s = NULL; /* `apply` is not done yet */
    }
    if (!s)
        return;
    s->used_ns = now_ns;
    piece->digest = s->digest;
    piece->epoch = s->epoch;
    piece->item = (struct gw__state_transfer_item){
        .kind = GW__ITEM_SNAPSHOT, .id = s->id, .op = s->op, .bytes = s->bytes};
    fill_piece(piece, s->data, ask->offset);
}

void gw__state_serve_piece(struct gw_ring *ring, unsigned to,
                           const struct gw__transfer_request *ask)
{
    struct gw__state_transfer answer = {.kind = GW__TRANSFER_PIECE};
    uint8_t out[GW__TRANSFER_BYTES_MAX];
    size_t bytes = 0;
    gw__session_lock(&ring->session);
    gw__session_know(&ring->session, to, ask->endpoint);
    answer.piece.gives = ring->gives;
    answer.piece.server_op = ring->member ? ring->ops.next_op : 0;
    bool behind = ask->wants_state || ask->have_op < answer.piece.server_op;
    bool result = ring->gives && cut_result(ring, ask, &answer.piece);
    if (result)
        bytes = gw__state_transfer_encode(&answer, out);
    gw__session_unlock(&ring->session);
    if (!result) {
        if (answer.piece.gives && behind)
            cut_snapshot(ring, ask, &answer.piece);
        bytes = gw__state_transfer_encode(&answer, out);
    }
    if (answer.piece.item.kind != GW__ITEM_NONE)
        gw__failpoint(GW__AT_COPY_GIVE);
    gw__driver_send(ring->session.driver, to, out, bytes);
}
