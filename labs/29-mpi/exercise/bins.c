/* SPDX-License-Identifier: MIT
 *
 * Adds up the bins of all ranks at rank 0, one bin after the other.
 *
 * The trace counts the calls. Make it one call.
 */
#include "histogram.h"

#include <mpi.h>

void add_bins(const long *mine, long *all)
{
    for (int b = 0; b < BINS; b++)
        MPI_Reduce(&mine[b], &all[b], 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
}
