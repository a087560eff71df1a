/* SPDX-License-Identifier: MIT
 *
 * The registry from the view of members and operators: rules of joining, of
 * deaths, and link profiles. Every command goes to two replicas, which
 * must agree to the byte.
 */
#include "registry_pair.h"

Suite *suite_registry(void);

START_TEST(a_member_joins_is_admitted_and_leaves)
{
    ck_assert_int_eq(pair_join(2, 0, GW__WORKER), GW_OK);
    pair_expect_text("node 2 is joining as worker");
    ck_assert_uint_eq(pair.answer.node, 2);
    ck_assert_uint_eq(pair.answer.epoch, 0);
    ck_assert_int_eq(pair_join(2, 1, GW__WORKER), GW_OK);
    ck_assert_int_eq(pair_admit(2, 0, 0), GW_EINVAL);
    pair_expect_text("node 2 is now another process");
    ck_assert_int_eq(pair_leave(2), GW_EINVAL);
    ck_assert_int_eq(pair_join(2, 0, GW__WORKER), GW_OK);
    pair_suspect(pair_process(2, 0), pair_process(2, 0), false);
    pair_expect_text("node 2 is still joining");
    ck_assert_int_eq(pair_admit(2, 0, 0), GW_OK);
    pair_expect_text("1 admitted from op 0 on: epoch 1");
    ck_assert_int_eq(pair_admit(2, 0, 0), GW_EINVAL);
    pair_expect_text("node 2 is already active");
    ck_assert_int_eq(pair_leave(2), GW_EINVAL);
    pair_expect_text("cannot remove 2: it is the last member");
    ck_assert_int_eq(pair_leave(8), GW_EINVAL);
    pair_expect_text("node 8 does not exist");
    pair_join(5, 0, GW__WORKER);
    pair_admit(5, 0, 7);
    ck_assert_int_eq(pair_leave(2), GW_OK);
    pair_expect_text("node 2 has left: epoch 3");
    ck_assert_int_eq(pair_leave(2), GW_EINVAL);
    pair_expect_text("node 2 has already left");
    pair_ring_is(1, (unsigned[]){5});
    ck_assert_uint_eq(pair.first->view.ring[0].from_op, 7);
}
END_TEST

START_TEST(a_joiner_waits_no_longer)
{
    pair_ring_of(2);
    pair_join(3, 0, GW__WORKER);
    ck_assert_int_eq(pair_leave(3), GW_OK);
    pair_expect_text("node 3 has left before it was admitted");
    ck_assert_uint_eq(pair.first->view.epoch, 1); /* it was in no view */
    ck_assert_int_eq(pair_admit(3, 0, 1), GW_EINVAL);
    pair_expect_text("node 3 has left or is dead; it must register again");
    ck_assert_int_eq(pair_leave(3), GW_EINVAL);
    pair_expect_text("node 3 has already left");
    ck_assert_int_eq(pair_join(3, 1, GW__WORKER), GW_OK);
}
END_TEST

START_TEST(a_number_is_reassigned_only_to_another_process)
{
    pair_ring_of(3);
    ck_assert_int_eq(pair_join(1, 1, GW__WORKER), GW_EINVAL);
    pair_expect_text(
        "node 1 is active as another process, which must leave or be "
        "declared dead first");
    ck_assert_int_eq(pair_join(1, 0, GW__WORKER), GW_OK);
    pair_expect_text("node 1 is active");
    pair_suspect(pair_process(0, 0), pair_process(1, 0), true);
    pair_expect_text("node 1 is declared dead: epoch 2");
    ck_assert_int_eq(pair_join(1, 0, GW__WORKER), GW_EINVAL);
    pair_expect_text(
        "node 1 is declared dead; start it again as a new process");
    ck_assert_int_eq(pair_join(1, 1, GW__WORKER), GW_OK);
    ck_assert_int_eq(pair_join(GW__NODES_MAX, 0, GW__WORKER), GW_EINVAL);
    pair_expect_text("node numbers must be below 576");
    ck_assert_int_eq(pair_join(GW__NODES_MAX, 0, GW__SERVER), GW_EINVAL);
    pair_expect_text("node numbers must be below 576");
    pair_join(GW__NODE_ANY, 0, GW__WORKER);
    ck_assert_uint_eq(pair.answer.node, 3);
    ck_assert_int_eq(pair_apply((struct gw__command){.kind = GW__CMD_REGISTER,
                                                     .who = {.node = 9}}),
                     GW_EINVAL);
    pair_expect_text("the incarnation of node 9 is missing");
}
END_TEST

