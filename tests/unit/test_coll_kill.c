/* SPDX-License-Identifier: MIT
 *
 * A rank is killed at a random moment of random calls. Each survivor gets an
 * error within a second that names it, its inputs are unchanged, and closing
 * returns. About 2 s; longer with GRADWIRE_STRESS_SECONDS.
 */
#include "stress.h"

#include <check.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS_MAX = 5, DELAY_US = 30000, LIMIT_MS = 10000 };

struct wire_case {
    const char *name, *wire;
    bool no_windows;
};

static const struct wire_case wires[] = {
    {"killed on windows", "shm", false},
    {"killed on shm", "shm", true},
    {"killed on ipc", "ipc", false},
    {"killed on tcp", "tcp", false},
};
enum { WIRES = sizeof wires / sizeof *wires };

/* A rank's message to the test: that it is busy, then its result. */
struct rank_report {
    unsigned rank;
    enum gw_err code; /* GW_PENDING: busy */
    bool inputs_kept;
    char text[400];
};

static void send_report(struct gw_comm *comm, enum gw_err code,
                        bool inputs_kept, const int *fd)
{
    struct rank_report report = {
        .rank = gw_comm_rank(comm), .code = code, .inputs_kept = inputs_kept};
    snprintf(report.text, sizeof report.text, "%.399s",
             gw_comm_error(comm)->text);
    if (write(*fd, &report, sizeof report) != (ssize_t)sizeof report)
        _exit(3);
}

static void begun(struct gw_comm *comm, void *context)
{
    send_report(comm, GW_PENDING, true, context);
}

static void failed(struct gw_comm *comm, enum gw_err err, bool inputs_kept,
                   void *context)
{
    send_report(comm, err, inputs_kept, context);
}

static void rank_main(const struct gw_comm_config *config, struct stress stress)
{
    struct gw_comm *comm;
    struct gw_error why;
    if (gw_comm_create(config, &comm, &why)) {
        fprintf(stderr, "%s\n", why.text);
        _exit(3);
    }
    stress_run(comm, &stress);
    gw_comm_destroy(&comm);
    _exit(0);
}

/* One run; all of it except the timing follows from the seed. */
struct run {
    uint64_t seed;
    const char *wire;
    unsigned ranks, victim;
    int fd;
    pid_t pids[RANKS_MAX];
};

static void start(struct run *run, const struct wire_case *c,
                  struct gw_rng *rng)
{
    static const size_t slices[] = {0, 256, 4096};
    size_t slice_bytes = slices[gw_rng_below(rng, 3)];
    char rendezvous[80];
    int pipes[2];
    snprintf(rendezvous, sizeof rendezvous, "ipc://@gradwire-kill-%d-%" PRIx64,
             (int)getpid(), run->seed);
    ck_assert_int_eq(pipe(pipes), 0);
    for (unsigned r = 0; r < run->ranks; r++) {
        struct gw_comm_config config = {.rank = r,
                                        .size = run->ranks,
                                        .rendezvous = rendezvous,
                                        .wire = c->wire,
                                        .no_windows = c->no_windows,
                                        .slice_bytes = slice_bytes};
        struct stress stress = {.seed = run->seed,
                                .seconds = 100,
                                .slice_bytes =
                                    slice_bytes ? slice_bytes : 131072,
                                .failed = failed,
                                .begun = begun,
                                .context = &pipes[1]};
        run->pids[r] = fork();
        ck_assert_int_ge(run->pids[r], 0);
        if (run->pids[r] == 0)
            rank_main(&config, stress);
    }
    run->fd = pipes[0];
    close(pipes[1]);
}

static void await(const struct run *run, int timeout_ms, const char *what)
{
    struct pollfd ready = {.fd = run->fd, .events = POLLIN};
    ck_assert_msg(poll(&ready, 1, timeout_ms) == 1,
                  "%s, %u ranks, rank %u killed: no %s in %d ms; seed %" PRIu64,
                  run->wire, run->ranks, run->victim, what, timeout_ms,
                  run->seed);
}

static void check_report(const struct run *run, bool busy)
{
    struct rank_report report;
    await(run, busy ? 20000 : LIMIT_MS, busy ? "start" : "error");
    ck_assert_int_eq(read(run->fd, &report, sizeof report), sizeof report);
    char want[40];
    snprintf(want, sizeof want, "rank %u", run->victim);
    bool good = busy ? report.code == GW_PENDING
                     : report.code == GW_ELOST && report.inputs_kept &&
                           strstr(report.text, want);
    ck_assert_msg(good,
                  "%s, %u ranks, rank %u killed: rank %u: %s: %s%s; seed "
                  "%" PRIu64,
                  run->wire, run->ranks, run->victim, report.rank,
                  gw_err_name(report.code), report.text,
                  report.inputs_kept ? "" : " (and an input was written)",
                  run->seed);
}

/* All ranks have ended when the pipe has no writer any more. */
static void await_ends(const struct run *run)
{
    char nothing;
    await(run, LIMIT_MS, "end of all");
    ck_assert_int_eq(read(run->fd, &nothing, 1), 0);
    for (unsigned r = 0; r < run->ranks; r++) {
        int status;
        ck_assert_int_eq(waitpid(run->pids[r], &status, 0), run->pids[r]);
        ck_assert_msg(r == run->victim || status == 0,
                      "rank %u ended with status %x; seed %" PRIu64, r,
                      (unsigned)status, run->seed);
    }
    close(run->fd);
}

static void kill_one(const struct wire_case *c, uint64_t seed)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, seed);
    struct run run = {.seed = seed, .wire = c->name};
    run.ranks = 2 + (unsigned)gw_rng_below(&rng, RANKS_MAX - 1);
    run.victim = (unsigned)gw_rng_below(&rng, run.ranks);
    useconds_t delay_us = (useconds_t)gw_rng_below(&rng, DELAY_US);
    start(&run, c, &rng);
    for (unsigned r = 0; r < run.ranks; r++)
        check_report(&run, true);
    usleep(delay_us);
    kill(run.pids[run.victim], SIGKILL);
    for (unsigned r = 1; r < run.ranks; r++)
        check_report(&run, false);
    await_ends(&run);
}

START_TEST(survivors_are_notified)
{
    uint64_t seed = stress_seed();
    uint64_t limit = (uint64_t)(stress_seconds(2) / WIRES * 1e9);
    uint64_t begin = gw_now_ns();
    do
        kill_one(&wires[_i], seed++);
    while (gw_now_ns() - begin < limit);
}
END_TEST

Suite *suite_coll_kill(void);

Suite *suite_coll_kill(void)
{
    Suite *suite = suite_create("coll kill");
    for (int i = 0; i < WIRES; i++) {
        TCase *tcase = tcase_create(wires[i].name);
        tcase_set_timeout(tcase, 60 + stress_seconds(0));
        tcase_add_loop_test(tcase, survivors_are_notified, i, i + 1);
        suite_add_tcase(suite, tcase);
    }
    return suite;
}
