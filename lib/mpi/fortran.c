/* SPDX-License-Identifier: MIT
 *
 * The blocking collectives of Fortran, of mpif.h and of the module mpi. Those of
 * Open MPI call PMPI_Bcast instead of MPI_Bcast. Those of MPICH call MPI_Bcast,
 * so that nothing is needed here. Non-blocking calls are left to Open MPI, whose
 * MPI_WAIT would not complete them otherwise; so is the module mpi_f08, whose
 * functions are inside Open MPI.
 *
 * The names are those of compilers that append an underscore.
 */
#include "call.h"

#include <gradwire/base.h>

#if defined(OPEN_MPI) && OPEN_MPI

/* Variables of Open MPI whose addresses are the constants of Fortran. */
extern int mpi_fortran_in_place_, mpi_fortran_bottom_;

_Static_assert(sizeof(MPI_Fint) == sizeof(int),
               "arrays of counts are passed on");

#define FORTRAN(name, ...)                                                     \
    GW_API void name(__VA_ARGS__, MPI_Fint *error);                            \
    GW_API void name(__VA_ARGS__, MPI_Fint *error)

static void *buffer_of(void *buffer)
{
    if (buffer == &mpi_fortran_in_place_)
        return MPI_IN_PLACE;
    return buffer == &mpi_fortran_bottom_ ? MPI_BOTTOM : buffer;
}

static MPI_Datatype type_of(const MPI_Fint *type)
{
    return PMPI_Type_f2c(*type);
}

static MPI_Op op_of(const MPI_Fint *op)
{
    return PMPI_Op_f2c(*op);
}

static MPI_Comm comm_of(const MPI_Fint *comm)
{
    return PMPI_Comm_f2c(*comm);
}

FORTRAN(mpi_barrier_, const MPI_Fint *comm)
{
    *error = MPI_Barrier(comm_of(comm));
}

FORTRAN(mpi_bcast_, void *buffer, const MPI_Fint *count, const MPI_Fint *type,
        const MPI_Fint *root, const MPI_Fint *comm)
{
    *error = MPI_Bcast(buffer_of(buffer), *count, type_of(type), *root,
                       comm_of(comm));
}

/* ---- reductions ---- */

FORTRAN(mpi_reduce_, void *in, void *out, const MPI_Fint *count,
        const MPI_Fint *type, const MPI_Fint *op, const MPI_Fint *root,
        const MPI_Fint *comm)
{
    *error = MPI_Reduce(buffer_of(in), buffer_of(out), *count, type_of(type),
                        op_of(op), *root, comm_of(comm));
}

#define REDUCTION(name, call)                                                  \
    FORTRAN(name, void *in, void *out, const MPI_Fint *count,                  \
            const MPI_Fint *type, const MPI_Fint *op, const MPI_Fint *comm)    \
    {                                                                          \
        *error = call(buffer_of(in), buffer_of(out), *count, type_of(type),    \
                      op_of(op), comm_of(comm));                               \
    }
REDUCTION(mpi_allreduce_, MPI_Allreduce)
REDUCTION(mpi_reduce_scatter_block_, MPI_Reduce_scatter_block)
REDUCTION(mpi_scan_, MPI_Scan)
REDUCTION(mpi_exscan_, MPI_Exscan)

FORTRAN(mpi_reduce_scatter_, void *in, void *out, const MPI_Fint *counts,
        const MPI_Fint *type, const MPI_Fint *op, const MPI_Fint *comm)
{
    *error = MPI_Reduce_scatter(buffer_of(in), buffer_of(out), counts,
                                type_of(type), op_of(op), comm_of(comm));
}

/* ---- blocks ---- */

#define ROOTED_BLOCKS(name, call)                                              \
    FORTRAN(name, void *in, const MPI_Fint *send_count,                        \
            const MPI_Fint *send_type, void *out, const MPI_Fint *recv_count,  \
            const MPI_Fint *recv_type, const MPI_Fint *root,                   \
            const MPI_Fint *comm)                                              \
    {                                                                          \
        *error = call(buffer_of(in), *send_count, type_of(send_type),          \
                      buffer_of(out), *recv_count, type_of(recv_type), *root,  \
                      comm_of(comm));                                          \
    }
ROOTED_BLOCKS(mpi_gather_, MPI_Gather)
ROOTED_BLOCKS(mpi_scatter_, MPI_Scatter)

#define BLOCKS(name, call)                                                     \
    FORTRAN(name, void *in, const MPI_Fint *send_count,                        \
            const MPI_Fint *send_type, void *out, const MPI_Fint *recv_count,  \
            const MPI_Fint *recv_type, const MPI_Fint *comm)                   \
    {                                                                          \
        *error = call(buffer_of(in), *send_count, type_of(send_type),          \
                      buffer_of(out), *recv_count, type_of(recv_type),         \
                      comm_of(comm));                                          \
    }
BLOCKS(mpi_allgather_, MPI_Allgather)
BLOCKS(mpi_alltoall_, MPI_Alltoall)

FORTRAN(mpi_gatherv_, void *in, const MPI_Fint *send_count,
        const MPI_Fint *send_type, void *out, const MPI_Fint *counts,
        const MPI_Fint *displs, const MPI_Fint *recv_type, const MPI_Fint *root,
        const MPI_Fint *comm)
{
    *error = MPI_Gatherv(buffer_of(in), *send_count, type_of(send_type),
                         buffer_of(out), counts, displs, type_of(recv_type),
                         *root, comm_of(comm));
}

FORTRAN(mpi_scatterv_, void *in, const MPI_Fint *counts, const MPI_Fint *displs,
        const MPI_Fint *send_type, void *out, const MPI_Fint *recv_count,
        const MPI_Fint *recv_type, const MPI_Fint *root, const MPI_Fint *comm)
{
    *error = MPI_Scatterv(buffer_of(in), counts, displs, type_of(send_type),
                          buffer_of(out), *recv_count, type_of(recv_type),
                          *root, comm_of(comm));
}

FORTRAN(mpi_allgatherv_, void *in, const MPI_Fint *send_count,
        const MPI_Fint *send_type, void *out, const MPI_Fint *counts,
        const MPI_Fint *displs, const MPI_Fint *recv_type, const MPI_Fint *comm)
{
    *error = MPI_Allgatherv(buffer_of(in), *send_count, type_of(send_type),
                            buffer_of(out), counts, displs, type_of(recv_type),
                            comm_of(comm));
}

FORTRAN(mpi_alltoallv_, void *in, const MPI_Fint *send_counts,
        const MPI_Fint *send_displs, const MPI_Fint *send_type, void *out,
        const MPI_Fint *recv_counts, const MPI_Fint *recv_displs,
        const MPI_Fint *recv_type, const MPI_Fint *comm)
{
    *error = MPI_Alltoallv(buffer_of(in), send_counts, send_displs,
                           type_of(send_type), buffer_of(out), recv_counts,
                           recv_displs, type_of(recv_type), comm_of(comm));
}

/* ---- the end ---- */

FORTRAN(mpi_comm_free_, MPI_Fint *comm)
{
    MPI_Comm own = comm_of(comm);
    *error = MPI_Comm_free(&own);
    *comm = PMPI_Comm_c2f(own);
}

GW_API void mpi_finalize_(MPI_Fint *error);
GW_API void mpi_finalize_(MPI_Fint *error)
{
    *error = MPI_Finalize();
}

#else
typedef int gw__mpi_no_fortran; /* a file must not be empty */
#endif
