/* SPDX-License-Identifier: MIT
 *
 * The requests of a member to others, as message diagrams: admission of
 * joiners, removal of dead members, addresses, an answer.
 */
#include "member_hand.h"

#include <string.h>

Suite *suite_member_want(void);

/* ---- joining ---- */

static void receive_ready(unsigned joiner)
{
    uint8_t out[32];
    struct gw__writer w = gw__writer_on(out, sizeof out);
    gw__put_u8(&w, GW__PROTOCOL_READY);
    gw__put_id(&w, hand_id_of(joiner));
    gw__put_u64(&w, 8);
    hand_input(GW__MESSAGE, joiner, out, w.used);
}

static const struct gw__order wanted = {.count = 1, .nodes = {RIGHT}};

/* By an application that knows the ring of this epoch. */
static void request_admit_in(uint64_t from_op, uint64_t ring_epoch)
{
    hand_submit(&(const struct gw__member_request){
        .kind = GW__REQUEST_ADMIT,
        .admit = {
            .from_op = from_op, .ring_epoch = ring_epoch, .order = wanted}});
}

static void request_admit(uint64_t from_op)
{
    request_admit_in(from_op, 1);
}

static void with_joiners(void)
{
    hand_in_ring();
    hand.update.joiner_count = 2;
    hand.update.joiners[0] = (struct gw__process){7, hand_id_of(7)};
    hand.update.joiners[1] = (struct gw__process){8, hand_id_of(8)};
    hand_send_update();
    receive_ready(7);
}

START_TEST(who_is_ready_is_admitted_in_this_ring_only)
{
    struct gw__command c;
    with_joiners();
    ck_assert_uint_eq(hand_notification(GW__NOTIFY_READY)->count, 1);
    request_admit(9);
    ck_assert(hand_request(GW__CMD_ADMIT, &c));
    ck_assert_uint_eq(c.admit.from_op, 9);
    ck_assert_uint_eq(c.admit.ring_epoch, 1);
    ck_assert_uint_eq(c.admit.count, 1);
    ck_assert_uint_eq(c.admit.joiners[0].node, 7);
    ck_assert_uint_eq(c.admit.order.count, 1);
    ck_assert_uint_eq(c.admit.order.nodes[0], RIGHT);
    hand_answer(&c, GW_OK, "1 admitted");
    ck_assert_ptr_null(hand_notification(GW__NOTIFY_REFUSED));
    hand_clear();
    hand_ring_is(2, 4, (const unsigned[]){SELF, LEFT, RIGHT, 7});
    hand.update.joiner_count = 0;
    hand_send_update();
    ck_assert_uint_eq(hand_notification(GW__NOTIFY_VIEW)->epoch, 2);
    ck_assert_uint_eq(hand_notification(GW__NOTIFY_READY)->count, 0);
}
END_TEST

START_TEST(a_refusal_is_reported_unless_the_ring_has_changed)
{
    struct gw__command c;
    with_joiners();
    request_admit(9);
    ck_assert(hand_request(GW__CMD_ADMIT, &c));
    hand_answer(&c, GW_PENDING,
                "a decision for epoch 1 is pending; try again later");
    ck_assert_str_eq(hand_notification(GW__NOTIFY_REFUSED)->text,
                     "a decision for epoch 1 is pending; try again later");
    request_admit(9);
    ck_assert(hand_request(GW__CMD_ADMIT, &c));
    hand_clear();
    hand_flush_begins(2);
    hand_answer(&c, GW_EINVAL, "the ring of epoch 1 is over");
    ck_assert_ptr_null(hand_notification(GW__NOTIFY_REFUSED));
}
END_TEST

