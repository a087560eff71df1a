/* SPDX-License-Identifier: MIT
 *
 * See call.h. A rank looks only at the arguments that are significant on it:
 * the root of a gather has a receive buffer, the other ranks may pass anything.
 */
#include "call.h"

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
    if (shape->type == MPI_DATATYPE_NULL || shape->count < 0)
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

bool gw__mpi_call_is_valid(const struct gw__mpi_call *call, int rank, int ranks)
{
    if (gw__mpi_rooted(call->kind) && (call->root < 0 || call->root >= ranks))
        return false;
    if (gw__mpi_reduces(call->kind) && call->op == MPI_OP_NULL)
        return false;
    return (!gw__mpi_has_send(call, rank) ||
            shape_is_valid(&call->send, ranks)) &&
           (!gw__mpi_has_recv(call, rank) ||
            shape_is_valid(&call->recv, ranks));
}
