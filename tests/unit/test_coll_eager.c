/* SPDX-License-Identifier: MIT
 *
 * Repeated calls, which take a shorter path than the first of their kind: the
 * same results and counts whatever calls came between, more kinds of calls than
 * a communicator keeps, late ranks, buffers that must be refused, and ranks
 * that never wait and make different calls.
 */
#include "kinds.h"
#include "must.h"
#include "ranks.h"
#include "stress.h"

#include <gradwire/wire.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RANKS = KIND_RANKS, ROUNDS = 40, COUNT_MAX = 2000 };

/* Kinds of calls: more than a communicator keeps. */
static const struct kind kinds[] = {
    {GW_ALLREDUCE, 2, false, NULL},      {GW_ALLREDUCE, 2, false, "one_shot"},
    {GW_ALLREDUCE, 24, false, NULL},     {GW_ALLREDUCE, 5, true, "one_shot"},
    {GW_BROADCAST, 3, false, NULL},      {GW_BROADCAST, 3, true, NULL},
    {GW_REDUCE, 7, false, NULL},         {GW_GATHER, 4, false, NULL},
    {GW_GATHER, 4, true, NULL},          {GW_SCATTER, 6, false, NULL},
    {GW_ALLGATHER, 1, false, NULL},      {GW_ALLGATHER, 8, true, NULL},
    {GW_REDUCE_SCATTER, 3, false, NULL}, {GW_ALLTOALL, 2, false, NULL},
    {GW_ALLTOALL, 2, true, NULL},        {GW_BARRIER, 0, false, NULL},
    {GW_ALLGATHER, 2000, true, NULL},    {GW_ALLREDUCE, 2000, false, NULL},
    {GW_ALLREDUCE, 2000, true, NULL},    {GW_GATHER, 2000, true, NULL},
    {GW_ALLTOALL, 700, false, NULL},     {GW_BROADCAST, 1999, true, NULL},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct buffers {
    int32_t in[RANKS * COUNT_MAX], out[RANKS * COUNT_MAX];
};

/* Buffers are new or reused at random; sometimes a rank comes late. */
static void mixed(struct gw_comm *comm, void *context)
{
    const uint64_t seed = *(const uint64_t *)context;
    const struct timespec late = {.tv_nsec = 300000};
    struct buffers *both = calloc(2, sizeof *both);
    uint64_t word = seed;
    MUST(both);
    for (unsigned round = 0; round < 25 * KINDS; round++) {
        word = gw_hash(&round, sizeof round, word);
        if (word >> 32 & 63 && (word >> 40) % 50 == gw_comm_rank(comm))
            nanosleep(&late, NULL);
        struct buffers *b = &both[word >> 20 & 1];
        kind_call(comm, &kinds[word % KINDS], round, b->in, b->out);
    }
    MUST(gw_barrier(comm) == GW_OK);
    free(both);
}

static void on_shm(rank_body body, void *context)
{
    const struct gw_comm_config config = {.wire = "shm"};
    run_ranks(&config, RANKS, body, context);
}

START_TEST(any_order_of_kinds_gives_the_same_results)
{
    uint64_t seed = stress_seed();
    printf("seed %llu\n", (unsigned long long)seed);
    on_shm(mixed, &seed);
}
END_TEST

/* The root sends to all, or all send to it, while the receivers are late: the
 * senders run ahead until no slot is left. Few kinds at a time, so that all are
 * kept. */
static void of_every_size(struct gw_comm *comm, void *context)
{
    enum { PHASES = 20, CALLS = 600, LATE = 200 };
    static const enum gw_collective collectives[2][2] = {
        {GW_BROADCAST, GW_SCATTER}, {GW_GATHER, GW_REDUCE}};
    const struct timespec late = {.tv_nsec = 2000000};
    const uint64_t seed = *(const uint64_t *)context;
    bool is_root = gw_comm_rank(comm) == KIND_ROOT;
    struct buffers *b = calloc(1, sizeof *b);
    MUST(b);
    for (unsigned call = 0; call < PHASES * CALLS; call++) {
        unsigned phase = call / CALLS, to_root = phase % 2;
        unsigned which = phase * 3 + call % 3;
        uint64_t word = gw_hash(&which, sizeof which, seed);
        const struct kind kind = {.collective = collectives[to_root][word % 2],
                                  .count = 1 + (unsigned)(word >> 8) %
                                                   (word & 64 ? 1024 : 40)};
        if (call % LATE == 0 && is_root == to_root)
            nanosleep(&late, NULL);
        kind_call(comm, &kind, call, b->in, b->out);
    }
    MUST(gw_barrier(comm) == GW_OK);
    free(b);
}

START_TEST(inputs_of_every_size_follow_each_other)
{
    uint64_t seed = stress_seed();
    printf("seed %llu\n", (unsigned long long)seed);
    on_shm(of_every_size, &seed);
}
END_TEST

/* Later calls of a kind count the same as the first. The first counts the loads
 * and stores of its passes, the others those of their prepared steps. */
static void counted(struct gw_comm *comm, void *context)
{
    (void)context;
    struct buffers b;
    for (unsigned k = 0; k < KINDS; k++) {
        struct gw_counters first[RANKS], all;
        gw_comm_counters_reset(comm);
        kind_call(comm, &kinds[k], 0, b.in, b.out);
        for (unsigned q = 0; q < RANKS; q++)
            gw_comm_counters(comm, q, &first[q]);
        for (unsigned round = 1; round < ROUNDS; round++)
            kind_call(comm, &kinds[k], round, b.in, b.out);
        for (unsigned q = 0; q < RANKS; q++) {
            gw_comm_counters(comm, q, &all);
            MUST(all.messages_sent == ROUNDS * first[q].messages_sent);
            MUST(all.messages_received == ROUNDS * first[q].messages_received);
            MUST(all.bytes_sent == ROUNDS * first[q].bytes_sent);
            MUST(all.bytes_received == ROUNDS * first[q].bytes_received);
        }
        gw_comm_counters_reset(comm);
        gw_comm_counters(comm, (gw_comm_rank(comm) + 1) % RANKS, &all);
        MUST(all.messages_sent + all.messages_received == 0);
    }
}

START_TEST(every_call_counts_what_the_first_counted)
{
    on_shm(counted, NULL);
}
END_TEST

/* A known kind of call with invalid buffers. */
static void overlapping(struct gw_comm *comm, void *context)
{
    (void)context;
    int32_t memory[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[4];
    for (unsigned i = 0; i < 3; i++)
        MUST(gw_allreduce(comm, memory, out, 4, GW_I32, GW_SUM) == GW_OK);
    MUST(gw_allreduce(comm, memory, memory + 1, 4, GW_I32, GW_SUM) ==
         GW_EINVAL);
    MUST(strstr(gw_comm_error(comm)->text, "overlap"));
}

START_TEST(buffers_are_inspected_each_time)
{
    on_shm(overlapping, NULL);
}
END_TEST

/* The root of a broadcast and the leaf of a gather wait for no data. */
static void crosswise(struct gw_comm *comm, void *context)
{
    (void)context;
    int32_t in = 1, out[RANKS];
    enum gw_err err = gw_barrier(comm); /* all have a communicator */
    uint64_t end_ns = gw_now_ns() + 5000000000U;
    while (!err && gw_now_ns() < end_ns)
        err = gw_comm_rank(comm) == 0
                  ? gw_broadcast(comm, &in, NULL, 1, GW_I32, 0)
                  : gw_gather(comm, &in, out, 1, GW_I32, 0);
    MUST(err == GW_EMISMATCH);
    MUST(strstr(gw_comm_error(comm)->text, "broadcast"));
    MUST(strstr(gw_comm_error(comm)->text, "gather"));
}

START_TEST(ranks_that_never_wait_find_that_they_differ)
{
    on_shm(crosswise, NULL);
}
END_TEST

Suite *suite_coll_eager(void);

Suite *suite_coll_eager(void)
{
    Suite *suite = suite_create("coll eager");
    TCase *tcase = tcase_create("eager");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, any_order_of_kinds_gives_the_same_results);
    tcase_add_test(tcase, inputs_of_every_size_follow_each_other);
    tcase_add_test(tcase, every_call_counts_what_the_first_counted);
    tcase_add_test(tcase, buffers_are_inspected_each_time);
    tcase_add_test(tcase, ranks_that_never_wait_find_that_they_differ);
    suite_add_tcase(suite, tcase);
    return suite;
}
