/* SPDX-License-Identifier: MIT
 *
 * histogram NUMBERS SEED [other]: counts NUMBERS random numbers, which are small
 * more often than large, in 64 bins. Number i belongs to rank i mod P. Each rank
 * counts its own, and add_bins of bins.c adds up the bins. This is a program of
 * MPI like any other. It knows nothing of gradwire. Rank 0 prints one line: the
 * numbers in all bins, a digest of the bins, and the time of add_bins.
 *
 * other: at the end rank 1 calls another collective than the other ranks.
 */
#include "histogram.h"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The product of two random fractions, as a bin. */
static int bin_of(uint32_t number, uint32_t seed)
{
    uint32_t x = number * 2654435761u + seed;
    x = (x ^ x >> 15) * 2246822519u;
    x = (x ^ x >> 13) * 3266489917u;
    x ^= x >> 16;
    return (int)((x >> 16) * (x & 0xffff) / (UINT32_MAX / BINS + 1));
}

static void report(const long *bins, double seconds)
{
    long numbers = 0;
    unsigned digest = 0;
    for (int b = 0; b < BINS; b++) {
        numbers += bins[b];
        digest = digest * 31 + (unsigned)bins[b];
    }
    printf("{\"numbers\":%ld,\"digest\":%u,\"add_us\":%.1f}\n", numbers, digest,
           seconds * 1e6);
}

int main(int argc, char **argv)
{
    long mine[BINS] = {0}, all[BINS] = {0};
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 3) {
        fprintf(stderr, "histogram: NUMBERS SEED\n");
        MPI_Abort(MPI_COMM_WORLD, 64);
    }
    for (long i = rank, end = atol(argv[1]); i < end; i += ranks)
        mine[bin_of((uint32_t)i, (uint32_t)atoi(argv[2]))]++;
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    add_bins(mine, all);
    double ended = MPI_Wtime();
    if (rank == 0)
        report(all, ended - began);
    if (argc > 3 && argv[3][0] == 'o' && rank == 1)
        MPI_Bcast(all, BINS, MPI_LONG, 0, MPI_COMM_WORLD);
    else
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
