/* SPDX-License-Identifier: MIT
 *
 * The messenger on every wire: messages of any size arrive whole, once and in
 * order, at known nodes only. Lent memory is in test_messenger_borrow.c, link
 * profiles in test_messenger_profiles.c, processes that end in
 * test_messenger_death.c, and access control in test_messenger_closed.c.
 */
#include "messenger_set.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_messenger(void);

static const uint64_t MS = 1000000;
static const size_t MIB = 1 << 20;

/* ---- delivery ---- */

START_TEST(all_receive_from_all)
{
    struct messenger_set set;
    messenger_set_open(&set, messenger_wires[_i], 3);
    for (unsigned i = 0; i < 3; i++)
        for (unsigned j = 0; j < 3; j++) {
            char text[16];
            snprintf(text, sizeof text, "%u to %u", i, j);
            messenger_send(set.messengers[i], j, text);
            struct gw__message_in *message = messenger_await(set.messengers[j]);
            ck_assert_uint_eq(message->from, i);
            ck_assert_uint_eq(message->incarnation_high, i);
            ck_assert_uint_eq(message->incarnation_low, 1);
            ck_assert_uint_eq(message->parts[0].bytes, strlen(text));
            ck_assert_mem_eq(message->parts[0].data, text, strlen(text));
            gw__message_in_release(message);
        }
    for (unsigned i = 0; i < 3; i++) {
        const struct gw__messenger_counts *counts =
            gw__messenger_counts(set.messengers[i]);
        ck_assert_uint_eq(counts->sent, 3);
        ck_assert_uint_eq(counts->received, 3);
        ck_assert_uint_eq(counts->bytes_sent, 18);
        ck_assert_uint_eq(counts->bytes_received, 18);
        ck_assert_uint_eq(counts->borrowed_bytes + counts->dropped, 0);
    }
    messenger_set_close(&set);
}
END_TEST

static const size_t sizes[] = {0,   1,    8,        150,     151,     192,
                               193, 4096, 8192 + 1, 1 << 20, 40 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes };

START_TEST(any_size_arrives)
{
    unsigned char *data = malloc(40 * MIB);
    struct messenger_set set;
    messenger_set_open(&set, messenger_wires[_i], 2);
    for (unsigned i = 0; i < SIZES; i++) {
        messenger_fill(data, sizes[i], i);
        ck_assert_int_eq(messenger_try(set.messengers[0], 1, data, sizes[i]),
                         GW_OK);
        memset(data, 0, sizes[i]);
        struct gw__message_in *message =
            messenger_await_from(set.messengers[0], set.messengers[1]);
        ck_assert_uint_eq(message->parts[0].bytes, sizes[i]);
        ck_assert(!messenger_differs(message->parts[0].data, sizes[i], i));
        gw__message_in_release(message);
    }
    messenger_set_close(&set);
    free(data);
}
END_TEST

/* Sizes are mixed so that all transports of a part meet in one message. */
static size_t size_of(unsigned message, unsigned part)
{
    return sizes[(message * 5 + part * 3) % (SIZES - 2)];
}

START_TEST(one_to_four_parts_in_order)
{
    enum { MESSAGES = 400 };
    unsigned char *data[GW__MESSENGER_PARTS];
    struct messenger_set set;
    messenger_set_open(&set, messenger_wires[_i], 2);
    for (unsigned p = 0; p < GW__MESSENGER_PARTS; p++)
        data[p] = malloc(MIB);
    for (unsigned m = 0; m < MESSAGES; m++) {
        struct gw__message_out out = {.node = 1, .part_count = m % 4 + 1};
        for (unsigned p = 0; p < out.part_count; p++) {
            out.parts[p] = (struct gw__messenger_part){data[p], size_of(m, p)};
            messenger_fill(data[p], size_of(m, p), m * 4 + p);
        }
        ck_assert_int_eq(gw__messenger_send(set.messengers[0], &out), GW_OK);
    }
    for (unsigned m = 0; m < MESSAGES; m++) {
        gw__messenger_wait(set.messengers[0], 0);
        struct gw__message_in *in = messenger_await(set.messengers[1]);
        ck_assert_uint_eq(in->part_count, m % 4 + 1);
        for (unsigned p = 0; p < in->part_count; p++) {
            ck_assert_uint_eq(in->parts[p].bytes, size_of(m, p));
            ck_assert(!messenger_differs(in->parts[p].data, size_of(m, p),
                                         m * 4 + p));
        }
        gw__message_in_release(in);
    }
    for (unsigned p = 0; p < GW__MESSENGER_PARTS; p++)
        free(data[p]);
    messenger_set_close(&set);
}
END_TEST

