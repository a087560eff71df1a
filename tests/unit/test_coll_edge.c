/* SPDX-License-Identifier: MIT
 *
 * Where calls meet the edges of what holds them up: more buffers than a rank
 * keeps mapped, results on top of inputs that peers still read, ranks that
 * close, give up or come late, counts that nobody can have meant. Each was a
 * wrong result, a crash or a hang once, or would be one.
 */
#include "ranks.h"

#include "wire/memory.h"

#include <gradwire/wire.h>

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct wire_case {
    const char *wire;
    bool no_windows;
};

static const struct wire_case wires[] = {
    {"shm", false}, {"shm", true}, {"ipc", false}, {"tcp", false}};
enum { WIRES = 4, SHM_WIRES = 2, SECOND_NS = 1000000000 };

#define MUST(condition)                                                        \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: rank %u: %s (%s)\n", __FILE__, __LINE__,   \
                    gw_comm_rank(comm), #condition,                            \
                    gw_comm_error(comm)->text);                                \
            abort();                                                           \
        }                                                                      \
    } while (0)

static void on_wire(int wire, unsigned ranks, unsigned timeout_ms,
                    rank_body body, void *context)
{
    struct gw_comm_config config = {.wire = wires[wire].wire,
                                    .no_windows = wires[wire].no_windows,
                                    .timeout_ms = timeout_ms,
                                    .slice_bytes = 4096};
    run_ranks(&config, ranks, body, context);
}

/* A communicator that all ranks have before any can fail on it: the error of a
 * rank that is ahead would end its making. */
static struct gw_comm *twin_of(struct gw_comm *comm)
{
    struct gw_comm *twin;
    MUST(gw_comm_split(comm, 0, 0, &twin, NULL) == GW_OK);
    MUST(gw_barrier(comm) == GW_OK);
    return twin;
}

static void fill(int32_t *data, size_t count, int32_t value)
{
    for (size_t i = 0; i < count; i++)
        data[i] = value;
}

static bool holds(const int32_t *data, size_t count, int32_t value)
{
    for (size_t i = 0; i < count; i++)
        if (data[i] != value)
            return false;
    return true;
}

/* ---- memory ---- */

/* One input and ever new results of the same size: the input's mapping is the
 * oldest when the mapping of a result needs its room. */
static void many_buffers(struct gw_comm *comm, void *context)
{
    (void)context;
    enum { BUFFERS = 80, N = 4096 };
    int32_t *in = gw_alloc(N * sizeof *in, NULL);
    int32_t *out[BUFFERS];
    MUST(in);
    fill(in, N, 1);
    for (unsigned b = 0; b < BUFFERS; b++) {
        out[b] = gw_alloc(N * sizeof *in, NULL);
        MUST(out[b]);
        struct gw_call call = {.collective = GW_ALLREDUCE,
                               .in = in,
                               .out = out[b],
                               .count = N,
                               .type = GW_I32,
                               .algo = b % 2 ? "partitioned" : "ring"};
        MUST(gw_run(comm, &call) == GW_OK);
        MUST(holds(out[b], N, 2));
    }
    gw_free(in);
    for (unsigned b = 0; b < BUFFERS; b++)
        gw_free(out[b]);
}

START_TEST(more_buffers_than_mappings)
{
    on_wire(_i, 2, 0, many_buffers, NULL);
}
END_TEST

START_TEST(freed_memory_is_given_back_though_it_is_mapped)
{
    enum { BYTES = 1 << 20 };
    struct gw__region region;
    struct stat file;
    void *memory = gw_alloc(BYTES, NULL), *mapped;
    ck_assert(gw__region_find(memory, BYTES, &region));
    int fd = dup(region.fd);
    ck_assert_int_eq(
        gw__region_map((int)getpid(), region.fd, BYTES, &mapped, NULL), 0);
    ck_assert_int_eq(fstat(fd, &file), 0);
    ck_assert_int_ge(file.st_blocks, BYTES / 512);
    gw_free(memory);
    ck_assert_int_eq(fstat(fd, &file), 0);
    ck_assert_int_eq(file.st_blocks, 0);
    gw__region_unmap(mapped, BYTES);
    close(fd);
}
END_TEST

/* A descriptor that has come again as something else. */
START_TEST(another_file_is_not_mapped)
{
    struct gw__region region;
    struct gw_error why;
    void *mapped, *memory = gw_alloc(4096, NULL);
    ck_assert(gw__region_find(memory, 4096, &region));
    ck_assert_int_eq(
        gw__region_map((int)getpid(), region.fd, 8192, &mapped, &why),
        GW_EUNREACH);
    ck_assert_ptr_null(mapped);
    ck_assert_ptr_nonnull(strstr(why.text, "it is not there any more"));
    gw_free(memory);
}
END_TEST

