/* SPDX-License-Identifier: MIT
 *
 * The beginning and the end. The communicator of all ranks is made at once, so
 * that a program whose collectives on it are all non-blocking is taken, too.
 */
#include "communicator.h"
#include "pending.h"
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

/* MPI_Finalize may wait for the other ranks, so that all of them have left the
 * last call before memory is given back. */
GW_API int MPI_Finalize(void)
{
    gw__mpi_pending_fini();
    gw__mpi_trace_fini();
    PMPI_Barrier(MPI_COMM_WORLD);
    gw__mpi_comm_close_all();
    return PMPI_Finalize();
}
