/* SPDX-License-Identifier: MIT
 *
 * Calls other than the plain ones: v-variants, point to point, several at once,
 * sub-communicators, and calls that a communicator must refuse.
 */
#include "must.h"
#include "ranks.h"

#include <gradwire/wire.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const wires[] = {"shm", "ipc", "tcp"};
enum { WIRES = 3, RANKS = 4, SLICE = 256 };

static void on_wire(const char *wire, rank_body body, void *context)
{
    struct gw_comm_config config = {.wire = wire, .slice_bytes = SLICE};
    run_ranks(&config, RANKS, body, context);
}

/* Block b has 3b elements (so rank 0's is empty), with a gap of one between
 * blocks, and holds 100 b + i. */
static void fill_blocks(size_t *counts, size_t *displs, unsigned ranks)
{
    size_t at = 0;
    for (unsigned b = 0; b < ranks; b++) {
        counts[b] = 3 * b;
        displs[b] = at;
        at += counts[b] + 1;
    }
}

static void v_variants(struct gw_comm *comm, void *context)
{
    (void)context;
    unsigned p = gw_comm_size(comm), rank = gw_comm_rank(comm);
    size_t counts[RANKS], displs[RANKS];
    int32_t mine[3 * RANKS], all[6 * RANKS * RANKS], back[3 * RANKS];
    fill_blocks(counts, displs, p);
    size_t end = displs[p - 1] + counts[p - 1];
    for (size_t i = 0; i < counts[rank]; i++)
        mine[i] = (int32_t)(100 * rank + i);
    for (unsigned round = 0; round < 2; round++) {
        memset(all, 0xee, sizeof all);
        if (round == 0)
            MUST(gw_allgatherv(comm, mine, all, counts, displs, GW_I32) == 0);
        else
            MUST(gw_gatherv(comm, mine, all, counts, displs, GW_I32, 2) == 0);
        if (round == 1 && rank != 2)
            continue;
        for (unsigned b = 0; b < p; b++) {
            for (size_t i = 0; i < counts[b]; i++)
                MUST(all[displs[b] + i] == (int32_t)(100 * b + i));
            uint32_t gap = (uint32_t)all[displs[b] + counts[b]];
            MUST(gap == 0xeeeeeeee);
        }
    }
    for (size_t i = 0; i < end; i++)
        all[i] = (int32_t)(1000 + i);
    memset(back, 0xee, sizeof back);
    MUST(gw_scatterv(comm, all, counts, displs, back, GW_I32, 1) == 0);
    for (size_t i = 0; i < counts[rank]; i++)
        MUST(back[i] == (int32_t)(1000 + displs[rank] + i));
}

/* Rank i sends i + j elements to rank j: 1000 i + 100 j + k. */
static void alltoallv(struct gw_comm *comm, void *context)
{
    (void)context;
    unsigned p = gw_comm_size(comm), rank = gw_comm_rank(comm);
    size_t send[RANKS], recv[RANKS], sent[RANKS], got[RANKS];
    int64_t in[RANKS * 2 * RANKS], out[RANKS * 2 * RANKS];
    size_t at = 0;
    for (unsigned q = 0; q < p; q++) {
        send[q] = recv[q] = rank + q;
        sent[q] = got[q] = at;
        for (size_t k = 0; k < send[q]; k++)
            in[at + k] = (int64_t)(1000 * rank + 100 * q + k);
        at += send[q];
    }
    memset(out, 0, sizeof out);
    MUST(gw_alltoallv(comm, in, send, sent, out, recv, got, GW_I64) == 0);
    for (unsigned q = 0; q < p; q++)
        for (size_t k = 0; k < recv[q]; k++)
            MUST(out[got[q] + k] == (int64_t)(1000 * q + 100 * rank + k));
}

