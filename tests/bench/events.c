/* SPDX-License-Identifier: MIT
 *
 * The cost of the event stream: all-reduces by the ring algorithm, without a
 * sink and with one that keeps the records in memory. The result is the ratio
 * of the medians; the limit is 1.02 for 1 MiB.
 *
 *   events RANKS SECONDS [BYTES]
 *
 * Batches with and without events alternate, in changing order, on one
 * communicator that gets and loses the sink. With two communicators, each with
 * memory of its own, one was up to 3 % slower for reasons other than events. A
 * record costs 27 ns, 23 of them for the clock.
 */
#include <coll/comm.h>
#include <gradwire/gradwire.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEPT = 1 << 16, ROUNDS_LEAST = 5, ROUNDS_MAX = 1 << 14 };

static const double batch_us = 500;
static unsigned ranks = 2;
static double seconds = 1;
static size_t count = 1 << 18;

static _Noreturn void fail(const char *what, const struct gw_error *why)
{
    fprintf(stderr, "events: %s: %s\n", what, why->text);
    exit(1);
}

static struct gw_comm *join(unsigned rank, pid_t parent)
{
    char rendezvous[64];
    struct gw_error why;
    struct gw_comm *comm;
    snprintf(rendezvous, sizeof rendezvous, "ipc://@gradwire-bench-events-%d",
             (int)parent);
    const struct gw_comm_config config = {.rank = rank,
                                          .size = ranks,
                                          .rendezvous = rendezvous,
                                          .no_windows = true};
    if (gw_comm_create(&config, &comm, &why))
        fail("joining", &why);
    return comm;
}

struct event_trial {
    struct gw_comm *comm;
    struct gw_sink *sink;
    float *in, *out;
    unsigned calls; /* per batch */
};

/* Microseconds per call. */
static double batch(struct event_trial *trial, struct gw_sink *sink)
{
    const struct gw_call call = {.collective = GW_ALLREDUCE,
                                 .in = trial->in,
                                 .out = trial->out,
                                 .count = count,
                                 .type = GW_F32,
                                 .op = GW_SUM,
                                 .algo = "ring"};
    trial->comm->config.events = sink;
    uint64_t begin_ns = gw_now_ns();
    for (unsigned i = 0; i < trial->calls; i++)
        if (gw_run(trial->comm, &call))
            fail("all-reduce", gw_comm_error(trial->comm));
    return (double)(gw_now_ns() - begin_ns) / 1e3 / trial->calls;
}

/* All ranks get rank 0's number. */
static unsigned agree(struct event_trial *trial, double number)
{
    unsigned word = number < 1 ? 1 : (unsigned)number;
    if (gw_broadcast(trial->comm, GW_IN_PLACE, &word, sizeof word, GW_U8, 0))
        fail("broadcast", gw_comm_error(trial->comm));
    return word;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, unsigned number)
{
    qsort(values, number, sizeof *values, by_size);
    return values[(number - 1) / 2];
}

static void measure(struct event_trial *trial, unsigned rank)
{
    static double without[ROUNDS_MAX], with[ROUNDS_MAX];
    trial->calls = 20;
    batch(trial, NULL);
    double us = batch(trial, trial->sink);
    trial->calls = agree(trial, batch_us / us);
    double fit = seconds * 1e6 / (2 * us * trial->calls);
    unsigned rounds = agree(trial, fit < ROUNDS_LEAST ? ROUNDS_LEAST
                                   : fit > ROUNDS_MAX ? ROUNDS_MAX
                                                      : fit);
    for (unsigned i = 0; i < rounds; i++) {
        if (i % 2)
            with[i] = batch(trial, trial->sink);
        without[i] = batch(trial, NULL);
        if (i % 2 == 0)
            with[i] = batch(trial, trial->sink);
    }
    double base = median(without, rounds), cost = median(with, rounds);
    if (rank == 0)
        printf("events: all-reduce of %zu bytes, %u ranks: %.2f us without, "
               "%.2f us with: ratio %.3f\n",
               count * sizeof(float), ranks, base, cost, cost / base);
}

/* As collrun does: two ranks on one core take four times as long. */
static void pin(unsigned rank)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(rank % (unsigned)sysconf(_SC_NPROCESSORS_ONLN), &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void live(unsigned rank, pid_t parent)
{
    struct gw_error why;
    pin(rank);
    struct event_trial trial = {.comm = join(rank, parent)};
    if (gw_sink_ring(KEPT, &trial.sink, &why))
        fail("sink", &why);
    trial.in = gw_alloc(count * sizeof *trial.in, &why);
    trial.out = gw_alloc(count * sizeof *trial.out, &why);
    if (!trial.in || !trial.out)
        fail("memory", &why);
    measure(&trial, rank);
    gw_free(trial.in);
    gw_free(trial.out);
    gw_comm_destroy(&trial.comm);
    gw_sink_close(&trial.sink);
}

int main(int argc, char **argv)
{
    pid_t parent = getpid();
    int status, bad = 0;
    if (argc > 1)
        ranks = (unsigned)strtoul(argv[1], NULL, 10);
    if (argc > 2)
        seconds = strtod(argv[2], NULL);
    if (argc > 3)
        count = strtoul(argv[3], NULL, 10) / sizeof(float);
    for (unsigned r = 0; r < ranks; r++)
        if (fork() == 0) {
            live(r, parent);
            exit(0);
        }
    while (wait(&status) > 0)
        bad |= status != 0;
    return bad;
}
