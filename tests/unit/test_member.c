/* SPDX-License-Identifier: MIT
 *
 * The member machine, as message diagrams: how it registers, how it handles
 * updates, and how it passes a flush. Whole rings under faults are in
 * tests/sim.
 */
#include "member_hand.h"

#include <string.h>

Suite *suite_member(void);

/* ---- registering ---- */

START_TEST(it_registers_until_it_is_let_in)
{
    struct gw__command c;
    hand_start(GW__WORKER);
    ck_assert(hand_request(GW__CMD_REGISTER, &c));
    ck_assert_uint_eq(c.who.node, SELF);
    ck_assert(c.join.ring);
    hand_answer(&c, GW_EINVAL, "node 4 is active as another process");
    ck_assert_ptr_null(hand_notification(GW__NOTIFY_REGISTERED));
    hand_clear();
    hand_pass(150);
    ck_assert(hand_request(GW__CMD_REGISTER, &c));
    ck_assert_uint_eq(c.sequence, 2);
    hand_answer(&c, GW_OK, "joining");
    ck_assert_uint_eq(hand_notification(GW__NOTIFY_REGISTERED)->node, SELF);
}
END_TEST

/* The registry may still report the previous process with this number. */
START_TEST(updates_about_an_earlier_process_are_ignored)
{
    hand_start(GW__WORKER);
    hand.update.incarnation = hand_id_of(40);
    hand.update.state = GW__CONFIRMED_DEAD;
    hand_send_update();
    ck_assert_ptr_null(hand_notification(GW__NOTIFY_GONE));
    hand.update.incarnation = hand_id_of(SELF);
    hand.update.state = GW__JOINING;
    hand_send_update(); /* as good as the answer */
    ck_assert_ptr_nonnull(hand_notification(GW__NOTIFY_REGISTERED));
}
END_TEST

START_TEST(who_is_declared_dead_is_gone_and_silent)
{
    hand_in_ring();
    hand.update.state = GW__CONFIRMED_DEAD;
    hand_ring_is(2, 2, (const unsigned[]){LEFT, RIGHT});
    hand_send_update();
    ck_assert_str_eq(
        hand_notification(GW__NOTIFY_GONE)->text,
        "declared dead: the other members continued without this one");
    hand_clear();
    hand_pass(1000);
    hand_send_update();
    ck_assert_uint_eq(hand.sent_count, 0);
    ck_assert_uint_eq(hand.notification_count, 0);
}
END_TEST

START_TEST(who_is_replaced_is_gone)
{
    hand_in_ring();
    hand.update.incarnation = hand_id_of(77);
    hand_send_update();
    ck_assert_str_eq(hand_notification(GW__NOTIFY_GONE)->text,
                     "this node number now belongs to another process");
}
END_TEST

/* A request by the previous, now dead process with this number arrived
 * later. */
START_TEST(who_was_replaced_before_it_was_seen_finds_out)
{
    struct gw__command c;
    hand_start(GW__WORKER);
    ck_assert(hand_request(GW__CMD_REGISTER, &c));
    hand_answer(&c, GW_OK, "joining");
    hand_pass(10);
    hand.update.incarnation = hand_id_of(40);
    hand.update.state = GW__JOINING;
    hand_send_update();
    hand_pass(1900); /* the update may be an old one */
    ck_assert_ptr_null(hand_notification(GW__NOTIFY_GONE));
    hand_pass(1000);
    ck_assert_str_eq(hand_notification(GW__NOTIFY_GONE)->text,
                     "this node number now belongs to another process");
}
END_TEST

/* A member whose random number equals its assigned number receives updates
 * about itself, perhaps before the answer, which may be lost. It does not know
 * its number yet. */
START_TEST(the_answer_alone_has_the_number)
{
    struct gw__command c;
    hand.drawn = true;
    hand_start(GW__WORKER);
    ck_assert(hand_request(GW__CMD_REGISTER, &c));
    hand_send_update();
    ck_assert_ptr_null(hand_notification(GW__NOTIFY_REGISTERED));
    hand_answer(&c, GW_OK, "joining");
    ck_assert_ptr_nonnull(hand_notification(GW__NOTIFY_REGISTERED));
    ck_assert_uint_eq(hand_notification(GW__NOTIFY_REGISTERED)->node, SELF);
}
END_TEST

START_TEST(an_old_update_is_no_reason_to_leave)
{
    struct gw__command c;
    hand_start(GW__WORKER);
    hand.update.incarnation = hand_id_of(40);
    hand.update.state = GW__CONFIRMED_DEAD;
    hand_send_update();
    hand_pass(10);
    ck_assert(hand_request(GW__CMD_REGISTER, &c));
    hand_answer(&c, GW_OK, "joining");
    hand_pass(5000);
    ck_assert_ptr_null(hand_notification(GW__NOTIFY_GONE));
}
END_TEST

/* ---- flushes ---- */

START_TEST(freeze_report_and_decided_with_all_reports)
{
    struct gw__command c;
    hand_in_ring();
    hand_flush_begins(2);
    ck_assert_uint_eq(hand_notification(GW__NOTIFY_FREEZE)->epoch, 2);
    hand_give_report(2);
    ck_assert(hand_request(GW__CMD_REPORT, &c));
    ck_assert_uint_eq(c.flush.epoch, 2);
    ck_assert_uint_eq(c.flush.report.low_watermark, 7);
    hand_answer(&c, GW_OK, "reported");
    hand_is_decided();
    hand_reported(2, SELF);
    hand_reported(2, RIGHT); /* of no survivor */
    ck_assert_ptr_null(hand_notification(GW__NOTIFY_DECIDED));
    hand_reported(2, LEFT);
    ck_assert_uint_eq(hand_notification(GW__NOTIFY_DECIDED)->epoch, 2);
    ck_assert_uint_eq(gw__member_report(hand.state, LEFT)->low_watermark, LEFT);
    ck_assert_uint_eq(gw__member_view(hand.state)->ring_count, 2);
}
END_TEST

