/* SPDX-License-Identifier: MIT
 *
 * Large calls over memory that peers cannot map, which pass through bounce
 * buffers in many pieces. Each rank has its own kind of memory; every
 * collective runs, in place and not, with sizes that are not multiples of a
 * piece, and with ranks that are late at any time.
 */
#include "coll/comm.h"
#include "kinds.h"
#include "ranks.h"
#include "stress.h"

#include <gradwire/wire.h>

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Elements: a few pieces per chunk, and a remainder. */
enum { LARGE = 3 * (256 << 10) / 4 + 1001, CALLS = 24 };

static const struct kind kinds[] = {
    {GW_ALLREDUCE, 3 * LARGE, false, "partitioned"},
    {GW_ALLREDUCE, 3 * LARGE, true, "partitioned"},
    {GW_ALLREDUCE, LARGE, false, "one_shot"},
    {GW_ALLREDUCE, LARGE, true, "one_shot"},
    {GW_BROADCAST, LARGE, false, "direct"},
    {GW_BROADCAST, LARGE, true, "direct"},
    {GW_REDUCE, LARGE, false, "direct"},
    {GW_REDUCE, 3 * LARGE, false, "partitioned"},
    {GW_GATHER, LARGE, false, "linear"},
    {GW_GATHER, LARGE, true, "linear"},
    {GW_SCATTER, LARGE, false, "linear"},
    {GW_ALLGATHER, LARGE, false, "direct"},
    {GW_ALLGATHER, LARGE, true, "direct"},
    {GW_REDUCE_SCATTER, LARGE, false, "direct"},
    {GW_ALLTOALL, LARGE, false, "linear"},
    {GW_ALLTOALL, LARGE, true, "linear"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct memory {
    int32_t *private, *shared;
};

static int32_t *either(const struct memory *m, uint64_t bit)
{
    return bit ? m->private : m->shared;
}

static struct memory new_memory(void)
{
    size_t bytes = 3 * KIND_RANKS * (size_t)LARGE * sizeof(int32_t);
    struct memory m = {malloc(bytes), gw_alloc(bytes, NULL)};
    if (!m.private || !m.shared)
        abort();
    return m;
}

static void free_memory(struct memory *m)
{
    free(m->private);
    gw_free(m->shared);
}

static void body(struct gw_comm *comm, void *context)
{
    const uint64_t seed = *(const uint64_t *)context;
    const struct timespec late = {.tv_nsec = 2000000};
    unsigned rank = gw_comm_rank(comm);
    struct memory in = new_memory(), out = new_memory();
    uint64_t word = seed;
    for (unsigned round = 0; round < KINDS + CALLS; round++) {
        word = gw_hash(&round, sizeof round, word);
        const struct kind *k = &kinds[round < KINDS ? round : word % KINDS];
        if ((word >> 40) % 8 == rank)
            nanosleep(&late, NULL);
        kind_call(comm, k, round, either(&in, word >> (8 + 2 * rank) & 1),
                  either(&out, word >> (9 + 2 * rank) & 1));
    }
    free_memory(&in);
    free_memory(&out);
}

START_TEST(every_kind_of_memory_and_call)
{
    const struct gw_comm_config config = {.wire = "shm"};
    uint64_t seed = stress_seed();
    printf("seed %llu\n", (unsigned long long)seed);
    run_ranks(&config, KIND_RANKS, body, &seed);
}
END_TEST

/* Rank 0 has stored into rank 1's bounce buffer and continues, while rank 1 has
 * not yet emptied it. After GW__CONTROL_ENTRIES eager calls, the slot in rank
 * 0's control block that announced the data belongs to another call. */
static void run_ahead(struct gw_comm *comm, void *barrier)
{
    enum { COUNT = 1001 };
    bool ahead = gw_comm_rank(comm) == 0;
    struct memory in = new_memory(), out = new_memory();
    int32_t *mine = either(&in, !ahead), *sum = either(&out, !ahead), word = 7;
    struct gw_call call = {.collective = GW_ALLREDUCE,
                           .in = mine,
                           .out = sum,
                           .count = COUNT,
                           .type = GW_I32,
                           .op = GW_SUM,
                           .algo = "partitioned"};
    struct gw_request *request;
    for (int i = 0; i < COUNT; i++)
        mine[i] = i;
    if (!ahead)
        pthread_barrier_wait(barrier);
    ck_assert_int_eq(gw_start(comm, &call, &request), GW_OK);
    if (ahead)
        pthread_barrier_wait(barrier); /* it has entered */
    pthread_barrier_wait(barrier);     /* rank 1 has done its part */
    if (!ahead)
        pthread_barrier_wait(barrier); /* rank 0 can go no further */
    ck_assert_int_eq(gw_wait(&request), GW_OK);
    for (unsigned i = 0; i < GW__CONTROL_ENTRIES; i++)
        ck_assert_int_eq(gw_broadcast(comm, ahead ? &word : NULL,
                                      ahead ? NULL : &word, 1, GW_I32, 0),
                         GW_OK);
    if (ahead)
        pthread_barrier_wait(barrier);
    for (int i = 0; i < COUNT; i++)
        ck_assert_int_eq(sum[i], 2 * i);
    free_memory(&in);
    free_memory(&out);
}

START_TEST(staging_memory_is_emptied_whoever_has_gone_on)
{
    const struct gw_comm_config config = {.wire = "shm"};
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 2);
    run_ranks(&config, 2, run_ahead, &barrier);
    pthread_barrier_destroy(&barrier);
}
END_TEST

Suite *suite_coll_staging(void);

Suite *suite_coll_staging(void)
{
    Suite *suite = suite_create("coll staging");
    TCase *tcase = tcase_create("stage");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, every_kind_of_memory_and_call);
    tcase_add_test(tcase, staging_memory_is_emptied_whoever_has_gone_on);
    suite_add_tcase(suite, tcase);
    return suite;
}