START_TEST(any_number_is_a_new_one_then_a_used_one)
{
    pair_ring_of(GW_RING_MEMBERS_MAX);
    for (unsigned node = GW_RING_MEMBERS_MAX; node < GW__NODES_MAX; node++)
        ck_assert_int_eq(pair_join(node, 0, GW__WORKER), GW_OK);
    ck_assert_int_eq(pair_admit(GW_RING_MEMBERS_MAX, 0, 0), GW_EINVAL);
    pair_expect_text("1 more members do not fit into a ring of 512: the limit "
                     "is 512, because the list of members is one message");
    ck_assert_int_eq(pair_join(GW__NODE_ANY, 1, GW__WORKER), GW_EINVAL);
    pair_expect_text("all 576 numbers are taken");
    pair_suspect(pair_process(0, 0), pair_process(17, 0), true);
    pair_join(GW__NODE_ANY, 1, GW__WORKER);
    ck_assert_uint_eq(pair.answer.node, 17);
}
END_TEST

START_TEST(a_repeated_request_for_any_number_keeps_it)
{
    pair_ring_of(2);
    ck_assert_int_eq(pair_join(GW__NODE_ANY, 0, GW__WORKER), GW_OK);
    ck_assert_uint_eq(pair.answer.node, 2);
    ck_assert_int_eq(pair_join(GW__NODE_ANY, 1, GW__WORKER), GW_OK);
    ck_assert_uint_eq(pair.answer.node, 3);
    for (unsigned life = 0; life < 2; life++) {
        ck_assert_int_eq(pair_join(GW__NODE_ANY, life, GW__WORKER), GW_OK);
        ck_assert_uint_eq(pair.answer.node, 2 + life);
        pair_expect_text(life ? "node 3 is joining as worker"
                              : "node 2 is joining as worker");
    }
    struct gw__command admit = {.kind = GW__CMD_ADMIT,
                                .admit = {.ring_epoch = 1, .count = 1}};
    admit.admit.joiners[0] = pair_process(GW__NODE_ANY, 0);
    admit.admit.joiners[0].node = 2;
    ck_assert_int_eq(pair_apply(admit), GW_OK);
    ck_assert_int_eq(pair_join(GW__NODE_ANY, 0, GW__WORKER), GW_OK);
    ck_assert_uint_eq(pair.answer.node, 2);
    pair_expect_text("node 2 is active");
    pair_suspect(pair_process(0, 0), admit.admit.joiners[0], true);
    ck_assert_int_eq(pair_join(GW__NODE_ANY, 0, GW__WORKER), GW_EINVAL);
    pair_expect_text(
        "node 2 is declared dead; start it again as a new process");
    ck_assert_int_eq(
        pair_apply((struct gw__command){.kind = GW__CMD_REGISTER,
                                        .who = {.node = GW__NODE_ANY}}),
        GW_EINVAL);
    pair_expect_text("the incarnation of node 4 is missing");
}
END_TEST

START_TEST(survivors_keep_their_order_and_joiners_come_last)
{
    pair_ring_of(5);
    pair_suspect(pair_process(0, 0), pair_process(1, 0), true);
    for (unsigned i = 0; i < 5; i++)
        if (i != 1)
            pair_report(i, 3, 0, 0, 0);
    ck_assert(!pair.first->flush.open);
    pair_join(1, 1, GW__WORKER);
    ck_assert_int_eq(pair_admit(1, 1, 2), GW_EINVAL);
    pair_expect_text("op 2 is already complete");
    ck_assert_int_eq(pair_admit(1, 1, 9), GW_OK);
    pair_ring_is(5, (unsigned[]){0, 2, 3, 4, 1});
    ck_assert_uint_eq(pair.first->view.ring_epoch, 3);
}
END_TEST

START_TEST(only_workers_and_servers_make_epochs_and_only_the_ring_flushes)
{
    pair_ring_of(3);
    pair_join(10, 0, GW__CONTROLLER);
    pair_expect_text("node 10 is active as controller");
    ck_assert_uint_eq(pair.first->view.epoch, 1);
    pair_join(11, 0, GW__SERVER);
    pair_expect_text("node 11 is active as server");
    pair_join(12, 0, GW__SERVER);
    ck_assert_uint_eq(pair.first->view.epoch, 3);
    ck_assert_uint_eq(pair.first->view.ring_epoch, 1);
    pair_leave(10);
    ck_assert_uint_eq(pair.first->view.epoch, 3);
    pair_leave(11);
    ck_assert_uint_eq(pair.first->view.epoch, 4);
    ck_assert_uint_eq(pair.first->view.ring_epoch, 1);
    ck_assert(!pair.first->flush.open);
    ck_assert_int_eq(pair_admit(12, 0, 0), GW_EINVAL);
    pair_expect_text("node 12 is already active");
    ck_assert_int_eq(pair_leave(12), GW_OK); /* it has no slots */
    pair_leave(1);
    ck_assert_uint_eq(pair.first->view.ring_epoch, 6);
    ck_assert(pair.first->flush.open);
}
END_TEST

