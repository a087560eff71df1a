/* SPDX-License-Identifier: MIT
 *
 * The functions that complete requests. They let the library make progress
 * while non-blocking collectives are pending, and the MPI does the rest: the
 * handles are its own requests (see pending.h). A function that waits becomes a
 * loop of the one that tests.
 */
#include "pending.h"
#include "wire/crowd.h"

#include <time.h>
#include <unistd.h>

enum { TURNS_SPINNING = 1000, TURNS_FAST = 2000, NAP_NS = 50000 };

/* The conditions of a thread's waits; ranks 0: not known yet. */
static _Thread_local struct {
    unsigned ranks, spinning; /* the turns without a yield */
    struct gw__crowd crowd;
} known;

/* Ranks that may share a core do not spin. */
static void look_around(void)
{
    int ranks;
    if (PMPI_Comm_size(MPI_COMM_WORLD, &ranks) != MPI_SUCCESS)
        ranks = 1;
    known.ranks = (unsigned)ranks;
    known.spinning =
        ranks <= sysconf(_SC_NPROCESSORS_ONLN) ? TURNS_SPINNING : 0;
}

/* Another turn of a loop of tests. False: nothing is pending any more, and the
 * MPI can wait by itself. On a busy machine a yield takes a time slice, and a
 * nap often as long. So the first turns spin, and on a crowded machine the next
 * waits do not yield at all. (28,000 small calls of two ranks, with 4 busy loops
 * per core: 3 s, and more than 60 if each wait begins with a yield.) */
static bool turn(unsigned *turns, int *code)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    if (!gw__mpi_is_pending())
        return false;
    *code = gw__mpi_progress();
    if (!known.ranks)
        look_around();
    if (++*turns <= known.spinning)
        return *code == MPI_SUCCESS;
    if (*turns > TURNS_FAST || gw__is_crowded(&known.crowd)) {
        nanosleep(&nap, NULL);
        gw__crowd_slept(&known.crowd);
    } else
        gw__crowd_yield(&known.crowd, known.ranks);
    return *code == MPI_SUCCESS;
}

GW_API int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    unsigned turns = 0;
    int done = 0, code = MPI_SUCCESS;
    while (turn(&turns, &code)) {
        code = PMPI_Test(request, &done, status);
        if (done || code != MPI_SUCCESS)
            return code;
    }
    return code != MPI_SUCCESS ? code : PMPI_Wait(request, status);
}

GW_API int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    unsigned turns = 0;
    int done = 0, code = MPI_SUCCESS;
    while (turn(&turns, &code)) {
        code = PMPI_Testall(count, requests, &done, statuses);
        if (done || code != MPI_SUCCESS)
            return code;
    }
    return code != MPI_SUCCESS ? code : PMPI_Waitall(count, requests, statuses);
}

GW_API int MPI_Waitany(int count, MPI_Request requests[], int *index,
                       MPI_Status *status)
{
    unsigned turns = 0;
    int done = 0, code = MPI_SUCCESS;
    while (turn(&turns, &code)) {
        code = PMPI_Testany(count, requests, index, &done, status);
        if (done || code != MPI_SUCCESS)
            return code;
    }
    return code != MPI_SUCCESS ? code
                               : PMPI_Waitany(count, requests, index, status);
}

GW_API int MPI_Waitsome(int count, MPI_Request requests[], int *done,
                        int indices[], MPI_Status statuses[])
{
    unsigned turns = 0;
    int code = MPI_SUCCESS;
    while (turn(&turns, &code)) {
        code = PMPI_Testsome(count, requests, done, indices, statuses);
        if (*done || code != MPI_SUCCESS)
            return code;
    }
    return code != MPI_SUCCESS
               ? code
               : PMPI_Waitsome(count, requests, done, indices, statuses);
}

GW_API int MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
    int code = gw__mpi_progress();
    return code != MPI_SUCCESS ? code : PMPI_Test(request, done, status);
}

GW_API int MPI_Testall(int count, MPI_Request requests[], int *done,
                       MPI_Status statuses[])
{
    int code = gw__mpi_progress();
    return code != MPI_SUCCESS ? code
                               : PMPI_Testall(count, requests, done, statuses);
}

GW_API int MPI_Testany(int count, MPI_Request requests[], int *index, int *done,
                       MPI_Status *status)
{
    int code = gw__mpi_progress();
    return code != MPI_SUCCESS
               ? code
               : PMPI_Testany(count, requests, index, done, status);
}

GW_API int MPI_Testsome(int count, MPI_Request requests[], int *done,
                        int indices[], MPI_Status statuses[])
{
    int code = gw__mpi_progress();
    return code != MPI_SUCCESS
               ? code
               : PMPI_Testsome(count, requests, done, indices, statuses);
}

GW_API int MPI_Request_get_status(MPI_Request request, int *done,
                                  MPI_Status *status)
{
    int code = gw__mpi_progress();
    return code != MPI_SUCCESS ? code
                               : PMPI_Request_get_status(request, done, status);
}
