/* SPDX-License-Identifier: MIT
 *
 * Access control of the messenger: malformed addresses and messages, and those
 * of another run, of another incarnation or without the key, are dropped.
 */
#include "key_file.h"
#include "messenger_set.h"
#include "notice.h"

#include <wire/messenger/messenger_frame.h>
#include <wire/messenger/messenger_zmq.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *suite_messenger_closed(void);

static const uint64_t MS = 1000000;

/* ---- heads ---- */

static const struct gw__messenger_head mine = {
    .to = 0, .token = MESSENGER_TOKEN, .to_high = 0, .to_low = 1};

static const struct gw__messenger_head good = {.from = 3,
                                               .to = 0,
                                               .token = MESSENGER_TOKEN,
                                               .from_high = 3,
                                               .from_low = 1,
                                               .to_low = 1,
                                               .part_count = 2,
                                               .bytes = {2, 5}};

static void expect_fault(struct gw__messenger_head head, const char *sentence)
{
    unsigned char frame[sizeof head];
    struct gw_error why;
    gw__messenger_head_seal(&head, frame);
    ck_assert_int_eq(
        gw__messenger_head_read(frame, sizeof frame, &mine, &head, &why),
        GW_EDATA);
    ck_assert_str_eq(why.text, sentence);
}

START_TEST(a_head_is_right_or_refused)
{
    unsigned char frame[sizeof good + 1] = {0};
    struct gw__messenger_head head = good, read;
    struct gw_error why;
    gw__messenger_head_seal(&head, frame);
    ck_assert_int_eq(
        gw__messenger_head_read(frame, sizeof head, &mine, &read, &why), GW_OK);
    ck_assert_mem_eq(&read, &head, sizeof read);
    for (unsigned i = 0; i < 3; i++) {
        static const size_t sizes[] = {0, sizeof good - 1, sizeof good + 1};
        ck_assert_int_eq(
            gw__messenger_head_read(frame, sizes[i], &mine, &read, &why),
            GW_EDATA);
        ck_assert_ptr_nonnull(strstr(why.text, "malformed head of "));
    }
    frame[0] ^= 1;
    ck_assert_int_eq(
        gw__messenger_head_read(frame, sizeof head, &mine, &read, &why),
        GW_EDATA);
    ck_assert_str_eq(why.text, "the message is of another program or version");
}
END_TEST

START_TEST(each_fault_has_its_sentence)
{
    struct gw__messenger_head head = good;
    head.token++;
    expect_fault(head, "the message is of another run");
    head = good;
    head.to = 1;
    expect_fault(head, "a message for node 1 arrived at node 0");
    head = good;
    head.to_low++;
    expect_fault(head, "the message is for another incarnation of node 0");
    head = good;
    head.from = GW__MESSENGER_NODES;
    expect_fault(head, "a message from node 576 to node 0");
    head.from = 0;
    expect_fault(head, "a message from node 0 to node 0");
    head = good;
    head.part_count = 0;
    expect_fault(head, "a message cannot have 0 parts");
    head.part_count = 5;
    expect_fault(head, "a message cannot have 5 parts");
    head.part_count = 1;
    expect_fault(head, "a message of 1 parts cannot have a size of part 2");
}
END_TEST

/* ---- strangers ---- */

struct stranger {
    void *context, *socket;
};

static struct stranger come(struct gw__messenger *messenger)
{
    struct stranger stranger = {.context = zmq_ctx_new()};
    int linger = 0;
    stranger.socket = zmq_socket(stranger.context, ZMQ_DEALER);
    zmq_setsockopt(stranger.socket, ZMQ_LINGER, &linger, sizeof linger);
    ck_assert_int_eq(
        zmq_connect(stranger.socket,
                    ((struct gw__messenger_zmq *)messenger)->endpoint),
        0);
    return stranger;
}

static void go(struct stranger *stranger)
{
    zmq_close(stranger->socket);
    zmq_ctx_term(stranger->context);
}

static void utter(struct stranger *stranger, struct gw__messenger_head head,
                  unsigned parts, const size_t *sizes)
{
    unsigned char frame[sizeof head], data[64] = "abcdefgh";
    gw__messenger_head_seal(&head, frame);
    ck_assert_int_ge(zmq_send(stranger->socket, frame, sizeof frame,
                              parts ? ZMQ_SNDMORE : 0),
                     0);
    for (unsigned i = 0; i < parts; i++)
        ck_assert_int_ge(zmq_send(stranger->socket, data, sizes[i],
                                  i + 1 < parts ? ZMQ_SNDMORE : 0),
                         0);
}

