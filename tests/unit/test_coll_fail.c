/* SPDX-License-Identifier: MIT
 *
 * Failing fast: a lost peer, calls that differ, a rank that never comes, memory
 * that is full. Every rank gets an error within a second whose text names the
 * peer and the cause. Inputs are unchanged, and closing does not hang.
 */
#include "must.h"
#include "ranks.h"

#include <gradwire/wire.h>

#include <check.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *const wires[] = {"shm", "ipc", "tcp"};
enum { WIRES = 3, RANKS = 4, VICTIM = 2 };

/* ---- a killed rank ---- */

/* A rank's message to the test: that it is busy, then its result. */
struct rank_report {
    unsigned rank;
    enum gw_err code; /* GW_PENDING: under way */
    bool input_kept;
    char text[512];
};

static void send_report(int fd, const struct rank_report *report)
{
    if (write(fd, report, sizeof *report) != (ssize_t)sizeof *report)
        _exit(3);
}

static void loop_until_failure(struct gw_comm *comm, const char *algo, int fd)
{
    enum { N = 50000 };
    struct rank_report report = {.rank = gw_comm_rank(comm),
                                 .code = GW_PENDING};
    float *in = malloc(N * sizeof *in), *out = malloc(N * sizeof *out);
    if (!in || !out)
        _exit(3);
    for (size_t i = 0; i < N; i++)
        in[i] = (float)i;
    struct gw_call call = {.collective = GW_ALLREDUCE,
                           .in = in,
                           .out = out,
                           .count = N,
                           .type = GW_F32,
                           .algo = algo};
    enum gw_err err = GW_OK;
    for (unsigned round = 0; !err; round++) {
        err = gw_run(comm, &call);
        if (round == 3)
            send_report(fd, &report);
    }
    report.code = err;
    report.input_kept = true;
    for (size_t i = 0; i < N; i++)
        report.input_kept &= in[i] == (float)i;
    snprintf(report.text, sizeof report.text, "%s", gw_comm_error(comm)->text);
    send_report(fd, &report);
    free(in);
    free(out);
}

static void rank_main(const char *wire, const char *rendezvous, unsigned rank,
                      const char *algo, int fd)
{
    struct gw_comm_config config = {
        .rank = rank, .size = RANKS, .rendezvous = rendezvous, .wire = wire};
    struct gw_comm *comm;
    struct gw_error why;
    if (gw_comm_create(&config, &comm, &why)) {
        fprintf(stderr, "%s\n", why.text);
        _exit(3);
    }
    loop_until_failure(comm, algo, fd);
    gw_comm_destroy(&comm);
    _exit(0);
}

static struct rank_report next_report(int fd, int timeout_ms)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    struct rank_report report;
    ck_assert_int_eq(poll(&ready, 1, timeout_ms), 1);
    ck_assert_int_eq(read(fd, &report, sizeof report), sizeof report);
    return report;
}

static const char *const algos[] = {"ring", "partitioned"};

START_TEST(a_killed_rank_is_named_by_all)
{
    char rendezvous[80];
    int pipes[2];
    pid_t pids[RANKS];
    snprintf(rendezvous, sizeof rendezvous, "ipc://@gradwire-kill-%d-%d",
             (int)getpid(), _i);
    ck_assert_int_eq(pipe(pipes), 0);
    for (unsigned r = 0; r < RANKS; r++) {
        pids[r] = fork();
        ck_assert_int_ge(pids[r], 0);
        if (pids[r] == 0)
            rank_main(wires[_i % WIRES], rendezvous, r, algos[_i / WIRES],
                      pipes[1]);
    }
    for (unsigned r = 0; r < RANKS; r++)
        ck_assert_int_eq(next_report(pipes[0], 20000).code, GW_PENDING);
    uint64_t killed_ns = gw_now_ns();
    kill(pids[VICTIM], SIGKILL);
    char want[40];
    snprintf(want, sizeof want, "rank %d", VICTIM);
    for (unsigned r = 0; r < RANKS - 1; r++) {
        struct rank_report report = next_report(pipes[0], 10000);
        ck_assert_msg(report.code == GW_ELOST, "rank %u: %s: %s", report.rank,
                      gw_err_name(report.code), report.text);
        ck_assert_msg(strstr(report.text, want), "rank %u: %s", report.rank,
                      report.text);
        ck_assert_msg(strstr(report.text, "allreduce op"), "%s", report.text);
        ck_assert(report.input_kept);
    }
    ck_assert_uint_lt(gw_now_ns() - killed_ns, UINT64_C(10000000000));
    for (unsigned r = 0; r < RANKS; r++) {
        int status;
        ck_assert_int_eq(waitpid(pids[r], &status, 0), pids[r]);
        ck_assert(r == VICTIM || (WIFEXITED(status) && !WEXITSTATUS(status)));
    }
    close(pipes[0]);
    close(pipes[1]);
}
END_TEST

