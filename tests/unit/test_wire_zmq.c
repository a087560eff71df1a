/* SPDX-License-Identifier: MIT
 *
 * Properties of the ZeroMQ wire only: strangers, malformed messages, its
 * windows. Keys and exposure are in test_wire_key.c; test_wire.c and
 * test_wire_end.c have the properties common to all wires.
 */
#include "wire/zmq/zmq_wire.h"
#include "wire_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_wire_zmq(void);

/* ---- strangers and malformed messages ---- */

/* A stranger connects as rank 1 before the real one, with all the data that it
 * can have. */
START_TEST(a_stranger_is_not_accepted_as_a_rank)
{
    struct gw_comm_config config = wire_set_config("zmq", 0, 2);
    struct gw__wire *wire;
    struct gw__zmq_endpoint_address address = {0};
    struct gw_error why;
    char endpoint[128];
    ck_assert_int_eq(gw__wire_open(&config, &wire, &why), GW_OK);
    struct gw__address table[2] = {wire->address, wire->address};
    memcpy(&address, wire->address.blob, wire->address.bytes);
    table[1].bytes = offsetof(struct gw__zmq_endpoint_address, ports);
    gw__zmq_endpoint(&address, 0, 1, 0, endpoint);
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_PAIR);
    ck_assert_int_eq(zmq_connect(socket, endpoint), 0);
    struct gw__control_message hello = {.kind = GW__HELLO, .from = 1, .to = 0};
    size_t bytes = gw__control_seal(&hello);
    ck_assert_int_eq(zmq_send(socket, &hello, bytes, 0), (int)bytes);
    enum gw_err err =
        wire->ops->connect(wire, table, gw_now_ns() + 5000000000U, &why);
    ck_assert_int_eq(err, GW_EMISMATCH);
    ck_assert_ptr_nonnull(
        strstr(why.text, "another process connected in place of rank 1"));
    zmq_close(socket);
    zmq_ctx_term(context);
    gw__wire_close(&wire);
}
END_TEST

/* Any malformed message on a lane or elsewhere makes the link fail with an
 * error. */
static void expect_lost(struct wire_set *set, const char *sentence)
{
    struct gw__slice_view view;
    struct gw_error why;
    ck_assert_int_eq(wire_set_await(set->wires[0], 1, &view), GW_ELOST);
    ck_assert_int_eq(wire_set_await_failure(set->wires[0], 1000, &why),
                     GW_ELOST);
    ck_assert_msg(strstr(why.text, sentence) != NULL, "%s", why.text);
    ck_assert_ptr_nonnull(strstr(why.text, "rank 1"));
    ck_assert_int_eq(set->wires[0]->ops->peek(set->wires[0], 1, &view),
                     GW_ELOST);
    wire_set_end(set);
}

START_TEST(malformed_messages_lose_the_link)
{
    enum { HEAD = GW__SLICE_HEAD_BYTES };
    static const size_t parts[][4] = {{5},       {0},           {HEAD + 1},
                                      {HEAD, 7}, {HEAD + 2, 8}, {HEAD, 8, 1}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct wire_set set;
        struct gw__header header = {.bytes = 8};
        unsigned char bytes[HEAD + 8] = {0};
        wire_set_start(&set, "zmq", 2, 0);
        void *socket = gw__zmq_of(set.wires[1])->links[0].lanes[0].socket;
        gw__frame_seal(gw__zmq_of(set.wires[0])->address.token, &header, bytes);
        for (size_t p = 0; p == 0 || parts[i][p]; p++)
            zmq_send(socket, bytes, parts[i][p],
                     parts[i][p + 1] ? ZMQ_SNDMORE : 0);
        expect_lost(&set, "malformed slice");
    }
}
END_TEST

/* The connection of a lane ends while its rank lives, and a stranger takes its
 * place, with a slice that is valid except for the token. */
START_TEST(slices_of_a_stranger_count_nowhere)
{
    struct wire_set set;
    struct gw__slice_view view;
    unsigned char bytes[GW__SLICE_HEAD_BYTES + 8] = {0};
    const struct gw__header header = {.bytes = 8};
    char endpoint[128];
    wire_set_start(&set, "zmq", 2, 0);
    struct gw__zmq *zmq = gw__zmq_of(set.wires[0]);
    gw__zmq_endpoint(&zmq->address, 0, 1, 0, endpoint);
    gw__frame_seal(zmq->links[1].token, &header, bytes); /* of rank 1 */
    struct gw__zmq_lane *lane = &gw__zmq_of(set.wires[1])->links[0].lanes[0];
    zmq_close(lane->socket);
    lane->socket = NULL;
    enum gw_err err = GW_PENDING;
    uint64_t until_ns = gw_now_ns() + 10000000000U;
    void *context = zmq_ctx_new();
    while (err == GW_PENDING && gw_now_ns() < until_ns) {
        /* A connection that comes too early is not accepted, and tries
         * again. */
        void *socket = zmq_socket(context, ZMQ_PAIR);
        int none = 0;
        zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
        ck_assert_int_eq(zmq_connect(socket, endpoint), 0);
        zmq_send(socket, bytes, sizeof bytes, 0);
        for (unsigned i = 0; i < 20 && err == GW_PENDING; i++) {
            set.wires[0]->ops->wait(set.wires[0], 5000000);
            err = set.wires[0]->ops->peek(set.wires[0], 1, &view);
        }
        zmq_close(socket);
    }
    zmq_ctx_term(context);
    ck_assert_int_eq(err, GW_ELOST);
    expect_lost(&set, "a slice of another run or rank");
}
END_TEST

