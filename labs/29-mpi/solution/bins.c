/* SPDX-License-Identifier: MIT
 *
 * Adds up the bins of all ranks at rank 0, by one call: a vector of 64 numbers
 * takes hardly longer than one number.
 */
#include "histogram.h"

#include <mpi.h>

void add_bins(const long *mine, long *all)
{
    MPI_Reduce(mine, all, BINS, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
}