/* ---- results on top of inputs ---- */

static _Atomic unsigned entered;

/* All enter; then the last rank goes on only when the others have stored what
 * they may. */
static void late_reader(struct gw_comm *comm, void *context)
{
    enum { N = 3000 };
    const struct gw_call *common = context;
    unsigned p = gw_comm_size(comm), rank = gw_comm_rank(comm);
    int32_t *data = malloc(N * sizeof *data), *other = malloc(N * sizeof *data);
    MUST(data && other);
    fill(data, N, 1 << (4 * rank));
    struct gw_call call = *common;
    bool in_place = call.collective == GW_ALLREDUCE || rank % 2 == 0;
    call.in = in_place ? GW_IN_PLACE : data;
    call.out = in_place ? data : other;
    call.count = N / (call.collective == GW_ALLTOALL ? p : 1);
    call.type = GW_I32;
    struct gw_request *request;
    MUST(gw_start(comm, &call, &request) == GW_OK);
    atomic_fetch_add(&entered, 1);
    while (atomic_load(&entered) % p != 0)
        sched_yield();
    for (unsigned i = 0; rank == p - 1 && i < 20; i++)
        usleep(1000);
    MUST(gw_wait(&request) == GW_OK);
    const int32_t *out = call.out;
    if (call.collective == GW_ALLREDUCE)
        MUST(holds(out, N, 0x111));
    else
        for (unsigned q = 0; q < p; q++)
            MUST(holds(out + q * call.count, call.count, 1 << (4 * q)));
    free(data);
    free(other);
}

static const struct gw_call overwriting[] = {
    {.collective = GW_ALLREDUCE, .algo = "one_shot"},
    {.collective = GW_ALLREDUCE, .algo = "partitioned"},
    {.collective = GW_ALLREDUCE, .algo = "recursive_doubling"},
    {.collective = GW_ALLTOALL, .algo = "linear"},
    {.collective = GW_ALLTOALL, .algo = "pairwise"},
};
enum { OVERWRITING = sizeof overwriting / sizeof *overwriting };

START_TEST(inputs_wait_for_late_readers)
{
    struct gw_call call = overwriting[_i / WIRES];
    on_wire(_i % WIRES, 3, 0, late_reader, &call);
}
END_TEST

/* ---- ranks that close ---- */

static void one_closes(struct gw_comm *comm, void *context)
{
    enum { N = 5000 };
    int32_t *in = gw_alloc(N * sizeof *in, NULL);
    int32_t *out = gw_alloc(N * sizeof *in, NULL);
    MUST(in && out);
    struct gw_call call = {.collective = GW_ALLREDUCE,
                           .in = in,
                           .out = out,
                           .count = N,
                           .type = GW_I32,
                           .algo = context};
    if (gw_comm_rank(comm) != 2) {
        uint64_t begin = gw_now_ns();
        enum gw_err err = gw_run(comm, &call);
        MUST(err == GW_ECLOSED);
        MUST(strstr(gw_comm_error(comm)->text, "rank 2 has closed"));
        MUST(gw_now_ns() - begin < SECOND_NS);
    }
    gw_free(in);
    gw_free(out);
}

static char algos[][20] = {"one_shot", "ring"};

START_TEST(a_rank_that_has_closed_is_named)
{
    on_wire(_i % WIRES, 3, 0, one_closes, algos[_i / WIRES]);
}
END_TEST

/* Nobody will take what was sent to a rank that has closed. */
static void sends_to_nobody(struct gw_comm *comm, void *context)
{
    (void)context;
    enum { N = 5000 };
    int32_t *data = gw_alloc(N * sizeof *data, NULL);
    MUST(data);
    if (gw_comm_rank(comm) == 0) {
        uint64_t begin = gw_now_ns();
        enum gw_err err = gw_send(comm, data, N, GW_I32, 1);
        MUST(err == GW_OK || err == GW_ECLOSED);
        MUST(gw_now_ns() - begin < SECOND_NS);
    }
    gw_free(data);
}

START_TEST(a_send_to_a_rank_that_closes_ends)
{
    on_wire(_i, 2, 0, sends_to_nobody, NULL);
}
END_TEST

/* Rank 0 begins, and closes without an end. What ipc and tcp had taken over by
 * then may be enough. */
