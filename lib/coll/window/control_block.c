/* SPDX-License-Identifier: MIT
 *
 * Posts a call in the control block: the signature, and either the input itself
 * if it is small, or the places of the buffers (staging.c).
 */
#include "loads.h"
#include "staging.h"

#include <assert.h>
#include <string.h>

void gw__control_entry_post_input(struct control_entry *entry,
                                  const struct gw__prepared_call *p,
                                  const struct gw_call *call)
{
    const unsigned char *from = p->key.in_place ? call->out : call->in;
    assert(p->bytes_in <= GW__EAGER_BYTES);
    if (p->bytes_in)
        memcpy(entry->bytes, from + p->posted_from, p->bytes_in);
}

struct control_entry *
gw__control_entry_open(struct gw_comm *comm, uint64_t turn, uint32_t op,
                       const struct gw__signature *signature)
{
    struct control_entry *entry = gw__control_entry(comm, comm->rank, turn);
    atomic_store_explicit(&entry->entered, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    entry->signature = *signature;
    entry->op = op;
    return entry;
}

void gw__control_entry_show(struct control_entry *entry,
                            const struct gw__memory_range *in,
                            const struct gw__memory_range *out, bool in_place)
{
    entry->in = *in;
    entry->out = *out;
    entry->in_place = in_place;
    entry->in_slots = entry->out_slots = (struct gw__staging_slots){.bytes = 0};
    atomic_store_explicit(&entry->filled, UINT32_MAX, memory_order_relaxed);
    atomic_store_explicit(&entry->drained, UINT32_MAX, memory_order_relaxed);
    atomic_store_explicit(&entry->done, 0, memory_order_relaxed);
}

void gw__control_entry_publish(struct gw_comm *comm,
                               struct control_entry *entry, uint64_t turn)
{
    atomic_store_explicit(&entry->entered, turn + 1, memory_order_release);
    comm->windows->wake_all(comm->wire);
}

bool gw__control_entry_is_free(struct gw_comm *comm, uint64_t turn)
{
    uint64_t least = turn + 1;
    if (turn < comm->turns_free)
        return true;
    for (unsigned q = 0; q < comm->size; q++) {
        uint64_t left = atomic_load_explicit(&comm->control_blocks[q]->left,
                                             memory_order_acquire);
        if (q != comm->rank && left < least)
            least = left;
    }
    comm->turns_free = least + GW__CONTROL_ENTRIES;
    return turn < comm->turns_free;
}

void gw__publish_left(struct gw_comm *comm, uint64_t turn)
{
    atomic_store_explicit(&comm->control_blocks[comm->rank]->left, turn,
                          memory_order_release);
    comm->windows->wake_all(comm->wire);
}

enum gw_err gw__control_block_enter(struct gw_request *r, struct gw_error *why)
{
    struct gw_comm *comm = r->comm;
    struct control_entry *entry =
        gw__control_entry_open(comm, r->turn, r->op, &r->signature);
    enum gw_err err = GW_OK;
    if (!r->prepared)
        err = gw__loads_open(r, entry, why);
    else if (r->prepared->eager)
        gw__control_entry_post_input(entry, r->prepared, &r->call);
    else
        err = gw__staging_open(r, entry, why);
    if (err)
        return err;
    gw__control_entry_publish(comm, entry, r->turn);
    comm->windows->moved(comm->wire);
    r->state = GW__ENTERED;
    r->seen = 0;
    return GW_OK;
}

bool gw__window_posted(const struct gw_comm *comm, unsigned peer, unsigned slot,
                       uint32_t *op, struct gw__signature *signature)
{
    struct control_entry *theirs = &comm->control_blocks[peer]->entries[slot];
    uint64_t before =
        atomic_load_explicit(&theirs->entered, memory_order_acquire);
    *op = theirs->op;
    *signature = theirs->signature;
    atomic_thread_fence(memory_order_acquire);
    return before != 0 && before == atomic_load_explicit(&theirs->entered,
                                                         memory_order_relaxed);
}
