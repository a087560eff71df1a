/* SPDX-License-Identifier: MIT
 *
 * The buffers of MSCCL's XML. With N = nchunksperloop on p gpus:
 *
 *                    input       output
 *   allreduce        N           N
 *   broadcast        N           N       the input is the root's
 *   reduce           N           N       the output is the root's
 *   allgather        N/p         N       in place, the input is part `gpu` of it
 *   reduce_scatter   N           N/p     in place, the output is part `gpu`
 *   alltoall         N           N       part j goes to, or comes from, gpu j
 *   custom           N           N       see msccl_custom.c
 */
#include "msccl.h"

char gw__msccl_sign(enum gw__msccl_buffer buffer)
{
    return "ios"[buffer];
}

static unsigned part_of(const struct gw__msccl *m)
{
    return m->chunks_per_loop / m->shape.ranks;
}

unsigned gw__msccl_size(const struct gw__msccl *m, unsigned gpu,
                        enum gw__msccl_buffer buffer)
{
    enum gw_collective collective = m->shape.collective;
    if (buffer == GW__MSCCL_SCRATCH)
        return m->gpus[gpu].chunks[buffer];
    bool part = buffer == GW__MSCCL_INPUT ? collective == GW_ALLGATHER
                                          : collective == GW_REDUCE_SCATTER;
    return part ? part_of(m) : m->chunks_per_loop;
}

uint32_t gw__msccl_places(const struct gw__msccl *m, unsigned gpu)
{
    return 2 * m->chunks_per_loop + gw__msccl_size(m, gpu, GW__MSCCL_SCRATCH);
}

/* The larger buffer comes first, then the other one, then scratch. */
uint32_t gw__msccl_place(const struct gw__msccl *m, bool in_place, unsigned gpu,
                         struct gw__msccl_range range)
{
    enum gw_collective collective = m->shape.collective;
    enum gw__msccl_buffer small =
        collective == GW_REDUCE_SCATTER ? GW__MSCCL_OUTPUT : GW__MSCCL_INPUT;
    if (range.buffer == GW__MSCCL_SCRATCH)
        return 2 * m->chunks_per_loop + range.offset;
    if (range.buffer != small)
        return range.offset;
    if (!in_place)
        return m->chunks_per_loop + range.offset;
    bool part = collective == GW_ALLGATHER || collective == GW_REDUCE_SCATTER;
    return range.offset + (part ? gpu * part_of(m) : 0);
}

unsigned gw__msccl_chunk(const struct gw__msccl *m, unsigned gpu,
                         struct gw__msccl_range range)
{
    bool input = range.buffer == GW__MSCCL_INPUT;
    unsigned part = part_of(m), ranks = m->shape.ranks;
    switch (m->shape.collective) {
    case GW_CUSTOM:
        return m->custom_chunks[gpu * m->chunks_per_loop + range.offset];
    case GW_ALLGATHER:
        return range.offset + (input ? gpu * part : 0);
    case GW_REDUCE_SCATTER:
        return range.offset + (input ? 0 : gpu * part);
    case GW_ALLTOALL: {
        unsigned peer = range.offset / part, rest = range.offset % part;
        unsigned block = input ? gpu * ranks + peer : peer * ranks + gpu;
        return block * part + rest;
    }
    default:
        return range.offset;
    }
}
