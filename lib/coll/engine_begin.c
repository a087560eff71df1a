/* SPDX-License-Identifier: MIT
 *
 * Begins a run of the executor: finds the memory of each cell of the program, in
 * the caller's buffers or in scratch, before engine.c moves the first slice.
 */
#include "elastic.h"

#include <assert.h>
#include <string.h>

/* The memory of initial values. All-to-all in place overwrites blocks that are
 * yet to be sent, so its input is copied first. */
static unsigned char *base_in(const struct gw_request *r, bool *in_place)
{
    *in_place = r->call.in == GW_IN_PLACE;
    if (r->copy)
        return r->copy;
    /* The caller's input is never written. */
    return *in_place ? r->call.out : (unsigned char *)(uintptr_t)r->call.in;
}

static enum gw_err copy_input(struct gw_request *r, struct gw_error *why)
{
    size_t bytes = gw__bytes_in(r->comm, &r->call);
    if (r->call.collective != GW_ALLTOALL || r->call.in != GW_IN_PLACE ||
        bytes == 0)
        return GW_OK;
    r->copy = gw__scratch_acquire(r->comm, bytes, why);
    if (!r->copy)
        return GW_ENOMEM;
    memcpy(r->copy, r->call.out, bytes);
    return GW_OK;
}

/* Locates version 0 and later versions of each cell. Values with more
 * contributors than the rank's input (elastic.h) are in their homes from the
 * beginning. */
static void place_slots(struct gw_request *r)
{
    const struct gw__program *p = r->program;
    bool in_place;
    unsigned char *in = base_in(r, &in_place);
    unsigned char *out = r->call.out;
    size_t used = 0;
    for (unsigned c = 0; c < p->cell_count; c++) {
        const struct gw__cell *cell = &p->cells[c];
        struct gw__chunk_memory *slot = &r->slots[c];
        size_t offset, length;
        gw_plan_extent(p->plan, cell->chunk,
                       gw__block_elems(&r->call, p->plan, p->rank, cell->chunk),
                       r->elem_bytes, &offset, &length);
        *slot = (struct gw__chunk_memory){.bytes = length * r->elem_bytes};
        slot->slices = slot->bytes > r->slice_bytes
                           ? (uint32_t)((slot->bytes + r->slice_bytes - 1) /
                                        r->slice_bytes)
                           : 1;
        if (cell->holds && in)
            slot->first =
                in + r->elem_bytes * gw__offset_in(&r->call, p->plan, p->rank,
                                                   cell->chunk, in_place);
        if (cell->wants && out)
            slot->home =
                out + r->elem_bytes * gw__offset_out(&r->call, p->plan, p->rank,
                                                     cell->chunk, in_place);
        else if (cell->written) {
            slot->home = r->scratch + used;
            used += (slot->bytes + 63) & ~(size_t)63;
        }
        if (r->contributors &&
            !gw__nodes_equal(r->contributors->sets[cell->chunk],
                             gw__nodes_only(r->contributors->own)))
            slot->first = slot->home;
    }
    assert(used <= r->scratch_bytes);
}

/* Memory for the homes of chunks that are only forwarded. */
static size_t scratch_needed(const struct gw_request *r)
{
    const struct gw__program *p = r->program;
    size_t bytes = 0;
    for (unsigned c = 0; c < p->cell_count; c++) {
        size_t offset, length;
        if (!p->cells[c].written || (p->cells[c].wants && r->call.out))
            continue;
        gw_plan_extent(
            p->plan, p->cells[c].chunk,
            gw__block_elems(&r->call, p->plan, p->rank, p->cells[c].chunk),
            r->elem_bytes, &offset, &length);
        bytes += (length * r->elem_bytes + 63) & ~(size_t)63;
    }
    return bytes;
}

enum gw_err gw__engine_begin(struct gw_request *r, struct gw_error *why)
{
    const struct gw__program *p = r->program;
    r->scratch_bytes = scratch_needed(r);
    if (r->scratch_bytes) {
        r->scratch = gw__scratch_acquire(r->comm, r->scratch_bytes, why);
        if (!r->scratch)
            return GW_ENOMEM;
    }
    enum gw_err err = copy_input(r, why);
    if (err)
        return err;
    place_slots(r);
    if (r->contributors)
        gw__contributors_begin(r);
    for (unsigned c = 0; c < p->cell_count && !r->contributors; c++) {
        struct gw__chunk_memory *slot = &r->slots[c];
        if (p->cells[c].holds && p->cells[c].wants && !p->cells[c].written &&
            slot->home && slot->home != slot->first && slot->bytes)
            memcpy(slot->home, slot->first, slot->bytes);
    }
    for (unsigned q = 0; q < r->comm->size; q++) {
        r->out_at[q] = p->out_begin[q];
        r->in_at[q] = p->in_begin[q];
    }
    r->sends_left = p->out_begin[r->comm->size];
    r->writes_left = p->write_count;
    return GW_OK;
}