START_TEST(what_is_malformed_is_refused_whole)
{
    static const size_t right[] = {2, 5, 0}, wrong[] = {2, 6};
    struct gw__messenger_config config = messenger_config("zmq", 3);
    struct gw__messenger *messenger =
        messenger_open(messenger_config("zmq", 0));
    struct gw__messenger *speaker = messenger_open(config);
    struct gw__message_in *message;
    messenger_know(messenger, speaker, &config);
    struct stranger stranger = come(messenger);
    struct gw__messenger_head another_run = good, misled = good,
                              bad_sender = good;
    another_run.token = 1;
    misled.to = 1;
    bad_sender.from = 65535;
    utter(&stranger, good, 0, right);
    utter(&stranger, good, 1, right);
    utter(&stranger, good, 3, right);
    utter(&stranger, good, 2, wrong);
    utter(&stranger, another_run, 2, right);
    utter(&stranger, misled, 2, right);
    utter(&stranger, bad_sender, 2, right);
    ck_assert_int_ge(zmq_send(stranger.socket, "garbage", 7, 0), 0);
    ck_assert_int_ge(zmq_send(stranger.socket, "", 0, 0), 0);
    utter(&stranger, good, 2, right);
    message = messenger_await(messenger);
    ck_assert_uint_eq(message->from, 3);
    ck_assert_uint_eq(message->part_count, 2);
    ck_assert_mem_eq(message->parts[1].data, "abcde", 5);
    gw__message_in_release(message);
    ck_assert_uint_eq(gw__messenger_counts(messenger)->dropped, 9);
    ck_assert_uint_eq(gw__messenger_counts(messenger)->received, 1);
    messenger_expect_none(messenger);
    go(&stranger);
    gw__messenger_close(&speaker);
    gw__messenger_close(&messenger);
}
END_TEST

START_TEST(a_flood_of_refused_ones_delays_no_other)
{
    enum { FLOOD = 900 };
    static const size_t right[] = {2, 5};
    struct gw__messenger_config config = messenger_config("zmq", 3);
    struct gw__messenger *messenger =
        messenger_open(messenger_config("zmq", 0));
    struct gw__messenger *speaker = messenger_open(config);
    messenger_know(messenger, speaker, &config);
    struct stranger stranger = come(messenger);
    for (unsigned i = 0; i < FLOOD; i++)
        utter(&stranger, good, 0, right);
    utter(&stranger, good, 2, right);
    gw__message_in_release(messenger_await(messenger));
    ck_assert_uint_eq(gw__messenger_counts(messenger)->dropped, FLOOD);
    go(&stranger);
    gw__messenger_close(&speaker);
    gw__messenger_close(&messenger);
}
END_TEST

/* ---- incarnations ---- */

/* A node may send as soon as it knows the other; the receiver keeps the
 * messages until it knows the sender. */
START_TEST(what_comes_early_waits)
{
    struct gw__messenger_config configs[2] = {
        messenger_config(messenger_wires[_i], 0),
        messenger_config(messenger_wires[_i], 1)};
    struct gw__messenger *first = messenger_open(configs[0]);
    struct gw__messenger *second = messenger_open(configs[1]);
    messenger_know(first, second, &configs[1]);
    for (unsigned i = 0; i < 20; i++)
        messenger_send(first, 1, "hello?");
    uint64_t until = gw_now_ns() + 20 * MS;
    while (gw_now_ns() < until) {
        messenger_expect_none(second);
        gw__messenger_wait(second, until);
    }
    messenger_know(second, first, &configs[0]);
    messenger_send(first, 1, "there you are");
    for (unsigned i = 0; i < 20; i++)
        messenger_expect(second, 0, "hello?");
    messenger_expect(second, 0, "there you are");
    gw__messenger_close(&first);
    gw__messenger_close(&second);
}
END_TEST

