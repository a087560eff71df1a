/* SPDX-License-Identifier: MIT
 *
 * The client of the controllers, driven by hand: the node it asks, the times of
 * repeated requests, and their ends.
 */
#include "mail.h"

#include <cluster/member/client.h>

#include <string.h>

Suite *suite_client(void);

static const uint64_t MS = 1000000;
static const struct gw__id me = {8, 9};

static struct gw__client_state client;
static struct mail mail;
static struct gw__actions act;
static uint64_t now_ns;

static void setup(void)
{
    const struct gw__client_config config = {
        .id = me, .controller_count = 3, .controllers = {20, 21, 22}};
    memset(&mail, 0, sizeof mail);
    act = mail_actions(&mail);
    now_ns = 5000 * MS;
    gw__client_init(&client, &config);
}

static enum gw_err submit(unsigned tag, uint64_t epoch)
{
    const struct gw__command c = {.kind = GW__CMD_DEADLINE, .epoch = epoch};
    return gw__client_submit(&client, &c, tag, now_ns, &act);
}

/* Exactly this request has been sent since the last check. */
static void expect_request(unsigned node, uint64_t sequence, uint64_t epoch)
{
    struct gw__command c;
    ck_assert_uint_eq(mail.sent_count, 1);
    const struct sent_message *message =
        mail_pop(&mail, node, GW__PROTOCOL_REQUEST);
    ck_assert_msg(message, "node %u was not asked", node);
    ck_assert_int_eq(
        gw__command_decode(message->data + 1, message->bytes - 1, &c, NULL),
        GW_OK);
    ck_assert(gw__id_equal(c.client, me));
    ck_assert_uint_eq(c.sequence, sequence);
    ck_assert_uint_eq(c.epoch, epoch);
}

static bool receive_reply(unsigned from, struct gw__reply reply, unsigned *tag)
{
    uint8_t answer[GW__ANSWER_BYTES_MAX], data[GW__REPLY_BYTES_MAX];
    struct gw__answer out = {.code = GW_OK, .node = 33, .text = "done"};
    reply.answer = answer;
    reply.answer_bytes = gw__answer_encode(&out, answer);
    size_t used = gw__reply_encode(&reply, data, sizeof data);
    memset(&out, 0, sizeof out);
    bool ended =
        gw__client_message(&client, from, data, used, now_ns, &act, tag, &out);
    if (ended)
        ck_assert_uint_eq(out.node, 33);
    return ended;
}

static bool answer(unsigned from, uint64_t sequence, unsigned *tag)
{
    return receive_reply(from,
                         (struct gw__reply){.protocol = GW__PROTOCOL_ANSWER,
                                            .client = me,
                                            .sequence = sequence},
                         tag);
}

static void redirect(unsigned from, unsigned leader)
{
    unsigned tag;
    ck_assert(
        !receive_reply(from,
                       (struct gw__reply){.protocol = GW__PROTOCOL_REDIRECT,
                                          .client = me,
                                          .sequence = client.sequence,
                                          .leader = leader},
                       &tag));
}

static void tick_after(uint64_t ns)
{
    now_ns += ns;
    gw__client_tick(&client, now_ns, &act);
}

START_TEST(one_is_in_progress_and_the_others_wait)
{
    unsigned tag = 0;
    ck_assert_uint_eq(gw__client_due(&client), 0);
    ck_assert_int_eq(submit(1, 10), GW_OK);
    expect_request(20, 1, 10);
    ck_assert_int_eq(submit(2, 20), GW_OK);
    ck_assert_uint_eq(mail.sent_count, 0);
    ck_assert(gw__client_has(&client, 1) && gw__client_has(&client, 2));
    ck_assert(answer(20, 1, &tag));
    ck_assert_uint_eq(tag, 1);
    expect_request(20, 2, 20);
    ck_assert(!gw__client_has(&client, 1));
    ck_assert(answer(20, 2, &tag));
    ck_assert_uint_eq(tag, 2);
    ck_assert_uint_eq(gw__client_due(&client), 0);
    ck_assert_uint_eq(mail.sent_count, 0);
}
END_TEST

START_TEST(a_waiting_tag_is_replaced_but_not_the_current_one)
{
    unsigned tag;
    submit(1, 10);
    submit(2, 20);
    submit(1, 11);
    submit(2, 21);
    ck_assert_uint_eq(client.count, 3);
    mail_clear(&mail);
    answer(20, 1, &tag);
    expect_request(20, 2, 21);
    answer(20, 2, &tag);
    expect_request(20, 3, 11);
}
END_TEST

