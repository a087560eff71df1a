/* SPDX-License-Identifier: MIT
 *
 * The local path of the messenger over ipc: messages keep one order over both
 * paths, whatever is lost, forgotten or full; and strangers are refused.
 */
#include "messenger_set.h"

#include <poll.h>
#include <wire/messenger/messenger_frame.h>
#include <wire/messenger/messenger_zmq.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

Suite *suite_messenger_local(void);

enum { LARGE = 100000 };

static struct gw__messenger_zmq_peer *peer_of(struct gw__messenger *messenger,
                                              unsigned node)
{
    return &((struct gw__messenger_zmq *)messenger)->peers[node];
}

static bool has_local_data(struct gw__messenger *messenger)
{
    struct pollfd local = {
        .fd = ((struct gw__messenger_zmq *)messenger)->local_fd,
        .events = POLLIN};
    return poll(&local, 1, 0) == 1;
}

/* Waits until the local path from node 0 to node 1 is open. */
static void open_local_path(struct gw__messenger *zero,
                            struct gw__messenger *one)
{
    messenger_send(one, 0, "I know you");
    messenger_expect(zero, 1, "I know you");
    messenger_send(zero, 1, "so I number");
    messenger_expect(one, 0, "so I number");
    ck_assert_int_eq(peer_of(zero, 1)->local, GW__MESSENGER_LOCAL_OPEN);
    uint64_t until_ns = gw_now_ns() + UINT64_C(20000000000);
    while (peer_of(zero, 1)->waiting > 0 && gw_now_ns() < until_ns)
        messenger_expect_none(zero);
    ck_assert_uint_eq(peer_of(zero, 1)->waiting, 0);
}

static void send_number(struct gw__messenger *messenger, uint32_t number,
                        size_t bytes)
{
    static uint32_t data[LARGE / 4];
    data[0] = number;
    ck_assert_int_eq(messenger_try(messenger, 1, data, bytes), GW_OK);
}

static void expect_number(struct gw__messenger *messenger, uint32_t number)
{
    struct gw__message_in *message = messenger_await(messenger);
    uint32_t came;
    memcpy(&came, message->parts[0].data, sizeof came);
    ck_assert_uint_eq(came, number);
    gw__message_in_release(message);
}

START_TEST(small_messages_are_there_at_once)
{
    struct messenger_set set;
    messenger_set_open(&set, messenger_wires[_i], 2);
    if (_i == 1) {
        messenger_send(set.messengers[0], 1, "too early");
        ck_assert(!has_local_data(set.messengers[1]));
        messenger_expect(set.messengers[1], 0, "too early");
        open_local_path(set.messengers[0], set.messengers[1]);
        messenger_send(set.messengers[0], 1, "hello");
        ck_assert(has_local_data(set.messengers[1]));
        messenger_expect(set.messengers[1], 0, "hello");
    } else {
        ck_assert_int_lt(
            ((struct gw__messenger_zmq *)set.messengers[0])->local_fd, 0);
    }
    messenger_set_close(&set);
}
END_TEST

/* Sizes on both sides of the limit, and a pause of the reader from time to
 * time. */
START_TEST(both_paths_keep_one_order)
{
    enum { MESSAGE_COUNT = 5000, AHEAD = 200 };
    struct messenger_set set;
    struct gw_rng rng;
    uint32_t sent = 0, received = 0;
    gw_rng_seed(&rng, (uint64_t)_i);
    messenger_set_open(&set, "ipc", 2);
    open_local_path(set.messengers[0], set.messengers[1]);
    while (received < MESSAGE_COUNT) {
        while (sent < MESSAGE_COUNT && sent - received < AHEAD &&
               gw_rng_below(&rng, 8) > 0)
            send_number(set.messengers[0], sent++,
                        gw_rng_below(&rng, 4) ? 4 + gw_rng_below(&rng, 20000)
                                              : LARGE);
        messenger_expect_none(set.messengers[0]);
        for (uint64_t n = gw_rng_below(&rng, 16); n > 0 && received < sent; n--)
            expect_number(set.messengers[1], received++);
    }
    messenger_expect_none(set.messengers[1]);
    messenger_set_close(&set);
}
END_TEST

/* The kernel queues few datagrams: the other messages take the other path. */
START_TEST(what_finds_no_room_arrives_too)
{
    enum { MESSAGE_COUNT = 3000 };
    struct messenger_set set;
    messenger_set_open(&set, "ipc", 2);
    open_local_path(set.messengers[0], set.messengers[1]);
    for (uint32_t i = 0; i < MESSAGE_COUNT; i++)
        send_number(set.messengers[0], i, 4);
    for (uint32_t i = 0; i < MESSAGE_COUNT; i++)
        expect_number(set.messengers[1], i);
    messenger_set_close(&set);
}
END_TEST

/* Node 1 forgets node 0 while messages are on both paths, and then knows it
 * again. Earlier messages may be lost; later ones must arrive, in order. */
