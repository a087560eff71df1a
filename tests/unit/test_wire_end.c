/* SPDX-License-Identifier: MIT
 *
 * The end of a link on every wire: goodbye, abort, a peer that is killed or
 * stopped, and closing that never hangs. The other half of the conformance
 * suite of test_wire.c.
 */
#include "wire_set.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

Suite *suite_wire_end(void);

enum { LARGE_BYTES = 200000 };

static uint64_t ms_since(uint64_t begin_ns)
{
    return (gw_now_ns() - begin_ns) / 1000000;
}

/* Fills the link with slices of this content, lent or copied. */
static uint32_t fill_link(struct gw__wire *wire, unsigned peer,
                          const void *data, bool copy)
{
    struct gw__header header = {.bytes = LARGE_BYTES};
    uint32_t sent = 0;
    while (wire->ops->send(wire, peer, &header, data, copy) == GW_OK) {
        header.slice = ++sent;
        ck_assert_uint_lt(sent, 100000);
    }
    return sent;
}

static void *close_it(void *wire)
{
    gw__wire_close(wire);
    return NULL;
}

/* ---- goodbye ---- */

/* The reader is slower than the goodbye, or than any linger time; the latter
 * with as much data as a Unix socket holds. */
static void test_goodbye(const char *name, bool copy, bool late)
{
    enum { SLICES = 7, HELD_BYTES = 40000 };
    const uint32_t bytes = late ? HELD_BYTES : LARGE_BYTES;
    struct wire_set set;
    struct gw__slice_view view;
    pthread_t closer;
    unsigned char *data = malloc(LARGE_BYTES);
    wire_set_start(&set, name, 2, 0);
    struct gw__wire *reader = set.wires[1];
    wire_set_fill(data, LARGE_BYTES, 3);
    for (uint32_t i = 0; i < SLICES; i++) {
        struct gw__header header = {.slice = i, .bytes = bytes};
        wire_set_send(set.wires[0], 1, &header, data, copy);
    }
    pthread_create(&closer, NULL, close_it, &set.wires[0]);
    if (late)
        pthread_join(closer, NULL);
    for (uint32_t i = 0; i < SLICES; i++) {
        ck_assert_int_eq(wire_set_await(reader, 0, &view), GW_OK);
        ck_assert_uint_eq(view.header->slice, i);
        ck_assert(!wire_set_differs(view.data, bytes, 3));
        reader->ops->release(reader, 0);
    }
    ck_assert_int_eq(wire_set_await(reader, 0, &view), GW_ECLOSED);
    if (!late)
        pthread_join(closer, NULL);
    struct gw_error why;
    struct gw__header header = {.bytes = 0};
    ck_assert_int_eq(reader->ops->check(reader, &why), GW_OK);
    ck_assert_int_eq(reader->ops->send(reader, 0, &header, NULL, true),
                     GW_ECLOSED);
    ck_assert_int_eq(reader->ops->peek(reader, 0, &view), GW_ECLOSED);
    wire_set_end(&set);
    free(data);
}

START_TEST(a_goodbye_comes_after_the_data)
{
    test_goodbye(wire_set_name(_i), false, false);
    test_goodbye(wire_set_name(_i), true, false);
}
END_TEST

/* Over shm lent memory is freed with its owner, hence only ipc and tcp. */
START_TEST(data_survives_a_sender_that_closed)
{
    if (strcmp(wire_plain_name(wire_set_name(_i)), "shm") == 0)
        return;
    test_goodbye(wire_set_name(_i), false, true);
    test_goodbye(wire_set_name(_i), true, true);
}
END_TEST

/* A reader that gets no CPU for a while is late, not gone: the closing rank
 * keeps its data for it. Too much for a kernel's buffer, and none of it fits into
 * a descriptor. */
START_TEST(a_late_reader_gets_all_data)
{
    enum { LATE_MS = 400, SLICES = 4 };
    static const struct timespec late = {.tv_nsec = LATE_MS * 1000000};
    struct wire_set set;
    struct gw__slice_view view;
    unsigned char *data = malloc(LARGE_BYTES);
    pthread_t closer;
    wire_set_fill(data, LARGE_BYTES, 3);
    wire_set_start(&set, wire_set_name(_i), 2, 0);
    struct gw__wire *reader = set.wires[1];
    for (uint32_t i = 0; i < SLICES; i++) {
        struct gw__header header = {.slice = i, .bytes = LARGE_BYTES};
        wire_set_send(set.wires[0], 1, &header, data, true);
    }
    pthread_create(&closer, NULL, close_it, &set.wires[0]);
    nanosleep(&late, NULL);
    for (uint32_t i = 0; i < SLICES; i++) {
        ck_assert_int_eq(wire_set_await(reader, 0, &view), GW_OK);
        ck_assert_uint_eq(view.header->slice, i);
        ck_assert(!wire_set_differs(view.data, LARGE_BYTES, 3));
        reader->ops->release(reader, 0);
    }
    pthread_join(closer, NULL);
    wire_set_end(&set);
    free(data);
}
END_TEST