/* ---- suspicions ---- */

START_TEST(two_observers_confirm_and_one_twice_does_not)
{
    pair_ring_of(4);
    ck_assert_int_eq(
        pair_suspect(pair_process(0, 0), pair_process(2, 0), false), GW_OK);
    pair_expect_text("node 2 is suspected by node 0");
    pair_suspect(pair_process(0, 0), pair_process(2, 0), false);
    pair_expect_text("node 2 is suspected by node 0");
    ck_assert_uint_eq(pair.first->view.epoch, 1);
    pair_suspect(pair_process(3, 0), pair_process(2, 0), false);
    pair_expect_text("node 2 is declared dead: epoch 2");
    pair_ring_is(3, (unsigned[]){0, 1, 3});
    ck_assert_int_eq(
        pair_suspect(pair_process(0, 0), pair_process(2, 0), false), GW_EINVAL);
    pair_expect_text("node 2 is already declared dead");
    ck_assert_int_eq(pair_suspect(pair_process(2, 0), pair_process(0, 0), true),
                     GW_EINVAL);
    pair_expect_text("node 2 is already declared dead");
    ck_assert_int_eq(pair_suspect(pair_process(0, 0), pair_process(0, 0), true),
                     GW_EINVAL);
    pair_expect_text("node 0 cannot suspect itself");
}
END_TEST

START_TEST(accusations_lapse)
{
    pair_ring_of(4);
    pair_suspect(pair_process(0, 0), pair_process(2, 0), false);
    pair.now_ms += GW__SUSPICION_LAPSE_MS + 1;
    pair_suspect(pair_process(1, 0), pair_process(2, 0), false);
    pair_expect_text("node 2 is suspected by node 1");
    pair.now_ms += GW__SUSPICION_LAPSE_MS;
    pair_suspect(pair_process(0, 0), pair_process(2, 0), false);
    pair_expect_text("node 2 is declared dead: epoch 2");
}
END_TEST

/* Processes that have left, or are still joining, are left out. */
START_TEST(members_that_end_together_are_one_view_change)
{
    pair_ring_of(6);
    pair_suspect(pair_process(0, 0), pair_process(5, 0), true);
    uint64_t epoch = pair.first->view.epoch;
    struct gw__command rack = {.kind = GW__CMD_SUSPECT,
                               .who = pair_process(0, 0),
                               .suspect = {.suspected = pair_process(5, 0),
                                           .certain = true,
                                           .more_count = 4}};
    rack.suspect.more[0] = pair_process(1, 0);
    rack.suspect.more[1] = pair_process(3, 0);
    rack.suspect.more[2] = pair_process(2, 1);
    rack.suspect.more[3] = pair_process(0, 0);
    ck_assert_int_eq(pair_apply(rack), GW_OK);
    pair_expect_text("2 nodes are declared dead: epoch 3");
    ck_assert_uint_eq(pair.first->view.epoch, epoch + 1);
    pair_ring_is(3, (const unsigned[]){0, 2, 4});
    ck_assert_int_eq(pair_apply(rack), GW_EINVAL);
    pair_expect_text("node 5 is already declared dead");
    ck_assert_uint_eq(pair.first->view.epoch, epoch + 1);
}
END_TEST

START_TEST(accusations_are_about_an_incarnation_and_by_a_member)
{
    pair_ring_of(4);
    pair_suspect(pair_process(0, 0), pair_process(2, 0), false);
    pair_suspect(pair_process(1, 0), pair_process(0, 0), true);
    ck_assert_int_eq(
        pair_suspect(pair_process(1, 0), pair_process(2, 1), false), GW_EINVAL);
    pair_expect_text("node 2 is now another process");
    pair_suspect(pair_process(1, 0), pair_process(2, 0), false);
    pair_expect_text(
        "node 2 is suspected by node 1"); /* node 0's suspicion is void */
    pair_join(9, 0, GW__WORKER);
    ck_assert_int_eq(
        pair_suspect(pair_process(9, 0), pair_process(2, 0), false), GW_EINVAL);
    pair_expect_text("node 9 is still joining");
    pair_join(10, 0, GW__CONTROLLER);
    pair_suspect(pair_process(10, 0), pair_process(2, 0), false);
    pair_expect_text("node 2 is declared dead: epoch 3");
}
END_TEST

