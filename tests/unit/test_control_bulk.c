/* SPDX-License-Identifier: MIT
 *
 * A control channel in bulk mode: longer messages, and an immediate error if
 * the peer is away.
 */
#include "channel_set.h"

#include <wire/control_channel/control_channel_parts.h>

#include <string.h>

Suite *suite_control_bulk(void);

static struct gw__control_channel *open_bulk(unsigned node,
                                             const char *endpoint)
{
    struct gw__control_channel_config config = channel_config(node, endpoint);
    config.bulk = true;
    return channel_open(config);
}

/* Waits until connected; before that, sends are refused. */
static void send_when_connected(struct gw__control_channel *channel,
                                unsigned node, const void *data, size_t bytes)
{
    uint64_t until_ns = gw_now_ns() + 5000000000U;
    while (gw__control_channel_send(channel, node, data, bytes)) {
        ck_assert(gw_now_ns() < until_ns);
        gw__control_channel_wait(channel, -1, gw_now_ns() + 1000000);
    }
}

START_TEST(long_messages_arrive)
{
    static const char block[GW__CONTROL_CHANNEL_BULK_MAX + 1];
    struct gw__control_channel *from = open_bulk(0, channel_name("from"));
    struct gw__control_channel *to = open_bulk(1, channel_name("to"));
    ck_assert_int_eq(gw__control_channel_know(
                         from, 1, gw__control_channel_endpoint(to), NULL),
                     GW_OK);
    ck_assert_int_eq(gw__control_channel_send(from, 1, block, sizeof block),
                     GW_EINVAL);
    send_when_connected(from, 1, block, GW__CONTROL_CHANNEL_BULK_MAX);
    ck_assert_uint_eq(channel_await(to).bytes, GW__CONTROL_CHANNEL_BULK_MAX);
    gw__control_channel_close(&from);
    gw__control_channel_close(&to);
}
END_TEST

/* The successor receives no message that was sent to the dead process. */
START_TEST(an_absent_receiver_is_reported_and_nothing_kept)
{
    const char *place = channel_name("to");
    struct gw__control_channel *from = open_bulk(0, channel_name("from"));
    ck_assert_int_eq(gw__control_channel_know(from, 1, place, NULL), GW_OK);
    for (unsigned i = 0; i < 10; i++)
        ck_assert_int_eq(gw__control_channel_send(from, 1, "early", 5),
                         GW_EUNREACH);
    ck_assert_uint_eq(gw__control_channel_counts(from)->overflowed, 10);
    struct gw__control_channel *to = open_bulk(1, place);
    send_when_connected(from, 1, "first", 5);
    channel_expect(to, 0, "first");
    gw__control_channel_close(&to);
    uint64_t until_ns = gw_now_ns() + 5000000000U;
    while (gw__control_channel_send(from, 1, "lost", 4) == GW_OK)
        ck_assert(gw_now_ns() < until_ns);
    to = open_bulk(1, place);
    send_when_connected(from, 1, "second", 6);
    channel_expect(to, 0, "second");
    gw__control_channel_close(&from);
    gw__control_channel_close(&to);
}
END_TEST

START_TEST(a_slow_reader_is_reported)
{
    static const char block[GW__CONTROL_CHANNEL_BYTES_MAX];
    struct gw__control_channel *from = open_bulk(0, "tcp://127.0.0.1:*");
    struct gw__control_channel *to = open_bulk(1, "tcp://127.0.0.1:*");
    unsigned received = 0;
    ck_assert_int_eq(gw__control_channel_know(
                         from, 1, gw__control_channel_endpoint(to), NULL),
                     GW_OK);
    send_when_connected(from, 1, block, sizeof block);
    while (received < 10 * GW__CONTROL_CHANNEL_MARK &&
           gw__control_channel_send(from, 1, block, sizeof block) == GW_OK)
        received++;
    ck_assert_uint_lt(received, 10 * GW__CONTROL_CHANNEL_MARK);
    channel_await(to); /* and the others arrive in their order */
    gw__control_channel_close(&from);
    gw__control_channel_close(&to);
}
END_TEST

Suite *suite_control_bulk(void)
{
    Suite *suite = suite_create("control_bulk");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 30);
    tcase_add_test(t, long_messages_arrive);
    tcase_add_test(t, an_absent_receiver_is_reported_and_nothing_kept);
    tcase_add_test(t, a_slow_reader_is_reported);
    suite_add_tcase(suite, t);
    return suite;
}