/* With data that its peer never reads, a rank closes when it is interrupted. */
START_TEST(an_interrupt_ends_the_wait_of_close)
{
    static const _Atomic bool interrupted = true;
    struct wire_set set;
    unsigned char *data = calloc(1, LARGE_BYTES);
    wire_set_start(&set, wire_set_name(_i), 2, 0);
    fill_link(set.wires[0], 1, data, true);
    uint64_t begin_ns = gw_now_ns();
    set.wires[0]->interrupt = &interrupted;
    gw__wire_close(&set.wires[0]);
    ck_assert_uint_lt(ms_since(begin_ns), 10000);
    wire_set_end(&set);
    free(data);
}
END_TEST

/* A member that was stopped in a ring reads memory that the others, which left
 * without waiting for it, have overwritten since. */
static void test_reading(bool leave_before_release)
{
    struct wire_set set;
    struct gw__slice_view view;
    unsigned char *data = gw_alloc(LARGE_BYTES, NULL);
    wire_set_start(&set, "shm", 2, 0);
    struct gw__wire *reader = set.wires[1];
    struct gw__header header = {.bytes = LARGE_BYTES};
    wire_set_send(set.wires[0], 1, &header, data, false);
    ck_assert_int_eq(wire_set_await(reader, 0, &view), GW_OK);
    if (!leave_before_release)
        reader->ops->release(reader, 0);
    uint64_t begin_ns = gw_now_ns();
    set.wires[0]->linger_ns = 0;
    gw__wire_close(&set.wires[0]);
    ck_assert_uint_lt(ms_since(begin_ns), 150);
    if (leave_before_release)
        reader->ops->release(reader, 0);
    ck_assert(reader->read_raced == leave_before_release);
    wire_set_end(&set);
    gw_free(data);
}

START_TEST(what_is_read_of_one_that_left_is_invalid)
{
    test_reading(true);
    test_reading(false);
}
END_TEST

START_TEST(close_is_quick_when_nothing_is_due)
{
    struct wire_set set;
    wire_set_start(&set, wire_set_name(_i), 3, 0);
    for (unsigned r = 0; r < 3; r++) {
        uint64_t begin = gw_now_ns();
        gw__wire_close(&set.wires[r]);
        ck_assert_ptr_null(set.wires[r]);
        ck_assert_uint_lt(ms_since(begin), 1000);
    }
    wire_set_end(&set);
}
END_TEST

/* ---- abort ---- */

START_TEST(an_abort_reaches_all_past_waiting_data)
{
    struct wire_set set;
    struct gw_error why,
        reason = {GW_EMISMATCH, "rank 2 called broadcast, rank 0 barrier"};
    unsigned char *data = calloc(1, LARGE_BYTES);
    wire_set_start(&set, wire_set_name(_i), 4, 0);
    fill_link(set.wires[2], 0, data, true);
    set.wires[2]->ops->abort(set.wires[2], &reason);
    uint64_t begin = gw_now_ns();
    for (unsigned r = 0; r < 4; r++) {
        if (r == 2)
            continue;
        enum gw_err err = wire_set_await_failure(set.wires[r], 1000, &why);
        ck_assert_msg(err == GW_EMISMATCH, "rank %u: %s", r, gw_err_name(err));
        ck_assert_str_eq(why.text, reason.text);
        ck_assert_int_eq(set.wires[r]->ops->check(set.wires[r], NULL),
                         GW_EMISMATCH);
    }
    ck_assert_uint_lt(ms_since(begin), 2000);
    wire_set_end(&set);
    free(data);
}
END_TEST

static void *abort_soon(void *context)
{
    struct gw__wire *wire = context;
    struct gw_error reason = {GW_EINTR, "interrupted"};
    wire->ops->wait(wire, 30000000);
    wire->ops->abort(wire, &reason);
    return NULL;
}