/* ---- calls that differ ---- */

static void both_calls_named(struct gw_comm *comm, enum gw_err err)
{
    const char *text = gw_comm_error(comm)->text;
    MUST(err == GW_EMISMATCH);
    MUST(strstr(text, "rank 1 called") && strstr(text, "called allreduce(8"));
}

/* Rank 1 has another count. */
static void other_count(struct gw_comm *comm, void *context)
{
    int32_t in[9] = {0}, out[9];
    struct gw_call call = {.collective = GW_ALLREDUCE,
                           .in = in,
                           .out = out,
                           .count = gw_comm_rank(comm) == 1 ? 9 : 8,
                           .type = GW_I32,
                           .algo = context};
    /* A barrier first, so that all ranks are in the call; the error may arrive
     * before it ends. */
    enum gw_err err = gw_barrier(comm);
    both_calls_named(comm, err ? err : gw_run(comm, &call));
    MUST(gw_barrier(comm) == GW_EMISMATCH);
}

/* Rank 1 calls something else. */
static void other_call(struct gw_comm *comm, void *context)
{
    int32_t in[9] = {0}, out[9];
    struct gw_call call = {.collective = GW_ALLREDUCE,
                           .in = in,
                           .out = out,
                           .count = 8,
                           .type = GW_I32,
                           .algo = context};
    bool odd = gw_comm_rank(comm) == 1;
    enum gw_err err = gw_barrier(comm);
    if (!err)
        err = odd ? gw_broadcast(comm, in, out, 5, GW_I32, 1)
                  : gw_run(comm, &call);
    /* The odd rank may be done before the others notice. */
    if (odd && !err)
        err = gw_barrier(comm);
    MUST(err == GW_EMISMATCH);
    MUST(strstr(gw_comm_error(comm)->text, "rank 1 called"));
}

/* The last rank waits for a broadcast of rank 0. The others wait for its vector,
 * and in this plan they send it nothing before they have that. Only probes show
 * the two calls. */
static void silent_calls(struct gw_comm *comm, void *context)
{
    (void)context;
    int32_t in[8] = {0}, out[8];
    struct gw_call call = {.collective = GW_ALLREDUCE,
                           .in = in,
                           .out = out,
                           .count = 8,
                           .type = GW_I32,
                           .algo = "reduce_broadcast"};
    bool odd = gw_comm_rank(comm) == gw_comm_size(comm) - 1;
    enum gw_err err = gw_barrier(comm);
    uint64_t begin_ns = gw_now_ns();
    if (!err)
        err = odd ? gw_broadcast(comm, NULL, out, 8, GW_I32, 0)
                  : gw_run(comm, &call);
    MUST(err == GW_EMISMATCH);
    MUST(gw_now_ns() - begin_ns < UINT64_C(10000000000));
    MUST(strstr(gw_comm_error(comm)->text, "called broadcast"));
    MUST(strstr(gw_comm_error(comm)->text, "called allreduce"));
}

static rank_body const mismatches[] = {other_count, other_call, silent_calls};

/* The others probe a late rank; this changes neither results nor counts, also of
 * calls that overlap. */