START_TEST(a_forgotten_peer_is_received_again)
{
    enum { TURNS = 40 };
    struct messenger_set set;
    struct gw__messenger_config zero = messenger_config("ipc", 0);
    struct gw_rng rng;
    uint32_t number = 0;
    gw_rng_seed(&rng, (uint64_t)_i);
    messenger_set_open(&set, "ipc", 2);
    open_local_path(set.messengers[0], set.messengers[1]);
    for (unsigned turn = 0; turn < TURNS; turn++) {
        struct gw__message_in *message;
        uint32_t came = 0, last;
        uint64_t sent = gw_rng_below(&rng, 6);
        for (uint64_t i = 0; i < sent; i++)
            send_number(set.messengers[0], ++number,
                        gw_rng_below(&rng, 2) ? 8 : LARGE);
        if (gw_rng_below(&rng, 2) &&
            gw__messenger_receive(set.messengers[1], &message) == GW_OK)
            gw__message_in_release(message);
        gw__messenger_forget(set.messengers[1], 0);
        if (gw_rng_below(&rng, 2))
            messenger_expect_none(set.messengers[1]);
        messenger_know(set.messengers[1], set.messengers[0], &zero);
        while (peer_of(set.messengers[0], 1)->waiting > 0)
            messenger_expect_none(set.messengers[0]);
        send_number(set.messengers[0], last = ++number, 8);
        for (uint32_t before = 0; came != last; before = came) {
            message = messenger_await(set.messengers[1]);
            memcpy(&came, message->parts[0].data, sizeof came);
            ck_assert_uint_gt(came, before);
            gw__message_in_release(message);
        }
    }
    messenger_set_close(&set);
}
END_TEST

/* ---- by hand ---- */

/* A process that sends as node 3 on both paths. */
struct stranger {
    struct gw__messenger *messenger;
    struct gw__messenger *node; /* the node that it sends to */
    void *context, *dealer;
    int local_fd;
    struct sockaddr_un address;
    socklen_t address_bytes;
};

static struct stranger come(void)
{
    struct gw__messenger_config config = messenger_config("ipc", 3);
    struct stranger s = {.messenger =
                             messenger_open(messenger_config("ipc", 0)),
                         .node = messenger_open(config),
                         .context = zmq_ctx_new(),
                         .address = {.sun_family = AF_UNIX}};
    const struct gw__messenger_zmq *zmq =
        (struct gw__messenger_zmq *)s.messenger;
    messenger_know(s.messenger, s.node, &config);
    s.dealer = zmq_socket(s.context, ZMQ_DEALER);
    ck_assert_int_eq(zmq_connect(s.dealer, zmq->endpoint), 0);
    s.local_fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    s.address_bytes = sizeof s.address;
    ck_assert_int_eq(getsockname(zmq->local_fd, (struct sockaddr *)&s.address,
                                 &s.address_bytes),
                     0);
    return s;
}

static void go(struct stranger *s)
{
    int linger = 0;
    zmq_setsockopt(s->dealer, ZMQ_LINGER, &linger, sizeof linger);
    zmq_close(s->dealer);
    zmq_ctx_term(s->context);
    close(s->local_fd);
    gw__messenger_close(&s->node);
    gw__messenger_close(&s->messenger);
}

static struct gw__messenger_head head_of(uint32_t session, uint64_t sequence)
{
    return (struct gw__messenger_head){.from = 3,
                                       .token = MESSENGER_TOKEN,
                                       .from_high = 3,
                                       .from_low = 1,
                                       .to_low = 1,
                                       .part_count = 1,
                                       .session = session,
                                       .sequence = sequence,
                                       .bytes = {4}};
}

static void send_local(struct stranger *s, struct gw__messenger_head head,
                       const char *text)
{
    char data[sizeof head + 64];
    size_t bytes = strlen(text);
    gw__messenger_head_seal(&head, data);
    memcpy(data + sizeof head, text, bytes);
    ck_assert_int_gt(sendto(s->local_fd, data, sizeof head + bytes, 0,
                            (struct sockaddr *)&s->address, s->address_bytes),
                     0);
}

static void send_far(struct stranger *s, struct gw__messenger_head head,
                     const char *text)
{
    char frame[sizeof head];
    gw__messenger_head_seal(&head, frame);
    ck_assert_int_gt(zmq_send(s->dealer, frame, sizeof frame, ZMQ_SNDMORE), 0);
    ck_assert_int_gt(zmq_send(s->dealer, text, strlen(text), 0), 0);
}

START_TEST(a_local_message_waits_for_those_before_it)
{
    struct stranger s = come();
    send_local(&s, head_of(1, 2), "two.");
    send_local(&s, head_of(1, 1), "one.");
    messenger_expect_none(s.messenger);
    send_far(&s, head_of(1, 0), "nil.");
    messenger_expect(s.messenger, 3, "nil.");
    messenger_expect(s.messenger, 3, "one.");
    messenger_expect(s.messenger, 3, "two.");
    send_local(&s, head_of(1, 3), "thre");
    messenger_expect(s.messenger, 3, "thre");
    send_local(&s, head_of(1, 6), "six.");
    messenger_expect_none(s.messenger);
    send_far(&s, head_of(1, 4), "four");
    messenger_expect(s.messenger, 3, "four");
    messenger_expect_none(s.messenger);
    send_far(&s, head_of(1, 8), "eigh"); /* five and seven are lost */
    messenger_expect(s.messenger, 3, "six.");
    messenger_expect(s.messenger, 3, "eigh");
    go(&s);
}
END_TEST

