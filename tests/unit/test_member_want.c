/* SPDX-License-Identifier: MIT
 *
 * The requests of a member to others, as message diagrams: admission of
 * joiners, removal of dead members, an answer.
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
    struct gw__member_request drain = {.kind = GW__REQUEST_COMMAND,
                                       .own.command.kind = GW__CMD_DRAIN};
    struct gw__command c, first;
    hand_in_ring();
    for (unsigned i = 0; i < MANY; i++) {
        drain.own.tag = 100 + i;
        hand_submit(&drain);
    }
    ck_assert_int_eq(hand_notification(GW__NOTIFY_ANSWER)->answer.code,
                     GW_ENOMEM);
    ck_assert_uint_eq(hand_notification(GW__NOTIFY_ANSWER)->tag, 108);
    ck_assert(hand_request(GW__CMD_DRAIN, &first));
    hand_flush_begins(2);
    hand_give_report(2);
    hand_clear();
    hand_answer(&first, GW_OK, "drains");
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
    tcase_add_test(t, who_waits_for_a_leader_in_vain_is_parked);
    tcase_add_test(t, none_is_parked_that_waits_for_nothing);
    tcase_add_test(t, too_many_commands_are_refused_and_a_report_still_goes);
    tcase_add_test(t, who_was_forgotten_rejoins_under_another_id);
    tcase_add_test(t, nonsense_does_nothing);
    suite_add_tcase(suite, t);
    return suite;
}