/* The machine may know a new ring before its application does. */
START_TEST(an_admission_is_for_the_ring_in_which_it_was_decided)
{
    struct gw__command c;
    with_joiners();
    hand_ring_is(2, 4, (const unsigned[]){SELF, LEFT, RIGHT, 7});
    hand.update.joiner_count = 1;
    hand.update.joiners[0] = (struct gw__process){8, hand_id_of(8)};
    hand_send_update();
    receive_ready(8);
    request_admit_in(9, 1);
    ck_assert(hand_request(GW__CMD_ADMIT, &c));
    ck_assert_uint_eq(c.admit.ring_epoch, 1); /* to be refused */
}
END_TEST

START_TEST(a_joiner_that_falls_silent_is_not_ready)
{
    with_joiners();
    hand_clear();
    hand_pass(700);
    ck_assert_uint_eq(hand_notification(GW__NOTIFY_READY)->count, 0);
}
END_TEST

/* ---- accusing ---- */

START_TEST(an_observer_suspects_who_has_ended_once_in_the_view)
{
    struct gw__command c;
    hand_start(GW__OBSERVER);
    ck_assert(hand_request(GW__CMD_REGISTER, &c));
    hand_answer(&c, GW_OK, "active");
    hand_input(GW__DIED, RIGHT, NULL, 0);
    hand_clear();
    hand_pass(50);
    ck_assert(!hand_request(GW__CMD_SUSPECT, &c));
    hand_ring_is(1, 2, (const unsigned[]){LEFT, RIGHT});
    hand_send_update();
    ck_assert(hand_request(GW__CMD_SUSPECT, &c));
    ck_assert_uint_eq(c.suspect.suspected.node, RIGHT);
    ck_assert(c.suspect.certain);
    hand_answer(&c, GW_PENDING, "try again later");
    hand_clear();
    hand_pass(250);
    ck_assert(hand_request(GW__CMD_SUSPECT, &c)); /* until the view shows it */
    hand_answer(&c, GW_OK, "declared dead");
    hand_ring_is(2, 1, (const unsigned[]){LEFT});
    hand_send_update();
    hand_clear();
    hand_pass(500);
    ck_assert(!hand_request(GW__CMD_SUSPECT, &c));
}
END_TEST

START_TEST(a_report_goes_before_accusations)
{
    struct gw__command c;
    const struct gw__member_request lost = {.kind = GW__REQUEST_LOST,
                                            .who = {LEFT, hand_id_of(LEFT)}};
    hand_in_ring();
    hand_flush_begins(2);
    request_admit(9); /* forbidden now, but it keeps the client busy */
    ck_assert(hand_request(GW__CMD_ADMIT, &c));
    hand_submit(&lost);
    hand_give_report(2);
    hand_clear();
    hand_answer(&c, GW_PENDING, "later");
    ck_assert(hand_request(GW__CMD_REPORT, &c));
    ck_assert(!hand_request(GW__CMD_SUSPECT, &c));
    ck_assert(hand_request(GW__CMD_REPORT, &c));
    hand_answer(&c, GW_OK, "reported");
    ck_assert(hand_request(GW__CMD_SUSPECT, &c));
}
END_TEST

/* ---- a connection that ends ---- */

static void lose_connection(unsigned node)
{
    const struct gw__member_request reset = {.kind = GW__REQUEST_RESET,
                                             .who = {node, hand_id_of(node)}};
    hand_clear();
    hand_submit(&reset);
}

static void see_awake(unsigned node)
{
    const struct gw__sight awake = {.state = GW__SIGHT_AWAKE};
    ck_assert_uint_eq(hand.inspected, 1U << node);
    hand_input(GW__OBSERVED, node, &awake, sizeof awake);
}

/* It is alive, and went on to the next ring before the update arrived here. */
START_TEST(who_is_seen_alive_survives_a_lost_connection)
{
    struct gw__command c;
    hand.inspects = true;
    hand_in_ring();
    lose_connection(LEFT);
    see_awake(LEFT);
    hand_pass(900);
    ck_assert(!hand_request(GW__CMD_SUSPECT, &c));
    hand_ring_is(2, 2, (const unsigned[]){SELF, LEFT});
    hand_send_update();
    hand_clear();
    hand_pass(3000);
    ck_assert(!hand_request(GW__CMD_SUSPECT, &c));
}
END_TEST

