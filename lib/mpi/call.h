/* SPDX-License-Identifier: MIT
 *
 * The arguments of a collective of MPI, in one struct for the blocking, the
 * non-blocking and the persistent form. README.md of lib/ has the map of this
 * folder.
 */
#ifndef GW__MPI_CALL_H
#define GW__MPI_CALL_H

#include "types.h"

#include <mpi.h>

#include <stdbool.h>
#include <stddef.h>

/* kind, name */
#define GW__MPI_KINDS(X)                                                       \
    X(BARRIER, "MPI_Barrier")                                                  \
    X(BCAST, "MPI_Bcast")                                                      \
    X(REDUCE, "MPI_Reduce")                                                    \
    X(ALLREDUCE, "MPI_Allreduce")                                              \
    X(GATHER, "MPI_Gather")                                                    \
    X(GATHERV, "MPI_Gatherv")                                                  \
    X(SCATTER, "MPI_Scatter")                                                  \
    X(SCATTERV, "MPI_Scatterv")                                                \
    X(ALLGATHER, "MPI_Allgather")                                              \
    X(ALLGATHERV, "MPI_Allgatherv")                                            \
    X(ALLTOALL, "MPI_Alltoall")                                                \
    X(ALLTOALLV, "MPI_Alltoallv")                                              \
    X(REDUCE_SCATTER, "MPI_Reduce_scatter")                                    \
    X(REDUCE_SCATTER_BLOCK, "MPI_Reduce_scatter_block")                        \
    X(SCAN, "MPI_Scan")                                                        \
    X(EXSCAN, "MPI_Exscan")

enum gw__mpi_kind {
#define X(kind, name) GW__MPI_##kind,
    GW__MPI_KINDS(X)
#undef X
        GW__MPI_KIND_COUNT
};

/* Elements of a buffer: `count` of them, or per block where `counts` is set;
 * `displs` in extents of the type. */
struct gw__mpi_shape {
    MPI_Count count;
    MPI_Datatype type;
    const int *counts, *displs;
};

/* Reductions and broadcasts have one shape, `recv`; of a broadcast `out` is the
 * buffer. */
struct gw__mpi_call {
    enum gw__mpi_kind kind;
    const void *in;
    void *out;
    struct gw__mpi_shape send, recv;
    MPI_Op op;
    int root;
    MPI_Comm comm;
    /* Of a reduction that is taken: whether the library has it, and which one
     * it is. */
    bool native;
    struct gw__mpi_reduction reduction;
};

/* Returns "MPI_Allreduce". */
const char *gw__mpi_kind_name(enum gw__mpi_kind kind);
/* Returns whether the call has an operation. */
bool gw__mpi_reduces(enum gw__mpi_kind kind);
/* Returns whether the call has a root. */
bool gw__mpi_rooted(enum gw__mpi_kind kind);
/* Return whether a side of the call is significant on a rank. */
bool gw__mpi_has_send(const struct gw__mpi_call *call, int rank);
bool gw__mpi_has_recv(const struct gw__mpi_call *call, int rank);
/* Returns whether the arguments are valid as far as the MPI checks them. Of
 * others the MPI itself must complain. `ranks` of the communicator. */
bool gw__mpi_call_is_valid(const struct gw__mpi_call *call, int rank,
                           int ranks);

#endif