static void one_abandons(struct gw_comm *comm, void *context)
{
    enum { N = 5000 };
    int32_t *in = gw_alloc(N * sizeof *in, NULL);
    int32_t *out = gw_alloc(N * sizeof *in, NULL);
    MUST(in && out);
    struct gw_call call = {.collective = GW_ALLREDUCE,
                           .in = in,
                           .out = out,
                           .count = N,
                           .type = GW_I32,
                           .algo = context};
    struct gw_request *request;
    fill(in, N, 1);
    if (gw_comm_rank(comm) == 0) {
        MUST(gw_start(comm, &call, &request) == GW_OK);
        gw_comm_destroy(&comm);
        fill(in, N, 77); /* as freed memory might look */
    } else {
        uint64_t begin = gw_now_ns();
        usleep(30000);
        enum gw_err err = gw_run(comm, &call);
        bool done = err == GW_OK && strcmp(gw_comm_wire(comm), "shm") != 0;
        MUST(err == GW_ECLOSED || (done && holds(out, N, 3)));
        MUST(done || strstr(gw_comm_error(comm)->text,
                            "rank 0 closed its communicator before op"));
        MUST(gw_now_ns() - begin < SECOND_NS);
        gw_comm_destroy(&comm);
    }
    gw_free(in);
    gw_free(out);
}

static void abandon(struct gw_comm *comm, void *context)
{
    one_abandons(twin_of(comm), context);
}

START_TEST(abandoned_calls_fail_on_all)
{
    on_wire(_i % WIRES, 3, 0, abandon, algos[_i / WIRES]);
}
END_TEST

/* ---- time ---- */

/* The root comes when the others have given up and use their inputs for other
 * things: it must not sum those up. */
static void root_is_late(struct gw_comm *comm, void *context)
{
    (void)context;
    enum { N = 5000 };
    int32_t *in = gw_alloc(N * sizeof *in, NULL);
    int32_t *out = gw_alloc(N * sizeof *in, NULL);
    MUST(in && out);
    fill(in, N, 1);
    struct gw_call call = {.collective = GW_REDUCE,
                           .in = in,
                           .out = out,
                           .count = N,
                           .type = GW_I32,
                           .algo = "direct"};
    if (gw_comm_rank(comm) == 0)
        usleep(300000);
    MUST(gw_run(comm, &call) == GW_ETIMEOUT);
    fill(in, N, 77);
    if (gw_comm_rank(comm) != 0)
        usleep(300000);
    gw_free(in);
    gw_free(out);
}

START_TEST(memory_that_was_given_up_is_not_summed)
{
    on_wire(_i, 3, 100, root_is_late, NULL); /* others hand copies over */
}
END_TEST

/* Rank 1 has seen rank 0 enter, and goes on when rank 0 has long given up: it
 * must not store into memory that is not rank 0's result any more. */
static void one_is_slow(struct gw_comm *comm, void *context)
{
    (void)context;
    enum { N = 5000, STEP_US = 100000 };
    static const unsigned starts[] = {0, 1, 6}, goes_on[] = {0, 8, 10};
    unsigned rank = gw_comm_rank(comm);
    int32_t *in = gw_alloc(N * sizeof *in, NULL);
    int32_t *out = gw_alloc(N * sizeof *in, NULL);
    MUST(in && out);
    struct gw_call call = {.collective = GW_ALLREDUCE,
                           .in = in,
                           .out = out,
                           .count = N,
                           .type = GW_I32,
                           .algo = "partitioned"};
    struct gw_request *request;
    MUST(gw_run(comm, &call) == GW_OK); /* so that all memory is mapped */
    usleep(starts[rank] * STEP_US);
    MUST(gw_start(comm, &call, &request) == GW_OK);
    if (rank > 0)
        usleep((goes_on[rank] - starts[rank]) * STEP_US);
    MUST(gw_wait(&request) == GW_ETIMEOUT);
    fill(out, N, 77);
    usleep(rank == 0 ? 8 * STEP_US : 0);
    MUST(holds(out, N, 77));
    gw_free(in);
    gw_free(out);
}

START_TEST(memory_that_was_given_up_is_not_written)
{
    on_wire(0, 3, 150, one_is_slow, NULL);
}
END_TEST

/* Time that ranks spend between start and wait is no time without progress. */
static void away_for_long(struct gw_comm *comm, void *context)
{
    enum { N = 20000 };
    int32_t *in = calloc(N, sizeof *in), *out = calloc(N, sizeof *out);
    MUST(in && out);
    struct gw_call call = {.collective = GW_ALLREDUCE,
                           .in = in,
                           .out = out,
                           .count = N,
                           .type = GW_I32,
                           .algo = context};
    struct gw_request *request;
    for (unsigned round = 0; round < 2; round++) {
        MUST(gw_start(comm, &call, &request) == GW_OK);
        usleep(gw_comm_rank(comm) == 1 ? 420000 : 350000);
        MUST(gw_wait(&request) == GW_OK);
    }
    free(in);
    free(out);
}