static void late_rank(struct gw_comm *comm, void *context)
{
    (void)context;
    enum { CALLS = 6, COUNT = 50000 };
    static const struct timespec late = {.tv_nsec = 400000000};
    struct gw_request *requests[CALLS] = {NULL};
    int32_t *memory = calloc(2 * CALLS * COUNT, sizeof *memory);
    struct gw_counters counters;
    unsigned rank = gw_comm_rank(comm), size = gw_comm_size(comm);
    uint64_t messages = 0;
    gw_comm_counters_reset(comm);
    for (unsigned c = 0; c < 2 * CALLS; c++) {
        int32_t *in = memory + c % CALLS * COUNT, *out = in + CALLS * COUNT;
        struct gw_call call = {.collective = GW_ALLREDUCE,
                               .in = in,
                               .out = out,
                               .count = COUNT,
                               .type = GW_I32,
                               .algo = "ring"};
        if (c == 1 && rank == 1)
            nanosleep(&late, NULL);
        for (int i = 0; i < COUNT; i++)
            in[i] = (int32_t)(c + rank);
        MUST(gw_start(comm, &call, &requests[c % CALLS]) == GW_OK);
        if (c % CALLS < CALLS - 1)
            continue;
        MUST(gw_wait_all(CALLS, requests) == GW_OK);
        for (unsigned k = 0; k < CALLS * COUNT; k++)
            MUST(memory[CALLS * COUNT + k] ==
                 (int32_t)(size * (c + 1 - CALLS + k / COUNT) +
                           size * (size - 1) / 2));
    }
    for (unsigned q = 0; q < size; q++) {
        gw_comm_counters(comm, q, &counters);
        messages += counters.messages_sent;
    }
    MUST(messages == 2 * CALLS * 2 * (size - 1));
    free(memory);
}

START_TEST(a_late_rank_changes_no_counts)
{
    struct gw_comm_config config = {.wire = wires[_i], .no_windows = true};
    run_ranks(&config, 3, late_rank, NULL);
}
END_TEST

START_TEST(calls_that_differ_are_named)
{
    struct gw_comm_config config = {.wire = wires[_i % WIRES]};
    char algo[20];
    snprintf(algo, sizeof algo, "%s", algos[_i / WIRES % 2]);
    run_ranks(&config, 3, mismatches[_i / WIRES / 2], algo);
}
END_TEST

/* ---- waiting ---- */

static void one_stays_away(struct gw_comm *comm, void *context)
{
    (void)context;
    int32_t in[8] = {0}, out[8];
    if (gw_comm_rank(comm) == VICTIM) {
        /* Alive but without a call, until the others have given up. */
        struct gw_request *none = NULL;
        uint64_t begin = gw_now_ns();
        while (gw_now_ns() - begin < 400000000U)
            MUST(gw_test(&none) == GW_OK);
        return;
    }
    uint64_t begin = gw_now_ns();
    enum gw_err err = gw_allreduce(comm, in, out, 8, GW_I32, GW_SUM);
    MUST(err == GW_ETIMEOUT || err == GW_ECLOSED || err == GW_ELOST);
    MUST(gw_now_ns() - begin < UINT64_C(10000000000));
    /* Rank 1 may wait for rank 0, which waits for rank 2, and be the first to
     * say so. */
    const char *text = gw_comm_error(comm)->text;
    bool tail = gw_comm_rank(comm) == 1;
    MUST(strstr(text, "rank 2") ||
         strstr(text, tail ? "waits for rank 0" : "rank 1 waits for"));
    MUST(strstr(text, "allreduce op"));
}

START_TEST(a_timeout_names_whom_it_waits_for)
{
    struct gw_comm_config config = {.wire = wires[_i % WIRES],
                                    .timeout_ms = 200};
    run_ranks(&config, 3, one_stays_away, NULL);
}
END_TEST

static void one_aborts(struct gw_comm *comm, void *context)
{
    (void)context;
    int32_t in[8] = {0}, out[8];
    /* The abort of a rank that is ahead may end this already. */
    enum gw_err err = gw_barrier(comm);
    if (gw_comm_rank(comm) == 0)
        gw_comm_abort(comm, GW_EDATA, "rank 0: line 7 is bad");
    if (!err)
        err = gw_allreduce(comm, in, out, 8, GW_I32, GW_SUM);
    MUST(err == GW_EDATA);
    MUST(strstr(gw_comm_error(comm)->text, "line 7 is bad"));
}

