/* SPDX-License-Identifier: MIT
 *
 * The beginning and the end. The communicator of all ranks is made at once, so
 * that a program whose collectives on it are all non-blocking is taken, too.
 *
 * Closing a communicator of the library waits for ranks that must still read
 * from this one. They may first need a message that the MPI has not yet sent.
 * So a barrier of the MPI comes before the end. That of all ranks ends with a
 * barrier of the library: ranks that are still in a collective report the rank
 * that has ended.
 */
#include "communicator.h"
#include "pending.h"
#include "run.h"
#include "trace.h"

#include <gradwire/base.h>

static int begin(int code)
{
    if (code == MPI_SUCCESS)
        (void)gw__mpi_comm_find(MPI_COMM_WORLD, true);
    return code;
}

GW_API int MPI_Init(int *argc, char ***argv)
{
    return begin(PMPI_Init(argc, argv));
}

GW_API int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    return begin(PMPI_Init_thread(argc, argv, required, provided));
}

static void synchronize(MPI_Comm comm)
{
    if (gw__mpi_comm_find(comm, false))
        PMPI_Barrier(comm);
}

GW_API int MPI_Comm_free(MPI_Comm *comm)
{
    synchronize(*comm);
    return PMPI_Comm_free(comm);
}

GW_API int MPI_Comm_disconnect(MPI_Comm *comm)
{
    synchronize(*comm);
    return PMPI_Comm_disconnect(comm);
}

static void synchronize_all(void)
{
    const struct gw__mpi_call barrier = {.kind = GW__MPI_BARRIER,
                                         .comm = MPI_COMM_WORLD};
    struct gw__mpi_comm *c = gw__mpi_comm_find(MPI_COMM_WORLD, false);
    if (!c || gw__mpi_run(c, &barrier) != MPI_SUCCESS)
        PMPI_Barrier(MPI_COMM_WORLD);
}

GW_API int MPI_Finalize(void)
{
    gw__mpi_pending_fini();
    gw__mpi_trace_fini();
    synchronize_all();
    gw__mpi_comm_close_all();
    return PMPI_Finalize();
}
