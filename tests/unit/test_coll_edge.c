/* SPDX-License-Identifier: MIT
 *
 * Calls at the limits of their resources: more buffers than a rank keeps
 * mapped, results on top of inputs that peers still read, absurd counts, more
 * ranks than a kernel takes. Each of these has caused a wrong result, a crash
 * or a refusal, or could.
 */
#include "edge.h"

#include "wire/memory.h"

#include <gradwire/wire.h>

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- memory ---- */

/* One input and always new results of the same size: the input's mapping is the
 * oldest when a result's mapping needs its room. */
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

START_TEST(freed_memory_is_returned_though_it_is_mapped)
{
    enum { BYTES = 1 << 20 };
    struct gw__region region;
    struct stat file;
    void *memory = gw_alloc(BYTES, NULL), *mapped;
    ck_assert(gw__region_find(memory, BYTES, &region));
    int fd = dup(region.fd);
    ck_assert_int_eq(
        gw__region_map((int)getpid(), region.fd, BYTES, true, &mapped, NULL),
        0);
    ck_assert_int_eq(fstat(fd, &file), 0);
    ck_assert_int_ge(file.st_blocks, BYTES / 512);
    gw_free(memory);
    ck_assert_int_eq(fstat(fd, &file), 0);
    ck_assert_int_eq(file.st_blocks, 0);
    gw__region_unmap(mapped, BYTES);
    close(fd);
}
END_TEST

/* A descriptor number that was reused for another file. */
START_TEST(another_file_is_not_mapped)
{
    struct gw__region region;
    struct gw_error why;
    void *mapped, *memory = gw_alloc(4096, NULL);
    ck_assert(gw__region_find(memory, 4096, &region));
    ck_assert_int_eq(
        gw__region_map((int)getpid(), region.fd, 8192, true, &mapped, &why),
        GW_EUNREACH);
    ck_assert_ptr_null(mapped);
    ck_assert_ptr_nonnull(strstr(why.text, "it no longer exists"));
    gw_free(memory);
}
END_TEST

/* ---- results on top of inputs ---- */

static _Atomic unsigned entered;

/* All ranks enter. The last rank continues only after the others had time to
 * store. */
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

/* ---- counts ---- */

/* Displacements are part of a v-call: peers use them. */
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
    char rendezvous[60];
    snprintf(rendezvous, sizeof rendezvous, "ipc://@gradwire-edge-%d",
             (int)getpid());
    for (unsigned r = 0; r < 2; r++) {
        setups[r].config = (struct gw_comm_config){.rank = r,
                                                   .size = 2,
                                                   .rendezvous = rendezvous,
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
    tcase_add_test(tcase, freed_memory_is_returned_though_it_is_mapped);
    tcase_add_test(tcase, another_file_is_not_mapped);
    tcase_add_loop_test(tcase, inputs_wait_for_late_readers, 0,
                        OVERWRITING * WIRES);
    tcase_add_loop_test(tcase, displacements_that_differ_are_a_mismatch, 0,
                        2 * WIRES);
    tcase_add_loop_test(tcase, scratch_has_no_end, 0, WIRES);
    tcase_add_test(tcase, counts_that_overflow_are_refused);
    tcase_add_test(tcase, more_ranks_than_a_kernel_takes);
    tcase_add_test(tcase, all_have_windows_or_none);
    suite_add_tcase(suite, tcase);
    return suite;
}