/* Node 0 has a new incarnation while its former process still sends. */
START_TEST(a_former_incarnation_is_not_received)
{
    struct gw__messenger_config configs[3] = {
        messenger_config(messenger_wires[_i], 0),
        messenger_config(messenger_wires[_i], 0),
        messenger_config(messenger_wires[_i], 1)};
    struct gw__messenger *messengers[3];
    unsigned back = 0, former_back = 0;
    static char memory[2][100000];
    configs[1].incarnation_low = 2;
    for (unsigned i = 0; i < 3; i++)
        messengers[i] = messenger_open(configs[i]);
    messenger_know(messengers[0], messengers[2], &configs[2]);
    messenger_know(messengers[2], messengers[0], &configs[0]);
    struct gw__message_out message = {.node = 1,
                                      .part_count = 1,
                                      .parts = {{memory[0], sizeof memory[0]}},
                                      .borrowed = 1,
                                      .back = messenger_count_back,
                                      .context = &former_back};
    messenger_fill(memory[0], sizeof memory[0], 1);
    messenger_fill(memory[1], sizeof memory[1], 2);
    ck_assert_int_eq(gw__messenger_send(messengers[0], &message), GW_OK);
    struct gw__message_in *old = messenger_await(messengers[2]);
    messenger_send(messengers[0], 1, "under way");
    messenger_know(messengers[2], messengers[1], &configs[1]);
    messenger_know(messengers[1], messengers[2], &configs[2]);
    messenger_send(messengers[0], 1, "late");
    message.parts[0].data = memory[1];
    message.context = &back;
    ck_assert_int_eq(gw__messenger_send(messengers[1], &message), GW_OK);
    messenger_send(messengers[1], 1, "new");
    struct gw__message_in *fresh = messenger_await(messengers[2]);
    ck_assert_uint_eq(fresh->incarnation_low, 2);
    gw__message_in_release(old);
    ck_assert(!messenger_differs(fresh->parts[0].data, sizeof memory[1], 2));
    gw__message_in_release(fresh);
    messenger_expect(messengers[2], 0, "new");
    messenger_expect_none(messengers[2]);
    ck_assert_int_eq(messenger_try(messengers[2], 0, "answer", 6), GW_OK);
    messenger_expect(messengers[1], 1, "answer");
    messenger_expect_none(messengers[0]);
    for (unsigned i = 0; i < 3; i++)
        gw__messenger_close(&messengers[i]);
    ck_assert_uint_eq(back, 1);
    ck_assert_uint_eq(former_back, 1);
}
END_TEST

/* ---- keys ---- */

START_TEST(a_shared_key_lets_in)
{
    enum { BYTES = 1000000 };
    struct key_file file = key_file_make(0600);
    struct gw__messenger *messengers[2];
    struct gw__messenger_config configs[2];
    unsigned back = 0;
    char *data = malloc(BYTES);
    for (unsigned i = 0; i < 2; i++) {
        configs[i] = messenger_config("tcp", i);
        configs[i].interface = "127.0.0.2";
        configs[i].security.key_file = file.path;
        messengers[i] = messenger_open(configs[i]);
    }
    messenger_know(messengers[0], messengers[1], &configs[1]);
    messenger_know(messengers[1], messengers[0], &configs[0]);
    messenger_fill(data, BYTES, 1);
    struct gw__message_out out = {.node = 1,
                                  .part_count = 2,
                                  .parts = {{data, BYTES}, {"secret", 6}},
                                  .borrowed = 1,
                                  .back = messenger_count_back,
                                  .context = &back};
    ck_assert_int_eq(gw__messenger_send(messengers[0], &out), GW_OK);
    struct gw__message_in *in = messenger_await(messengers[1]);
    ck_assert(!messenger_differs(in->parts[0].data, BYTES, 1));
    ck_assert_mem_eq(in->parts[1].data, "secret", 6);
    gw__message_in_release(in);
    messenger_await_count(messengers[0], &back, 1);
    gw__messenger_close(&messengers[0]);
    gw__messenger_close(&messengers[1]);
    free(data);
}
END_TEST

START_TEST(who_has_no_key_is_not_received)
{
    static const size_t right[] = {2, 5};
    struct key_file file = key_file_make(0600);
    struct gw__messenger_config configs[2] = {messenger_config("zmq", 0),
                                              messenger_config("zmq", 3)};
    struct gw_error why;
    configs[0].security.key_file = file.path;
    struct gw__messenger *messenger = messenger_open(configs[0]);
    struct gw__messenger *open = messenger_open(configs[1]);
    ck_assert_int_eq(gw__messenger_know(messenger, 3, 3, 1,
                                        gw__messenger_address(open), &why),
                     GW_EUNREACH);
    ck_assert_str_eq(
        why.text,
        "messenger: node 3: it has no key file, but this process has one");
    gw__messenger_close(&open);
    configs[1].security.key_file = file.path;
    open = messenger_open(configs[1]);
    messenger_know(messenger, open, &configs[1]);
    messenger_know(open, messenger, &configs[0]);
    const char *notice = notice_listen();
    struct stranger stranger = come(messenger);
    utter(&stranger, good, 2, right);
    notice_await(1);
    ck_assert_ptr_nonnull(strstr(notice, "without the key"));
    messenger_send(open, 0, "with the key");
    messenger_expect(messenger, 3, "with the key");
    messenger_expect_none(messenger);
    ck_assert_uint_eq(gw__messenger_counts(messenger)->dropped, 0);
    go(&stranger);
    /* In the opposite order `open` might see a peer close during the
     * handshake. */
    gw__messenger_close(&open);
    gw__messenger_close(&messenger);
    ck_assert_uint_eq(notice_count(), 1);
    gw_notice_to(NULL, NULL);
}
END_TEST

