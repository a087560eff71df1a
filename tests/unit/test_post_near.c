/* SPDX-License-Identifier: MIT
 *
 * The local path of the messenger over ipc: messages keep one order over both
 * paths, whatever is lost, forgotten or full; and strangers are refused.
 */
#include "post_set.h"

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

Suite *suite_post_near(void);

enum { LARGE = 100000 };

static struct gw__messenger_zmq_peer *peer_of(struct gw__messenger *messenger,
                                              unsigned node)
{
    return &((struct gw__messenger_zmq *)messenger)->peers[node];
}

static bool near_is_there(struct gw__messenger *messenger)
{
    struct pollfd near = {.fd =
                              ((struct gw__messenger_zmq *)messenger)->local_fd,
                          .events = POLLIN};
    return poll(&near, 1, 0) == 1;
}

/* Waits until the local path from node 0 to node 1 is open. */
static void open_road(struct gw__messenger *zero, struct gw__messenger *one)
{
    post_say(one, 0, "I know you");
    post_expect(zero, 1, "I know you");
    post_say(zero, 1, "so I number");
    post_expect(one, 0, "so I number");
    ck_assert_int_eq(peer_of(zero, 1)->local, GW__MESSENGER_LOCAL_OPEN);
    uint64_t until_ns = gw_now_ns() + UINT64_C(20000000000);
    while (peer_of(zero, 1)->waiting > 0 && gw_now_ns() < until_ns)
        post_expect_none(zero);
    ck_assert_uint_eq(peer_of(zero, 1)->waiting, 0);
}

static void say_number(struct gw__messenger *messenger, uint32_t number,
                       size_t bytes)
{
    static uint32_t letter[LARGE / 4];
    letter[0] = number;
    ck_assert_int_eq(post_try(messenger, 1, letter, bytes), GW_OK);
}

static void expect_number(struct gw__messenger *messenger, uint32_t number)
{
    struct gw__message_in *message = post_await(messenger);
    uint32_t came;
    memcpy(&came, message->parts[0].data, sizeof came);
    ck_assert_uint_eq(came, number);
    gw__message_in_release(message);
}

START_TEST(small_letters_are_there_at_once)
{
    struct post_set set;
    post_set_open(&set, post_wires[_i], 2);
    if (_i == 1) {
        post_say(set.posts[0], 1, "too early");
        ck_assert(!near_is_there(set.posts[1]));
        post_expect(set.posts[1], 0, "too early");
        open_road(set.posts[0], set.posts[1]);
        post_say(set.posts[0], 1, "hello");
        ck_assert(near_is_there(set.posts[1]));
        post_expect(set.posts[1], 0, "hello");
    } else {
        ck_assert_int_lt(((struct gw__messenger_zmq *)set.posts[0])->local_fd,
                         0);
    }
    post_set_close(&set);
}
END_TEST

/* Sizes on both sides of the limit, and a pause of the reader from time to
 * time. */
START_TEST(both_roads_keep_one_order)
{
    enum { LETTERS = 5000, AHEAD = 200 };
    struct post_set set;
    struct gw_rng rng;
    uint32_t said = 0, heard = 0;
    gw_rng_seed(&rng, (uint64_t)_i);
    post_set_open(&set, "ipc", 2);
    open_road(set.posts[0], set.posts[1]);
    while (heard < LETTERS) {
        while (said < LETTERS && said - heard < AHEAD &&
               gw_rng_below(&rng, 8) > 0)
            say_number(set.posts[0], said++,
                       gw_rng_below(&rng, 4) ? 4 + gw_rng_below(&rng, 20000)
                                             : LARGE);
        post_expect_none(set.posts[0]);
        for (uint64_t n = gw_rng_below(&rng, 16); n > 0 && heard < said; n--)
            expect_number(set.posts[1], heard++);
    }
    post_expect_none(set.posts[1]);
    post_set_close(&set);
}
END_TEST

/* The kernel queues few datagrams: the other messages take the other path. */
START_TEST(what_finds_no_room_arrives_too)
{
    enum { LETTERS = 3000 };
    struct post_set set;
    post_set_open(&set, "ipc", 2);
    open_road(set.posts[0], set.posts[1]);
    for (uint32_t i = 0; i < LETTERS; i++)
        say_number(set.posts[0], i, 4);
    for (uint32_t i = 0; i < LETTERS; i++)
        expect_number(set.posts[1], i);
    post_set_close(&set);
}
END_TEST

/* Node 1 forgets node 0 while messages are on both paths, and then knows it
 * again. Earlier messages may be lost; later ones must arrive, in order. */