START_TEST(the_queue_has_an_end)
{
    for (unsigned i = 0; i < GW__CLIENT_QUEUE; i++)
        ck_assert_int_eq(submit(i, i), GW_OK);
    ck_assert_int_eq(submit(99, 0), GW_ENOMEM);
    ck_assert_int_eq(submit(7, 0), GW_OK);
}
END_TEST

START_TEST(after_a_silence_the_next_controller_is_queried)
{
    submit(1, 10);
    expect_request(20, 1, 10);
    ck_assert_uint_eq(gw__client_due(&client), now_ns + GW__CLIENT_REPEAT_NS);
    tick_after(GW__CLIENT_REPEAT_NS - 1);
    ck_assert_uint_eq(mail.sent_count, 0);
    tick_after(1);
    expect_request(21, 1, 10);
    tick_after(GW__CLIENT_REPEAT_NS);
    expect_request(22, 1, 10);
    tick_after(GW__CLIENT_REPEAT_NS);
    expect_request(20, 1, 10);
    ck_assert_uint_eq(gw__client_waiting(&client, now_ns),
                      3 * GW__CLIENT_REPEAT_NS);
}
END_TEST

START_TEST(a_redirect_is_followed_once_between_repeats)
{
    unsigned tag;
    submit(1, 10);
    expect_request(20, 1, 10);
    redirect(20, 22);
    expect_request(22, 1, 10);
    redirect(22, 20); /* they take each other for the leader */
    ck_assert_uint_eq(mail.sent_count, 0);
    tick_after(GW__CLIENT_REPEAT_NS);
    expect_request(21, 1, 10);
    redirect(20, 22); /* which it no longer asks */
    redirect(21, GW__NODES_MAX);
    redirect(21, 40); /* no controller */
    redirect(21, 21);
    ck_assert_uint_eq(mail.sent_count, 0);
    redirect(21, 22);
    expect_request(22, 1, 10);
    ck_assert(answer(22, 1, &tag));
    submit(2, 20);
    expect_request(22, 2, 20); /* the last known leader */
}
END_TEST

/* 20 is dead and 21 does not know it yet: 22 is asked, too. */
START_TEST(all_are_queried_whatever_one_replies)
{
    submit(1, 10);
    expect_request(20, 1, 10);
    tick_after(GW__CLIENT_REPEAT_NS);
    expect_request(21, 1, 10);
    redirect(21, 20);
    expect_request(20, 1, 10);
    tick_after(GW__CLIENT_REPEAT_NS);
    expect_request(22, 1, 10);
}
END_TEST

START_TEST(what_is_no_answer_to_it_ends_nothing)
{
    unsigned tag;
    uint8_t rubbish[40] = {GW__PROTOCOL_ANSWER};
    struct gw__answer out;
    ck_assert(!answer(20, 0, &tag)); /* no request was sent */
    submit(1, 10);
    submit(2, 20);
    ck_assert(!answer(20, 2, &tag));
    ck_assert(!answer(23, 1, &tag));
    ck_assert(!receive_reply(20,
                             (struct gw__reply){.protocol = GW__PROTOCOL_ANSWER,
                                                .client = {8, 8},
                                                .sequence = 1},
                             &tag));
    ck_assert(!gw__client_message(&client, 20, rubbish, sizeof rubbish, now_ns,
                                  &act, &tag, &out));
    ck_assert(answer(21, 1, &tag)); /* from any controller */
    ck_assert(!answer(20, 1, &tag));
    ck_assert(gw__client_has(&client, 2));
}
END_TEST

START_TEST(a_single_controller_is_queried_repeatedly)
{
    const struct gw__client_config config = {
        .id = me, .controller_count = 1, .controllers = {20}};
    gw__client_init(&client, &config);
    submit(1, 10);
    expect_request(20, 1, 10);
    tick_after(GW__CLIENT_REPEAT_NS);
    expect_request(20, 1, 10);
}
END_TEST

Suite *suite_client(void)
{
    Suite *suite = suite_create("client");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, one_is_in_progress_and_the_others_wait);
    tcase_add_test(t, a_waiting_tag_is_replaced_but_not_the_current_one);
    tcase_add_test(t, the_queue_has_an_end);
    tcase_add_test(t, after_a_silence_the_next_controller_is_queried);
    tcase_add_test(t, a_redirect_is_followed_once_between_repeats);
    tcase_add_test(t, all_are_queried_whatever_one_replies);
    tcase_add_test(t, what_is_no_answer_to_it_ends_nothing);
    tcase_add_test(t, a_single_controller_is_queried_repeatedly);
    suite_add_tcase(suite, t);
    return suite;
}
