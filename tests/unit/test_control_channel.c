/* SPDX-License-Identifier: MIT
 *
 * The control channel: messages between nodes, and the handling of messages
 * that cannot be delivered. Link profiles are in test_control_profiles.c,
 * access control in test_control_closed.c.
 */
#include "channel_set.h"

#include <wire/control_channel/control_channel_parts.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

Suite *suite_control_channel(void);

static const char *const wires[] = {"ipc", "tcp"};
static const uint64_t MS = 1000000;

/* ---- delivery ---- */

START_TEST(all_receive_from_all)
{
    struct channel_set set;
    channel_set_open(&set, wires[_i], 3);
    for (unsigned i = 0; i < 3; i++)
        for (unsigned j = 0; j < 3; j++) {
            char text[16];
            snprintf(text, sizeof text, "%u to %u", i, j);
            channel_send(set.channels[i], j, text);
            struct gw__control_channel_message message =
                channel_await(set.channels[j]);
            ck_assert_uint_eq(message.from, i);
            ck_assert_uint_eq(message.incarnation_high, i);
            ck_assert_uint_eq(message.incarnation_low, 1);
            ck_assert_uint_eq(message.bytes, strlen(text));
            ck_assert_mem_eq(message.data, text, message.bytes);
        }
    for (unsigned i = 0; i < 3; i++) {
        const struct gw__control_channel_counts *counts =
            gw__control_channel_counts(set.channels[i]);
        ck_assert_uint_eq(counts->sent, 3);
        ck_assert_uint_eq(counts->received, 3);
        ck_assert_uint_eq(counts->refused + counts->overflowed, 0);
    }
    channel_set_close(&set);
}
END_TEST

START_TEST(any_size_up_to_the_limit)
{
    static const size_t sizes[] = {0, 1, 33, 4096,
                                   GW__CONTROL_CHANNEL_BYTES_MAX};
    static unsigned char data[GW__CONTROL_CHANNEL_BYTES_MAX + 1];
    struct channel_set set;
    channel_set_open(&set, wires[_i], 2);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 7);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ck_assert_int_eq(
            gw__control_channel_send(set.channels[0], 1, data, sizes[i]),
            GW_OK);
        struct gw__control_channel_message message =
            channel_await(set.channels[1]);
        ck_assert_uint_eq(message.bytes, sizes[i]);
        ck_assert(memcmp(message.data, data, sizes[i]) == 0);
    }
    ck_assert_int_eq(
        gw__control_channel_send(set.channels[0], 1, data, sizeof data),
        GW_EINVAL);
    ck_assert_int_eq(
        gw__control_channel_send(set.channels[0], 0, data, sizeof data),
        GW_EINVAL);
    channel_set_close(&set);
}
END_TEST

START_TEST(only_known_nodes_are_sent_to)
{
    struct channel_set set;
    struct gw_error why;
    channel_set_open(&set, "ipc", 2);
    struct gw__control_channel *channel = set.channels[0];
    ck_assert_int_eq(gw__control_channel_send(channel, 2, "x", 1), GW_EUNREACH);
    ck_assert_int_eq(
        gw__control_channel_send(channel, GW__CONTROL_CHANNEL_NODES, "x", 1),
        GW_EINVAL);
    ck_assert_int_eq(gw__control_channel_know(channel, 1, "", NULL), GW_OK);
    ck_assert_int_eq(gw__control_channel_send(channel, 1, "x", 1), GW_EUNREACH);
    ck_assert_int_eq(gw__control_channel_know(
                         channel, GW__CONTROL_CHANNEL_NODES, "ipc://@x", &why),
                     GW_EINVAL);
    ck_assert_int_eq(gw__control_channel_know(channel, 1, "nowhere", &why),
                     GW_EINVAL);
    ck_assert_str_eq(why.text, "the address of node 1: \"nowhere\" is neither "
                               "ipc://@name nor tcp://host:port");
    ck_assert_uint_eq(gw__control_channel_counts(channel)->sent, 0);
    channel_set_close(&set);
}
END_TEST

/* libzmq would end the program when descriptors run out. The library therefore
 * refuses to open, or raises the limit. */
