/* SPDX-License-Identifier: MIT
 *
 * What the event stream costs: all-reduces of 1 MiB by the ring algorithm,
 * without a sink and with one that keeps the records in memory, as they are
 * always kept. Rounds alternate; the ratio of the medians is what counts, and
 * at most 1.02 is promised.
 *
 *   events [RANKS [ROUNDS]]
 */
#include <gradwire/gradwire.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 1 << 18, CALLS = 20, KEPT = 1 << 16 };

static unsigned ranks = 2, rounds = 101;

static _Noreturn void fail(const char *what, const struct gw_error *why)
{
    fprintf(stderr, "events: %s: %s\n", what, why->text);
    exit(1);
}

static struct gw_comm *join(unsigned rank, pid_t parent, struct gw_sink *sink)
{
    char meeting[64];
    struct gw_error why;
    struct gw_comm *comm;
    snprintf(meeting, sizeof meeting, "ipc://@gradwire-bench-events-%d-%d",
             (int)parent, sink != NULL);
    const struct gw_comm_config config = {.rank = rank,
                                          .size = ranks,
                                          .rendezvous = meeting,
                                          .no_windows = true,
                                          .events = sink};
    if (gw_comm_create(&config, &comm, &why))
        fail("joining", &why);
    return comm;
}

/* Microseconds a call. */
static double round_us(struct gw_comm *comm, const float *in, float *out)
{
    const struct gw_call call = {.collective = GW_ALLREDUCE,
                                 .in = in,
                                 .out = out,
                                 .count = COUNT,
                                 .type = GW_F32,
                                 .op = GW_SUM,
                                 .algo = "ring"};
    uint64_t begin_ns = gw_now_ns();
    for (unsigned i = 0; i < CALLS; i++)
        if (gw_run(comm, &call))
            fail("all-reduce", gw_comm_error(comm));
    return (double)(gw_now_ns() - begin_ns) / 1e3 / CALLS;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, rounds, sizeof *values, by_size);
    return values[rounds / 2];
}

static void live(unsigned rank, pid_t parent)
{
    struct gw_error why;
    struct gw_sink *sink;
    if (gw_sink_ring(KEPT, &sink, &why))
        fail("sink", &why);
    struct gw_comm *plain = join(rank, parent, NULL);
    struct gw_comm *told = join(rank, parent, sink);
    float *in = gw_alloc(COUNT * sizeof *in, &why);
    float *out = gw_alloc(COUNT * sizeof *out, &why);
    double *without = calloc(rounds, sizeof *without);
    double *with = calloc(rounds, sizeof *with);
    if (!in || !out || !without || !with)
        fail("memory", &why);
    for (unsigned i = 0; i < rounds; i++) {
        without[i] = round_us(plain, in, out);
        with[i] = round_us(told, in, out);
    }
    double base = median(without), cost = median(with);
    if (rank == 0)
        printf("events: all-reduce of 1 MiB, %u ranks: %.1f us without, %.1f "
               "us with: ratio %.3f\n",
               ranks, base, cost, cost / base);
    free(without);
    free(with);
    gw_free(in);
    gw_free(out);
    gw_comm_destroy(&plain);
    gw_comm_destroy(&told);
    gw_sink_close(&sink);
}

int main(int argc, char **argv)
{
    pid_t parent = getpid();
    int status, bad = 0;
    if (argc > 1)
        ranks = (unsigned)strtoul(argv[1], NULL, 10);
    if (argc > 2)
        rounds = (unsigned)strtoul(argv[2], NULL, 10);
    for (unsigned r = 0; r < ranks; r++)
        if (fork() == 0) {
            live(r, parent);
            exit(0);
        }
    while (wait(&status) > 0)
        bad |= status != 0;
    return bad;
}