START_TEST(who_has_ended_is_suspected_at_once)
{
    struct gw__command c;
    hand.inspects = true;
    hand_in_ring();
    lose_connection(LEFT);
    ck_assert(!hand_request(GW__CMD_SUSPECT, &c));
    hand_input(GW__DIED, LEFT, NULL, 0);
    ck_assert(hand_request(GW__CMD_SUSPECT, &c));
    ck_assert(c.suspect.certain);
    ck_assert_uint_eq(c.suspect.suspected.node, LEFT);
    const struct gw__notification *n = hand_notification(GW__NOTIFY_SUSPECT);
    ck_assert(n && n->certain);
    ck_assert_uint_eq(n->node, LEFT);
    hand_clear();
    hand_input(GW__DIED, LEFT, NULL, 0);
    ck_assert(!hand_notification(GW__NOTIFY_SUSPECT)); /* once */
}
END_TEST

/* Otherwise the ring would hang forever. */
START_TEST(a_connection_lost_without_an_update_is_an_end)
{
    struct gw__command c;
    hand.inspects = true;
    hand_in_ring();
    lose_connection(LEFT);
    see_awake(LEFT);
    hand_pass(1100);
    ck_assert(hand_request(GW__CMD_SUSPECT, &c));
    ck_assert(c.suspect.certain);
}
END_TEST

/* On another host only its beats show whether it is alive. */
START_TEST(who_cannot_be_seen_is_suspected_without_heartbeats)
{
    struct gw__command c;
    hand_in_ring();
    lose_connection(LEFT);
    hand_pass_watching(100);
    ck_assert(!hand_request(GW__CMD_SUSPECT, &c));
    hand_pass_watching(300);
    ck_assert(hand_request(GW__CMD_SUSPECT, &c));
    ck_assert(c.suspect.certain);
}
END_TEST

/* ---- meeting ---- */

/* The address of a node is its number. */
static void put_address(struct gw__writer *w, unsigned node)
{
    gw__put_node(w, node);
    gw__put_u16(w, 1);
    gw__put_u8(w, node);
}

/* From `from`, the addresses of the nodes `first` to `last`. */
static void receive_addresses(unsigned from, uint64_t epoch, bool asks,
                              unsigned first, unsigned last)
{
    uint8_t out[512];
    struct gw__writer w = gw__writer_on(out, sizeof out);
    gw__put_u8(&w, GW__PROTOCOL_ADDRESS);
    gw__put_u64(&w, epoch);
    gw__put_u8(&w, asks);
    for (unsigned node = first; node <= last; node++)
        put_address(&w, node);
    hand_input(GW__MESSAGE, from, out, w.used);
}