START_TEST(open_files_are_reserved)
{
    struct rlimit few = {.rlim_cur = 20, .rlim_max = 400};
    struct gw__control_channel *channel, *second;
    struct gw_error why;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    channel = channel_open(channel_config(0, channel_name("files")));
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &few), 0);
    ck_assert_uint_gt(few.rlim_cur, 20);
    few.rlim_cur = few.rlim_max = 30;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    struct gw__control_channel_config config =
        channel_config(1, channel_name("more"));
    ck_assert_int_eq(gw__control_channel_open(&config, &second, &why), GW_ESYS);
    ck_assert_ptr_null(second);
    ck_assert_msg(strncmp(why.text, "control channel: 16 more open", 29) == 0,
                  "%s", why.text);
    ck_assert_msg(strstr(why.text, "the limit is 30; raise it"), "%s",
                  why.text);
    enum gw_err err = GW_OK;
    for (unsigned node = 1; node < 20 && !err; node++)
        err =
            gw__control_channel_know(channel, node, channel_name("peer"), &why);
    ck_assert_int_eq(err, GW_ESYS);
    ck_assert_msg(strncmp(why.text, "node ", 5) == 0, "%s", why.text);
    gw__control_channel_close(&channel);
    channel = channel_open(
        channel_config(0, channel_name("again"))); /* released again */
    gw__control_channel_close(&channel);
}
END_TEST

START_TEST(what_is_sent_to_oneself_comes_back)
{
    struct gw__control_channel *channel =
        channel_open(channel_config(5, channel_name("self")));
    static const unsigned char block[GW__CONTROL_CHANNEL_BYTES_MAX];
    struct gw__control_channel_message message;
    channel_send(channel, 5, "one");
    channel_send(channel, 5, "two");
    channel_expect(channel, 5, "one");
    channel_expect(channel, 5, "two");
    channel_expect_none(channel);
    for (unsigned i = 0; i < GW__LATER_MESSAGES + 10; i++)
        channel_send(channel, 5, "");
    ck_assert_uint_eq(gw__control_channel_counts(channel)->overflowed, 10);
    for (unsigned i = 0; i < GW__LATER_MESSAGES; i++)
        ck_assert_int_eq(gw__control_channel_receive(channel, &message), GW_OK);
    channel_expect_none(channel);
    for (unsigned i = 0; i < 100; i++)
        ck_assert_int_eq(
            gw__control_channel_send(channel, 5, block, sizeof block), GW_OK);
    unsigned fit = GW__LATER_BYTES / GW__CONTROL_CHANNEL_FRAME_MAX;
    ck_assert_uint_eq(gw__control_channel_counts(channel)->overflowed,
                      10 + 100 - fit);
    gw__control_channel_close(&channel);
}
END_TEST

/* A node that sends a message to itself for each received one does not starve
 * the others. */
START_TEST(own_messages_starve_no_other)
{
    struct channel_set set;
    channel_set_open(&set, "ipc", 2);
    channel_send(set.channels[1], 0, "from outside");
    channel_send(set.channels[0], 0, "again");
    uint64_t until = gw_now_ns() + 5000 * MS;
    unsigned from;
    do {
        from = channel_await(set.channels[0]).from;
        if (from == 0)
            channel_send(set.channels[0], 0, "again");
        ck_assert(gw_now_ns() < until);
    } while (from != 1);
    channel_set_close(&set);
}
END_TEST

/* ---- peers that are not there ---- */

/* An endpoint where no process listens at the moment. */
static void free_endpoint(const char *wire, char endpoint[])
{
    bool ipc = strcmp(wire, "ipc") == 0;
    struct gw__control_channel *channel = channel_open(
        channel_config(1, ipc ? channel_name("late") : "tcp://127.0.0.1:*"));
    snprintf(endpoint, GW__CONTROL_CHANNEL_ENDPOINT_MAX, "%s",
             gw__control_channel_endpoint(channel));
    gw__control_channel_close(&channel);
}

START_TEST(the_first_message_waits_for_its_receiver)
{
    char endpoint[GW__CONTROL_CHANNEL_ENDPOINT_MAX];
    free_endpoint(wires[_i], endpoint);
    struct gw__control_channel *sender =
        channel_open(channel_config(0, channel_name("early")));
    ck_assert_int_eq(gw__control_channel_know(sender, 1, endpoint, NULL),
                     GW_OK);
    channel_send(sender, 1, "are you there?");
    struct gw__control_channel *late =
        channel_open(channel_config(1, endpoint));
    channel_expect(late, 0, "are you there?");
    gw__control_channel_close(&sender);
    gw__control_channel_close(&late);
}
END_TEST

START_TEST(what_was_sent_before_close_leaves)
{
    struct channel_set set;
    channel_set_open(&set, wires[_i], 2);
    channel_send(set.channels[0], 1, "goodbye");
    gw__control_channel_close(&set.channels[0]);
    channel_expect(set.channels[1], 0, "goodbye");
    channel_set_close(&set);
}
END_TEST