START_TEST(malformed_control_frames_lose_the_link)
{
    struct gw__control_message messages[] = {
        {.kind = 99, .from = 1},
        {.kind = GW__CREDIT, .from = 1, .count = 1},
        {.kind = GW__CREDIT, .from = 5},
        {.kind = GW__ABORT, .from = 1, .code = 3},
        {.kind = GW__HELLO, .from = 1},
    };
    static const char *const sentences[] = {
        "unknown kind 99", "credit for slices that were not sent",
        "from rank 5", "unknown code 3", "a second HELLO"};
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        struct wire_set set;
        wire_set_start(&set, "zmq", 2, 0);
        void *socket = gw__zmq_of(set.wires[1])->links[0].control->socket;
        size_t bytes = gw__control_seal(&messages[i]);
        ck_assert_int_eq(zmq_send(socket, &messages[i], bytes, 0), (int)bytes);
        expect_lost(&set, sentences[i]);
    }
    struct wire_set set;
    wire_set_start(&set, "zmq", 2, 0);
    void *socket = gw__zmq_of(set.wires[1])->links[0].control->socket;
    ck_assert_int_eq(zmq_send(socket, "boo", 3, 0), 3);
    expect_lost(&set, "malformed note of 3 bytes");
}
END_TEST

/* Small slices that were read but not yet acknowledged leave room for one as
 * large as the window. */
START_TEST(a_slice_as_large_as_the_window_follows_small_ones)
{
    enum { SMALL = 24, LARGE = GW__ZMQ_WINDOW_BYTES_MAX, COUNT = 5 };
    struct wire_set set;
    struct gw__slice_view view;
    unsigned char *data = malloc(LARGE);
    wire_set_start(&set, "zmq", 2, 0);
    wire_set_fill(data, LARGE, 1);
    for (unsigned i = 0; i < COUNT; i++) {
        size_t bytes = i < COUNT - 1 ? SMALL : LARGE;
        struct gw__header header = {.bytes = (uint32_t)bytes};
        wire_set_send(set.wires[0], 1, &header, data, false);
        ck_assert_int_eq(wire_set_await(set.wires[1], 0, &view), GW_OK);
        ck_assert_uint_eq(view.header->bytes, bytes);
        ck_assert(!wire_set_differs(view.data, bytes, 1));
        set.wires[1]->ops->release(set.wires[1], 0);
    }
    wire_set_end(&set);
    free(data);
}
END_TEST

/* So that a call which only sends continues at once. */
START_TEST(a_copied_slice_is_done_at_once)
{
    enum { BYTES = GW__ZMQ_COPIED_BYTES };
    struct wire_set set;
    struct gw__slice_view view;
    struct gw__header header = {.bytes = BYTES};
    unsigned char *data = malloc(BYTES);
    wire_set_start(&set, "zmq", 2, 0);
    struct gw__wire *sender = set.wires[0];
    wire_set_fill(data, BYTES, 1);
    wire_set_send(sender, 1, &header, data, false);
    ck_assert_uint_eq(sender->ops->sends_done(sender, 1), 1);
    memset(data, 0, BYTES);
    ck_assert_int_eq(wire_set_await(set.wires[1], 0, &view), GW_OK);
    ck_assert(!wire_set_differs(view.data, BYTES, 1));
    wire_set_end(&set);
    free(data);
}
END_TEST

Suite *suite_wire_zmq(void)
{
    Suite *suite = suite_create("wire_zmq");
    TCase *tests = tcase_create("zmq");
    tcase_set_timeout(tests, 30);
    tcase_add_test(tests, a_stranger_is_not_accepted_as_a_rank);
    tcase_add_test(tests, a_copied_slice_is_done_at_once);
    tcase_add_test(tests, malformed_messages_lose_the_link);
    tcase_add_test(tests, slices_of_a_stranger_count_nowhere);
    tcase_add_test(tests, malformed_control_frames_lose_the_link);
    tcase_add_test(tests, a_slice_as_large_as_the_window_follows_small_ones);
    suite_add_tcase(suite, tests);
    return suite;
}
