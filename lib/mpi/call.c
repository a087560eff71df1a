/* SPDX-License-Identifier: MIT
 *
 * See call.h. A rank looks only at the arguments that are significant on it:
 * the root of a gather has a receive buffer, the other ranks may pass anything.
 */
#include "call.h"

#include "communicator.h"
#include "types.h"

/* MPICH refuses a buffer that is sent and received. Others use it in place. */
#ifdef MPICH_VERSION
enum { REFUSES_ALIASES = 1 };
#else
enum { REFUSES_ALIASES = 0 };
#endif

const char *gw__mpi_kind_name(enum gw__mpi_kind kind)
{
    static const char *const names[] = {
#define X(kind, name) name,
        GW__MPI_KINDS(X)
#undef X
    };
    return names[kind];
}

bool gw__mpi_reduces(enum gw__mpi_kind kind)
{
    return kind == GW__MPI_REDUCE || kind == GW__MPI_ALLREDUCE ||
           kind >= GW__MPI_REDUCE_SCATTER;
}

bool gw__mpi_rooted(enum gw__mpi_kind kind)
{
    return kind == GW__MPI_BCAST || kind == GW__MPI_REDUCE ||
           (kind >= GW__MPI_GATHER && kind <= GW__MPI_SCATTERV);
}

static bool shape_is_valid(const struct gw__mpi_shape *shape, int blocks)
{
    if (shape->type == MPI_DATATYPE_NULL || shape->count < 0 ||
        !gw__mpi_type_is_committed(shape->type, gw__mpi_self()))
        return false;
    for (int b = 0; shape->counts && b < blocks; b++)
        if (shape->counts[b] < 0)
            return false;
    return true;
}

bool gw__mpi_has_send(const struct gw__mpi_call *call, int rank)
{
    bool root = call->root == rank;
    switch (call->kind) {
    case GW__MPI_GATHER:
    case GW__MPI_GATHERV:
        return !root || call->in != MPI_IN_PLACE;
    case GW__MPI_SCATTER:
    case GW__MPI_SCATTERV:
        return root;
    case GW__MPI_ALLGATHER:
    case GW__MPI_ALLGATHERV:
    case GW__MPI_ALLTOALL:
    case GW__MPI_ALLTOALLV:
        return call->in != MPI_IN_PLACE;
    default:
        return false;
    }
}

bool gw__mpi_has_recv(const struct gw__mpi_call *call, int rank)
{
    bool root = call->root == rank;
    switch (call->kind) {
    case GW__MPI_BARRIER:
        return false;
    case GW__MPI_GATHER:
    case GW__MPI_GATHERV:
        return root;
    case GW__MPI_SCATTER:
    case GW__MPI_SCATTERV:
        return !root || call->out != MPI_IN_PLACE;
    default:
        return true;
    }
}

/* ---- buffers ---- */

static bool has_elements(const struct gw__mpi_shape *shape, int blocks)
{
    bool any = shape->count > 0;
    for (int b = 0; shape->counts && b < blocks; b++)
        any |= shape->counts[b] > 0;
    return any;
}

/* Elements of a derived type may be anywhere: NULL is MPI_BOTTOM. */
static bool is_missing(const void *buffer, const struct gw__mpi_shape *shape,
                       int blocks)
{
    return !buffer && has_elements(shape, blocks) &&
           gw__mpi_type_is_named(shape->type);
}

static bool are_aliases(const struct gw__mpi_call *call)
{
    const struct gw__mpi_shape *s = &call->send, *r = &call->recv;
    return call->in == call->out && s->count == r->count && s->count > 0 &&
           s->type == r->type;
}

/* The result of a rank that has none is not looked at: of a reduce that of all
 * ranks but the root, of an exscan that of the first. */
static bool reduction_is_valid(const struct gw__mpi_call *call, int rank,
                               int ranks)
{
    bool result = call->kind == GW__MPI_REDUCE   ? call->root == rank
                  : call->kind == GW__MPI_EXSCAN ? rank > 0
                                                 : true;
    if (call->op == MPI_OP_NULL || is_missing(call->in, &call->recv, ranks))
        return false;
    return !result || (call->out != MPI_IN_PLACE &&
                       !is_missing(call->out, &call->recv, ranks) &&
                       !(REFUSES_ALIASES && call->in == call->out &&
                         has_elements(&call->recv, ranks)));
}

static bool send_is_valid(const struct gw__mpi_call *call, int ranks)
{
    return shape_is_valid(&call->send, ranks) && call->in != MPI_IN_PLACE &&
           !is_missing(call->in, &call->send, ranks);
}

static bool recv_is_valid(const struct gw__mpi_call *call, int ranks)
{
    return shape_is_valid(&call->recv, ranks) && call->out != MPI_IN_PLACE &&
           !is_missing(call->out, &call->recv, ranks);
}

bool gw__mpi_call_is_valid(const struct gw__mpi_call *call, int rank, int ranks)
{
    if (gw__mpi_rooted(call->kind) && (call->root < 0 || call->root >= ranks))
        return false;
    if (gw__mpi_reduces(call->kind))
        return shape_is_valid(&call->recv, ranks) &&
               reduction_is_valid(call, rank, ranks);
    bool sends = gw__mpi_has_send(call, rank);
    bool receives = gw__mpi_has_recv(call, rank);
    return (!sends || send_is_valid(call, ranks)) &&
           (!receives || recv_is_valid(call, ranks)) &&
           !(REFUSES_ALIASES && sends && receives && are_aliases(call));
}
