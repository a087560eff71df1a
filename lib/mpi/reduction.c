/* SPDX-License-Identifier: MIT
 *
 * Reductions. Where the library has the type and the operation, it reduces.
 * Everything else, such as MINLOC, long double or an operation of the user, is
 * gathered, and each rank that has a result reduces the inputs by
 * MPI_Reduce_local, in the order of the ranks:
 *
 *     reduce                gather at the root
 *     allreduce, scan       all-gather; a scan uses the inputs up to its rank
 *     reduce_scatter        all-to-all: a rank receives its block of each input
 *
 * GRADWIRE_MPI_ORDER=rank makes all reductions that way, so that the order is
 * always that of the ranks. It must be set on all ranks alike.
 */
#include "operation.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { GATHERED_BYTES_MAX = 256 << 20 }; /* of a non-blocking call */

static bool wants_rank_order(void)
{
    static _Atomic int wanted = -1; /* not read yet */
    if (wanted < 0) {
        const char *order = getenv("GRADWIRE_MPI_ORDER");
        wanted = order && strcmp(order, "rank") == 0;
    }
    return wanted;
}

/* Do all ranks have blocks of one length? */
static bool is_regular(const struct gw__mpi_call *call, int ranks)
{
    for (int b = 1; call->recv.counts && b < ranks; b++)
        if (call->recv.counts[b] != call->recv.counts[0])
            return false;
    return true;
}

/* Finds the library's reduction for a call. */
static bool find_native(const struct gw__mpi_call *call, int ranks,
                        struct gw__mpi_reduction *found)
{
    return !wants_rank_order() && is_regular(call, ranks) &&
           gw__mpi_reduction_find(call->recv.type, call->op, found);
}

/* ---- by the library ---- */

static enum gw_collective collective_of(enum gw__mpi_kind kind)
{
    switch (kind) {
    case GW__MPI_REDUCE:
        return GW_REDUCE;
    case GW__MPI_ALLREDUCE:
        return GW_ALLREDUCE;
    case GW__MPI_SCAN:
        return GW_SCAN;
    case GW__MPI_EXSCAN:
        return GW_EXSCAN;
    default:
        return GW_REDUCE_SCATTER;
    }
}

/* Elements of a block, or of the buffer. */
static size_t own_count(const struct gw__mpi_operation *o)
{
    const struct gw__mpi_shape *shape = &o->mpi.recv;
    return (size_t)(shape->counts ? shape->counts[o->comm->rank]
                                  : shape->count);
}

/* In place the result is at the beginning of the input, not at the block. */
static int finish_block(struct gw__mpi_operation *o)
{
    if (o->call.count > 0)
        memcpy(o->mpi.out, o->out.data,
               o->call.count * gw_dtype_size(o->call.type));
    return MPI_SUCCESS;
}

static bool prepare_native(struct gw__mpi_operation *o)
{
    const struct gw__mpi_reduction *native = &o->mpi.reduction;
    bool in_place = o->mpi.in == MPI_IN_PLACE;
    struct gw_call *call = &o->call;
    *call = (struct gw_call){
        .collective = collective_of(o->mpi.kind),
        .in = in_place ? GW_IN_PLACE : o->mpi.in,
        .out = o->mpi.out,
        .count = own_count(o) * native->lanes,
        .type = native->type,
        .op = native->op,
    };
    if (o->mpi.kind == GW__MPI_REDUCE) {
        call->root = (unsigned)o->mpi.root;
        if (o->mpi.root != o->comm->rank)
            call->out = NULL;
    }
    if (call->collective != GW_REDUCE_SCATTER || !in_place)
        return true;
    call->in = o->mpi.out;
    call->out = gw__mpi_room(&o->out, call->count * gw_dtype_size(call->type));
    o->finish = finish_block;
    return call->out;
}

/* ---- by MPI_Reduce_local ---- */

/* Bytes in memory of elements, from the first to the last. */
static size_t span_of_elements(const struct gw__mpi_extent *e, size_t count)
{
    return count ? (count - 1) * e->stride + e->last : 0;
}

/* The number of inputs that the result of this rank contains. */
static int inputs_of(const struct gw__mpi_operation *o)
{
    switch (o->mpi.kind) {
    case GW__MPI_SCAN:
        return o->comm->rank + 1;
    case GW__MPI_EXSCAN:
        return o->comm->rank;
    case GW__MPI_REDUCE:
        return o->comm->rank == o->mpi.root ? o->comm->size : 0;
    default:
        return o->comm->size;
    }
}