START_TEST(one_that_was_forgotten_is_heard_again)
{
    enum { TURNS = 40 };
    struct post_set set;
    struct gw__messenger_config zero = post_config("ipc", 0);
    struct gw_rng rng;
    uint32_t number = 0;
    gw_rng_seed(&rng, (uint64_t)_i);
    post_set_open(&set, "ipc", 2);
    open_road(set.posts[0], set.posts[1]);
    for (unsigned turn = 0; turn < TURNS; turn++) {
        struct gw__message_in *message;
        uint32_t came = 0, last;
        uint64_t said = gw_rng_below(&rng, 6);
        for (uint64_t i = 0; i < said; i++)
            say_number(set.posts[0], ++number,
                       gw_rng_below(&rng, 2) ? 8 : LARGE);
        if (gw_rng_below(&rng, 2) &&
            gw__messenger_receive(set.posts[1], &message) == GW_OK)
            gw__message_in_release(message);
        gw__messenger_forget(set.posts[1], 0);
        if (gw_rng_below(&rng, 2))
            post_expect_none(set.posts[1]);
        post_tell(set.posts[1], set.posts[0], &zero);
        while (peer_of(set.posts[0], 1)->waiting > 0)
            post_expect_none(set.posts[0]);
        say_number(set.posts[0], last = ++number, 8);
        for (uint32_t before = 0; came != last; before = came) {
            message = post_await(set.posts[1]);
            memcpy(&came, message->parts[0].data, sizeof came);
            ck_assert_uint_gt(came, before);
            gw__message_in_release(message);
        }
    }
    post_set_close(&set);
}
END_TEST

/* ---- by hand ---- */

/* A process that sends as node 3 on both paths. */
struct stranger {
    struct gw__messenger *messenger;
    struct gw__messenger *node; /* the node that it sends to */
    void *context, *dealer;
    int near_fd;
    struct sockaddr_un place;
    socklen_t place_bytes;
};

static struct stranger come(void)
{
    struct gw__messenger_config config = post_config("ipc", 3);
    struct stranger s = {.messenger = post_open(post_config("ipc", 0)),
                         .node = post_open(config),
                         .context = zmq_ctx_new(),
                         .place = {.sun_family = AF_UNIX}};
    const struct gw__messenger_zmq *zmq =
        (struct gw__messenger_zmq *)s.messenger;
    post_tell(s.messenger, s.node, &config);
    s.dealer = zmq_socket(s.context, ZMQ_DEALER);
    ck_assert_int_eq(zmq_connect(s.dealer, zmq->endpoint), 0);
    s.near_fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    s.place_bytes = sizeof s.place;
    ck_assert_int_eq(
        getsockname(zmq->local_fd, (struct sockaddr *)&s.place, &s.place_bytes),
        0);
    return s;
}

static void go(struct stranger *s)
{
    int linger = 0;
    zmq_setsockopt(s->dealer, ZMQ_LINGER, &linger, sizeof linger);
    zmq_close(s->dealer);
    zmq_ctx_term(s->context);
    close(s->near_fd);
    gw__messenger_close(&s->node);
    gw__messenger_close(&s->messenger);
}

static struct gw__messenger_head head_of(uint32_t session, uint64_t sequence)
{
    return (struct gw__messenger_head){.from = 3,
                                       .token = POST_TOKEN,
                                       .from_high = 3,
                                       .from_low = 1,
                                       .to_low = 1,
                                       .part_count = 1,
                                       .session = session,
                                       .sequence = sequence,
                                       .bytes = {4}};
}