/* A ring of messages, and a pair that sends at the same time. */
static void point_to_point(struct gw_comm *comm, void *context)
{
    (void)context;
    enum { N = 2000 };
    unsigned p = gw_comm_size(comm), rank = gw_comm_rank(comm);
    unsigned next = (rank + 1) % p, before = (rank + p - 1) % p;
    static const size_t sizes[] = {0, 1, N};
    uint16_t *in = gw_alloc(N * sizeof *in, NULL);
    uint16_t out[N];
    MUST(in);
    for (unsigned s = 0; s < 3; s++) {
        struct gw_request *requests[2];
        for (size_t i = 0; i < N; i++)
            in[i] = (uint16_t)(rank * 7 + i);
        MUST(gw_send_start(comm, in, sizes[s], GW_U16, next, &requests[0]) ==
             0);
        MUST(gw_recv_start(comm, out, sizes[s], GW_U16, before, &requests[1]) ==
             0);
        MUST(gw_wait_all(2, requests) == 0);
        for (size_t i = 0; i < sizes[s]; i++)
            MUST(out[i] == (uint16_t)(before * 7 + i));
    }
    gw_free(in);
    MUST(gw_barrier(comm) == 0);
}

/* Eight calls under way, of several kinds and algorithms, ended in any order
 * by test. */
static void several_at_once(struct gw_comm *comm, void *context)
{
    (void)context;
    enum { CALLS = 8, N = 900 };
    static const char *const algos[] = {"ring", "recursive_doubling",
                                        "partitioned", "one_shot"};
    unsigned p = gw_comm_size(comm), rank = gw_comm_rank(comm);
    struct gw_request *requests[CALLS];
    float *in = gw_alloc(CALLS * N * sizeof *in, NULL);
    float *out = gw_alloc(CALLS * N * sizeof *out, NULL);
    MUST(in && out);
    for (unsigned c = 0; c < CALLS; c++) {
        for (size_t i = 0; i < N; i++)
            in[c * N + i] = (float)(rank + c + i % 10);
        struct gw_call call = {.collective = GW_ALLREDUCE,
                               .in = in + c * N,
                               .out = out + c * N,
                               .count = N,
                               .type = GW_F32,
                               .algo = algos[c % 4]};
        MUST(gw_start(comm, &call, &requests[c]) == 0);
    }
    unsigned left = CALLS;
    while (left > 0)
        for (unsigned c = 0; c < CALLS; c++) {
            if (!requests[c])
                continue;
            enum gw_err err = gw_test(&requests[c]);
            MUST(err == GW_OK || err == GW_PENDING);
            left -= err == GW_OK;
        }
    for (unsigned c = 0; c < CALLS; c++)
        for (size_t i = 0; i < N; i++) {
            float want = (float)(p * (p - 1) / 2 + p * (c + i % 10));
            MUST(out[c * N + i] == want);
        }
    gw_free(in);
    gw_free(out);
}

static void sum_of_ranks(struct gw_comm *comm, uint32_t mine, uint32_t want)
{
    uint32_t sum = 0;
    MUST(gw_allreduce(comm, &mine, &sum, 1, GW_U32, GW_SUM) == 0);
    MUST(sum == want);
}

/* Even and odd ranks, in the order of falling keys; one rank is in neither. */
static void split(struct gw_comm *comm, void *context)
{
    (void)context;
    struct gw_comm *half, *some;
    unsigned rank = gw_comm_rank(comm);
    MUST(gw_comm_split(comm, (int)rank % 2, -(int)rank, &half, NULL) == 0);
    MUST(gw_comm_size(half) == 2);
    MUST(gw_comm_rank(half) == (rank < 2));
    sum_of_ranks(half, rank, rank % 2 ? 1 + 3 : 0 + 2);
    MUST(gw_comm_split(comm, rank == 3 ? -1 : 0, 0, &some, NULL) == 0);
    MUST((some == NULL) == (rank == 3));
    if (some)
        sum_of_ranks(some, rank, 0 + 1 + 2);
    sum_of_ranks(comm, rank, 0 + 1 + 2 + 3);
    gw_comm_destroy(&half);
    gw_comm_destroy(&some);
}

/* Two communicators, calls started in opposite order by different ranks. */
static void crossed_communicators(struct gw_comm *comm, void *context)
{
    (void)context;
    struct gw_comm *other;
    unsigned rank = gw_comm_rank(comm);
    uint32_t one = 1, sums[2] = {0, 0};
    MUST(gw_comm_split(comm, 0, 0, &other, NULL) == 0);
    struct gw_comm *comms[2] = {comm, other};
    struct gw_request *requests[2];
    for (unsigned i = 0; i < 2; i++) {
        unsigned c = rank % 2 ? i : 1 - i;
        struct gw_call call = {.collective = GW_ALLREDUCE,
                               .in = &one,
                               .out = &sums[c],
                               .count = 1,
                               .type = GW_U32,
                               .algo = "ring"};
        MUST(gw_start(comms[c], &call, &requests[c]) == 0);
    }
    MUST(gw_wait(&requests[0]) == 0);
    MUST(gw_wait(&requests[1]) == 0);
    MUST(sums[0] == RANKS && sums[1] == RANKS);
    gw_comm_destroy(&other);
}

