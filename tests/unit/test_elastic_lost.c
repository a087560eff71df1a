/* SPDX-License-Identifier: MIT
 *
 * The communicator of a view whose members do not all come, or do not all stay:
 * connecting can be interrupted, and a killed process is reported as lost.
 */
#include "elastic_ring.h"
#include "node_bits.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *suite_elastic_lost(void);

START_TEST(an_interrupt_ends_connecting)
{
    struct elastic_ring ring = ring_of(ring_wires[_i], 2);
    _Atomic bool stop = true;
    struct gw__address table[2];
    struct gw_error why = {0};
    for (unsigned r = 0; r < 2; r++) {
        struct gw__comm_setup setup = {
            .config = {.rank = r, .size = 2, .wire = ring.wire},
            .nodes = ring.nodes,
            .interrupt = &stop};
        ck_assert_int_eq(gw__comm_prepare(&setup, &ring.comms[r], &why), GW_OK);
        table[r] = *gw__comm_address(ring.comms[r]);
    }
    enum gw_err err =
        gw__comm_connect(ring.comms[0], table, gw_now_ns() + 10000000000, &why);
    ck_assert_msg(err == GW_EINTR, "%s", why.text);
    ck_assert_uint_eq(node_bits(gw__comm_lost(ring.comms[0])), 0);
    ring_leave(&ring);
}
END_TEST

static void pass(int fd, bool out, void *bytes, size_t count)
{
    char *at = bytes;
    for (ssize_t moved; count > 0; at += moved, count -= (size_t)moved) {
        moved = out ? write(fd, at, count) : read(fd, at, count);
        if (moved <= 0)
            _exit(3);
    }
}

/* One rank as a process of its own. The table goes over `channel`. */
static struct gw_comm *sit(const char *wire, const unsigned *nodes,
                           unsigned rank, int channel)
{
    static _Atomic bool never;
    static struct gw__address table[2];
    struct gw__comm_setup setup = {
        .config = {.rank = rank, .size = 2, .wire = wire},
        .nodes = nodes,
        .interrupt = &never};
    struct gw_comm *comm;
    struct gw_error why;
    if (gw__comm_prepare(&setup, &comm, &why)) {
        fprintf(stderr, "%s\n", why.text);
        _exit(3);
    }
    table[rank] = *gw__comm_address(comm);
    pass(channel, true, &table[rank], sizeof *table);
    pass(channel, false, &table[!rank], sizeof *table);
    if (gw__comm_connect(comm, table, gw_now_ns() + 10000000000, &why)) {
        fprintf(stderr, "%s\n", why.text);
        _exit(3);
    }
    return comm;
}

START_TEST(a_member_that_is_killed_is_lost)
{
    struct elastic_ring ring = ring_of(ring_wires[_i], 2);
    struct share shares[RING_MOST];
    int channel[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, channel), 0);
    pid_t child = fork();
    if (child == 0) {
        sit(ring.wire, ring.nodes, 1, channel[1]);
        for (;;)
            pause();
    }
    ring.comms[0] = sit(ring.wire, ring.nodes, 0, channel[0]);
    for (unsigned r = 0; r < 2; r++)
        share_init(&shares[r], &ring, r, 100000, true);
    share_plan_clean(shares, &ring);
    ck_assert_uint_eq(node_bits(gw__comm_lost(ring.comms[0])), 0);
    kill(child, SIGKILL);
    share_run(&shares[0], &ring, 0);
    const char *text = gw_comm_error(ring.comms[0])->text;
    ck_assert_msg(shares[0].err == GW_ELOST, "%s: %s",
                  gw_err_name(shares[0].err), text);
    ck_assert_msg(strstr(text, "rank 1") != NULL, "%s", text);
    uint64_t deadline = gw_now_ns() + 1000000000;
    while (node_bits(gw__comm_lost(ring.comms[0])) != 2)
        ck_assert_uint_lt(gw_now_ns(), deadline);
    share_check(&shares[0], &ring, 0, ring.wire);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    gw__comm_leave(&ring.comms[0]);
    ck_assert_ptr_null(ring.comms[0]);
    for (unsigned r = 0; r < 2; r++)
        share_fini(&shares[r], true);
}
END_TEST

Suite *suite_elastic_lost(void)
{
    Suite *suite = suite_create("elastic_lost");
    TCase *lost = tcase_create("elastic/lost");
    tcase_add_loop_test(lost, an_interrupt_ends_connecting, 0, RING_WIRES);
    tcase_add_loop_test(lost, a_member_that_is_killed_is_lost, 0, RING_WIRES);
    suite_add_tcase(suite, lost);
    return suite;
}