START_TEST(a_dead_peer_costs_what_fits_the_mark)
{
    enum { SENDS = 3 * GW__CONTROL_CHANNEL_MARK };
    char endpoint[GW__CONTROL_CHANNEL_ENDPOINT_MAX];
    free_endpoint(wires[_i], endpoint);
    struct gw__control_channel *sender =
        channel_open(channel_config(0, channel_name("alone")));
    ck_assert_int_eq(gw__control_channel_know(sender, 1, endpoint, NULL),
                     GW_OK);
    for (unsigned i = 0; i < SENDS; i++)
        channel_send(sender, 1, "hello?");
    const struct gw__control_channel_counts *counts =
        gw__control_channel_counts(sender);
    ck_assert_uint_eq(counts->sent, GW__CONTROL_CHANNEL_MARK);
    ck_assert_uint_eq(counts->sent + counts->overflowed, SENDS);
    uint64_t before = gw_now_ns();
    gw__control_channel_close(&sender);
    ck_assert_uint_lt(gw_now_ns() - before, 10000 * MS);
}
END_TEST

/* The same endpoint, another incarnation: both find each other again, with or
 * without a backlog on the old connection. */
START_TEST(a_restarted_peer_is_reached_again)
{
    struct channel_set set;
    char endpoint[GW__CONTROL_CHANNEL_ENDPOINT_MAX];
    channel_set_open(&set, wires[_i], 2);
    struct gw__control_channel *stays = set.channels[0];
    snprintf(endpoint, sizeof endpoint, "%s",
             gw__control_channel_endpoint(set.channels[1]));
    for (unsigned life = 2; life < 6; life++) {
        channel_send(set.channels[1], 0, "here");
        channel_expect(stays, 1, "here");
        gw__control_channel_close(&set.channels[1]);
        if (life % 2)
            channel_send(stays, 1, "lost, or late");
        struct gw__control_channel_config config = channel_config(1, endpoint);
        config.incarnation_low = life;
        set.channels[1] = channel_open(config);
        channel_set_know(&set);
        channel_send(set.channels[1], 0, "back");
        struct gw__control_channel_message message = channel_await(stays);
        ck_assert_uint_eq(message.incarnation_low, life);
        channel_send(stays, 1, "welcome");
        do
            message = channel_await(set.channels[1]);
        while (message.bytes != strlen("welcome"));
    }
    channel_set_close(&set);
}
END_TEST

/* The peer is reached even if it sends nothing. */
START_TEST(a_silent_restarted_peer_is_reached_again)
{
    struct channel_set set;
    char endpoint[GW__CONTROL_CHANNEL_ENDPOINT_MAX];
    channel_set_open(&set, wires[_i], 2);
    snprintf(endpoint, sizeof endpoint, "%s",
             gw__control_channel_endpoint(set.channels[1]));
    channel_send(set.channels[0], 1, "hello");
    channel_expect(set.channels[1], 0, "hello");
    gw__control_channel_close(&set.channels[1]);
    set.channels[1] = channel_open(channel_config(1, endpoint));
    uint64_t until = gw_now_ns() + 5000 * MS;
    struct gw__control_channel_message message;
    while (gw__control_channel_receive(set.channels[1], &message) != GW_OK) {
        channel_send(set.channels[0], 1, "hello");
        gw__control_channel_wait(set.channels[1], -1, gw_now_ns() + 5 * MS);
        ck_assert(gw_now_ns() < until);
    }
    channel_set_close(&set);
}
END_TEST

START_TEST(a_node_that_moved_is_found)
{
    struct channel_set set;
    channel_set_open(&set, wires[_i], 2);
    channel_send(set.channels[0], 1, "before");
    channel_expect(set.channels[1], 0, "before");
    struct gw__control_channel *moved =
        channel_open(channel_config(1, channel_name("moved")));
    ck_assert_int_eq(
        gw__control_channel_know(set.channels[0], 1,
                                 gw__control_channel_endpoint(moved), NULL),
        GW_OK);
    channel_send(set.channels[0], 1, "after");
    channel_expect(moved, 0, "after");
    channel_expect_none(set.channels[1]);
    gw__control_channel_close(&moved);
    channel_set_close(&set);
}
END_TEST

/* With two processes that both claim to be node 1, messages do not move the
 * connection back and forth: it stays at the known address of node 1. */