START_TEST(an_abort_reaches_all)
{
    struct gw_comm_config config = {.wire = wires[_i]};
    run_ranks(&config, 4, one_aborts, NULL);
}
END_TEST

/* ---- refusals ---- */

static void bad_calls(struct gw_comm *comm, void *context)
{
    const struct gw_call *call = context;
    struct gw_comm *twin; /* that all have before any can fail on it */
    MUST(gw_comm_split(comm, 0, 0, &twin, NULL) == GW_OK);
    MUST(gw_barrier(comm) == GW_OK);
    MUST(gw_run(twin, call) == GW_EINVAL);
    gw_comm_destroy(&twin);
}

static int32_t buffer[64];

static const struct gw_call bad[] = {
    {.collective = (enum gw_collective)77},
    {.collective = GW_ALLREDUCE, .in = buffer, .out = NULL, .count = 4},
    {.collective = GW_ALLREDUCE, .in = NULL, .out = buffer, .count = 4},
    {.collective = GW_ALLREDUCE,
     .in = buffer,
     .out = buffer + 2,
     .count = 4,
     .type = GW_I32},
    {.collective = GW_ALLREDUCE,
     .in = buffer,
     .out = buffer + 32,
     .count = 4,
     .type = GW_F32,
     .op = GW_BAND},
    {.collective = GW_BROADCAST,
     .in = buffer,
     .out = buffer + 32,
     .count = 4,
     .root = 9},
    {.collective = GW_ALLREDUCE,
     .in = buffer,
     .out = buffer + 32,
     .count = 4,
     .algo = "rign"},
};
enum { BAD = sizeof bad / sizeof *bad };

START_TEST(bad_calls_are_refused_on_all_ranks)
{
    struct gw_call call = bad[_i];
    run_ranks(NULL, 2, bad_calls, &call);
}
END_TEST

START_TEST(an_open_rendezvous_needs_a_key)
{
    struct gw_comm_config config = {
        .size = 2, .wire = "tcp", .rendezvous = "tcp://192.0.2.1:5555"};
    struct gw_comm *comm;
    struct gw_error why = {0};
    ck_assert_int_eq(gw_comm_create(&config, &comm, &why), GW_EINVAL);
    ck_assert_ptr_nonnull(strstr(why.text, "is open to the network"));
    config.rendezvous = NULL;
    ck_assert_int_eq(gw_comm_create(&config, &comm, &why), GW_EINVAL);
    ck_assert_ptr_nonnull(
        strstr(why.text, "the rendezvous endpoint is missing"));
}
END_TEST

START_TEST(full_memory_is_an_error_with_a_sentence)
{
    struct rlimit limit = {.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
    struct gw_error why = {0};
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_ptr_null(gw_alloc(16 << 20, &why));
    ck_assert_int_eq(why.code, GW_ENOSPC);
    ck_assert_ptr_nonnull(strstr(why.text, "16777216 bytes of shared memory"));
    void *small = gw_alloc(4096, &why);
    ck_assert_ptr_nonnull(small);
    gw_free(small);
}
END_TEST

Suite *suite_coll_fail(void);

Suite *suite_coll_fail(void)
{
    Suite *suite = suite_create("coll fail");
    TCase *tcase = tcase_create("fail fast");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_killed_rank_is_named_by_all, 0, 2 * WIRES);
    tcase_add_loop_test(tcase, calls_that_differ_are_named, 0, 6 * WIRES);
    tcase_add_loop_test(tcase, a_late_rank_changes_no_counts, 0, WIRES);
    tcase_add_loop_test(tcase, a_timeout_names_whom_it_waits_for, 0, WIRES);
    tcase_add_loop_test(tcase, an_abort_reaches_all, 0, WIRES);
    tcase_add_loop_test(tcase, bad_calls_are_refused_on_all_ranks, 0, BAD);
    tcase_add_test(tcase, an_open_rendezvous_needs_a_key);
    tcase_add_test(tcase, full_memory_is_an_error_with_a_sentence);
    suite_add_tcase(suite, tcase);
    return suite;
}
