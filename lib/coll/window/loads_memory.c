/* SPDX-License-Identifier: MIT
 *
 * The memory of window loads. A rank posts three places: its input, its result,
 * and an arena of scratch memory:
 *
 *     | slices of each write | rooms | copies of buffers | memory of the ranks |
 *     0                      rooms_at
 *
 * Peers read the first two parts. A buffer that they cannot map is copied to the
 * arena as a whole, and so is an input that this rank overwrites.
 */
#include "loads.h"

#include <string.h>

/* An arena's parts, in bytes. */
struct parts {
    size_t progress, rooms, in, out, ranks;
};

static size_t round_up(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* All ranks compute the same. */
static size_t largest_chunk(const struct gw_request *r)
{
    const struct gw_plan *plan = r->program->plan;
    size_t most = 0;
    for (unsigned c = 0; c < plan->chunks; c++) {
        size_t bytes = gw__chunk_bytes(r->comm, &r->call, plan, c);
        most = bytes > most ? bytes : most;
    }
    return round_up(most);
}

static void measure_cells(const struct gw_request *r)
{
    const struct gw__program *p = r->program;
    for (uint32_t c = 0; c < p->cell_count; c++) {
        size_t bytes =
            gw__chunk_bytes(r->comm, &r->call, p->plan, p->cells[c].chunk);
        size_t slices = (bytes + GW__LOAD_BYTES - 1) / GW__LOAD_BYTES;
        r->slots[c] = (struct gw__chunk_memory){
            .bytes = bytes, .slices = slices ? (uint32_t)slices : 1};
    }
}

static unsigned char *own_input(const struct gw_request *r)
{
    return in_place(r) ? r->call.out : (unsigned char *)(uintptr_t)r->call.in;
}

static size_t input_bytes(const struct gw_request *r)
{
    return in_place(r) ? gw__bytes_out(r->comm, &r->call)
                       : gw__bytes_in(r->comm, &r->call);
}

static struct gw__memory_range show(const struct gw_request *r,
                                    const void *memory, size_t bytes)
{
    return memory && bytes
               ? r->comm->windows->show(r->comm->wire, memory, bytes)
               : (struct gw__memory_range){.fd = -1};
}

/* The rank's own parts of the arena are in its memory, too. */
static void lay_out(struct gw_request *r, const struct parts *parts)
{
    struct gw__loads_run *run = &r->loads;
    unsigned char *at = r->scratch;
    run->progress = (_Atomic uint32_t *)(void *)at;
    at += parts->progress;
    run->rooms = at;
    at += parts->rooms;
    run->in = parts->in ? at : own_input(r);
    at += parts->in;
    run->out = parts->out ? at : r->call.out;
    at += parts->out;
    run->ranks = (struct gw__rank_memory *)(void *)at;
    memset(r->scratch, 0, parts->progress);
    memset(run->ranks, 0, parts->ranks);
    run->ranks[r->comm->rank] =
        (struct gw__rank_memory){.in = run->in,
                                 .out = run->out,
                                 .arena = r->scratch,
                                 .rooms_at = parts->progress,
                                 .in_place = in_place(r)};
    if (parts->in)
        memcpy(run->in, own_input(r), input_bytes(r));
}

/* Blocks that the rank has and keeps. */
static void copy_own(const struct gw_request *r)
{
    const struct gw__program *p = r->program;
    const struct gw__version first = {.write = GW__NO_WRITE};
    for (uint32_t c = 0; c < p->cell_count; c++) {
        const struct gw__cell *cell = &p->cells[c];
        const struct gw__load_target store = {.cell = c, .room = GW__RESULT};
        if (!cell->holds || !cell->wants || cell->written || !r->call.out)
            continue;
        const void *from = gw__loads_source(r, p->rank, cell->chunk, &first);
        void *to = gw__loads_target(r, &store);
        if (to != from)
            memcpy(to, from, r->slots[c].bytes);
    }
}

static enum gw_err make_arena(struct gw_request *r, struct parts *parts,
                              struct gw_error *why)
{
    const struct gw__loads *loads = &r->program->loads;
    size_t stores = (size_t)r->program->write_count + loads->copy_count;
    r->loads.room_bytes = largest_chunk(r);
    parts->progress = round_up(stores * sizeof *r->loads.progress) + 64;
    parts->rooms = loads->room_count * r->loads.room_bytes;
    parts->ranks = r->comm->size * sizeof *r->loads.ranks;
    r->scratch_bytes =
        parts->progress + parts->rooms + parts->in + parts->out + parts->ranks;
    r->scratch = gw__scratch_acquire(r->comm, r->scratch_bytes, why);
    return r->scratch ? GW_OK : GW_ENOMEM;
}

enum gw_err gw__loads_open(struct gw_request *r, struct control_entry *entry,
                           struct gw_error *why)
{
    size_t in_bytes = input_bytes(r);
    size_t out_bytes = gw__bytes_out(r->comm, &r->call);
    bool saves = in_place(r) && r->call.collective == GW_ALLTOALL;
    struct gw__memory_range in = show(r, own_input(r), in_bytes);
    struct gw__memory_range out = show(r, r->call.out, out_bytes);
    struct parts parts = {
        .in = in_bytes && (in.fd < 0 || saves) ? round_up(in_bytes) : 0,
        .out = out_bytes && out.fd < 0 ? round_up(out_bytes) : 0};
    enum gw_err err = make_arena(r, &parts, why);
    if (err)
        return err;
    measure_cells(r);
    lay_out(r, &parts);
    if (parts.in)
        in = show(r, r->loads.in, in_bytes);
    if (parts.out)
        out = show(r, r->loads.out, out_bytes);
    copy_own(r);
    gw__control_entry_show(entry, &in, &out, in_place(r));
    entry->arena = show(r, r->scratch, r->scratch_bytes);
    entry->rooms_at = parts.progress;
    return GW_OK;
}

static const unsigned char *reach_range(const struct gw_request *r,
                                        unsigned rank,
                                        const struct gw__memory_range *range,
                                        bool *found)
{
    if (range->fd < 0)
        return NULL;
    const unsigned char *at =
        r->comm->windows->reach(r->comm->wire, rank, range);
    *found &= at != NULL;
    return at;
}

bool gw__loads_reach(struct gw_request *r, unsigned *lost)
{
    const struct gw__passes *peers = &r->program->push;
    bool found = true;
    for (unsigned i = 0; i < peers->touch_count && found; i++) {
        unsigned rank = *lost = peers->touch[i];
        const struct control_entry *entry = control_entry_of(r, rank);
        r->loads.ranks[rank] = (struct gw__rank_memory){
            .in = reach_range(r, rank, &entry->in, &found),
            .out = reach_range(r, rank, &entry->out, &found),
            .arena = reach_range(r, rank, &entry->arena, &found),
            .rooms_at = entry->rooms_at,
            .in_place = entry->in_place};
    }
    return r->loads.reached = found;
}

const unsigned char *gw__loads_source(const struct gw_request *r, unsigned rank,
                                      unsigned chunk,
                                      const struct gw__version *version)
{
    const struct gw__rank_memory *memory = &r->loads.ranks[rank];
    const struct gw_plan *plan = r->program->plan;
    if (version->write == GW__NO_WRITE)
        return memory->in + r->elem_bytes * gw__offset_in(&r->call, plan, rank,
                                                          chunk,
                                                          memory->in_place);
    if (version->room == GW__RESULT)
        return memory->out + r->elem_bytes * gw__offset_out(&r->call, plan,
                                                            rank, chunk,
                                                            memory->in_place);
    return memory->arena + memory->rooms_at +
           version->room * r->loads.room_bytes;
}

static size_t result_offset(const struct gw_request *r, unsigned chunk)
{
    return r->elem_bytes * gw__offset_out(&r->call, r->program->plan,
                                          r->comm->rank, chunk, in_place(r));
}

unsigned char *gw__loads_target(const struct gw_request *r,
                                const struct gw__load_target *store)
{
    unsigned chunk = r->program->cells[store->cell].chunk;
    return store->room == GW__RESULT
               ? r->loads.out + result_offset(r, chunk)
               : r->loads.rooms + store->room * r->loads.room_bytes;
}

void gw__loads_close(struct gw_request *r)
{
    const struct gw__program *p = r->program;
    unsigned char *result = r->call.out;
    for (uint32_t c = 0; result != r->loads.out && c < p->cell_count; c++) {
        unsigned chunk = p->cells[c].chunk;
        if (p->cells[c].wants)
            memcpy(result + result_offset(r, chunk),
                   r->loads.out + result_offset(r, chunk), r->slots[c].bytes);
    }
}
