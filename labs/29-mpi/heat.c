/* SPDX-License-Identifier: MIT
 *
 * heat N STEPS SEED [RANK MS]: an explicit scheme for the heat equation on a plate of N x
 * N points whose edge is kept at 0,
 *
 *     u' = u + 1/5 (up + down + left + right - 4 u).
 *
 * A rank has some rows: cut.c says how many. Before each step it sends its first
 * and its last row to its neighbours, and after each step all ranks add up their
 * heat. This is a program of MPI like any other. It knows nothing of gradwire.
 * Rank 0 prints one line: the rows of the busiest rank, the heat that is left,
 * and a digest of all points. The additions of a point have the same order on
 * any number of ranks.
 *
 * RANK MS: this rank sleeps so long in each step.
 */
#include "plate.h"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { UP = 1, DOWN = 2 }; /* tags */

struct heat {
    int rank, ranks, n, rows, first;
    double *u, *next; /* rows + 2 rows of n + 2 points */
};

static double *at(const struct heat *h, double *u, int row, int col)
{
    return u + (size_t)(row + 1) * (size_t)(h->n + 2) + col + 1;
}

/* The start: a random number per point, the same on any number of ranks. */
static double start_at(int row, int col, unsigned seed)
{
    uint32_t x = (uint32_t)row * 40503u + (uint32_t)col * 9973u + seed;
    x = (x ^ x >> 15) * 2246822519u;
    x = (x ^ x >> 13) * 3266489917u;
    return (x >> 8) / (double)(1 << 24);
}

static void begin(struct heat *h, unsigned seed)
{
    size_t points = (size_t)(h->rows + 2) * (size_t)(h->n + 2);
    h->u = calloc(points, sizeof *h->u);
    h->next = calloc(points, sizeof *h->next);
    if (!h->u || !h->next)
        MPI_Abort(MPI_COMM_WORLD, 70);
    for (int i = 0; i < h->rows; i++)
        for (int j = 0; j < h->n; j++)
            *at(h, h->u, i, j) = start_at(h->first + i, j, seed);
}

/* Sends the first row up and the last row down. */
static void exchange(const struct heat *h)
{
    int up = h->rank > 0 ? h->rank - 1 : MPI_PROC_NULL;
    int down = h->rank + 1 < h->ranks ? h->rank + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(at(h, h->u, 0, 0), h->n, MPI_DOUBLE, up, UP,
                 at(h, h->u, h->rows, 0), h->n, MPI_DOUBLE, down, UP,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(at(h, h->u, h->rows - 1, 0), h->n, MPI_DOUBLE, down, DOWN,
                 at(h, h->u, -1, 0), h->n, MPI_DOUBLE, up, DOWN, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* Makes a step. Returns the heat of this rank. */
static double step(struct heat *h)
{
    double sum = 0;
    for (int i = 0; i < h->rows; i++)
        for (int j = 0; j < h->n; j++) {
            double here = *at(h, h->u, i, j);
            double around = *at(h, h->u, i - 1, j) + *at(h, h->u, i + 1, j) +
                            *at(h, h->u, i, j - 1) + *at(h, h->u, i, j + 1);
            *at(h, h->next, i, j) = here + 0.2 * (around - 4 * here);
            sum += *at(h, h->next, i, j);
        }
    double *old = h->u;
    h->u = h->next;
    h->next = old;
    return sum;
}

/* The sum of the bits of all points, which has no order. */
static uint64_t digest(const struct heat *h)
{
    uint64_t sum = 0;
    for (int i = 0; i < h->rows; i++)
        for (int j = 0; j < h->n; j++) {
            union {
                double value;
                uint64_t bits;
            } point = {.value = *at(h, h->u, i, j)};
            sum += point.bits * (uint64_t)(2 * (h->first + i) + 1);
        }
    return sum;
}

static void report(const struct heat *h, double left)
{
    uint64_t mine = digest(h), all = 0;
    int sums[2] = {h->rows, 0}, most = 0, rows = 0;
    MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&sums[0], &rows, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&sums[0], &most, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (h->rank == 0)
        printf("{\"ranks\":%d,\"rows\":%d,\"most_rows\":%d,\"heat\":%.6g,"
               "\"digest\":%u}\n",
               h->ranks, rows, most, left, (unsigned)(all ^ all >> 32));
}

/* Sleeps if this is the rank. */
static void sleep_on(int here, const char *rank, const char *ms)
{
    struct timespec nap = {.tv_nsec = atol(ms) * 1000000};
    if (here == atoi(rank))
        nanosleep(&nap, NULL);
}

int main(int argc, char **argv)
{
    struct heat h = {.first = 0};
    double left = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &h.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &h.ranks);
    if (argc < 4 || (h.n = atoi(argv[1])) < h.ranks) {
        fprintf(stderr, "heat: N STEPS SEED; N must be at least the ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 64);
    }
    h.rows = rows_of(h.rank, h.ranks, h.n);
    for (int r = 0; r < h.rank; r++)
        h.first += rows_of(r, h.ranks, h.n);
    begin(&h, (unsigned)atoi(argv[3]));
    for (int s = 0, steps = atoi(argv[2]); s < steps; s++) {
        exchange(&h);
        double mine = step(&h);
        if (argc > 5 && argv[4][0] != '-')
            sleep_on(h.rank, argv[4], argv[5]);
        MPI_Allreduce(&mine, &left, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    report(&h, left);
    free(h.u);
    free(h.next);
    MPI_Finalize();
    return 0;
}
