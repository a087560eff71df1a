/* SPDX-License-Identifier: MIT
 *
 * Communicators that make progress together: ranks that wait crosswise on two
 * of them make progress, an error of one is an error of the other, and they can
 * be destroyed in either order.
 */
#include "coll/comm.h"
#include "edge.h"
#include "key_file.h"
#include "wire/socket/socket_wire.h"

#include <gradwire/request.h>

#include <check.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Far more than a link buffers. */
enum { LARGE = 24 << 20, TIMEOUT_MS = 4000 };

/* Over tcp slices move only during calls of their rank. A loopback socket would
 * buffer megabytes, a network does not; hence the small buffer. */
static void shrink_buffers(struct gw_comm *comm)
{
    const struct gw__socket *s = gw__socket_of(comm->wire);
    int room = 64 << 10;
    for (unsigned r = 0; r < comm->size; r++) {
        if (r == gw_comm_rank(comm))
            continue;
        int fd = s->links[r].lanes[0].fd;
        MUST(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room) == 0);
        MUST(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room) == 0);
    }
}

/* Rank 0 waits in a barrier of A while most of its message on B is not yet
 * sent. Rank 1 enters that barrier when it has the message, which it begins to
 * receive after another barrier. */
static void wait_crosswise(struct gw_comm *comm, struct gw_comm *other)
{
    struct gw_request *request;
    size_t count = LARGE / sizeof(int32_t);
    int32_t *data = malloc(LARGE);
    MUST(data);
    if (gw_comm_rank(comm) == 0) {
        fill(data, count, 7);
        MUST(gw_send_start(other, data, count, GW_I32, 1, &request) == GW_OK);
        MUST(gw_test(&request) == GW_PENDING);
        MUST(gw_barrier(comm) == GW_OK);
        MUST(gw_barrier(comm) == GW_OK);
        MUST(gw_wait(&request) == GW_OK);
    } else {
        MUST(gw_barrier(comm) == GW_OK);
        MUST(gw_recv(other, data, count, GW_I32, 0) == GW_OK);
        MUST(holds(data, count, 7));
        MUST(gw_barrier(comm) == GW_OK);
    }
    free(data);
}

static void cross(struct gw_comm *comm, void *context)
{
    struct gw_comm *other = twin_of(comm);
    if (context)
        shrink_buffers(other);
    MUST(gw_comm_progress_with(comm, other) == GW_OK);
    MUST(gw_comm_progress_with(other, comm) == GW_OK); /* already together */
    for (unsigned round = 0; round < 2; round++)
        wait_crosswise(comm, other);
    gw_comm_destroy(&other);
    MUST(gw_barrier(comm) == GW_OK);
}

START_TEST(ranks_that_wait_crosswise_get_on)
{
    on_wire(_i, 2, TIMEOUT_MS, cross, NULL);
}
END_TEST

/* The context of `body` is not NULL then. */
static void on_keyed_tcp(rank_body body)
{
    struct key_file file = key_file_make(0600);
    struct gw_comm_config config = {
        .wire = "tcp", .timeout_ms = TIMEOUT_MS, .key_file = file.path};
    run_ranks(&config, 2, body, &config);
}

START_TEST(with_a_key_they_make_progress_too)
{
    on_keyed_tcp(cross);
}
END_TEST

/* No rank waits; all poll from time to time. */
static void poll_both(struct gw_comm *comm, void *context)
{
    struct gw_request *request;
    size_t count = LARGE / sizeof(int32_t);
    int32_t *mine = malloc(LARGE), *all = malloc(LARGE);
    enum gw_err err;
    MUST(mine && all);
    if (context)
        shrink_buffers(comm);
    fill(mine, count, 7);
    struct gw_call call = {.collective = GW_ALLREDUCE,
                           .in = mine,
                           .out = all,
                           .count = count,
                           .type = GW_I32};
    MUST(gw_start(comm, &call, &request) == GW_OK);
    while ((err = gw_test(&request)) == GW_PENDING)
        continue;
    MUST(err == GW_OK);
    MUST(holds(all, count, 14));
    free(mine);
    free(all);
}

START_TEST(polling_is_enough)
{
    if (_i < WIRES)
        on_wire(_i, 2, TIMEOUT_MS, poll_both, NULL);
    else
        on_keyed_tcp(poll_both);
}
END_TEST

/* Rank 0 waits in vain until its time is over, which permits rank 1 to begin.
 * From the second round on the call is prepared: the fast path. */
static void wait_with_a_limit(struct gw_comm *comm, void *context)
{
    struct gw_comm *other = twin_of(comm);
    int32_t mine = 3, sum = 0, permit = 1;
    struct gw_call call = {.collective = GW_ALLREDUCE,
                           .in = &mine,
                           .out = &sum,
                           .count = 1,
                           .type = GW_I32};
    (void)context;
    for (unsigned round = 0; round < 3; round++) {
        struct gw_request *request;
        sum = 0;
        if (gw_comm_rank(comm) == 0) {
            MUST(gw_run_for(comm, &call, 0, &request) == GW_PENDING);
            MUST(gw_wait_for(&request, 1000) == GW_PENDING);
            MUST(gw_send(other, &permit, 1, GW_I32, 1) == GW_OK);
            MUST(gw_wait_for(&request, PATIENCE_NS) == GW_OK);
        } else {
            MUST(gw_recv(other, &permit, 1, GW_I32, 0) == GW_OK);
            MUST(gw_run_for(comm, &call, PATIENCE_NS, &request) == GW_OK);
        }
        MUST(!request && sum == 6);
        MUST(gw_wait_for(&request, 0) == GW_OK);
    }
    gw_comm_destroy(&other);
}