START_TEST(a_zombie_does_not_disturb)
{
    struct channel_set set;
    channel_set_open(&set, "ipc", 2);
    struct gw__control_channel_config config =
        channel_config(1, channel_name("zombie"));
    config.incarnation_low = 99;
    struct gw__control_channel *zombie = channel_open(config);
    ck_assert_int_eq(
        gw__control_channel_know(
            zombie, 0, gw__control_channel_endpoint(set.channels[0]), NULL),
        GW_OK);
    void *dealer = NULL;
    for (unsigned i = 0; i < 20; i++) {
        channel_send(i % 2 ? set.channels[1] : zombie, 0, "I am 1");
        channel_expect(set.channels[0], 1, "I am 1");
        channel_send(set.channels[0], 1, "so you are");
        channel_expect(set.channels[1], 0, "so you are");
        if (i > 1)
            ck_assert_ptr_eq(dealer, set.channels[0]->peers[1].dealer);
        dealer = set.channels[0]->peers[1].dealer;
    }
    channel_expect_none(zombie);
    gw__control_channel_close(&zombie);
    channel_set_close(&set);
}
END_TEST

/* ---- sleeping ---- */

START_TEST(wait_ends_by_message_descriptor_or_time)
{
    struct channel_set set;
    channel_set_open(&set, wires[_i], 2);
    int bell = eventfd(0, 0);
    uint64_t before = gw_now_ns();
    gw__control_channel_wait(set.channels[0], bell, before + 3 * MS);
    ck_assert_uint_ge(gw_now_ns(), before + 3 * MS);
    eventfd_write(bell, 1);
    gw__control_channel_wait(set.channels[0], bell, UINT64_MAX);
    channel_send(set.channels[1], 0, "wake up");
    gw__control_channel_wait(set.channels[0], -1, UINT64_MAX);
    channel_expect(set.channels[0], 1, "wake up");
    channel_send(set.channels[0], 0, "to me");
    gw__control_channel_wait(set.channels[0], -1, UINT64_MAX);
    channel_expect(set.channels[0], 0, "to me");
    gw__control_channel_wait(set.channels[0], -1, 0);
    close(bell);
    channel_set_close(&set);
}
END_TEST

enum { ROUNDS = 1000 };

static void *echo(void *context)
{
    struct gw__control_channel *channel = context;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct gw__control_channel_message message = channel_await(channel);
        gw__control_channel_send(channel, message.from, message.data,
                                 message.bytes);
    }
    return NULL;
}

START_TEST(two_threads_communicate)
{
    struct channel_set set;
    pthread_t thread;
    channel_set_open(&set, wires[_i], 2);
    pthread_create(&thread, NULL, echo, set.channels[1]);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t back;
        gw__control_channel_send(set.channels[0], 1, &i, sizeof i);
        struct gw__control_channel_message message =
            channel_await(set.channels[0]);
        ck_assert_uint_eq(message.bytes, sizeof back);
        memcpy(&back, message.data, sizeof back);
        ck_assert_uint_eq(back, i);
    }
    pthread_join(thread, NULL);
    channel_set_close(&set);
}
END_TEST

static void add_delivery(Suite *suite)
{
    TCase *tests = tcase_create("control channel delivery");
    tcase_add_loop_test(tests, all_receive_from_all, 0, 2);
    tcase_add_loop_test(tests, any_size_up_to_the_limit, 0, 2);
    tcase_add_test(tests, only_known_nodes_are_sent_to);
    tcase_add_test(tests, open_files_are_reserved);
    tcase_add_test(tests, what_is_sent_to_oneself_comes_back);
    tcase_add_test(tests, own_messages_starve_no_other);
    tcase_add_loop_test(tests, wait_ends_by_message_descriptor_or_time, 0, 2);
    tcase_add_loop_test(tests, two_threads_communicate, 0, 2);
    suite_add_tcase(suite, tests);
}

static void add_absence(Suite *suite)
{
    TCase *tests = tcase_create("control channel absence");
    tcase_add_loop_test(tests, the_first_message_waits_for_its_receiver, 0, 2);
    tcase_add_loop_test(tests, what_was_sent_before_close_leaves, 0, 2);
    tcase_add_loop_test(tests, a_dead_peer_costs_what_fits_the_mark, 0, 2);
    tcase_add_loop_test(tests, a_restarted_peer_is_reached_again, 0, 2);
    tcase_add_loop_test(tests, a_silent_restarted_peer_is_reached_again, 0, 2);
    tcase_add_loop_test(tests, a_node_that_moved_is_found, 0, 2);
    tcase_add_test(tests, a_zombie_does_not_disturb);
    suite_add_tcase(suite, tests);
}

Suite *suite_control_channel(void)
{
    Suite *suite = suite_create("control_channel");
    add_delivery(suite);
    add_absence(suite);
    return suite;
}
