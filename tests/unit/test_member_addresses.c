/* SPDX-License-Identifier: MIT
 *
 * The exchange of addresses of the data wire, as message diagrams.
 */
#include "member_hand.h"

#include <string.h>

Suite *suite_member_addresses(void);

/* The address of a node is its number. */
static void put_address(struct gw__writer *w, unsigned node)
{
    gw__put_node(w, node);
    gw__put_u16(w, 1);
    gw__put_u8(w, node);
}

/* From `from`, the addresses of the nodes `first` to `last`. */
static void receive_addresses(unsigned from, uint64_t epoch, bool is_request,
                              unsigned first, unsigned last)
{
    uint8_t out[512];
    struct gw__writer w = gw__writer_on(out, sizeof out);
    gw__put_u8(&w, GW__PROTOCOL_ADDRESS);
    gw__put_u64(&w, epoch);
    gw__put_u8(&w, is_request);
    for (unsigned node = first; node <= last; node++)
        put_address(&w, node);
    hand_input(GW__MESSAGE, from, out, w.used);
}

static void receive_address(unsigned from, uint64_t epoch, bool is_request)
{
    receive_addresses(from, epoch, is_request, from, from);
}

static void submit_address(uint64_t epoch)
{
    hand_submit(&(const struct gw__member_request){
        .kind = GW__REQUEST_ADDRESS,
        .address = {.ring_epoch = epoch, .bytes = 2, .blob = "me"}});
}

static unsigned addresses_sent(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < hand.sent_count; i++)
        count += hand.sent[i].data[0] == GW__PROTOCOL_ADDRESS;
    return count;
}

/* The number of addresses in the only MEET to `to`, and whether it is_request; -1:
 * there is none. */
static int addresses_to(unsigned to, bool *is_request)
{
    int count = -1;
    for (unsigned i = 0; i < hand.sent_count; i++) {
        struct gw__reader r =
            gw__reader_on(hand.sent[i].data, hand.sent[i].bytes);
        if (hand.sent[i].to != to || gw__get_u8(&r) != GW__PROTOCOL_ADDRESS)
            continue;
        ck_assert_int_eq(count, -1);
        (void)gw__get_u64(&r);
        *is_request = gw__get_bool(&r);
        for (count = 0; r.left > 0 && !r.bad; count++) {
            uint8_t address[8];
            (void)gw__get_node(&r);
            gw__get_bytes(&r, address, gw__get_u16_below(&r, sizeof address));
        }
        ck_assert(!r.bad);
    }
    return count;
}

START_TEST(members_exchange_addresses_until_all_are_known)
{
    size_t bytes;
    bool is_request;
    hand_in_ring();
    receive_address(LEFT, 1, false); /* it is ahead: kept */
    submit_address(1);
    ck_assert_uint_eq(addresses_sent(), 2);
    ck_assert_ptr_null(hand_notification(GW__NOTIFY_ADDRESSES));
    hand_clear();
    hand_pass(40);
    ck_assert_int_eq(addresses_to(RIGHT, &is_request), 1);
    ck_assert(is_request);
    ck_assert_uint_eq(addresses_sent(), 1);
    receive_address(RIGHT, 1, false);
    ck_assert_uint_eq(hand_notification(GW__NOTIFY_ADDRESSES)->epoch, 1);
    const uint8_t *blob = gw__member_address(hand.state, 1, RIGHT, &bytes);
    ck_assert_uint_eq(bytes, 1);
    ck_assert_uint_eq(blob[0], RIGHT);
    hand_clear();
    hand_pass(200);
    ck_assert_uint_eq(addresses_sent(), 0);
    receive_address(LEFT, 1, true); /* it lacks ours */
    ck_assert_int_eq(addresses_to(LEFT, &is_request), 1);
    ck_assert(!is_request);
    ck_assert_uint_eq(addresses_sent(), 1);
    ck_assert_uint_eq(hand.notification_count, 0);
}
END_TEST

START_TEST(another_view_restarts_the_rendezvous)
{
    size_t bytes;
    hand_in_ring();
    submit_address(1);
    receive_address(LEFT, 1, false);
    hand_ring_is(2, 4, (const unsigned[]){SELF, LEFT, RIGHT, 7});
    hand_send_update();
    hand_clear();
    receive_address(RIGHT, 1, false);
    ck_assert_ptr_null(hand_notification(GW__NOTIFY_ADDRESSES));
    ck_assert_ptr_null(gw__member_address(hand.state, 1, LEFT, &bytes));
    submit_address(1); /* too late */
    ck_assert_uint_eq(addresses_sent(), 0);
    submit_address(2);
    ck_assert_uint_eq(addresses_sent(), 3);
    receive_address(7, 1, true); /* of a former view: no answer */
    ck_assert_uint_eq(addresses_sent(), 3);
}
END_TEST