START_TEST(a_bad_key_file_opens_nothing)
{
    struct key_file file = key_file_make(0644);
    struct gw__messenger_config config = messenger_config("tcp", 0);
    struct gw__messenger *messenger;
    struct gw_error why;
    config.security.key_file = file.path;
    ck_assert_int_eq(gw__messenger_open(&config, &messenger, &why), GW_EINVAL);
    ck_assert_ptr_nonnull(strstr(why.text, "run chmod 600 on it"));
    config.security.key_file = "/nonexistent/key";
    ck_assert_int_eq(gw__messenger_open(&config, &messenger, &why), GW_EINVAL);
    ck_assert_ptr_null(messenger);
}
END_TEST

/* ---- addresses ---- */

START_TEST(what_is_no_address_is_refused)
{
    struct gw__messenger *messenger =
        messenger_open(messenger_config(messenger_wires[_i], 0));
    struct gw__messenger_config config =
        messenger_config(messenger_wires[_i], 1);
    config.security.token++;
    struct gw__messenger *stranger = messenger_open(config);
    struct gw__address address = *gw__messenger_address(stranger);
    struct gw_error why;
    ck_assert_int_eq(gw__messenger_know(messenger, 1, 1, 1, &address, &why),
                     GW_EDATA);
    ck_assert_ptr_nonnull(strstr(why.text, "the address is of another run"));
    address.bytes--;
    ck_assert_int_eq(gw__messenger_know(messenger, 1, 1, 1, &address, &why),
                     GW_EDATA);
    address.bytes = GW__ADDRESS_MAX + 1;
    ck_assert_int_eq(gw__messenger_know(messenger, 1, 1, 1, &address, &why),
                     GW_EDATA);
    address = *gw__messenger_address(stranger);
    address.blob[0] ^= 1;
    ck_assert_int_eq(gw__messenger_know(messenger, 1, 1, 1, &address, NULL),
                     GW_EDATA);
    gw__messenger_close(&stranger);
    gw__messenger_close(&messenger);
}
END_TEST

/* A damaged address is refused or leads to some other place. */
START_TEST(an_address_with_any_byte_changed)
{
    struct gw__messenger *messenger =
        messenger_open(messenger_config(messenger_wires[_i], 0));
    struct gw__messenger *other =
        messenger_open(messenger_config(messenger_wires[_i], 1));
    struct gw__address address = *gw__messenger_address(other);
    unsigned refused = 0;
    for (size_t i = 0; i < address.bytes; i++) {
        struct gw_error why;
        address.blob[i] ^= 0x41;
        enum gw_err err =
            gw__messenger_know(messenger, 1, 1, 1, &address, &why);
        ck_assert_msg(err == GW_OK || err == GW_EDATA || err == GW_EUNREACH ||
                          err == GW_ELOST,
                      "byte %zu: %s: %s", i, gw_err_name(err), why.text);
        ck_assert_int_eq(gw__messenger_knows(messenger, 1, 1, 1), err == GW_OK);
        refused += err != GW_OK;
        gw__messenger_forget(messenger, 1);
        address.blob[i] ^= 0x41;
    }
    ck_assert_uint_gt(refused, 40);
    ck_assert_int_eq(gw__messenger_know(messenger, 1, 1, 1, &address, NULL),
                     GW_OK);
    gw__messenger_close(&other);
    gw__messenger_close(&messenger);
}
END_TEST

Suite *suite_messenger_closed(void)
{
    Suite *suite = suite_create("messenger_closed");
    TCase *tests = tcase_create("messenger_closed");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_head_is_right_or_refused);
    tcase_add_test(tests, each_fault_has_its_sentence);
    tcase_add_test(tests, what_is_malformed_is_refused_whole);
    tcase_add_test(tests, a_flood_of_refused_ones_delays_no_other);
    tcase_add_loop_test(tests, what_comes_early_waits, 0, MESSENGER_WIRES);
    tcase_add_loop_test(tests, a_former_incarnation_is_not_received, 0,
                        MESSENGER_WIRES);
    tcase_add_test(tests, a_shared_key_lets_in);
    tcase_add_test(tests, who_has_no_key_is_not_received);
    tcase_add_test(tests, a_bad_key_file_opens_nothing);
    tcase_add_loop_test(tests, what_is_no_address_is_refused, 0,
                        MESSENGER_WIRES);
    tcase_add_loop_test(tests, an_address_with_any_byte_changed, 0,
                        MESSENGER_WIRES);
    suite_add_tcase(suite, tests);
    return suite;
}
