/* SPDX-License-Identifier: MIT
 *
 * The time that gradwire-mpi(7) adds to an all-reduce. Batches of both calls
 * alternate; the result is the median of their differences, of rank 0.
 *
 *     mpirun -np RANKS mpi_cost fall|taken SECONDS BYTES...
 *
 * fall: a call that falls through, on MPI_COMM_SELF, and the same call of the
 * MPI. taken: a call that is taken, on MPI_COMM_WORLD, and gradwire's own.
 */
#include "peer.h"

#include <gradwire/coll.h>
#include <mpi.h>
#include <unistd.h>

enum { BATCH = 500, BATCHES_MAX = 4096 };

struct both {
    void (*with)(void);
    void (*without)(void);
};

static struct gw_comm *comm;
static float *in, *out;
static int count;

static void fall_through(void)
{
    MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_SELF);
}

static void call_mpi(void)
{
    PMPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_SELF);
}

static void take(void)
{
    MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void call_gradwire(void)
{
    if (gw_allreduce(comm, in, out, (size_t)count, GW_F32, GW_SUM))
        exit(70);
}

static double time_batch(void (*call)(void))
{
    double begin = peer_now();
    for (int i = 0; i < BATCH; i++)
        call();
    return (peer_now() - begin) / BATCH;
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* All ranks make as many batches: the MPI decides on the end. */
static double added_seconds(const struct both *calls, double seconds)
{
    static double added[BATCHES_MAX];
    int batches = 0, more = 1;
    double begin = peer_now();
    while (more && batches < BATCHES_MAX) {
        double with = time_batch(calls->with);
        added[batches++] = with - time_batch(calls->without);
        more = peer_now() - begin < seconds;
        PMPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    qsort(added, (size_t)batches, sizeof *added, compare_times);
    return added[batches / 2];
}

static enum gw_err connect_ranks(int rank, int ranks, struct gw_error *why)
{
    char endpoint[64];
    snprintf(endpoint, sizeof endpoint, "ipc://@mpi-cost-%d", (int)getpid());
    PMPI_Bcast(endpoint, sizeof endpoint, MPI_CHAR, 0, MPI_COMM_WORLD);
    const struct gw_comm_config config = {
        .rank = (unsigned)rank,
        .size = (unsigned)ranks,
        .rendezvous = endpoint,
        .wire = "shm",
    };
    return gw_comm_create(&config, &comm, why);
}

static void measure_size(const struct both *calls, double seconds, size_t bytes)
{
    int ranks, rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    count = (int)(bytes / sizeof *in);
    in = calloc(bytes + 1, 1);
    out = calloc(bytes + 1, 1);
    if (!in || !out)
        MPI_Abort(MPI_COMM_WORLD, 70);
    double us = 1e6 * added_seconds(calls, seconds);
    if (rank == 0)
        printf("allreduce %d %zu %.4f\n", ranks, bytes, us);
    free(in);
    free(out);
}

static int measure(const char *what, double seconds, char **sizes)
{
    const struct both falls = {fall_through, call_mpi};
    const struct both takes = {take, call_gradwire};
    struct gw_error why;
    int ranks, rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (connect_ranks(rank, ranks, &why)) {
        fprintf(stderr, "mpi_cost: %s\n", why.text);
        return 69;
    }
    for (; *sizes; sizes++)
        measure_size(*what == 'f' ? &falls : &takes, seconds,
                     strtoul(*sizes, NULL, 10));
    gw_comm_destroy(&comm);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: mpi_cost fall|taken SECONDS BYTES...\n");
        return 64;
    }
    MPI_Init(&argc, &argv);
    int status = measure(argv[1], strtod(argv[2], NULL), argv + 3);
    MPI_Finalize();
    return status;
}