/* The ring of 40 begins with SELF. So the node `distance` ranks before it is
 * the last one but distance - 1. */
enum { LARGE = 40, LARGE_FIRST = 10 };

static unsigned large_before(unsigned distance)
{
    return LARGE_FIRST + LARGE - distance;
}

static void hand_in_large_ring(void)
{
    unsigned nodes[LARGE] = {SELF};
    for (unsigned i = 1; i < LARGE; i++)
        nodes[i] = LARGE_FIRST + i;
    hand_in_ring();
    hand_ring_is(2, LARGE, nodes);
    hand_send_update();
    hand_clear();
}

START_TEST(large_rings_pass_addresses_on)
{
    bool is_request;
    hand_in_large_ring();
    submit_address(2);
    ck_assert_uint_eq(addresses_sent(), 15);
    for (unsigned i = 1; i <= 15; i++)
        ck_assert_int_eq(addresses_to(LARGE_FIRST + i, &is_request), 1);
    hand_clear();
    for (unsigned d = 1; d <= 14; d++)
        receive_address(large_before(d), 2, false);
    ck_assert_uint_eq(addresses_sent(), 0);
    receive_address(large_before(15), 2, false);
    /* Its block is whole. The member 32 ranks after it lacks 8. */
    ck_assert_uint_eq(addresses_sent(), 2);
    ck_assert_int_eq(addresses_to(LARGE_FIRST + 16, &is_request), 16);
    ck_assert_int_eq(addresses_to(LARGE_FIRST + 32, &is_request), 8);
    receive_addresses(large_before(16), 2, false, large_before(31),
                      large_before(16));
    ck_assert_ptr_null(hand_notification(GW__NOTIFY_ADDRESSES));
    receive_addresses(large_before(32), 2, false, large_before(39),
                      large_before(32));
    ck_assert_ptr_nonnull(hand_notification(GW__NOTIFY_ADDRESSES));
    ck_assert_uint_eq(addresses_sent(), 2);
}
END_TEST

START_TEST(lost_addresses_are_requested_from_their_sender)
{
    bool is_request;
    hand_in_large_ring();
    submit_address(2);
    hand_clear();
    receive_addresses(large_before(5), 2, false, large_before(15),
                      large_before(5));
    receive_addresses(large_before(16), 2, false, large_before(30),
                      large_before(16));
    hand_pass(40);
    /* The distances 1 to 4, 31, and 32 to 39 are missing. */
    ck_assert_uint_eq(addresses_sent(), 4 + 1 + 1);
    for (unsigned d = 1; d <= 4; d++)
        ck_assert_int_eq(addresses_to(large_before(d), &is_request), 1);
    ck_assert_int_eq(addresses_to(large_before(16), &is_request), 1);
    ck_assert_int_eq(addresses_to(large_before(32), &is_request), 1);
    ck_assert(is_request);
    hand_clear();
    /* It answers with the known part of its block. */
    receive_address(LARGE_FIRST + 32, 2, true);
    ck_assert_int_eq(addresses_to(LARGE_FIRST + 32, &is_request), 4);
    ck_assert(!is_request);
}
END_TEST

START_TEST(a_malformed_address_is_ignored)
{
    size_t bytes;
    uint8_t out[64];
    struct gw__writer w = gw__writer_on(out, sizeof out);
    hand_in_ring();
    submit_address(1);
    gw__put_u8(&w, GW__PROTOCOL_ADDRESS);
    gw__put_u64(&w, 1);
    gw__put_u8(&w, 0);
    put_address(&w, LEFT);
    for (size_t cut = 1; cut < w.used; cut++)
        hand_input(GW__MESSAGE, LEFT, out, cut);
    gw__put_node(&w, RIGHT);
    gw__put_u16(&w, 2);
    gw__put_u8(&w, 0);
    hand_input(GW__MESSAGE, LEFT, out, w.used);
    ck_assert_ptr_null(gw__member_address(hand.state, 1, LEFT, &bytes));
    ck_assert_ptr_null(gw__member_address(hand.state, 1, RIGHT, &bytes));
}
END_TEST

Suite *suite_member_addresses(void)
{
    Suite *suite = suite_create("member_addresses");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, hand_setup, hand_teardown);
    tcase_add_test(t, members_exchange_addresses_until_all_are_known);
    tcase_add_test(t, another_view_restarts_the_rendezvous);
    tcase_add_test(t, large_rings_pass_addresses_on);
    tcase_add_test(t, lost_addresses_are_requested_from_their_sender);
    tcase_add_test(t, a_malformed_address_is_ignored);
    suite_add_tcase(suite, t);
    return suite;
}