START_TEST(time_spent_elsewhere_is_no_timeout)
{
    on_wire(_i % SHM_WIRES, 2, 200, away_for_long, algos[1]);
}
END_TEST

/* ---- counts ---- */

/* Displacements are part of a v-call: peers reckon with them. */
static void with_displs(struct gw_comm *comm, void *context)
{
    static const size_t counts[3] = {2, 2, 2}, packed[3] = {0, 2, 4},
                        gaps[3] = {0, 3, 6};
    bool differ = *(bool *)context;
    int32_t in[2] = {0}, out[8];
    const size_t *displs = gw_comm_rank(comm) ? NULL : differ ? gaps : packed;
    struct gw_comm *twin = twin_of(comm);
    enum gw_err err = gw_allgatherv(twin, in, out, counts, displs, GW_I32);
    MUST(err == (differ ? GW_EMISMATCH : GW_OK));
    MUST(!differ ||
         strstr(gw_comm_error(twin)->text, "rank 0 called allgatherv(i32"));
    gw_comm_destroy(&twin);
}

START_TEST(displacements_that_differ_are_a_mismatch)
{
    bool differ = _i / WIRES;
    on_wire(_i % WIRES, 3, 0, with_displs, &differ);
}
END_TEST

/* More calls with scratch than a communicator keeps scratch for. */
static void many_at_once(struct gw_comm *comm, void *context)
{
    (void)context;
    enum { CALLS = 40, N = 300, P = 3 };
    struct gw_request *requests[CALLS];
    static int32_t in[P][CALLS][P * N], out[P][CALLS][N];
    unsigned rank = gw_comm_rank(comm);
    for (unsigned c = 0; c < CALLS; c++) {
        fill(in[rank][c], P * N, (int32_t)(c + rank));
        struct gw_call call = {.collective = GW_REDUCE_SCATTER,
                               .in = in[rank][c],
                               .out = out[rank][c],
                               .count = N,
                               .type = GW_I32,
                               .algo = "ring"};
        MUST(gw_start(comm, &call, &requests[c]) == GW_OK);
    }
    MUST(gw_wait_all(CALLS, requests) == GW_OK);
    for (unsigned c = 0; c < CALLS; c++)
        MUST(holds(out[rank][c], N, (int32_t)(P * c + 3)));
}

START_TEST(scratch_has_no_end)
{
    on_wire(_i, 3, 0, many_at_once, NULL);
}
END_TEST

/* Counts whose bytes do not fit 64 bits, and messages without a buffer. */
static void bad_call(struct gw_comm *comm, void *context)
{
    int32_t in[4] = {0}, out[4];
    size_t huge = SIZE_MAX / 4 + 2, counts[2] = {1, huge},
           displs[2] = {huge, 0};
    struct gw_request *request;
    struct gw_comm *own;
    struct gw_call calls[] = {
        {.collective = GW_ALLREDUCE, .count = huge},
        {.collective = GW_ALLTOALL, .count = huge / 2 + 1},
        {.collective = GW_ALLGATHER, .counts = counts},
        {.collective = GW_ALLGATHER, .count = huge},
        {.collective = GW_GATHER, .counts = (size_t[]){1, 1}, .displs = displs},
    };
    (void)context;
    own = twin_of(comm);
    MUST(gw_broadcast(own, GW_IN_PLACE, NULL, 4, GW_I32, 0) == GW_EINVAL);
    gw_comm_destroy(&own);
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
        calls[i].in = in;
        calls[i].out = out;
        calls[i].type = GW_I32;
        own = twin_of(comm);
        MUST(gw_run(own, &calls[i]) == GW_EINVAL);
        gw_comm_destroy(&own);
    }
    unsigned peer = 1 - gw_comm_rank(comm);
    for (unsigned i = 0; i < 4; i++) {
        own = twin_of(comm);
        enum gw_err err =
            i == 0   ? gw_send_start(own, NULL, 4, GW_I32, peer, &request)
            : i == 1 ? gw_recv_start(own, NULL, 4, GW_I32, peer, &request)
            : i == 2
                ? gw_send_start(own, in, huge, GW_I32, peer, &request)
                : gw_recv_start(own, out, 4, GW_DTYPE_COUNT, peer, &request);
        MUST(err == GW_EINVAL);
        gw_comm_destroy(&own);
    }
    MUST(gw_barrier(comm) == GW_OK);
}