START_TEST(an_abort_wakes_a_sleeper)
{
    struct wire_set set;
    struct gw_error why;
    pthread_t thread;
    wire_set_start(&set, wire_set_name(_i), 2, 0);
    struct gw__wire *sleeper = set.wires[0];
    uint64_t begin = gw_now_ns();
    pthread_create(&thread, NULL, abort_soon, set.wires[1]);
    while (sleeper->ops->check(sleeper, &why) == GW_OK &&
           ms_since(begin) < 4000)
        sleeper->ops->wait(sleeper, 4000000000ULL);
    pthread_join(thread, NULL);
    ck_assert_int_eq(sleeper->ops->check(sleeper, &why), GW_EINTR);
    ck_assert_uint_lt(ms_since(begin), 2000);
    wire_set_end(&set);
}
END_TEST

/* ---- a peer that dies or is stopped ---- */

enum { CHILD_SLICES = 5 };

/* Sends, and lets libzmq pass the data to the kernel; shm returns nothing
 * before it was read. */
static void send_some(struct gw__wire *wire, void *context)
{
    (void)context;
    static unsigned char data[LARGE_BYTES];
    uint64_t begin = gw_now_ns();
    wire_set_fill(data, LARGE_BYTES, 9);
    for (uint32_t i = 0; i < CHILD_SLICES; i++) {
        struct gw__header header = {.slice = i, .bytes = LARGE_BYTES};
        wire_set_send(wire, 0, &header, data, false);
    }
    while (wire->ops->sends_done(wire, 0) < CHILD_SLICES &&
           (ms_since(begin) < 100 || strcmp(wire->ops->name, "shm") != 0))
        wire->ops->wait(wire, 10000000);
}

static void do_nothing(struct gw__wire *wire, void *context)
{
    (void)wire;
    (void)context;
}

START_TEST(a_killed_peer_is_lost_within_a_second_on_all_ranks)
{
    struct wire_set set;
    struct gw_error why;
    struct gw__slice_view view;
    wire_set_start_with_child(&set, wire_set_name(_i), 3, 1, do_nothing, NULL);
    kill(set.child, SIGKILL);
    uint64_t begin = gw_now_ns();
    for (unsigned r = 0; r < 3; r += 2) {
        enum gw_err err = wire_set_await_failure(set.wires[r], 1000, &why);
        ck_assert_msg(err == GW_ELOST, "rank %u: %s", r, gw_err_name(err));
        ck_assert_msg(strstr(why.text, "rank 1") != NULL, "%s", why.text);
        ck_assert_int_eq(set.wires[r]->ops->check(set.wires[r], NULL),
                         GW_ELOST);
    }
    ck_assert_uint_lt(ms_since(begin), 1000);
    struct gw__header header = {.bytes = 0};
    struct gw__wire *wire = set.wires[0];
    ck_assert_int_eq(wire_set_await(wire, 1, &view), GW_ELOST);
    ck_assert_int_eq(wire->ops->send(wire, 1, &header, NULL, true), GW_ELOST);
    ck_assert_uint_lt(ms_since(begin), 1500);
    wire_set_end(&set);
}
END_TEST

/* Not with a key: sealed buffers are returned early, and their data may have
 * died with the peer. */
START_TEST(what_a_killed_peer_had_sent_arrives)
{
    struct wire_set set;
    struct gw__slice_view view;
    if (strncmp(wire_set_name(_i), "keyed", 5) == 0)
        return;
    wire_set_start_with_child(&set, wire_set_name(_i), 2, 1, send_some, NULL);
    struct gw__wire *wire = set.wires[0];
    ck_assert_int_eq(wire_set_await(wire, 1, &view), GW_OK);
    kill(set.child, SIGKILL);
    waitpid(set.child, NULL, 0);
    for (uint32_t i = 0; i < CHILD_SLICES; i++) {
        ck_assert_int_eq(wire_set_await(wire, 1, &view), GW_OK);
        ck_assert_uint_eq(view.header->slice, i);
        ck_assert(!wire_set_differs(view.data, LARGE_BYTES, 9));
        wire->ops->release(wire, 1);
    }
    ck_assert_int_eq(wire_set_await(wire, 1, &view), GW_ELOST);
    set.child = 0;
    wire_set_end(&set);
}
END_TEST

static void *kill_soon(void *context)
{
    struct wire_set *set = context;
    set->wires[2]->ops->wait(set->wires[2], 30000000);
    kill(set->child, SIGKILL);
    return NULL;
}