START_TEST(a_limit_ends_the_wait_and_not_the_call)
{
    on_wire(_i, 2, TIMEOUT_MS, wait_with_a_limit, NULL);
}
END_TEST

/* The parent and the child of a split; the child has other peers. */
static void use_both(struct gw_comm *comm, void *context)
{
    enum { ROUNDS = 50 };
    unsigned rank = gw_comm_rank(comm);
    struct gw_comm *half;
    struct gw_error why;
    struct gw_request *request;
    (void)context;
    MUST(gw_comm_split(comm, (int)rank % 2, 0, &half, &why) == GW_OK);
    MUST(gw_comm_progress_with(comm, half) == GW_OK);
    for (int32_t round = 0; round < ROUNDS; round++) {
        int32_t mine = round, both, all;
        struct gw_call call = {.collective = GW_ALLREDUCE,
                               .in = &mine,
                               .out = &both,
                               .count = 1,
                               .type = GW_I32};
        /* Odd ranks use the two in the other order. */
        if (rank % 2) {
            MUST(gw_allreduce(comm, &mine, &all, 1, GW_I32, GW_SUM) == GW_OK);
            MUST(gw_run(half, &call) == GW_OK);
        } else {
            MUST(gw_start(half, &call, &request) == GW_OK);
            MUST(gw_allreduce(comm, &mine, &all, 1, GW_I32, GW_SUM) == GW_OK);
            MUST(gw_wait(&request) == GW_OK);
        }
        MUST(all == 4 * round);
        MUST(both == 2 * round);
    }
    gw_comm_destroy(&half);
}

START_TEST(calls_of_both_are_in_progress_at_once)
{
    on_wire(_i, 4, TIMEOUT_MS, use_both, NULL);
}
END_TEST

static void fail_with_parent(struct gw_comm *comm, void *context)
{
    (void)context;
    struct gw_comm *parent = comm, *other;
    comm = twin_of(parent);
    other = twin_of(parent);
    MUST(gw_comm_progress_with(comm, other) == GW_OK);
    if (gw_comm_rank(comm) == 0) {
        gw_comm_abort(other, GW_EWRONG, "the sums differ");
        MUST(gw_comm_error(comm)->code == GW_EWRONG);
        MUST(gw_barrier(comm) == GW_EWRONG);
    } else {
        MUST(gw_barrier(comm) == GW_EWRONG);
        MUST(strcmp(gw_comm_error(comm)->text, "the sums differ") == 0);
        MUST(gw_barrier(other) == GW_EWRONG);
    }
    gw_comm_destroy(&comm);
    gw_comm_destroy(&other);
}

START_TEST(an_error_of_one_is_an_error_of_both)
{
    on_wire(_i, 2, TIMEOUT_MS, fail_with_parent, NULL);
}
END_TEST

static void fail_before(struct gw_comm *comm, void *context)
{
    (void)context;
    struct gw_comm *parent = comm;
    struct gw_comm *others[9];
    comm = twin_of(parent);
    for (unsigned i = 0; i < 9; i++)
        others[i] = twin_of(parent);
    for (unsigned i = 0; i < 8; i++)
        MUST(gw_comm_progress_with(comm, others[i]) == GW_OK);
    MUST(gw_comm_progress_with(comm, others[8]) == GW_EINVAL);
    MUST(gw_comm_progress_with(comm, comm) == GW_EINVAL);
    gw_comm_destroy(&others[3]);
    gw_comm_abort(comm, GW_EDATA, "no good");
    MUST(gw_comm_error(others[8])->code == GW_OK);
    MUST(gw_comm_progress_with(comm, others[8]) ==
         GW_OK); /* there is room again */
    for (unsigned i = 0; i < 9; i++)
        MUST(i == 3 || gw_comm_error(others[i])->code == GW_EDATA);
    gw_comm_destroy(&comm);
    for (unsigned i = 0; i < 9; i++)
        gw_comm_destroy(&others[i]);
}

START_TEST(eight_are_the_most)
{
    on_wire(0, 1, TIMEOUT_MS, fail_before, NULL);
}
END_TEST

Suite *suite_coll_progress(void);

Suite *suite_coll_progress(void)
{
    Suite *suite = suite_create("coll progress");
    TCase *tcase = tcase_create("progress_with");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, ranks_that_wait_crosswise_get_on, 0, WIRES);
    tcase_add_test(tcase, with_a_key_they_make_progress_too);
    tcase_add_loop_test(tcase, polling_is_enough, 0, WIRES + 1);
    tcase_add_loop_test(tcase, a_limit_ends_the_wait_and_not_the_call, 0,
                        WIRES);
    tcase_add_loop_test(tcase, calls_of_both_are_in_progress_at_once, 0, WIRES);
    tcase_add_loop_test(tcase, an_error_of_one_is_an_error_of_both, 0, WIRES);
    tcase_add_test(tcase, eight_are_the_most);
    suite_add_tcase(suite, tcase);
    return suite;
}
