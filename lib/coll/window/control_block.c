/* SPDX-License-Identifier: MIT
 *
 * Posts a call in the control block: the signature, and either the input itself
 * if it is small, or the places of the buffers (stage.c).
 */
#include "stage.h"

#include <assert.h>
#include <string.h>

void gw__side_post_input(struct side *side, const struct gw__prepared_call *p,
                         const struct gw_call *call)
{
    const unsigned char *from = p->key.in_place ? call->out : call->in;
    assert(p->bytes_in <= GW__EAGER_BYTES);
    if (p->bytes_in)
        memcpy(side->bytes, from + p->posted_from, p->bytes_in);
}

struct side *gw__side_open(struct gw_comm *comm, uint64_t turn, uint32_t op,
                           const struct gw__signature *signature)
{
    struct side *side = gw__side(comm, comm->rank, turn);
    atomic_store_explicit(&side->entered, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    side->signature = *signature;
    side->op = op;
    return side;
}

void gw__side_show(struct side *side, const struct gw__place *in,
                   const struct gw__place *out, bool in_place)
{
    side->in = *in;
    side->out = *out;
    side->in_place = in_place;
    side->in_slot_bytes = side->out_slot_bytes = 0;
    atomic_store_explicit(&side->filled, UINT32_MAX, memory_order_relaxed);
    atomic_store_explicit(&side->drained, UINT32_MAX, memory_order_relaxed);
    atomic_store_explicit(&side->done, 0, memory_order_relaxed);
}

void gw__side_publish(struct gw_comm *comm, struct side *side, uint64_t turn)
{
    atomic_store_explicit(&side->entered, turn + 1, memory_order_release);
    comm->windows->wake_all(comm->wire);
}

bool gw__side_is_free(struct gw_comm *comm, uint64_t turn)
{
    uint64_t least = turn + 1;
    if (turn < comm->turns_free)
        return true;
    for (unsigned q = 0; q < comm->size; q++) {
        uint64_t left =
            atomic_load_explicit(&comm->cards[q]->left, memory_order_acquire);
        if (q != comm->rank && left < least)
            least = left;
    }
    comm->turns_free = least + GW__SIDES;
    return turn < comm->turns_free;
}

void gw__tell_left(struct gw_comm *comm, uint64_t turn)
{
    atomic_store_explicit(&comm->cards[comm->rank]->left, turn,
                          memory_order_release);
    comm->windows->wake_all(comm->wire);
}

enum gw_err gw__control_block_enter(struct gw_request *r, struct gw_error *why)
{
    struct gw_comm *comm = r->comm;
    struct side *side = gw__side_open(comm, r->turn, r->op, &r->signature);
    enum gw_err err = GW_OK;
    if (r->prepared->eager)
        gw__side_post_input(side, r->prepared, &r->call);
    else
        err = gw__stage_open(r, side, why);
    if (err)
        return err;
    gw__side_publish(comm, side, r->turn);
    comm->windows->moved(comm->wire);
    r->state = GW__ENTERED;
    r->seen = 0;
    return GW_OK;
}

bool gw__window_posted(const struct gw_comm *comm, unsigned peer, unsigned side,
                       uint32_t *op, struct gw__signature *signature)
{
    struct side *theirs = &comm->cards[peer]->sides[side];
    uint64_t before =
        atomic_load_explicit(&theirs->entered, memory_order_acquire);
    *op = theirs->op;
    *signature = theirs->signature;
    atomic_thread_fence(memory_order_acquire);
    return before != 0 && before == atomic_load_explicit(&theirs->entered,
                                                         memory_order_relaxed);
}