/* Inputs are combined from the last to the first: a (b (c d)). */
static int finish_gathered(struct gw__mpi_operation *o)
{
    const struct gw__mpi_shape *shape = &o->mpi.recv;
    const struct gw__mpi_extent e = gw__mpi_extent(shape->type);
    size_t count = o->elems, bytes = count * e.stride;
    int inputs = inputs_of(o), code = MPI_SUCCESS;
    if (inputs == 0 || count == 0)
        return MPI_SUCCESS;
    unsigned char *sum = o->out.data + (size_t)(inputs - 1) * bytes;
    for (int r = inputs - 2; r >= 0 && code == MPI_SUCCESS; r--)
        code = PMPI_Reduce_local(o->out.data + (size_t)r * bytes, sum,
                                 (int)count, shape->type, o->mpi.op);
    memcpy(o->mpi.out, sum, span_of_elements(&e, count));
    return code;
}

/* The input of this rank, with room after the last element. */
static bool set_input(struct gw__mpi_operation *o,
                      const struct gw__mpi_extent *e, size_t count)
{
    const void *in = o->mpi.in == MPI_IN_PLACE ? o->mpi.out : o->mpi.in;
    o->call.in = in;
    if (e->stride == e->last || count == 0)
        return true;
    unsigned char *copy = gw__mpi_room(&o->in, count * e->stride);
    if (copy) {
        memset(copy, 0, count * e->stride);
        memcpy(copy, in, span_of_elements(e, count));
    }
    o->call.in = copy;
    return copy;
}

/* A block of each input for each rank. Returns all elements of an input. */
static size_t set_blocks(struct gw__mpi_operation *o, size_t stride)
{
    size_t ranks = (size_t)o->comm->size, elems = 0;
    size_t *send = o->counts, *send_at = send + ranks;
    size_t *recv = send_at + ranks, *recv_at = recv + ranks;
    for (size_t b = 0; b < ranks; b++) {
        MPI_Count count =
            o->mpi.recv.counts ? o->mpi.recv.counts[b] : o->mpi.recv.count;
        send[b] = (size_t)count * stride;
        send_at[b] = elems * stride;
        recv[b] = o->elems * stride;
        recv_at[b] = b * recv[b];
        elems += (size_t)count;
    }
    o->call.collective = GW_ALLTOALL;
    o->call.counts = send;
    o->call.displs = send_at;
    o->call.recv_counts = recv;
    o->call.recv_displs = recv_at;
    return elems;
}

static bool prepare_gathered(struct gw__mpi_operation *o)
{
    const struct gw__mpi_extent e = gw__mpi_extent(o->mpi.recv.type);
    size_t elems = own_count(o), bytes = elems * e.stride;
    o->elems = elems;
    bool scatters = o->mpi.kind == GW__MPI_REDUCE_SCATTER ||
                    o->mpi.kind == GW__MPI_REDUCE_SCATTER_BLOCK;
    o->call = (struct gw_call){.type = GW_U8};
    if (scatters)
        elems = set_blocks(o, e.stride);
    else if (o->mpi.kind == GW__MPI_REDUCE) {
        o->call.collective = GW_GATHER;
        o->call.root = (unsigned)o->mpi.root;
        o->call.count = bytes;
    } else {
        o->call.collective = GW_ALLGATHER;
        o->call.count = bytes;
    }
    o->call.out = gw__mpi_room(&o->out, bytes * (size_t)o->comm->size);
    o->finish = finish_gathered;
    return o->call.out && set_input(o, &e, elems);
}

bool gw__mpi_prepare_reduction(struct gw__mpi_operation *o)
{
    return o->mpi.native ? prepare_native(o) : prepare_gathered(o);
}

bool gw__mpi_gathers(const struct gw__mpi_call *call, int ranks, size_t *bytes)
{
    if (!gw__mpi_reduces(call->kind) || call->native)
        return false;
    const struct gw__mpi_extent e = gw__mpi_extent(call->recv.type);
    *bytes = (size_t)ranks * (size_t)call->recv.count * e.stride;
    return true;
}

/* Whether the inputs can be gathered and reduced by MPI_Reduce_local, which
 * counts in an int. */
static bool can_gather(const struct gw__mpi_call *call)
{
    const struct gw__mpi_extent e = gw__mpi_extent(call->recv.type);
    bool named = gw__mpi_type_is_named(call->recv.type);
    if (gw__mpi_op_is_predefined(call->op) &&
        !gw__mpi_op_is_defined(call->recv.type, call->op))
        return false;
    return e.plain && e.bytes > 0 && call->recv.count <= INT_MAX &&
           (named || e.bytes == e.stride);
}

bool gw__mpi_take_reduction(struct gw__mpi_call *call, int ranks, bool later)
{
    size_t bytes = 0;
    call->native = find_native(call, ranks, &call->reduction);
    if (call->native)
        return true;
    if (!can_gather(call))
        return false;
    return !later || (gw__mpi_op_is_predefined(call->op) &&
                      gw__mpi_gathers(call, ranks, &bytes) &&
                      bytes <= GATHERED_BYTES_MAX);
}