static void expect_number(struct gw__messenger *messenger, unsigned number)
{
    struct gw__message_in *message = messenger_await(messenger);
    ck_assert_uint_eq(message->parts[0].bytes, sizeof number);
    ck_assert_mem_eq(message->parts[0].data, &number, sizeof number);
    gw__message_in_release(message);
}

START_TEST(many_wait_for_a_slow_receiver)
{
    enum { MANY = 10000 };
    struct messenger_set set;
    messenger_set_open(&set, messenger_wires[_i], 2);
    for (unsigned i = 0; i < MANY; i++)
        ck_assert_int_eq(messenger_try(set.messengers[0], 1, &i, sizeof i),
                         GW_OK);
    for (unsigned i = 0; i < MANY; i++) {
        gw__messenger_wait(set.messengers[0], 0);
        expect_number(set.messengers[1], i);
    }
    messenger_expect_none(set.messengers[1]);
    messenger_set_close(&set);
}
END_TEST

/* ---- threads ---- */

struct player {
    struct gw__messenger *messenger;
    unsigned node, rounds;
    struct messenger_set *set;
    _Atomic unsigned *finished;
};

/* Messages that wait for room leave only while the messenger is used. */
static void linger(struct player *player)
{
    atomic_fetch_add(player->finished, 1);
    for (unsigned i = 0; i < player->set->size; i++)
        gw__messenger_wake(player->set->messengers[i]);
    while (atomic_load(player->finished) < player->set->size)
        gw__messenger_wait(player->messenger, UINT64_MAX);
}

static void *play_alone(void *context)
{
    struct player *player = context;
    unsigned received[MESSENGER_SET_MAX] = {0}, others = 2, sent = 0, total = 0;
    while (total < others * player->rounds || sent < player->rounds) {
        if (sent < player->rounds) {
            for (unsigned to = 0; to < 3; to++)
                if (to != player->node)
                    ck_assert_int_eq(messenger_try(player->messenger, to, &sent,
                                                   sizeof sent),
                                     GW_OK);
            sent++;
        }
        struct gw__message_in *message;
        if (gw__messenger_receive(player->messenger, &message) != GW_OK) {
            gw__messenger_wait(player->messenger, gw_now_ns() + 10000 * MS);
            continue;
        }
        ck_assert_mem_eq(message->parts[0].data, &received[message->from],
                         sizeof(unsigned));
        received[message->from]++;
        total++;
        gw__message_in_release(message);
    }
    linger(player);
    return NULL;
}

