/* SPDX-License-Identifier: MIT
 *
 * Calls that do not end well: ranks that close, give up, come late or continue
 * after the end. No rank waits long for them, their data is not summed, and
 * memory that was returned to its user is not written again.
 */
#include "edge.h"

#include <gradwire/wire.h>

#include <check.h>
#include <string.h>
#include <unistd.h>

/* ---- ranks that close ---- */

static void one_closes(struct gw_comm *parent, void *context)
{
    enum { N = 5000 };
    struct gw_comm *comm = twin_of(parent);
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
        MUST(gw_now_ns() - begin < PATIENCE_NS);
    }
    gw_comm_destroy(&comm);
    gw_free(in);
    gw_free(out);
}

static char algos[][20] = {"one_shot", "ring"};

START_TEST(a_rank_that_has_closed_is_named)
{
    on_wire(_i % WIRES, 3, 0, one_closes, algos[_i / WIRES]);
}
END_TEST

/* The receiver closes and never receives the message. The kernel takes all of
 * the small one, and a part of the large one. */
static void sends_unreceived(struct gw_comm *comm, void *context)
{
    const size_t *count = context;
    int32_t *data = gw_alloc(*count * sizeof *data, NULL);
    MUST(data);
    if (gw_comm_rank(comm) == 0) {
        uint64_t begin = gw_now_ns();
        enum gw_err err = gw_send(comm, data, *count, GW_I32, 1);
        MUST(err == GW_OK || err == GW_ECLOSED);
        MUST(gw_now_ns() - begin < PATIENCE_NS);
    }
    gw_free(data);
}

static size_t unreceived[] = {5000, 1 << 20};

START_TEST(a_send_to_a_rank_that_closes_ends)
{
    on_wire(_i % WIRES, 2, 0, sends_unreceived, &unreceived[_i / WIRES]);
}
END_TEST

/* Rank 0 begins, and closes before the end. The data that ipc and tcp had
 * already taken over may suffice. */
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
        MUST(gw_now_ns() - begin < PATIENCE_NS);
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

/* The root comes after the others have given up and reused their inputs: it
 * must not sum those. */
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
    MUST(gw_run(comm, &call) == GW_OK); /* so that all memory is mapped */
    if (gw_comm_rank(comm) == 0)
        usleep(300000);
    MUST(gw_run(comm, &call) == GW_ETIMEOUT);
    fill(in, N, 77);
    if (gw_comm_rank(comm) != 0)
        usleep(300000);
    gw_free(in);
    gw_free(out);
}

START_TEST(abandoned_memory_is_not_summed)
{
    on_wire(_i, 3, 100, root_is_late, NULL); /* shm only: others copy */
}
END_TEST

/* Rank 1 has seen rank 0 enter, and continues long after rank 0 has given up.
 * It must not store into memory that is not rank 0's result any more. */
static void one_is_slow(struct gw_comm *comm, void *context)
{
    (void)context;
    enum { N = 5000, STEP_US = 60000 };
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

START_TEST(abandoned_memory_is_not_written)
{
    on_wire(0, 3, 90, one_is_slow, NULL);
}
END_TEST

/* Time between start and wait does not count towards the timeout. */
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
        usleep(gw_comm_rank(comm) == 1 ? 250000 : 210000);
        MUST(gw_wait(&request) == GW_OK);
    }
    free(in);
    free(out);
}

START_TEST(time_spent_elsewhere_is_no_timeout)
{
    on_wire(_i, 2, 120, away_for_long, algos[1]);
}
END_TEST

Suite *suite_coll_end(void);

Suite *suite_coll_end(void)
{
    Suite *suite = suite_create("coll end");
    TCase *tcase = tcase_create("ends of calls");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_rank_that_has_closed_is_named, 0, 2 * WIRES);
    tcase_add_loop_test(tcase, a_send_to_a_rank_that_closes_ends, 0, 2 * WIRES);
    tcase_add_loop_test(tcase, abandoned_calls_fail_on_all, 0, 2 * WIRES);
    tcase_add_loop_test(tcase, abandoned_memory_is_not_summed, 0, SHM_WIRES);
    tcase_add_test(tcase, abandoned_memory_is_not_written);
    tcase_add_loop_test(tcase, time_spent_elsewhere_is_no_timeout, 0,
                        SHM_WIRES);
    suite_add_tcase(suite, tcase);
    return suite;
}