START_TEST(a_new_session_begins_with_zeromq)
{
    struct stranger s = come();
    send_far(&s, head_of(1, 0), "old0");
    messenger_expect(s.messenger, 3, "old0");
    send_local(&s, head_of(1, 5), "old5"); /* forever too early */
    send_local(&s, head_of(2, 1), "new1");
    messenger_expect_none(s.messenger);
    send_far(&s, head_of(2, 0), "new0");
    messenger_expect(s.messenger, 3, "new0");
    messenger_expect(s.messenger, 3, "new1");
    send_local(&s, head_of(1, 1), "old1");
    send_local(&s, head_of(2, 2), "new2");
    messenger_expect(s.messenger, 3, "new2");
    messenger_expect_none(s.messenger);
    ck_assert_uint_eq(gw__messenger_counts(s.messenger)->dropped, 2);
    go(&s);
}
END_TEST

START_TEST(what_is_malformed_is_refused)
{
    struct stranger s = come();
    struct gw__messenger_head other = head_of(1, 1), long_one = head_of(1, 1),
                              bad_sender = head_of(1, 1);
    static char huge[GW__MESSENGER_LOCAL_BYTES + 1000];
    other.token = 1;
    bad_sender.from_low = 9;
    long_one.bytes[0] = UINT64_MAX;
    send_far(&s, head_of(1, 0), "nil.");
    messenger_expect(s.messenger, 3, "nil.");
    send_local(&s, other, "one.");
    send_local(&s, long_one, "one.");
    send_local(&s, head_of(1, 1), "ones.");
    send_local(&s, head_of(1, 1), "one");
    send_local(&s, bad_sender, "one.");
    messenger_expect_none(s.messenger);
    ck_assert_int_eq(sendto(s.local_fd, "", 0, 0, (struct sockaddr *)&s.address,
                            s.address_bytes),
                     0);
    long_one.bytes[0] = sizeof huge - sizeof long_one;
    gw__messenger_head_seal(&long_one, huge);
    ck_assert_int_gt(sendto(s.local_fd, huge, sizeof huge, 0,
                            (struct sockaddr *)&s.address, s.address_bytes),
                     0);
    messenger_expect_none(s.messenger);
    ck_assert_uint_eq(gw__messenger_counts(s.messenger)->dropped, 7);
    send_local(&s, head_of(1, 1), "one.");
    messenger_expect(s.messenger, 3, "one.");
    go(&s);
}
END_TEST

/* Reorder queues are bounded: further messages stay in the kernel. */
START_TEST(reorder_queues_have_an_end)
{
    struct stranger s = come();
    const struct gw__messenger_zmq *zmq =
        (struct gw__messenger_zmq *)s.messenger;
    unsigned sent = 0;
    while (sent < GW__REORDER_QUEUE_MAX) {
        send_local(&s, head_of(1, ++sent), "wait");
        messenger_expect_none(s.messenger);
    }
    send_local(&s, head_of(1, ++sent), "wait");
    messenger_expect_none(s.messenger);
    ck_assert_uint_eq(zmq->reorder_count, GW__REORDER_QUEUE_MAX);
    ck_assert(!s.messenger->ops->ready(s.messenger));
    send_far(&s, head_of(1, 0), "nil.");
    messenger_expect(s.messenger, 3, "nil.");
    while (sent-- > 0)
        messenger_expect(s.messenger, 3, "wait");
    messenger_expect_none(s.messenger);
    ck_assert_uint_eq(zmq->reorder_count, 0);
    go(&s);
}
END_TEST

Suite *suite_messenger_local(void)
{
    Suite *suite = suite_create("messenger_local");
    TCase *paths = tcase_create("local path");
    tcase_set_timeout(paths, 60);
    tcase_add_loop_test(paths, small_messages_are_there_at_once, 1,
                        MESSENGER_WIRES);
    tcase_add_loop_test(paths, both_paths_keep_one_order, 0, 4);
    tcase_add_test(paths, what_finds_no_room_arrives_too);
    tcase_add_loop_test(paths, a_forgotten_peer_is_received_again, 0, 8);
    suite_add_tcase(suite, paths);
    TCase *hand = tcase_create("by hand");
    tcase_set_timeout(hand, 60);
    tcase_add_test(hand, a_local_message_waits_for_those_before_it);
    tcase_add_test(hand, a_new_session_begins_with_zeromq);
    tcase_add_test(hand, what_is_malformed_is_refused);
    tcase_add_test(hand, reorder_queues_have_an_end);
    suite_add_tcase(suite, hand);
    return suite;
}
