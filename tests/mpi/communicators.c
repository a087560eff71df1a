/* SPDX-License-Identifier: MIT
 *
 * Communicators that overlap, that end while calls are pending, that are very
 * many, and that belong to threads; and memory that must not grow with calls.
 * Open MPI 4.1 alone fails if a communicator is freed while a call is pending.
 *
 *     mpirun -n RANKS communicators [COMMUNICATORS CALLS]
 */
#define THREAD_LEVEL MPI_THREAD_MULTIPLE
#include "mpi_test.h"

#include <pthread.h>
#include <unistd.h>

/* Rank r is in groups of r and of r + 1; calls on them alternate. */
static void test_overlapping(void)
{
    MPI_Comm low, high, dup;
    int one = 1, sum = 0;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, -rank, &low);
    MPI_Comm_split(MPI_COMM_WORLD, (rank + 1) / 2, rank, &high);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    for (int i = 0; i < 20; i++) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, low);
        expect(sum == (rank / 2 * 2 + 1 < ranks ? 2 : 1), "the lower group");
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, high);
        expect(sum == (rank == 0 || (rank % 2 && rank + 1 == ranks) ? 1 : 2),
               "the upper group");
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, dup);
        expect(sum == ranks, "a duplicate");
    }
    MPI_Request request;
    MPI_Ibarrier(dup, &request);
    MPI_Comm_free(&dup); /* while it is in use */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&low);
    MPI_Comm_free(&high);
}

static void test_intercommunicator(void)
{
    MPI_Comm half, both;
    int side = rank % 2, sum = 0;
    if (ranks < 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 9, &both);
    MPI_Allreduce(&side, &sum, 1, MPI_INT, MPI_SUM, both);
    expect(sum == (side ? 0 : ranks / 2), "the sum of the other group");
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

static void test_many_communicators(int count)
{
    for (int i = 0; i < count; i++) {
        MPI_Comm comm;
        int sum;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int k = 0; k < i % 9; k++) {
            MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comm);
            expect(sum == ranks * i, "a short-lived communicator");
        }
        MPI_Comm_free(&comm);
    }
}

/* More at a time than the library makes. */
static void test_live_communicators(void)
{
    enum { LIVE = 160 };
    MPI_Comm comms[LIVE];
    int sum;
    for (int i = 0; i < LIVE; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        for (int k = 0; k < 6; k++) {
            MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comms[i]);
            expect(sum == ranks * i, "one of many communicators");
        }
    }
    for (int i = 0; i < LIVE; i++)
        MPI_Comm_free(&comms[i]);
}

/* ---- threads, growth ---- */

static void *run_thread(void *context)
{
    MPI_Comm comm = *(MPI_Comm *)context;
    for (int i = 0; i < 300; i++) {
        int sum;
        MPI_Request request;
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comm);
        expect(sum == ranks * i, "an all-reduce of a thread");
        MPI_Iallreduce(&i, &sum, 1, MPI_INT, MPI_MAX, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect(sum == i, "a non-blocking one of a thread");
    }
    return NULL;
}

static void test_threads(void)
{
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    MPI_Comm comms[THREADS];
    int provided;
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_MULTIPLE)
        return;
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        pthread_create(&threads[i], NULL, run_thread, &comms[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        MPI_Comm_free(&comms[i]);
    }
}

static long resident_kib(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%ld %ld", &pages, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void test_growth(long calls)
{
    double in[16] = {1}, out[16];
    int counts[RANKS_MAX] = {0}, displs[RANKS_MAX] = {0};
    long before = 0;
    counts[0] = 16;
    for (long i = 0; i < calls; i++) {
        MPI_Request request;
        if (i == calls / 10)
            before = resident_kib();
        MPI_Allreduce(in, out, 16, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Bcast(in, 16, MPI_DOUBLE, (int)(i % ranks), MPI_COMM_WORLD);
        if (i % 50)
            continue;
        MPI_Ibcast(in, 16, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Scatterv(in, counts, displs, MPI_DOUBLE, out, counts[rank],
                     MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    if (calls >= 1000 && resident_kib() - before > 2048)
        failed("%ld KiB more after %ld calls", resident_kib() - before, calls);
}

int main(int argc, char **argv)
{
    begin_test(&argc, &argv);
    test_overlapping();
    test_intercommunicator();
    test_threads();
    test_many_communicators(argc > 1 ? atoi(argv[1]) : 5);
    if (argc > 1)
        test_live_communicators();
    test_growth(argc > 2 ? atol(argv[2]) : 0);
    return end_test("communicators");
}