START_TEST(three_threads_communicate_at_once)
{
    struct player players[3];
    pthread_t threads[3];
    _Atomic unsigned finished = 0;
    struct messenger_set set;
    messenger_set_open(&set, messenger_wires[_i], 3);
    for (unsigned i = 0; i < 3; i++) {
        players[i] =
            (struct player){set.messengers[i], i, 3000, &set, &finished};
        pthread_create(&threads[i], NULL, play_alone, &players[i]);
    }
    for (unsigned i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    messenger_set_close(&set);
}
END_TEST

static void *echo(void *context)
{
    struct player *player = context;
    for (unsigned i = 0; i < player->rounds; i++) {
        struct gw__message_in *in = messenger_await(player->messenger);
        struct gw__message_out out = {.node = in->from,
                                      .part_count = in->part_count};
        memcpy(out.parts, in->parts, sizeof out.parts);
        ck_assert_int_eq(gw__messenger_send(player->messenger, &out), GW_OK);
        gw__message_in_release(in);
    }
    return NULL;
}

START_TEST(questions_are_answered)
{
    enum { ROUNDS = 2000 };
    struct messenger_set set;
    pthread_t thread;
    messenger_set_open(&set, messenger_wires[_i], 2);
    struct player player = {.messenger = set.messengers[1], .rounds = ROUNDS};
    pthread_create(&thread, NULL, echo, &player);
    for (unsigned i = 0; i < ROUNDS; i++) {
        ck_assert_int_eq(messenger_try(set.messengers[0], 1, &i, sizeof i),
                         GW_OK);
        expect_number(set.messengers[0], i);
    }
    pthread_join(thread, NULL);
    messenger_set_close(&set);
}
END_TEST

/* ---- waiting ---- */

static void *wake_it(void *messenger)
{
    gw__messenger_wake(messenger);
    return NULL;
}

START_TEST(a_wake_ends_a_wait)
{
    struct messenger_set set;
    pthread_t thread;
    messenger_set_open(&set, messenger_wires[_i], 2);
    struct gw__messenger *messenger = set.messengers[0];
    for (unsigned i = 0; i < 100; i++) {
        pthread_create(&thread, NULL, wake_it, messenger);
        gw__messenger_wait(messenger, UINT64_MAX);
        pthread_join(thread, NULL);
    }
    gw__messenger_wake(messenger);
    gw__messenger_wait(messenger, UINT64_MAX);
    uint64_t until = gw_now_ns() + 5 * MS;
    gw__messenger_wait(messenger, until);
    ck_assert_uint_ge(gw_now_ns(), until);
    gw__messenger_wait(messenger, 0);
    messenger_set_close(&set);
}
END_TEST

/* ---- known nodes ---- */

START_TEST(only_known_nodes_are_sent_to)
{
    struct messenger_set set;
    struct gw_error why;
    messenger_set_open(&set, messenger_wires[_i], 2);
    struct gw__messenger *messenger = set.messengers[0];
    const struct gw__address *address =
        gw__messenger_address(set.messengers[1]);
    ck_assert(gw__messenger_knows(messenger, 1, 1, 1));
    ck_assert(!gw__messenger_knows(messenger, 1, 1, 2));
    ck_assert(!gw__messenger_knows(messenger, GW__MESSENGER_NODES, 1, 1));
    ck_assert_int_eq(messenger_try(messenger, 2, "x", 1), GW_EUNREACH);
    ck_assert_int_eq(messenger_try(messenger, GW__MESSENGER_NODES, "x", 1),
                     GW_EUNREACH);
    gw__messenger_forget(messenger, 1);
    ck_assert(!gw__messenger_knows(messenger, 1, 1, 1));
    ck_assert_int_eq(messenger_try(messenger, 1, "x", 1), GW_EUNREACH);
    ck_assert_int_eq(
        gw__messenger_know(messenger, GW__MESSENGER_NODES, 1, 1, address, &why),
        GW_EDATA);
    ck_assert_int_eq(gw__messenger_know(messenger, 2, 1, 1, address, &why),
                     GW_EDATA);
    ck_assert_ptr_nonnull(
        strstr(why.text, "messenger: node 2: the address is of "));
    ck_assert_int_eq(gw__messenger_know(messenger, 1, 1, 2, address, &why),
                     GW_EDATA);
    ck_assert_int_eq(messenger_try(messenger, 1, "x", 1), GW_EUNREACH);
    ck_assert_uint_eq(gw__messenger_counts(messenger)->sent, 0);
    ck_assert_int_eq(gw__messenger_know(messenger, 1, 1, 1, address, &why),
                     GW_OK);
    messenger_send(messenger, 1, "again");
    messenger_expect(set.messengers[1], 0, "again");
    messenger_set_close(&set);
}
END_TEST

START_TEST(what_is_sent_to_oneself_comes_back)
{
    struct gw__messenger *messenger =
        messenger_open(messenger_config(messenger_wires[_i], 5));
    unsigned back = 0;
    messenger_send(messenger, 5, "one");
    struct gw__message_out out = {
        .node = 5,
        .part_count = 2,
        .parts = {{"two", 3}, {"three", 5}},
        .borrowed = 3,
        .back = messenger_count_back,
        .context = &back,
    };
    ck_assert_int_eq(gw__messenger_send(messenger, &out), GW_OK);
    ck_assert_uint_eq(back, 1);
    messenger_expect(messenger, 5, "one");
    struct gw__message_in *in = messenger_await(messenger);
    ck_assert_uint_eq(in->part_count, 2);
    ck_assert_uint_eq(in->incarnation_high, 5);
    messenger_send(messenger, 5, "left behind");
    gw__messenger_close(&messenger);
    ck_assert_mem_eq(in->parts[1].data, "three", 5);
    gw__message_in_release(in);
}
END_TEST

START_TEST(only_so_much_waits)
{
    struct gw__messenger *messenger =
        messenger_open(messenger_config(messenger_wires[_i], 0));
    struct gw__messenger_config config =
        messenger_config(messenger_wires[_i], 1);
    struct gw__messenger *deaf = messenger_open(config);
    unsigned sent = 0, back = 0;
    messenger_know(messenger, deaf, &config);
    gw__messenger_close(&deaf); /* no reader, no notice of its end */
    while (messenger_try(messenger, 1, &sent, sizeof sent) == GW_OK)
        ck_assert_uint_lt(sent++, 100000);
    ck_assert_uint_ge(sent, 65536);
    struct gw__message_out message = {.node = 1,
                                      .part_count = 1,
                                      .parts = {{"x", 1}},
                                      .borrowed = 1,
                                      .back = messenger_count_back,
                                      .context = &back};
    ck_assert_int_eq(gw__messenger_send(messenger, &message), GW_ENOMEM);
    ck_assert_uint_eq(back, 0);
    gw__messenger_forget(messenger, 1);
    gw__messenger_close(&messenger);
}
END_TEST

START_TEST(no_such_wire_no_such_endpoint)
{
    struct gw__messenger *messenger;
    struct gw_error why;
    struct gw__messenger_config config = messenger_config("pigeon", 0);
    ck_assert_int_eq(gw__messenger_open(&config, &messenger, &why), GW_EINVAL);
    ck_assert_str_eq(
        why.text,
        "messenger: unknown wire \"pigeon\"; use shm, ipc, tcp or zmq");
    config = messenger_config("shm", GW__MESSENGER_NODES);
    ck_assert_int_eq(gw__messenger_open(&config, &messenger, &why), GW_EINVAL);
    config = messenger_config("tcp", 0);
    config.interface = "192.0.2.1";
    ck_assert_int_eq(gw__messenger_open(&config, &messenger, &why), GW_EINVAL);
    ck_assert_ptr_nonnull(strstr(why.text, "give a key file"));
    config.security.insecure = true;
    config.interface = "0.0.0.0";
    ck_assert_int_eq(gw__messenger_open(&config, &messenger, &why), GW_EINVAL);
    ck_assert_ptr_null(messenger);
}
END_TEST

Suite *suite_messenger(void)
{
    Suite *suite = suite_create("messenger");
    TCase *tests = tcase_create("messenger");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, all_receive_from_all, 0, MESSENGER_WIRES);
    tcase_add_loop_test(tests, any_size_arrives, 0, MESSENGER_WIRES);
    tcase_add_loop_test(tests, one_to_four_parts_in_order, 0, MESSENGER_WIRES);
    tcase_add_loop_test(tests, many_wait_for_a_slow_receiver, 0,
                        MESSENGER_WIRES);
    tcase_add_loop_test(tests, three_threads_communicate_at_once, 0,
                        MESSENGER_WIRES);
    tcase_add_loop_test(tests, questions_are_answered, 0, MESSENGER_WIRES);
    tcase_add_loop_test(tests, a_wake_ends_a_wait, 0, MESSENGER_WIRES);
    tcase_add_loop_test(tests, only_known_nodes_are_sent_to, 0,
                        MESSENGER_WIRES);
    tcase_add_loop_test(tests, what_is_sent_to_oneself_comes_back, 0,
                        MESSENGER_WIRES);
    tcase_add_loop_test(tests, only_so_much_waits, 0, MESSENGER_WIRES);
    tcase_add_test(tests, no_such_wire_no_such_endpoint);
    suite_add_tcase(suite, tests);
    return suite;
}