/* Ranks that compute a sum separately still get the same bits. */
static void same_bits(struct gw_comm *comm, void *context)
{
    (void)context;
    enum { N = 257 };
    unsigned p = gw_comm_size(comm), rank = gw_comm_rank(comm);
    size_t algos;
    const struct gw_algo *const *list = gw_algo_list(&algos);
    for (size_t a = 0; a < algos; a++) {
        if (list[a]->collective != GW_ALLREDUCE || !list[a]->valid(p))
            continue;
        float in[N], out[N], all[N * RANKS];
        struct gw_rng rng;
        gw_rng_seed(&rng, rank + 1);
        for (unsigned i = 0; i < N; i++)
            in[i] = (float)gw_rng_unit(&rng) * 1e3f - 500;
        struct gw_call call = {.collective = GW_ALLREDUCE,
                               .in = in,
                               .out = out,
                               .count = N,
                               .type = GW_F32,
                               .algo = list[a]->name};
        MUST(gw_run(comm, &call) == 0);
        MUST(gw_allgather(comm, out, all, N, GW_F32) == 0);
        for (unsigned q = 0; q < p; q++)
            MUST(memcmp(all + q * N, out, sizeof out) == 0);
    }
}

/* A call that moves data ignores its operation, also one that its type does not
 * allow: small ones, and those that a pass stores past the caches. */
static void unused_operation(struct gw_comm *comm, void *context)
{
    static const enum gw_collective moves[] = {
        GW_BROADCAST, GW_SCATTER, GW_GATHER, GW_ALLGATHER, GW_ALLTOALL};
    enum { SMALL = 64, LARGE = 3 << 20 };
    (void)context;
    unsigned p = gw_comm_size(comm), rank = gw_comm_rank(comm);
    float *in = gw_alloc(LARGE * sizeof *in, NULL);
    float *out = gw_alloc(LARGE * sizeof *out, NULL);
    MUST(in && out);
    for (size_t i = 0; i < LARGE; i++)
        in[i] = (float)(rank + 1);
    for (unsigned m = 0; m < 10; m++)
        for (size_t all = SMALL; all <= LARGE; all += LARGE - SMALL) {
            bool whole = moves[m % 5] == GW_BROADCAST;
            bool spreads = whole || moves[m % 5] == GW_SCATTER;
            struct gw_call call = {.collective = moves[m % 5],
                                   .in = in,
                                   .out = out,
                                   .count = whole ? all : all / p,
                                   .type = GW_F32,
                                   .op = m < 5 ? GW_LAND : GW_AVG,
                                   .root = 1};
            memset(out, 0, all * sizeof *out);
            MUST(gw_run(comm, &call) == 0);
            if (moves[m % 5] == GW_GATHER && rank != 1)
                continue;
            size_t got = moves[m % 5] == GW_SCATTER ? all / p : all;
            for (size_t i = 0; i < got; i++)
                MUST(out[i] == (spreads ? 2.0f : (float)(i / (all / p) + 1)));
        }
    gw_free(in);
    gw_free(out);
}

struct body {
    const char *name;
    rank_body run;
};

static const struct body bodies[] = {
    {"v-variants", v_variants},
    {"alltoallv", alltoallv},
    {"point to point", point_to_point},
    {"several at once", several_at_once},
    {"split", split},
    {"crossed communicators", crossed_communicators},
    {"same bits", same_bits},
    {"unused operation", unused_operation},
};
enum { BODIES = sizeof bodies / sizeof *bodies };

START_TEST(calls_are_right)
{
    on_wire(wires[_i % WIRES], bodies[_i / WIRES].run, NULL);
}
END_TEST

Suite *suite_coll_calls(void);

Suite *suite_coll_calls(void)
{
    Suite *suite = suite_create("coll calls");
    TCase *tcase = tcase_create("calls");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, calls_are_right, 0, WIRES * BODIES);
    suite_add_tcase(suite, tcase);
    return suite;
}