START_TEST(missing_reports_are_requested_at_once)
{
    struct gw__hello hello;
    struct gw_error why;
    hand_in_ring();
    hand_flush_begins(2);
    hand_reported(2, SELF);
    hand_clear();
    hand_is_decided();
    const struct member_sent *last = &hand.sent[hand.sent_count - 1];
    ck_assert_int_eq(gw__hello_decode(last->data, last->bytes, &hello, &why),
                     GW_OK);
    ck_assert_uint_eq(hello.reports.words[0], 1U << SELF);
}
END_TEST

START_TEST(another_removal_in_the_same_flush_needs_no_other_report)
{
    struct gw__command c;
    hand_in_ring();
    hand_flush_begins(2);
    hand_give_report(2);
    ck_assert(hand_request(GW__CMD_REPORT, &c));
    hand_clear();
    hand_ring_is(3, 1, (const unsigned[]){SELF});
    hand_send_update(); /* flush_epoch is still 2 */
    ck_assert_ptr_null(hand_notification(GW__NOTIFY_FREEZE));
    hand_answer(&c, GW_OK, "reported");
    hand_clear();
    hand_pass(60);
    ck_assert(!hand_request(GW__CMD_REPORT, &c));
}
END_TEST

/* Its report for the first freeze may arrive too late for the second. */
START_TEST(another_flush_is_another_freeze)
{
    struct gw__command first, second;
    hand_in_ring();
    hand_flush_begins(2);
    hand_give_report(2);
    ck_assert(hand_request(GW__CMD_REPORT, &first));
    hand_reported(2, LEFT);
    hand_flush_begins(3);
    ck_assert_uint_eq(hand.notification[hand.notification_count - 1].epoch, 3);
    ck_assert_ptr_null(gw__member_report(hand.state, LEFT));
    hand_give_report(2); /* for the wrong one */
    hand_give_report(3);
    hand_clear();
    hand_answer(&first, GW_OK, "epoch 2 is decided");
    ck_assert(hand_request(GW__CMD_REPORT, &second));
    ck_assert_uint_eq(second.flush.epoch, 3);
    hand_reported(2, LEFT); /* late */
    ck_assert_ptr_null(gw__member_report(hand.state, LEFT));
}
END_TEST

START_TEST(old_updates_are_ignored)
{
    hand_in_ring();
    hand_flush_begins(2);
    hand_is_decided();
    hand_reported(2, SELF);
    hand_reported(2, LEFT);
    ck_assert_ptr_nonnull(hand_notification(GW__NOTIFY_DECIDED));
    hand_clear();
    struct gw__membership_update newest = hand.update;
    hand.update.flushing = true;
    hand_send_update_at(newest.index - 1);
    hand_send_update_at(newest.index);
    ck_assert_uint_eq(hand.notification_count, 0);
}
END_TEST

START_TEST(a_flush_may_be_the_first_message_to_a_joiner)
{
    struct gw__command c;
    hand_start(GW__WORKER);
    ck_assert(hand_request(GW__CMD_REGISTER, &c));
    hand_answer(&c, GW_OK, "joining");
    hand_flush_begins(2);
    ck_assert_ptr_null(hand_notification(GW__NOTIFY_VIEW));
    ck_assert_ptr_nonnull(hand_notification(GW__NOTIFY_FREEZE));
    hand_is_decided();
    hand_reported(2, SELF);
    hand_reported(2, LEFT);
    ck_assert_ptr_nonnull(hand_notification(GW__NOTIFY_DECIDED));
}
END_TEST

START_TEST(a_joiner_has_nothing_to_report_of_a_ring_it_is_not_in)
{
    struct gw__command c;
    hand_start(GW__WORKER);
    ck_assert(hand_request(GW__CMD_REGISTER, &c));
    hand_answer(&c, GW_OK, "joining");
    hand_ring_is(2, 2, (const unsigned[]){LEFT, RIGHT});
    hand.update.state = GW__JOINING;
    hand.update.flushing = true;
    hand.update.flush_epoch = 2;
    hand_clear();
    hand_send_update();
    ck_assert_uint_eq(hand.notification_count, 0);
}
END_TEST

Suite *suite_member(void)
{
    Suite *suite = suite_create("member");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, hand_setup, hand_teardown);
    tcase_add_test(t, it_registers_until_it_is_let_in);
    tcase_add_test(t, updates_about_an_earlier_process_are_ignored);
    tcase_add_test(t, who_is_declared_dead_is_gone_and_silent);
    tcase_add_test(t, who_is_replaced_is_gone);
    tcase_add_test(t, who_was_replaced_before_it_was_seen_finds_out);
    tcase_add_test(t, the_answer_alone_has_the_number);
    tcase_add_test(t, an_old_update_is_no_reason_to_leave);
    tcase_add_test(t, freeze_report_and_decided_with_all_reports);
    tcase_add_test(t, missing_reports_are_requested_at_once);
    tcase_add_test(t, another_removal_in_the_same_flush_needs_no_other_report);
    tcase_add_test(t, another_flush_is_another_freeze);
    tcase_add_test(t, old_updates_are_ignored);
    tcase_add_test(t, a_flush_may_be_the_first_message_to_a_joiner);
    tcase_add_test(t, a_joiner_has_nothing_to_report_of_a_ring_it_is_not_in);
    suite_add_tcase(suite, t);
    return suite;
}
