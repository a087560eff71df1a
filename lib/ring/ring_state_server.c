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
                   const struct gw__transfer_request *request)
{
    return snapshot->op > request->have_op ||
           (request->wants_state && snapshot->op == request->have_op);
}

static struct gw__ring_snapshot *
find_fresh(struct gw_ring *ring, const struct gw__transfer_request *request,
           uint64_t now_ns)
{
    for (unsigned i = 0; i < GW__RING_SNAPSHOTS; i++) {
        struct gw__ring_snapshot *s = &ring->snapshots[i];
        if (s->id && now_ns - s->made_ns < fresh_ns && serves(s, request))
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

static void fill_block(struct gw__state_transfer_block *block,
                       const unsigned char *data, uint64_t offset)
{
    uint64_t left = offset < block->item.bytes ? block->item.bytes - offset : 0;
    block->offset = offset < block->item.bytes ? offset : block->item.bytes;
    block->data = data + block->offset;
    block->bytes =
        left < GW__STATE_BLOCK_BYTES ? (size_t)left : GW__STATE_BLOCK_BYTES;
}

/* With the lock, which keeps the main thread from beginning an op in this
 * memory. */
static bool serve_result(const struct gw_ring *ring,
                         const struct gw__transfer_request *request,
                         struct gw__state_transfer_block *block)
{
    const struct gw__kept *kept =
        &ring->kept[request->have_op % GW__OP_TABLE_OPS];
    if (request->wants_state || request->item.kind == GW__ITEM_SNAPSHOT ||
        !kept->complete || !kept->applied ||
        kept->result.op != request->have_op)
        return false;
    block->result = kept->result;
    block->digest = kept->digest;
    block->epoch = kept->result.epoch;
    block->item = (struct gw__state_transfer_item){
        .kind = GW__ITEM_RESULT,
        .id = request->have_op,
        .op = request->have_op + 1,
        .bytes = kept->result.count * gw_dtype_size(kept->result.type)};
    fill_block(block, kept->data, request->offset);
    return true;
}

static void serve_snapshot(struct gw_ring *ring,
                           const struct gw__transfer_request *request,
                           struct gw__state_transfer_block *block)
{
    uint64_t now_ns = gw_now_ns();
    struct gw__ring_snapshot *s = NULL;
    if (request->item.kind == GW__ITEM_SNAPSHOT)
        s = find_snapshot(ring, request->item.id);
    else if (request->item.kind == GW__ITEM_NONE) {
        s = find_fresh(ring, request, now_ns);
        if (!s)
            s = make_snapshot(ring, now_ns);
        if (s && !serves(s, request))
            s = NULL; /* `apply` is not done yet */
    }
    if (!s)
        return;
    s->used_ns = now_ns;
    block->digest = s->digest;
    block->epoch = s->epoch;
    block->item = (struct gw__state_transfer_item){
        .kind = GW__ITEM_SNAPSHOT, .id = s->id, .op = s->op, .bytes = s->bytes};
    fill_block(block, s->data, request->offset);
}

void gw__state_serve_block(struct gw_ring *ring, unsigned to,
                           const struct gw__transfer_request *request)
{
    struct gw__state_transfer answer = {.kind = GW__TRANSFER_BLOCK};
    uint8_t out[GW__TRANSFER_BYTES_MAX];
    size_t bytes = 0;
    gw__session_lock(&ring->session);
    gw__session_know(&ring->session, to, request->endpoint);
    answer.block.has_state = ring->has_state;
    answer.block.server_op = ring->member ? ring->ops.next_op : 0;
    bool behind =
        request->wants_state || request->have_op < answer.block.server_op;
    bool result = ring->has_state && serve_result(ring, request, &answer.block);
    if (result)
        bytes = gw__state_transfer_encode(&answer, out);
    gw__session_unlock(&ring->session);
    if (!result) {
        if (answer.block.has_state && behind)
            serve_snapshot(ring, request, &answer.block);
        bytes = gw__state_transfer_encode(&answer, out);
    }
    if (answer.block.item.kind != GW__ITEM_NONE)
        gw__failpoint(GW__AT_COPY_SEND);
    gw__driver_send(ring->session.driver, to, out, bytes);
}
