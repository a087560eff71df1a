/* SPDX-License-Identifier: MIT
 *
 * The memory of a call: for every collective, its v-variant and in place, the
 * element and the buffer at which a chunk begins; and whether a call is valid.
 * The engines use these functions for their own rank, window passes also for
 * their peers.
 */
#include "comm.h"

/* Elements before block `b`. */
static size_t displacement(const size_t *counts, const size_t *displs,
                           size_t count, unsigned b)
{
    if (displs)
        return displs[b];
    if (!counts)
        return b * count;
    size_t sum = 0;
    for (unsigned i = 0; i < b; i++)
        sum += counts[i];
    return sum;
}

/* The end of the last of `n` blocks, in elements. */
static size_t span(const size_t *counts, const size_t *displs, size_t count,
                   unsigned n)
{
    size_t end = 0;
    for (unsigned b = 0; b < n; b++) {
        size_t stop = displacement(counts, displs, count, b) +
                      (counts ? counts[b] : count);
        end = stop > end ? stop : end;
    }
    return end;
}

size_t gw__block_elems(const struct gw_call *call, const struct gw_plan *plan,
                       unsigned rank, unsigned chunk)
{
    unsigned block = gw_plan_block(plan, chunk);
    switch (call->collective) {
    case GW_BARRIER:
        return 0;
    case GW_GATHER:
    case GW_SCATTER:
    case GW_ALLGATHER:
        return call->counts ? call->counts[block] : call->count;
    case GW_ALLTOALL:
        if (!call->counts)
            return call->count;
        if (block / plan->ranks == rank)
            return call->counts[block % plan->ranks];
        return block % plan->ranks == rank
                   ? call->recv_counts[block / plan->ranks]
                   : 0;
    default:
        return call->count;
    }
}

static size_t within_block(const struct gw_call *call,
                           const struct gw_plan *plan, unsigned rank,
                           unsigned chunk)
{
    size_t offset, length;
    gw_plan_extent(plan, chunk, gw__block_elems(call, plan, rank, chunk),
                   gw_dtype_size(call->type), &offset, &length);
    return offset;
}

size_t gw__offset_in(const struct gw_call *call, const struct gw_plan *plan,
                     unsigned rank, unsigned chunk, bool in_place)
{
    unsigned block = gw_plan_block(plan, chunk);
    size_t offset = within_block(call, plan, rank, chunk);
    switch (call->collective) {
    case GW_GATHER:
    case GW_ALLGATHER:
        if (!in_place)
            return offset;
        __attribute__((fallthrough));
    case GW_SCATTER:
    case GW_REDUCE_SCATTER:
        return offset +
               displacement(call->counts, call->displs, call->count, block);
    case GW_ALLTOALL:
        return offset + displacement(call->counts, call->displs, call->count,
                                     block % plan->ranks);
    default:
        return offset;
    }
}

size_t gw__offset_out(const struct gw_call *call, const struct gw_plan *plan,
                      unsigned rank, unsigned chunk, bool in_place)
{
    unsigned block = gw_plan_block(plan, chunk);
    size_t offset = within_block(call, plan, rank, chunk);
    switch (call->collective) {
    case GW_SCATTER:
        in_place = in_place && rank == call->root;
        __attribute__((fallthrough));
    case GW_REDUCE_SCATTER:
        if (!in_place)
            return offset;
        __attribute__((fallthrough));
    case GW_GATHER:
    case GW_ALLGATHER:
        return offset +
               displacement(call->counts, call->displs, call->count, block);
    case GW_ALLTOALL:
        return offset + displacement(call->recv_counts, call->recv_displs,
                                     call->count, block / plan->ranks);
    default:
        return offset;
    }
}

static bool is_root(const struct gw_comm *comm, const struct gw_call *call)
{
    return call->root == comm->rank;
}

size_t gw__bytes_in(const struct gw_comm *comm, const struct gw_call *call)
{
    size_t all = span(call->counts, call->displs, call->count, comm->size);
    size_t elems = 0;
    switch (call->collective) {
    case GW_BROADCAST:
        elems = is_root(comm, call) ? call->count : 0;
        break;
    case GW_REDUCE:
    case GW_ALLREDUCE:
    case GW_SCAN:
    case GW_EXSCAN:
    case GW_CUSTOM:
        elems = call->count;
        break;
    case GW_GATHER:
    case GW_ALLGATHER:
        elems = call->counts ? call->counts[comm->rank] : call->count;
        break;
    case GW_SCATTER:
        elems = is_root(comm, call) ? all : 0;
        break;
    case GW_REDUCE_SCATTER:
    case GW_ALLTOALL:
        elems = all;
        break;
    default:
        break;
    }
    return elems * gw_dtype_size(call->type);
}

size_t gw__bytes_out(const struct gw_comm *comm, const struct gw_call *call)
{
    size_t all = span(call->counts, call->displs, call->count, comm->size);
    bool in_place = call->in == GW_IN_PLACE;
    size_t elems = 0;
    switch (call->collective) {
    case GW_BROADCAST:
        elems =
            is_root(comm, call) && !call->out && !in_place ? 0 : call->count;
        break;
    case GW_ALLREDUCE:
    case GW_SCAN:
    case GW_CUSTOM:
        elems = call->count;
        break;
    case GW_EXSCAN:
        elems = comm->rank > 0 || in_place ? call->count : 0;
        break;
    case GW_REDUCE:
        elems = is_root(comm, call) || in_place ? call->count : 0;
        break;
    case GW_GATHER:
        elems = is_root(comm, call) || in_place ? all : 0;
        break;
    case GW_ALLGATHER:
        elems = all;
        break;
    case GW_SCATTER:
        elems = in_place && is_root(comm, call) ? all
                : call->counts                  ? call->counts[comm->rank]
                                                : call->count;
        break;
    case GW_REDUCE_SCATTER:
        elems = in_place ? all : call->count;
        break;
    case GW_ALLTOALL:
        elems =
            span(call->recv_counts, call->recv_displs, call->count, comm->size);
        break;
    default:
        break;
    }
    return elems * gw_dtype_size(call->type);
}

