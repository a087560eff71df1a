/* SPDX-License-Identifier: MIT
 *
 * Properties of the wires over connections: deaths on another host or hidden by
 * a child, buffers of failed calls, sleep, connecting.
 */
#include "wire/socket/socket_wire.h"
#include "wire/zmq/zmq_wire.h"
#include "wire_set.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

Suite *suite_wire_connection(void);

static const char *const names[] = {"ipc", "tcp", "zmq"};
enum { SOCKET_NAMES = 2, NAMES = 3 };

/* ---- a death on another host, or hidden ---- */

static void be_idle(struct gw__wire *wire, void *context)
{
    (void)wire;
    (void)context;
}

/* A process on another host cannot be watched; the end of its connection shows
 * its death. */
START_TEST(a_far_peer_is_lost_with_its_connection)
{
    struct wire_set set;
    struct gw_error why;
    wire_set_start_with_child(&set, names[_i], 2, 1, be_idle, NULL);
    struct gw__process_watch *watch =
        _i < SOCKET_NAMES ? &gw__socket_of(set.wires[0])->process_watch
                          : &gw__zmq_of(set.wires[0])->process_watch;
    gw__process_watch_fini(watch);
    ck_assert_int_eq(gw__process_watch_init(watch, 2, &why), GW_OK);
    kill(set.child, SIGKILL);
    ck_assert_int_eq(wire_set_await_failure(set.wires[0], 1000, &why),
                     GW_ELOST);
    ck_assert_str_eq(why.text, "rank 1 lost: its connection ended");
    wire_set_end(&set);
}
END_TEST

static void leave_a_child(struct gw__wire *wire, void *context)
{
    (void)wire;
    pid_t *orphan = context, child = fork();
    while (child == 0)
        pause();
    *orphan = child;
}

