/* SPDX-License-Identifier: MIT
 *
 * The members' own messages as bytes: see ring_state_transfer.h.
 */
#include "ring_state_transfer.h"

#include <cluster/driver/driver.h>

#include <string.h>

static void put_item(struct gw__writer *w,
                     const struct gw__state_transfer_item *item)
{
    gw__put_u8(w, item->kind);
    gw__put_u64(w, item->id);
    gw__put_u64(w, item->op);
    gw__put_u64(w, item->bytes);
}

static void get_item(struct gw__reader *r, struct gw__state_transfer_item *item)
{
    item->kind = (enum gw__item_kind)gw__get_u8_below(r, GW__ITEM_RESULT + 1);
    item->id = gw__get_u64(r);
    item->op = gw__get_u64(r);
    item->bytes = gw__get_u64(r);
}

static void put_result(struct gw__writer *w,
                       const struct gw_ring_result *result)
{
    gw__put_u64(w, result->op);
    gw__put_u64(w, result->epoch);
    gw__put_u32(w, result->tag);
    gw__put_u64(w, result->count);
    gw__put_u8(w, result->type);
    gw__put_u8(w, result->redop);
    gw__put_nodes(w, &result->contributors);
    gw__put_u16(w, result->initial_count);
    for (unsigned i = 0; i < result->initial_count; i++)
        gw__put_node(w, result->initial_members[i]);
}

static void get_result(struct gw__reader *r, struct gw_ring_result *result)
{
    result->op = gw__get_u64(r);
    result->epoch = gw__get_u64(r);
    result->tag = gw__get_u32(r);
    result->count = gw__get_u64(r);
    result->type = (enum gw_dtype)gw__get_u8_below(r, GW_DTYPE_COUNT);
    result->redop = (enum gw_redop)gw__get_u8_below(r, GW_REDOP_COUNT);
    result->contributors = gw__get_nodes(r);
    result->initial_count = gw__get_u16_below(r, GW_RING_NODES + 1);
    for (unsigned i = 0; i < result->initial_count; i++)
        result->initial_members[i] = gw__get_node(r);
}

static void put_request(struct gw__writer *w,
                        const struct gw__transfer_request *request)
{
    gw__put_u64(w, request->have_op);
    gw__put_u8(w, request->wants_state);
    gw__put_u64(w, request->offset);
    put_item(w, &request->item);
    gw__put_text(w, request->endpoint);
}

static void get_request(struct gw__reader *r,
                        struct gw__transfer_request *request)
{
    request->have_op = gw__get_u64(r);
    request->wants_state = gw__get_bool(r);
    request->offset = gw__get_u64(r);
    get_item(r, &request->item);
    gw__get_text(r, request->endpoint, sizeof request->endpoint);
}

static void put_block(struct gw__writer *w,
                      const struct gw__state_transfer_block *block)
{
    gw__put_u64(w, block->server_op);
    gw__put_u8(w, block->has_state);
    put_item(w, &block->item);
    if (block->item.kind != GW__ITEM_NONE) {
        gw__put_u64(w, block->digest);
        gw__put_u64(w, block->epoch);
    }
    if (block->item.kind == GW__ITEM_RESULT)
        put_result(w, &block->result);
    gw__put_u64(w, block->offset);
    gw__put_bytes(w, block->data, block->bytes);
}

static void get_block(struct gw__reader *r,
                      struct gw__state_transfer_block *block)
{
    block->server_op = gw__get_u64(r);
    block->has_state = gw__get_bool(r);
    get_item(r, &block->item);
    if (block->item.kind != GW__ITEM_NONE) {
        block->digest = gw__get_u64(r);
        block->epoch = gw__get_u64(r);
    }
    if (block->item.kind == GW__ITEM_RESULT)
        get_result(r, &block->result);
    block->offset = gw__get_u64(r);
    block->data = r->at;
    block->bytes = r->left;
    gw__reader_demand(r, block->bytes <= GW__STATE_BLOCK_BYTES &&
                             block->offset <= block->item.bytes &&
                             block->bytes <= block->item.bytes - block->offset);
    r->left = 0;
}

size_t gw__state_transfer_encode(const struct gw__state_transfer *transfer,
                                 uint8_t out[GW__TRANSFER_BYTES_MAX])
{
    struct gw__writer w = gw__writer_on(out, GW__TRANSFER_BYTES_MAX);
    gw__put_u8(&w, GW__STATE_TRANSFER + transfer->kind);
    if (transfer->kind == GW__TRANSFER_REQUEST)
        put_request(&w, &transfer->request);
    else if (transfer->kind == GW__TRANSFER_BLOCK)
        put_block(&w, &transfer->block);
    else if (transfer->kind == GW__TRANSFER_HAVE) {
        gw__put_u64(&w, transfer->state.ops);
        gw__put_u64(&w, transfer->state.digest);
    } else if (transfer->kind != GW__TRANSFER_CONFIRM)
        gw__put_u64(&w, transfer->ops);
    return gw__writer_fits(&w) ? w.used : 0;
}

enum gw_err gw__state_transfer_decode(const void *data, size_t bytes,
                                      struct gw__state_transfer *transfer,
                                      struct gw_error *why)
{
    struct gw__reader r = gw__reader_on(data, bytes);
    unsigned first = gw__get_u8(&r);
    memset(transfer, 0, sizeof *transfer);
    gw__reader_demand(&r, first >= GW__STATE_TRANSFER &&
                              first < GW__STATE_TRANSFER + GW__TRANSFER_KINDS);
    transfer->kind = (enum gw__state_transfer_kind)(first - GW__STATE_TRANSFER);
    if (r.bad)
        return gw_fail(why, GW_EDATA, "the message is not from a member");
    if (transfer->kind == GW__TRANSFER_REQUEST)
        get_request(&r, &transfer->request);
    else if (transfer->kind == GW__TRANSFER_BLOCK)
        get_block(&r, &transfer->block);
    else if (transfer->kind == GW__TRANSFER_HAVE) {
        transfer->state.ops = gw__get_u64(&r);
        transfer->state.digest = gw__get_u64(&r);
    } else if (transfer->kind != GW__TRANSFER_CONFIRM)
        transfer->ops = gw__get_u64(&r);
    return gw__reader_done(&r)
               ? GW_OK
               : gw_fail(why, GW_EDATA, "a member's message is malformed");
}
