/* SPDX-License-Identifier: MIT
 *
 * For the programs of this folder: rank, number of ranks, and failures, which
 * are counted over all ranks.
 */
#ifndef MPI_TEST_H
#define MPI_TEST_H

#include <mpi.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A program with threads defines another one before. */
#ifndef THREAD_LEVEL
#define THREAD_LEVEL MPI_THREAD_SINGLE
#endif

enum { RANKS_MAX = 64, FAILURES_SHOWN = 10 };

static int rank, ranks, failures;

/* Reports a failure of this rank. */
__attribute__((format(printf, 1, 2))) static inline void
failed(const char *format, ...)
{
    va_list list;
    if (++failures > FAILURES_SHOWN)
        return;
    va_start(list, format);
    fprintf(stderr, "rank %d of %d: ", rank, ranks);
    vfprintf(stderr, format, list);
    fprintf(stderr, "\n");
    va_end(list);
}

static inline void expect(bool right, const char *what)
{
    if (!right)
        failed("%s", what);
}

static inline void begin_test(int *argc, char ***argv)
{
    int provided;
    MPI_Init_thread(argc, argv, THREAD_LEVEL, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

/* Ends MPI. Returns the exit status: 1 if a rank has failed. */
static inline int end_test(const char *name)
{
    int all = 0;
    MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Bcast(&all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s: %d ranks, %d failures\n", name, ranks, all);
    MPI_Finalize();
    return all > 0;
}

#endif