START_TEST(counts_that_overflow_are_refused)
{
    on_wire(0, 2, 0, bad_call, NULL);
}
END_TEST

/* ---- many ranks, and ranks that were set up differently ---- */

/* More sources and destinations than the kernels take at once. */
static void crowd(struct gw_comm *comm, void *context)
{
    enum { N = 1500 };
    int p = (int)gw_comm_size(comm), rank = (int)gw_comm_rank(comm);
    int32_t *data = gw_alloc(N * sizeof *data, NULL);
    MUST(data);
    for (unsigned i = 0; i < 2; i++) {
        const char *const names[] = {"one_shot", "partitioned"};
        struct gw_call call = {.collective = GW_ALLREDUCE,
                               .in = GW_IN_PLACE,
                               .out = data,
                               .count = N,
                               .type = GW_I32,
                               .algo = names[i]};
        fill(data, N, rank);
        MUST(gw_run(comm, &call) == GW_OK);
        MUST(holds(data, N, p * (p - 1) / 2));
    }
    fill(data, N, rank);
    MUST(gw_broadcast(comm, GW_IN_PLACE, data, N, GW_I32, 65) == GW_OK);
    MUST(holds(data, N, 65));
    (void)context;
    gw_free(data);
}

START_TEST(more_ranks_than_a_kernel_takes)
{
    on_wire(0, 70, 0, crowd, NULL);
}
END_TEST

struct setup {
    struct gw_comm_config config;
    enum gw_err err;
    struct gw_error why;
};

static void *set_up(void *argument)
{
    struct setup *setup = argument;
    struct gw_comm *comm;
    setup->err = gw_comm_create(&setup->config, &comm, &setup->why);
    gw_comm_destroy(&comm);
    return NULL;
}

START_TEST(all_have_windows_or_none)
{
    struct setup setups[2] = {0};
    pthread_t threads[2];
    char meeting[60];
    snprintf(meeting, sizeof meeting, "ipc://@gradwire-edge-%d", (int)getpid());
    for (unsigned r = 0; r < 2; r++) {
        setups[r].config = (struct gw_comm_config){.rank = r,
                                                   .size = 2,
                                                   .rendezvous = meeting,
                                                   .wire = "shm",
                                                   .no_windows = r == 1};
        ck_assert_int_eq(pthread_create(&threads[r], NULL, set_up, &setups[r]),
                         0);
    }
    for (unsigned r = 0; r < 2; r++)
        pthread_join(threads[r], NULL);
    for (unsigned r = 0; r < 2; r++) {
        ck_assert_int_eq(setups[r].err, GW_EMISMATCH);
        ck_assert_ptr_nonnull(strstr(setups[r].why.text, "windows"));
    }
}
END_TEST

Suite *suite_coll_edge(void);

Suite *suite_coll_edge(void)
{
    Suite *suite = suite_create("coll edge");
    TCase *tcase = tcase_create("edges");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, more_buffers_than_mappings, 0, SHM_WIRES);
    tcase_add_test(tcase, freed_memory_is_given_back_though_it_is_mapped);
    tcase_add_test(tcase, another_file_is_not_mapped);
    tcase_add_loop_test(tcase, inputs_wait_for_late_readers, 0,
                        OVERWRITING * WIRES);
    tcase_add_loop_test(tcase, a_rank_that_has_closed_is_named, 0, 2 * WIRES);
    tcase_add_loop_test(tcase, a_send_to_a_rank_that_closes_ends, 0, WIRES);
    tcase_add_loop_test(tcase, abandoned_calls_fail_on_all, 0, 2 * WIRES);
    tcase_add_loop_test(tcase, memory_that_was_given_up_is_not_summed, 0,
                        SHM_WIRES);
    tcase_add_test(tcase, memory_that_was_given_up_is_not_written);
    tcase_add_loop_test(tcase, time_spent_elsewhere_is_no_timeout, 0,
                        SHM_WIRES);
    tcase_add_loop_test(tcase, displacements_that_differ_are_a_mismatch, 0,
                        2 * WIRES);
    tcase_add_loop_test(tcase, scratch_has_no_end, 0, WIRES);
    tcase_add_test(tcase, counts_that_overflow_are_refused);
    tcase_add_test(tcase, more_ranks_than_a_kernel_takes);
    tcase_add_test(tcase, all_have_windows_or_none);
    suite_add_tcase(suite, tcase);
    return suite;
}