START_TEST(of_two_members_one_observer_is_enough_but_not_for_the_last)
{
    pair_ring_of(2);
    pair_suspect(pair_process(0, 0), pair_process(1, 0), false);
    pair_expect_text("node 1 is declared dead: epoch 2");
    pair_ring_is(1, (unsigned[]){0});
    pair_join(10, 0, GW__CONTROLLER);
    ck_assert_int_eq(
        pair_suspect(pair_process(10, 0), pair_process(0, 0), false),
        GW_EINVAL);
    pair_expect_text("cannot remove 0: it is the last member");
    pair_ring_is(1, (unsigned[]){0});
}
END_TEST

/* The state is lost with its last member, so the next ring begins at op 0,
 * whatever was decided about ops in the previous ring. */
START_TEST(without_its_last_member_a_ring_begins_anew)
{
    pair_ring_of(2);
    pair_suspect(pair_process(0, 0), pair_process(1, 0), true);
    pair_report(0, 5, 1, 1, 0);
    ck_assert_uint_eq(pair.first->decision_count, 1);
    pair_join(10, 0, GW__CONTROLLER);
    pair_suspect(pair_process(10, 0), pair_process(0, 0), true);
    pair_expect_text("node 0 is declared dead: epoch 3");
    pair_ring_is(0, NULL);
    ck_assert(!pair.first->flush.open);
    ck_assert_uint_eq(pair.first->decision_count, 0);
    ck_assert_uint_eq(pair.first->view.op_low_watermark, 0);
    pair_join(1, 1, GW__WORKER);
    ck_assert_int_eq(pair_admit(1, 1, 0), GW_OK);
    pair_ring_is(1, (unsigned[]){1});
}
END_TEST

/* A process with a later incarnation has given up the former one. Another
 * process, or a late message of an earlier incarnation, has to wait. */
START_TEST(a_later_incarnation_of_a_process_ends_the_former)
{
    struct gw__process later = pair_process(1, 0), other = pair_process(1, 1);
    pair_ring_of(3);
    struct gw__command c = {.kind = GW__CMD_REGISTER,
                            .join = {.role = GW__WORKER, .ring = true}};
    c.who = other;
    ck_assert_int_eq(pair_apply(c), GW_EINVAL);
    later.incarnation.high++;
    c.who = later;
    ck_assert_int_eq(pair_apply(c), GW_OK);
    pair_expect_text("node 1 is joining as worker");
    ck_assert(pair.first->flush.open);
    pair_ring_is(2, (unsigned[]){0, 2});
    pair_report(0, 0, 0, 0, 0);
    pair_report(2, 0, 0, 0, 0);
    ck_assert_int_eq(pair_admit(1, 0, 7), GW_EINVAL);
    c = (struct gw__command){
        .kind = GW__CMD_ADMIT,
        .admit = {.joiners = {later},
                  .count = 1,
                  .from_op = 7,
                  .ring_epoch = pair.first->view.ring_epoch}};
    ck_assert_int_eq(pair_apply(c), GW_OK);
    c = (struct gw__command){.kind = GW__CMD_REGISTER,
                             .who = pair_process(1, 0),
                             .join = {.role = GW__WORKER, .ring = true}};
    ck_assert_int_eq(pair_apply(c), GW_EINVAL);
    pair_ring_is(3, (unsigned[]){0, 2, 1});
}
END_TEST

Suite *suite_registry(void)
{
    Suite *suite = suite_create("registry");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, pair_setup, pair_teardown);
    tcase_add_test(t, a_member_joins_is_admitted_and_leaves);
    tcase_add_test(t, a_joiner_waits_no_longer);
    tcase_add_test(t, a_number_is_reassigned_only_to_another_process);
    tcase_add_test(t, any_number_is_a_new_one_then_a_used_one);
    tcase_add_test(t, a_repeated_request_for_any_number_keeps_it);
    tcase_add_test(t, survivors_keep_their_order_and_joiners_come_last);
    tcase_add_test(
        t, only_workers_and_servers_make_epochs_and_only_the_ring_flushes);
    tcase_add_test(t, two_observers_confirm_and_one_twice_does_not);
    tcase_add_test(t, accusations_lapse);
    tcase_add_test(t, accusations_are_about_an_incarnation_and_by_a_member);
    tcase_add_test(t, members_that_end_together_are_one_view_change);
    tcase_add_test(t,
                   of_two_members_one_observer_is_enough_but_not_for_the_last);
    tcase_add_test(t, without_its_last_member_a_ring_begins_anew);
    tcase_add_test(t, a_later_incarnation_of_a_process_ends_the_former);
    suite_add_tcase(suite, t);
    return suite;
}