static void send_near(struct stranger *s, struct gw__messenger_head head,
                      const char *text)
{
    char letter[sizeof head + 64];
    size_t bytes = strlen(text);
    gw__messenger_head_seal(&head, letter);
    memcpy(letter + sizeof head, text, bytes);
    ck_assert_int_gt(sendto(s->near_fd, letter, sizeof head + bytes, 0,
                            (struct sockaddr *)&s->place, s->place_bytes),
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

START_TEST(a_near_letter_waits_for_those_before_it)
{
    struct stranger s = come();
    send_near(&s, head_of(1, 2), "two.");
    send_near(&s, head_of(1, 1), "one.");
    post_expect_none(s.messenger);
    send_far(&s, head_of(1, 0), "nil.");
    post_expect(s.messenger, 3, "nil.");
    post_expect(s.messenger, 3, "one.");
    post_expect(s.messenger, 3, "two.");
    send_near(&s, head_of(1, 3), "thre");
    post_expect(s.messenger, 3, "thre");
    send_near(&s, head_of(1, 6), "six.");
    post_expect_none(s.messenger);
    send_far(&s, head_of(1, 4), "four");
    post_expect(s.messenger, 3, "four");
    post_expect_none(s.messenger);
    send_far(&s, head_of(1, 8), "eigh"); /* five and seven are lost */
    post_expect(s.messenger, 3, "six.");
    post_expect(s.messenger, 3, "eigh");
    go(&s);
}
END_TEST

START_TEST(a_new_session_begins_with_zeromq)
{
    struct stranger s = come();
    send_far(&s, head_of(1, 0), "old0");
    post_expect(s.messenger, 3, "old0");
    send_near(&s, head_of(1, 5), "old5"); /* forever too early */
    send_near(&s, head_of(2, 1), "new1");
    post_expect_none(s.messenger);
    send_far(&s, head_of(2, 0), "new0");
    post_expect(s.messenger, 3, "new0");
    post_expect(s.messenger, 3, "new1");
    send_near(&s, head_of(1, 1), "old1");
    send_near(&s, head_of(2, 2), "new2");
    post_expect(s.messenger, 3, "new2");
    post_expect_none(s.messenger);
    ck_assert_uint_eq(gw__messenger_counts(s.messenger)->dropped, 2);
    go(&s);
}
END_TEST

START_TEST(what_is_malformed_is_refused)
{
    struct stranger s = come();
    struct gw__messenger_head other = head_of(1, 1), long_one = head_of(1, 1),
                              nobody = head_of(1, 1);
    static char huge[GW__MESSENGER_LOCAL_BYTES + 1000];
    other.token = 1;
    nobody.from_low = 9;
    long_one.bytes[0] = UINT64_MAX;
    send_far(&s, head_of(1, 0), "nil.");
    post_expect(s.messenger, 3, "nil.");
    send_near(&s, other, "one.");
    send_near(&s, long_one, "one.");
    send_near(&s, head_of(1, 1), "ones.");
    send_near(&s, head_of(1, 1), "one");
    send_near(&s, nobody, "one.");
    post_expect_none(s.messenger);
    ck_assert_int_eq(
        sendto(s.near_fd, "", 0, 0, (struct sockaddr *)&s.place, s.place_bytes),
        0);
    long_one.bytes[0] = sizeof huge - sizeof long_one;
    gw__messenger_head_seal(&long_one, huge);
    ck_assert_int_gt(sendto(s.near_fd, huge, sizeof huge, 0,
                            (struct sockaddr *)&s.place, s.place_bytes),
                     0);
    post_expect_none(s.messenger);
    ck_assert_uint_eq(gw__messenger_counts(s.messenger)->dropped, 7);
    send_near(&s, head_of(1, 1), "one.");
    post_expect(s.messenger, 3, "one.");
    go(&s);
}
END_TEST

/* Reorder queues are bounded: further messages stay in the kernel. */
START_TEST(lines_have_an_end)
{
    struct stranger s = come();
    const struct gw__messenger_zmq *zmq =
        (struct gw__messenger_zmq *)s.messenger;
    unsigned sent = 0;
    while (sent < GW__REORDER_QUEUE_MAX) {
        send_near(&s, head_of(1, ++sent), "wait");
        post_expect_none(s.messenger);
    }
    send_near(&s, head_of(1, ++sent), "wait");
    post_expect_none(s.messenger);
    ck_assert_uint_eq(zmq->line_count, GW__REORDER_QUEUE_MAX);
    ck_assert(!s.messenger->ops->ready(s.messenger));
    send_far(&s, head_of(1, 0), "nil.");
    post_expect(s.messenger, 3, "nil.");
    while (sent-- > 0)
        post_expect(s.messenger, 3, "wait");
    post_expect_none(s.messenger);
    ck_assert_uint_eq(zmq->line_count, 0);
    go(&s);
}
END_TEST

Suite *suite_post_near(void)
{
    Suite *suite = suite_create("post_near");
    TCase *roads = tcase_create("roads");
    tcase_set_timeout(roads, 60);
    tcase_add_loop_test(roads, small_letters_are_there_at_once, 1, POST_WIRES);
    tcase_add_loop_test(roads, both_roads_keep_one_order, 0, 4);
    tcase_add_test(roads, what_finds_no_room_arrives_too);
    tcase_add_loop_test(roads, one_that_was_forgotten_is_heard_again, 0, 8);
    suite_add_tcase(suite, roads);
    TCase *hand = tcase_create("by hand");
    tcase_set_timeout(hand, 60);
    tcase_add_test(hand, a_near_letter_waits_for_those_before_it);
    tcase_add_test(hand, a_new_session_begins_with_zeromq);
    tcase_add_test(hand, what_is_malformed_is_refused);
    tcase_add_test(hand, lines_have_an_end);
    suite_add_tcase(suite, hand);
    return suite;
}