static void receive_address(unsigned from, uint64_t epoch, bool asks)
{
    receive_addresses(from, epoch, asks, from, from);
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

/* The number of addresses in the only MEET to `to`, and whether it asks; -1:
 * there is none. */
static int addresses_to(unsigned to, bool *asks)
{
    int count = -1;
    for (unsigned i = 0; i < hand.sent_count; i++) {
        struct gw__reader r =
            gw__reader_on(hand.sent[i].data, hand.sent[i].bytes);
        if (hand.sent[i].to != to || gw__get_u8(&r) != GW__PROTOCOL_ADDRESS)
            continue;
        ck_assert_int_eq(count, -1);
        (void)gw__get_u64(&r);
        *asks = gw__get_bool(&r);
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
    bool asks;
    hand_in_ring();
    receive_address(LEFT, 1, false); /* it is ahead: kept */
    submit_address(1);
    ck_assert_uint_eq(addresses_sent(), 2);
    ck_assert_ptr_null(hand_notification(GW__NOTIFY_ADDRESSES));
    hand_clear();
    hand_pass(40);
    ck_assert_int_eq(addresses_to(RIGHT, &asks), 1);
    ck_assert(asks);
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
    ck_assert_int_eq(addresses_to(LEFT, &asks), 1);
    ck_assert(!asks);
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
    bool asks;
    hand_in_large_ring();
    submit_address(2);
    ck_assert_uint_eq(addresses_sent(), 15);
    for (unsigned i = 1; i <= 15; i++)
        ck_assert_int_eq(addresses_to(LARGE_FIRST + i, &asks), 1);
    hand_clear();
    for (unsigned d = 1; d <= 14; d++)
        receive_address(large_before(d), 2, false);
    ck_assert_uint_eq(addresses_sent(), 0);
    receive_address(large_before(15), 2, false);
    /* Its block is whole. The member 32 ranks after it lacks 8. */
    ck_assert_uint_eq(addresses_sent(), 2);
    ck_assert_int_eq(addresses_to(LARGE_FIRST + 16, &asks), 16);
    ck_assert_int_eq(addresses_to(LARGE_FIRST + 32, &asks), 8);
    receive_addresses(large_before(16), 2, false, large_before(31),
                      large_before(16));
    ck_assert_ptr_null(hand_notification(GW__NOTIFY_ADDRESSES));
    receive_addresses(large_before(32), 2, false, large_before(39),
                      large_before(32));
    ck_assert_ptr_nonnull(hand_notification(GW__NOTIFY_ADDRESSES));
    ck_assert_uint_eq(addresses_sent(), 2);
}
END_TEST

START_TEST(lost_addresses_are_asked_for_where_they_come_from)
{
    bool asks;
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
        ck_assert_int_eq(addresses_to(large_before(d), &asks), 1);
    ck_assert_int_eq(addresses_to(large_before(16), &asks), 1);
    ck_assert_int_eq(addresses_to(large_before(32), &asks), 1);
    ck_assert(asks);
    hand_clear();
    /* It answers with what it has of its block. */
    receive_address(LARGE_FIRST + 32, 2, true);
    ck_assert_int_eq(addresses_to(LARGE_FIRST + 32, &asks), 4);
    ck_assert(!asks);
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

/* ---- trouble ---- */

START_TEST(who_waits_for_a_leader_in_vain_is_parked)
{
    hand_in_ring();
    hand_flush_begins(2);
    hand_pass(450);
    ck_assert_ptr_null(hand_notification(GW__NOTIFY_PARKED));
    hand_pass(250);
    ck_assert_str_eq(hand_notification(GW__NOTIFY_PARKED)->text,
                     "no message from the leading controller for 500 ms; node "
                     "4 waits for a decision");
    ck_assert(gw__member_parked(hand.state));
    hand.update.leader = true;
    hand_send_update_at(hand.update.index); /* not new, but from a leader */
    ck_assert_ptr_nonnull(hand_notification(GW__NOTIFY_UNPARKED));
    ck_assert(!gw__member_parked(hand.state));
}
END_TEST

START_TEST(none_is_parked_that_waits_for_nothing)
{
    hand_in_ring();
    hand_pass(5000);
    ck_assert_ptr_null(hand_notification(GW__NOTIFY_PARKED));
}
END_TEST

START_TEST(too_many_commands_are_refused_and_a_report_still_goes)
{
    enum { MANY = 12 };
    struct gw__member_request heal = {.kind = GW__REQUEST_COMMAND,
                                      .own.command.kind = GW__CMD_HEAL};
    struct gw__command c, first;
    hand_in_ring();
    for (unsigned i = 0; i < MANY; i++) {
        heal.own.tag = 100 + i;
        hand_submit(&heal);
    }
    ck_assert_int_eq(hand_notification(GW__NOTIFY_ANSWER)->answer.code,
                     GW_ENOMEM);
    ck_assert_uint_eq(hand_notification(GW__NOTIFY_ANSWER)->tag, 108);
    ck_assert(hand_request(GW__CMD_HEAL, &first));
    hand_flush_begins(2);
    hand_give_report(2);
    hand_clear();
    hand_answer(&first, GW_OK, "healed");
    ck_assert_uint_eq(hand_notification(GW__NOTIFY_ANSWER)->tag, 100);
    ck_assert(hand_request(GW__CMD_REPORT, &c));
}
END_TEST

START_TEST(who_was_forgotten_rejoins_under_another_id)
{
    struct gw__command first, second;
    hand_in_ring();
    hand_flush_begins(2);
    hand_give_report(2);
    ck_assert(hand_request(GW__CMD_REPORT, &first));
    hand_clear();
    hand_answer(&first, GW_ECLOSED, "this client is unknown");
    ck_assert(hand_request(GW__CMD_REPORT, &second));
    ck_assert_uint_eq(second.sequence, 1);
    ck_assert(!gw__id_equal(first.client, second.client));
}
END_TEST

/* Invalid messages, from any sender. */
START_TEST(nonsense_does_nothing)
{
    uint8_t noise[64];
    struct gw_rng rng;
    hand_in_ring();
    gw_rng_seed(&rng, 11);
    for (unsigned round = 0; round < 20000; round++) {
        size_t bytes = gw_rng_below(&rng, sizeof noise);
        for (size_t i = 0; i < bytes; i++)
            noise[i] =
                (uint8_t)gw_rng_below(&rng, i ? 256 : GW__PROTOCOL_KINDS);
        bool question = gw_rng_below(&rng, 8) == 0;
        if (question && bytes && noise[0] == 5) /* it may really leave */
            noise[0] = 0;
        hand_input(question ? GW__REQUESTED : GW__MESSAGE,
                   (uint32_t)gw_rng_below(&rng, 8), noise, bytes);
        ck_assert_ptr_null(hand_notification(GW__NOTIFY_GONE));
        ck_assert_ptr_null(hand_notification(GW__NOTIFY_FREEZE));
        hand_clear();
    }
}
END_TEST

Suite *suite_member_want(void)
{
    Suite *suite = suite_create("member_want");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, hand_setup, hand_teardown);
    tcase_add_test(t, who_is_ready_is_admitted_in_this_ring_only);
    tcase_add_test(t, a_refusal_is_reported_unless_the_ring_has_changed);
    tcase_add_test(t, an_admission_is_for_the_ring_in_which_it_was_decided);
    tcase_add_test(t, a_joiner_that_falls_silent_is_not_ready);
    tcase_add_test(t, an_observer_suspects_who_has_ended_once_in_the_view);
    tcase_add_test(t, who_is_seen_alive_survives_a_lost_connection);
    tcase_add_test(t, who_has_ended_is_suspected_at_once);
    tcase_add_test(t, a_connection_lost_without_an_update_is_an_end);
    tcase_add_test(t, who_cannot_be_seen_is_suspected_without_heartbeats);
    tcase_add_test(t, a_report_goes_before_accusations);
    tcase_add_test(t, members_exchange_addresses_until_all_are_known);
    tcase_add_test(t, another_view_restarts_the_rendezvous);
    tcase_add_test(t, large_rings_pass_addresses_on);
    tcase_add_test(t, lost_addresses_are_asked_for_where_they_come_from);
    tcase_add_test(t, a_malformed_address_is_ignored);
    tcase_add_test(t, who_waits_for_a_leader_in_vain_is_parked);
    tcase_add_test(t, none_is_parked_that_waits_for_nothing);
    tcase_add_test(t, too_many_commands_are_refused_and_a_report_still_goes);
    tcase_add_test(t, who_was_forgotten_rejoins_under_another_id);
    tcase_add_test(t, nonsense_does_nothing);
    suite_add_tcase(suite, t);
    return suite;
}
