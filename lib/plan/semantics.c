/* SPDX-License-Identifier: MIT
 *
 * The meaning of the chunks of a plan: the ranks that hold them first, the
 * ranks that must hold them last, and their places in a buffer. The verifier,
 * the price and the executor all use these functions, so they cannot disagree.
 */
#include <gradwire/plan.h>

#include <assert.h>
#include <string.h>

static const char *const names[GW_COLLECTIVES] = {
    [GW_BROADCAST] = "broadcast",
    [GW_REDUCE] = "reduce",
    [GW_ALLREDUCE] = "allreduce",
    [GW_GATHER] = "gather",
    [GW_SCATTER] = "scatter",
    [GW_ALLGATHER] = "allgather",
    [GW_REDUCE_SCATTER] = "reduce_scatter",
    [GW_ALLTOALL] = "alltoall",
    [GW_BARRIER] = "barrier",
    [GW_SCAN] = "scan",
    [GW_EXSCAN] = "exscan",
    [GW_CUSTOM] = "custom",
};

const char *gw_collective_name(enum gw_collective collective)
{
    return collective < GW_COLLECTIVES ? names[collective] : "?";
}

enum gw_err gw_collective_parse(const char *name,
                                enum gw_collective *collective,
                                struct gw_error *why)
{
    for (unsigned i = 0; i < GW_COLLECTIVES; i++)
        if (strcmp(name, names[i]) == 0) {
            *collective = (enum gw_collective)i;
            return GW_OK;
        }
    return gw_fail(
        why, GW_EINVAL,
        "\"%s\" is not a collective; use allreduce, allgather, alltoall, "
        "reduce_scatter, broadcast, reduce, gather, scatter, scan, exscan or "
        "barrier",
        name);
}

bool gw_collective_reduces(enum gw_collective c)
{
    return c == GW_REDUCE || c == GW_ALLREDUCE || c == GW_REDUCE_SCATTER ||
           c == GW_SCAN || c == GW_EXSCAN || c == GW_CUSTOM;
}

bool gw_collective_rooted(enum gw_collective c)
{
    return c == GW_BROADCAST || c == GW_REDUCE || c == GW_GATHER ||
           c == GW_SCATTER;
}

/* The number of blocks in the buffer of this collective. */
static unsigned blocks(const struct gw_plan *plan)
{
    switch (plan->collective) {
    case GW_GATHER:
    case GW_SCATTER:
    case GW_ALLGATHER:
    case GW_REDUCE_SCATTER:
        return plan->ranks;
    case GW_ALLTOALL:
        return plan->ranks * plan->ranks;
    default:
        return 1;
    }
}

unsigned gw_plan_segments(const struct gw_plan *plan)
{
    unsigned segments = plan->chunks / blocks(plan);
    return segments ? segments : 1;
}

unsigned gw_plan_block(const struct gw_plan *plan, unsigned chunk)
{
    return chunk / gw_plan_segments(plan);
}

static bool has_condition(const struct gw_plan *plan, unsigned rank,
                          unsigned chunk, unsigned condition)
{
    return plan->conditions &&
           plan->conditions[rank * (size_t)plan->chunks + chunk] & condition;
}

bool gw_plan_holds(const struct gw_plan *plan, unsigned rank, unsigned chunk)
{
    switch (plan->collective) {
    case GW_BROADCAST:
    case GW_SCATTER:
        return rank == plan->root;
    case GW_GATHER:
    case GW_ALLGATHER:
        return gw_plan_block(plan, chunk) == rank;
    case GW_ALLTOALL:
        return gw_plan_block(plan, chunk) / plan->ranks == rank;
    case GW_CUSTOM:
        return has_condition(plan, rank, chunk, GW_HAS);
    default:
        return true;
    }
}

bool gw_plan_wants(const struct gw_plan *plan, unsigned rank, unsigned chunk)
{
    switch (plan->collective) {
    case GW_REDUCE:
    case GW_GATHER:
        return rank == plan->root;
    case GW_SCATTER:
    case GW_REDUCE_SCATTER:
        return gw_plan_block(plan, chunk) == rank;
    case GW_ALLTOALL:
        return gw_plan_block(plan, chunk) % plan->ranks == rank;
    case GW_EXSCAN:
        return rank > 0;
    case GW_CUSTOM:
        return has_condition(plan, rank, chunk, GW_WANTS);
    default:
        return true;
    }
}

/* Where part i begins if `units` are divided into `parts`. */
static size_t begin_of_part(size_t grains, unsigned parts, unsigned i)
{
    size_t whole = grains / parts, rest = grains % parts;
    return whole * i + (i < rest ? i : rest);
}

void gw_plan_extent(const struct gw_plan *plan, unsigned chunk, size_t count,
                    size_t elem_bytes, size_t *offset, size_t *length)
{
    enum { LINE_BYTES = 64, ALIGN_BYTES_MIN = 4096 };
    unsigned parts = gw_plan_segments(plan);
    unsigned part = chunk % parts;
    assert(chunk < plan->chunks);
    assert(elem_bytes > 0 && elem_bytes <= LINE_BYTES);
    if (parts == 1) { /* as below, without its divisions */
        *offset = 0;
        *length = count;
        return;
    }
    size_t grain = count / parts * elem_bytes >= ALIGN_BYTES_MIN
                       ? LINE_BYTES / elem_bytes
                       : 1;
    size_t grains = (count + grain - 1) / grain;
    size_t begin = begin_of_part(grains, parts, part) * grain;
    size_t end = begin_of_part(grains, parts, part + 1) * grain;
    begin = begin < count ? begin : count;
    end = end < count ? end : count;
    *offset = begin;
    *length = end - begin;
}