START_TEST(a_death_wakes_a_sleeper)
{
    struct wire_set set;
    struct gw_error why;
    pthread_t thread;
    wire_set_start_with_child(&set, wire_set_name(_i), 3, 1, do_nothing, NULL);
    uint64_t begin = gw_now_ns();
    pthread_create(&thread, NULL, kill_soon, &set);
    struct gw__wire *sleeper = set.wires[0];
    /* A wire without any other wake-up checks every 100 ms. */
    while (sleeper->ops->check(sleeper, &why) == GW_OK &&
           ms_since(begin) < 4000)
        sleeper->ops->wait(sleeper, 100000000);
    pthread_join(thread, NULL);
    ck_assert_int_eq(sleeper->ops->check(sleeper, &why), GW_ELOST);
    ck_assert_uint_lt(ms_since(begin), 1000);
    wire_set_end(&set);
}
END_TEST

/* A stopped process is not dead, and does not block others. */
static void test_stopped(const char *name, bool copy)
{
    struct wire_set set;
    struct gw_error why;
    unsigned char *data = calloc(1, LARGE_BYTES);
    wire_set_start_with_child(&set, name, 2, 1, do_nothing, NULL);
    kill(set.child, SIGSTOP);
    fill_link(set.wires[0], 1, data, copy);
    set.wires[0]->ops->wait(set.wires[0], 30000000);
    ck_assert_int_eq(set.wires[0]->ops->check(set.wires[0], &why), GW_OK);
    uint64_t begin = gw_now_ns();
    gw__wire_close(&set.wires[0]);
    ck_assert_uint_lt(ms_since(begin), 1000);
    free(data); /* no reader is left */
    wire_set_end(&set);
}

START_TEST(close_does_not_wait_for_a_stopped_peer)
{
    test_stopped(wire_set_name(_i), false);
}
END_TEST

START_TEST(close_does_not_wait_for_a_stopped_peer_with_copies)
{
    test_stopped(wire_set_name(_i), true);
}
END_TEST

START_TEST(close_does_not_wait_for_a_dead_peer)
{
    struct wire_set set;
    unsigned char *data = calloc(1, LARGE_BYTES);
    wire_set_start_with_child(&set, wire_set_name(_i), 2, 1, do_nothing, NULL);
    kill(set.child, SIGSTOP);
    fill_link(set.wires[0], 1, data, false);
    kill(set.child, SIGKILL);
    ck_assert_int_eq(wire_set_await_failure(set.wires[0], 1000, NULL),
                     GW_ELOST);
    uint64_t begin = gw_now_ns();
    gw__wire_close(&set.wires[0]);
    ck_assert_uint_lt(ms_since(begin), 1000);
    wire_set_end(&set);
    free(data);
}
END_TEST

Suite *suite_wire_end(void)
{
    int wires = wire_set_count();
    Suite *suite = suite_create("wire_end");
    TCase *tests = tcase_create("ends");
    tcase_set_timeout(tests, 30);
    tcase_add_loop_test(tests, a_goodbye_comes_after_the_data, 0, wires);
    tcase_add_loop_test(tests, data_survives_a_sender_that_closed, 0, wires);
    tcase_add_loop_test(tests, close_is_quick_when_nothing_is_due, 0, wires);
    tcase_add_loop_test(tests, a_late_reader_gets_all_data, 0, wires);
    tcase_add_loop_test(tests, an_interrupt_ends_the_wait_of_close, 0, wires);
    tcase_add_test(tests, what_is_read_of_one_that_left_is_invalid);
    tcase_add_loop_test(tests, an_abort_wakes_a_sleeper, 0, wires);
    tcase_add_loop_test(
        tests, a_killed_peer_is_lost_within_a_second_on_all_ranks, 0, wires);
    tcase_add_loop_test(tests, what_a_killed_peer_had_sent_arrives, 0, wires);
    tcase_add_loop_test(tests, a_death_wakes_a_sleeper, 0, wires);
    tcase_add_loop_test(tests, close_does_not_wait_for_a_stopped_peer, 0,
                        wires);
    tcase_add_loop_test(
        tests, close_does_not_wait_for_a_stopped_peer_with_copies, 0, wires);
    tcase_add_loop_test(tests, close_does_not_wait_for_a_dead_peer, 0, wires);
    suite_add_tcase(suite, tests);
    TCase *crowd = tcase_create("crowd");
    tcase_set_timeout(crowd, 30);
    tcase_add_loop_test(crowd, an_abort_reaches_all_past_waiting_data, 0,
                        wires);
    suite_add_tcase(suite, crowd);
    return suite;
}