/* The dead peer's own child still holds the connection open. */
START_TEST(a_connection_that_is_held_open_hides_no_death)
{
    struct wire_set set;
    struct gw_error why;
    pid_t *orphan = mmap(NULL, sizeof *orphan, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    wire_set_start_with_child(&set, names[_i], 2, 1, leave_a_child, orphan);
    kill(set.child, SIGKILL);
    enum gw_err err = wire_set_await_failure(set.wires[0], 1000, &why);
    ck_assert_int_gt(*orphan, 0);
    kill(*orphan, SIGKILL);
    ck_assert_int_eq(err, GW_ELOST);
    ck_assert_str_eq(why.text, "rank 1 lost: its process ended");
    wire_set_end(&set);
    munmap(orphan, sizeof *orphan);
}
END_TEST

/* ---- buffers and sleep ---- */

static uint32_t lend_many(struct gw__wire *wire, const void *data, size_t bytes)
{
    struct gw__header header = {.bytes = (uint32_t)bytes};
    uint32_t sent = 0;
    while (wire->ops->send(wire, 1, &header, data, false) == GW_OK)
        sent++;
    return sent;
}

/* So that after a failed call its user may free the buffers. */
START_TEST(an_abort_returns_borrowed_buffers)
{
    enum { BYTES = 1 << 20 };
    unsigned char *data = calloc(1, BYTES);
    struct gw_error reason = {GW_EINTR, "enough"};
    for (unsigned aborter = 0; aborter < 2; aborter++) {
        struct wire_set set;
        wire_set_start_with_child(&set, names[_i], 3, 1, be_idle, NULL);
        kill(set.child, SIGSTOP);
        struct gw__wire *lender = set.wires[0];
        uint32_t sent = lend_many(lender, data, BYTES);
        struct gw__wire *by = set.wires[aborter ? 2 : 0];
        by->ops->abort(by, &reason);
        ck_assert_int_eq(wire_set_await_failure(lender, 1000, NULL), GW_EINTR);
        ck_assert_uint_eq(lender->ops->sends_done(lender, 1), sent);
        wire_set_end(&set);
    }
    free(data);
}
END_TEST

/* A sender that only polls for room also receives the abort. */
START_TEST(a_sender_without_room_gets_an_abort)
{
    struct wire_set set;
    unsigned char *data = calloc(1, 1 << 20);
    struct gw__header header = {.bytes = 1 << 20};
    struct gw_error reason = {GW_EINTR, "enough"};
    wire_set_start(&set, names[_i], 2, 0);
    struct gw__wire *sender = set.wires[0];
    lend_many(sender, data, header.bytes);
    set.wires[1]->ops->abort(set.wires[1], &reason);
    enum gw_err err = GW_PENDING;
    uint64_t deadline = gw_now_ns() + 2000000000U;
    while (err == GW_PENDING && gw_now_ns() < deadline)
        err = sender->ops->send(sender, 1, &header, data, false);
    ck_assert_int_eq(err, GW_ECLOSED);
    ck_assert_int_eq(sender->ops->check(sender, NULL), GW_EINTR);
    wire_set_end(&set);
    free(data);
}
END_TEST

/* A slice on a link that is not polled wakes the caller once. */
START_TEST(an_unwanted_slice_wakes_once)
{
    struct wire_set set;
    struct gw__header header = {.bytes = 4};
    wire_set_start(&set, names[_i], 2, 0);
    struct gw__wire *sleeper = set.wires[0];
    wire_set_send(set.wires[1], 0, &header, "data", true);
    for (int i = 0; i < 5; i++)
        sleeper->ops->wait(sleeper, 20000000);
    uint64_t begin = gw_now_ns();
    sleeper->ops->wait(sleeper, 20000000);
    ck_assert_uint_ge(gw_now_ns() - begin, 20000000);
    struct gw__slice_view view;
    ck_assert_int_eq(sleeper->ops->peek(sleeper, 1, &view), GW_OK);
    begin = gw_now_ns();
    sleeper->ops->wait(sleeper, 20000000);
    ck_assert_uint_ge(gw_now_ns() - begin, 20000000);
    wire_set_end(&set);
}
END_TEST

/* ---- connecting ---- */

START_TEST(connecting_names_the_one_who_does_not)
{
    struct gw__wire *wires[2];
    struct gw__address table[2];
    struct gw_error why;
    for (unsigned r = 0; r < 2; r++) {
        wires[r] = wire_set_open(wire_set_name(_i), r, 2, 0);
        table[r] = wires[r]->address;
    }
    for (unsigned r = 0; r < 2; r++) {
        uint64_t begin = gw_now_ns();
        enum gw_err err = wires[r]->ops->connect(wires[r], table,
                                                 gw_now_ns() + 50000000, &why);
        if (r == 1 && strcmp(wires[r]->ops->name, "shm") == 0)
            break; /* rank 0 has joined, which is enough */
        ck_assert_msg(err == GW_ETIMEOUT, "%s", gw_err_name(err));
        char name[16];
        snprintf(name, sizeof name, "rank %u", 1 - r);
        ck_assert_msg(strstr(why.text, name) != NULL, "%s", why.text);
        ck_assert_uint_lt(gw_now_ns() - begin, 1000000000);
    }
    for (unsigned r = 0; r < 2; r++)
        gw__wire_close(&wires[r]);
}
END_TEST

START_TEST(an_address_of_another_wire_is_a_mismatch)
{
    struct gw__wire *wire;
    struct gw__address table[2] = {{0}};
    struct gw_error why;
    wire = wire_set_open(wire_set_name(_i), 0, 2, 0);
    table[0] = wire->address;
    table[1].bytes = 5;
    ck_assert_int_eq(
        wire->ops->connect(wire, table, gw_now_ns() + 50000000, &why),
        GW_EMISMATCH);
    ck_assert_msg(strstr(why.text, "rank 1") != NULL, "%s", why.text);
    gw__wire_close(&wire);
}
END_TEST

Suite *suite_wire_connection(void)
{
    int wires = wire_set_count();
    Suite *suite = suite_create("wire_connection");
    TCase *tests = tcase_create("connection");
    tcase_set_timeout(tests, 30);
    tcase_add_loop_test(tests, a_far_peer_is_lost_with_its_connection, 0,
                        NAMES);
    tcase_add_loop_test(tests, a_connection_that_is_held_open_hides_no_death, 0,
                        NAMES);
    tcase_add_loop_test(tests, an_abort_returns_borrowed_buffers, 0, NAMES);
    tcase_add_loop_test(tests, a_sender_without_room_gets_an_abort, 0, NAMES);
    tcase_add_loop_test(tests, an_unwanted_slice_wakes_once, 0, NAMES);
    tcase_add_loop_test(tests, connecting_names_the_one_who_does_not, 0, wires);
    tcase_add_loop_test(tests, an_address_of_another_wire_is_a_mismatch, 0,
                        wires);
    suite_add_tcase(suite, tests);
    return suite;
}