static enum gw_err check_kind(const struct gw_comm *comm,
                              const struct gw_call *call, struct gw_error *why)
{
    if ((unsigned)call->collective >= GW_COLLECTIVES)
        return gw_fail(why, GW_EINVAL, "unknown collective %d",
                       call->collective);
    if ((unsigned)call->type >= GW_DTYPE_COUNT)
        return gw_fail(why, GW_EINVAL, "unknown element type %d", call->type);
    if (gw_collective_rooted(call->collective) && call->root >= comm->size)
        return gw_fail(
            why, GW_EINVAL,
            "the root is %u, but there are only %u ranks, numbered from 0",
            call->root, comm->size);
    if (gw_collective_reduces(call->collective) &&
        ((unsigned)call->op >= GW_REDOP_COUNT ||
         !gw_redop_allowed(call->op, call->type)))
        return gw_fail(why, GW_EINVAL,
                       "the reduction %s does not support the type %s",
                       gw_redop_name(call->op), gw_dtype_name(call->type));
    bool scans = call->collective == GW_SCAN || call->collective == GW_EXSCAN ||
                 call->collective == GW_CUSTOM;
    if (scans && call->op == GW_AVG)
        return gw_fail(why, GW_EINVAL,
                       "%s does not support avg, because each rank has another "
                       "number of inputs; use sum",
                       gw_collective_name(call->collective));
    bool v = call->collective == GW_GATHER || call->collective == GW_SCATTER ||
             call->collective == GW_ALLGATHER ||
             call->collective == GW_ALLTOALL;
    if (call->counts && !v)
        return gw_fail(why, GW_EINVAL, "%s has no variant with counts",
                       gw_collective_name(call->collective));
    if (call->collective == GW_ALLTOALL &&
        (!call->counts != !call->recv_counts))
        return gw_fail(why, GW_EINVAL,
                       "alltoallv needs the counts of both directions");
    if (call->collective == GW_ALLTOALL && call->counts &&
        call->in == GW_IN_PLACE)
        return gw_fail(why, GW_EINVAL,
                       "alltoallv does not work in place; use two buffers");
    return GW_OK;
}

size_t gw__elems_max(const struct gw_comm *comm, enum gw_dtype type)
{
    size_t bytes = PTRDIFF_MAX / 2 / comm->size;
    size_t sliced = UINT32_MAX * (comm->slice_bytes / 2);
    return (bytes < sliced ? bytes : sliced) / gw_dtype_size(type);
}

static bool all_below(const size_t *values, unsigned n, size_t limit)
{
    for (unsigned i = 0; values && i < n; i++)
        if (values[i] > limit)
            return false;
    return true;
}

static enum gw_err check_counts(const struct gw_comm *comm,
                                const struct gw_call *call,
                                struct gw_error *why)
{
    size_t most = gw__elems_max(comm, call->type);
    if (call->count <= most && all_below(call->counts, comm->size, most) &&
        all_below(call->displs, comm->size, most) &&
        all_below(call->recv_counts, comm->size, most) &&
        all_below(call->recv_displs, comm->size, most))
        return GW_OK;
    return gw_fail(why, GW_EINVAL, "a block can have at most %zu elements",
                   most);
}

/* In place by address: the cases in which `in` may be inside `out` (or the
 * reverse). */
static bool overlap_is_in_place(const struct gw_comm *comm,
                                const struct gw_call *call,
                                const unsigned char *in,
                                const unsigned char *out)
{
    size_t shift =
        displacement(call->counts, call->displs, call->count, comm->rank) *
        gw_dtype_size(call->type);
    switch (call->collective) {
    case GW_GATHER:
    case GW_ALLGATHER:
        return in == out + shift;
    case GW_SCATTER:
    case GW_REDUCE_SCATTER:
        return out == in + shift;
    case GW_ALLTOALL:
        return false;
    default:
        return in == out;
    }
}

enum gw_err gw__call_check(const struct gw_comm *comm,
                           const struct gw_call *call, struct gw_error *why)
{
    enum gw_err err = check_kind(comm, call, why);
    if (!err && call->collective != GW_BARRIER)
        err = check_counts(comm, call, why);
    if (err)
        return err;
    size_t bytes_in = gw__bytes_in(comm, call);
    size_t bytes_out = gw__bytes_out(comm, call);
    if (bytes_in && !call->in)
        return gw_fail(why, GW_EINVAL, "the input buffer is NULL");
    if (bytes_out && !call->out)
        return gw_fail(why, GW_EINVAL, "the output buffer is NULL");
    if (!bytes_in || !bytes_out || call->in == GW_IN_PLACE)
        return GW_OK;
    const unsigned char *in = call->in, *out = call->out;
    bool overlap = (uintptr_t)in < (uintptr_t)out + bytes_out &&
                   (uintptr_t)out < (uintptr_t)in + bytes_in;
    if (overlap && !overlap_is_in_place(comm, call, in, out))
        return gw_fail(
            why, GW_EINVAL,
            "input and output overlap; use separate buffers, or GW_IN_PLACE");
    return GW_OK;
}
