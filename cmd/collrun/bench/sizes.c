/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sizes and factors of nccl-tests (its doc/PERFORMANCE.md derives them), so
 * that numbers can be compared. algbw is size / time and depends on the
 * collective. busbw is the rate required of the busiest link, and can be
 * compared with the hardware's.
 */
#include "sizes.h"

/* True for the collectives whose count is that of one block of many. */
static bool size_is_of_blocks(enum gw_collective collective)
{
    switch (collective) {
    case GW_GATHER:
    case GW_SCATTER:
    case GW_ALLGATHER:
    case GW_REDUCE_SCATTER:
    case GW_ALLTOALL:
        return true;
    default:
        return false;
    }
}

uint64_t size_bytes(enum gw_collective collective, unsigned ranks, size_t count,
                    size_t elem_bytes)
{
    unsigned blocks = size_is_of_blocks(collective) ? ranks : 1;
    return (uint64_t)count * elem_bytes * blocks;
}

double size_bus_factor(enum gw_collective collective, unsigned ranks)
{
    double others = (double)(ranks - 1) / ranks;
    if (collective == GW_ALLREDUCE)
        return 2 * others;
    return size_is_of_blocks(collective) ? others : 1;
}
