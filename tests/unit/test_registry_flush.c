/* SPDX-License-Identifier: MIT
 *
 * The flush: survivors report their holdings, and one entry decides. Sets are
 * bits of nodes: 7 is {0, 1, 2}.
 */
#include "registry_pair.h"

Suite *suite_registry_flush(void);

static const struct gw__decision *decision(uint64_t op)
{
    const struct gw__decision *d = gw__registry_decision(pair.first, op);
    ck_assert_ptr_nonnull(d);
    return d;
}

START_TEST(finals_of_every_chunk_force_forward)
{
    pair_ring_of(3);
    pair_suspect(pair_process(0, 0), pair_process(2, 0), true);
    ck_assert_int_eq(pair_report(0, 4, 7, 3, 1), GW_OK);
    pair_expect_text("node 0 has reported for epoch 2");
    pair_join(9, 0, GW__WORKER);
    ck_assert_int_eq(pair_admit(9, 0, 5), GW_PENDING);
    pair_expect_text("a decision for epoch 2 is pending; try again later");
    pair_report(1, 4, 1, 7, 2);
    pair_expect_text("node 1 has reported: epoch 2 is decided");
    ck_assert_int_eq(decision(4)->fate, GW__FORWARD);
    ck_assert_uint_eq(decision(4)->contributors, 7);
    ck_assert_uint_eq(pair.first->view.op_low_watermark, 4);
    ck_assert_int_eq(pair_report(1, 4, 0, 0, 0), GW_OK);
    pair_expect_text("epoch 2 is decided");
    ck_assert_int_eq(pair_admit(9, 0, 5), GW_OK);
}
END_TEST

START_TEST(else_the_survivors_are_the_contributors)
{
    pair_ring_of(3);
    pair_join(5, 0, GW__WORKER);
    pair_admit(5, 0, 8); /* does not take part in op 7 */
    pair_suspect(pair_process(0, 0), pair_process(2, 0), true);
    pair_report(0, 7, 7, 3, 1);
    pair_report(1, 7, 7, 1, 1);
    pair_report(5, 8, 0, 0, 0);
    ck_assert_int_eq(decision(8)->fate, GW__EXCLUDE);
    ck_assert_uint_eq(decision(8)->contributors, 1 | 2 | 32);
    ck_assert_uint_eq(pair.first->view.op_low_watermark,
                      8); /* node 5 knew that 7 was over */
    ck_assert_ptr_null(gw__registry_decision(pair.first, 7));
}
END_TEST

START_TEST(who_did_not_take_part_is_not_counted)
{
    struct gw__report reports[2] = {{.low_watermark = 7, .op_count = 1},
                                    {.low_watermark = 7, .op_count = 0}};
    reports[0].ops[0].chunks = reports[0].ops[0].members = 1;
    struct gw__survivor survivors[2] = {{3, 0, &reports[0]},
                                        {5, 8, &reports[1]}};
    struct gw__decision d = {.epoch = 4, .op = 7, .initial_count = 1}, e = d;
    gw__decide(survivors, 2, &d);
    ck_assert_int_eq(d.fate, GW__EXCLUDE);
    ck_assert_uint_eq(d.contributors, 8);
    survivors[1].from_op = 7; /* takes part, but has not begun */
    gw__decide(survivors, 2, &e);
    ck_assert_uint_eq(e.contributors, 8 | 32);
}
END_TEST

START_TEST(a_report_outlives_further_deaths)
{
    pair_ring_of(4);
    pair_suspect(pair_process(0, 0), pair_process(3, 0), true);
    pair_report(0, 4, 3, 0, 0);
    pair_report(0, 4, 15, 15, 3); /* the first counts */
    pair_report(2, 4, 15, 15, 3); /* forces FORWARD, but dies */
    pair_suspect(pair_process(0, 0), pair_process(2, 0), true);
    ck_assert(pair.first->flush.open);
    ck_assert_uint_eq(pair.first->view.epoch, 3);
    struct gw__command late = {.kind = GW__CMD_REPORT,
                               .who = pair_process(1, 0),
                               .flush = {.epoch = 1}};
    ck_assert_int_eq(pair_apply(late), GW_EINVAL);
    pair_expect_text("the report is for epoch 1; the current epoch is 3");
    late.flush.epoch = 2; /* node 1 is frozen, without the update of epoch 3 */
    ck_assert_int_eq(pair_apply(late), GW_OK);
    ck_assert(!pair.first->flush.open);
    ck_assert_int_eq(decision(4)->fate, GW__EXCLUDE);
    ck_assert_uint_eq(decision(4)->contributors, 3);
    ck_assert_uint_eq(decision(4)->epoch, 3);
}
END_TEST

START_TEST(the_silent_are_declared_dead_at_the_deadline)
{
    pair_ring_of(4);
    ck_assert_int_eq(pair_deadline(1), GW_EINVAL);
    pair_expect_text("no decision is pending for epoch 1");
    pair_suspect(pair_process(0, 0), pair_process(3, 0), true);
    ck_assert_int_eq(pair_deadline(2), GW_PENDING);
    pair_expect_text("no member has reported for epoch 2 yet");
    pair_report(2, 4, 7, 8, 0);
    ck_assert_int_eq(pair_deadline(1), GW_EINVAL);
    ck_assert_int_eq(pair_deadline(2), GW_OK);
    pair_expect_text(
        "members declared dead without a report: 2; epoch 3 is decided");
    pair_ring_is(1, (unsigned[]){2});
    ck_assert_uint_eq(decision(4)->contributors, 4);
    ck_assert_int_eq(pair_report(0, 4, 0, 0, 0), GW_EINVAL);
    pair_expect_text("node 0 is already declared dead");
}
END_TEST

START_TEST(a_final_copy_from_before_an_exclusion_is_none)
{
    pair_ring_of(4);
    pair_suspect(pair_process(0, 0), pair_process(3, 0), true);
    pair_report(0, 4, 3, 0, 0);
    pair_report(1, 4, 3, 0, 0);
    pair_report(2, 4, 15, 7, 1);
    ck_assert_uint_eq(decision(4)->contributors, 7);
    pair_suspect(pair_process(0, 0), pair_process(1, 0), true);
    pair_report(0, 4, 7, 7, 2);  /* chunk 1 of the new result */
    pair_report(2, 4, 15, 7, 1); /* missed it: chunk 0 of the old one */
    ck_assert_int_eq(decision(4)->fate, GW__EXCLUDE);
    ck_assert_uint_eq(decision(4)->contributors, 5);
    ck_assert_uint_eq(pair.first->decision_count, 1);
}
END_TEST

/* One chunk, of which a copy is final in the set. */
static void report_one_chunk(unsigned node, uint64_t op, uint64_t set)
{
    struct gw__command c = {.kind = GW__CMD_REPORT,
                            .who = pair_process(node, 0),
                            .flush = {.epoch = pair.first->view.epoch}};
    c.flush.report.low_watermark = op;
    c.flush.report.op_count = 1;
    c.flush.report.ops[0] = (struct gw__holdings){
        .members = 1, .chunks = 1, .sets = {set}, .finals = {1}};
    ck_assert_int_eq(pair_apply(c), GW_OK);
}

START_TEST(different_calls_cannot_go_forward)
{
    pair_ring_of(3);
    pair_suspect(pair_process(0, 0), pair_process(2, 0), true);
    pair_report(0, 4, 7, 7, 1);
    report_one_chunk(1, 4, 7);
    ck_assert_int_eq(decision(4)->fate, GW__EXCLUDE);
    ck_assert_uint_eq(decision(4)->contributors, 3);
}
END_TEST

static void initial_members_are(uint64_t op, unsigned count,
                                const uint8_t *nodes)
{
    ck_assert_uint_eq(decision(op)->initial_count, count);
    ck_assert_mem_eq(decision(op)->initial_members, nodes, count);
}

START_TEST(initial_members_include_the_dead)
{
    pair_ring_of(3);
    pair_join(7, 0, GW__WORKER);
    pair_admit(7, 0, 5);
    pair_suspect(pair_process(0, 0), pair_process(1, 0), true);
    ck_assert_uint_eq(pair.first->flush.before_count, 4);
    pair_report(0, 4, 1, 1, 0); /* by four chunks: op 4 has three */
    pair_suspect(pair_process(0, 0), pair_process(7, 0), true);
    ck_assert_uint_eq(pair.first->flush.before_count, 4);
    pair_report(2, 5, 1, 1, 0);
    initial_members_are(5, 4, (uint8_t[]){0, 1, 2, 7});
    ck_assert_ptr_null(gw__registry_decision(pair.first, 4));
}
END_TEST

START_TEST(who_takes_part_later_is_no_initial_member)
{
    pair_ring_of(2);
    pair_join(7, 0, GW__WORKER);
    pair_admit(7, 0, 5);
    pair_suspect(pair_process(0, 0), pair_process(1, 0), true);
    pair_report(0, 4, 3, 3, 3); /* three chunks, but op 4 has two */
    pair_report(7, 4, 0, 0, 0);
    ck_assert_int_eq(decision(4)->fate, GW__EXCLUDE);
    ck_assert_uint_eq(decision(4)->contributors, 1);
    initial_members_are(4, 2, (uint8_t[]){0, 1});
}
END_TEST

START_TEST(who_was_behind_a_join_holds_nothing)
{
    pair_ring_of(2);
    pair_join(7, 0, GW__WORKER);
    pair_admit(7, 0, 0); /* begun without knowing of 7 */
    pair_suspect(pair_process(0, 0), pair_process(7, 0), true);
    pair_report(0, 0, 131, 131, 3);
    report_one_chunk(1, 0, 2);
    ck_assert_int_eq(decision(0)->fate, GW__FORWARD);
    ck_assert_uint_eq(decision(0)->contributors, 131);
    initial_members_are(0, 3, (uint8_t[]){0, 1, 7});
}
END_TEST

START_TEST(initial_members_stay_through_further_flushes)
{
    pair_ring_of(4);
    pair_suspect(pair_process(0, 0), pair_process(3, 0), true);
    for (unsigned i = 0; i < 3; i++)
        pair_report(i, 4, 0, 0, 0);
    initial_members_are(4, 4, (uint8_t[]){0, 1, 2, 3});
    pair_suspect(pair_process(0, 0), pair_process(1, 0), true);
    ck_assert_uint_eq(pair.first->flush.before_count, 3);
    struct gw__command two = {.kind = GW__CMD_REPORT,
                              .who = pair_process(0, 0),
                              .flush = {.epoch = pair.first->view.epoch}};
    two.flush.report.low_watermark = 4;
    two.flush.report.op_count = 2;
    two.flush.report.ops[0] = (struct gw__holdings){
        .members = 4, .chunks = 4, .sets = {7, 7}, .finals = {3}};
    two.flush.report.ops[1] = (struct gw__holdings){.members = 3, .chunks = 3};
    pair_apply(two);
    two.who = pair_process(2, 0);
    two.flush.report.ops[0] = (struct gw__holdings){
        .members = 4, .chunks = 4, .sets = {0, 0, 7, 7}, .finals = {12}};
    pair_apply(two);
    ck_assert_int_eq(decision(4)->fate, GW__FORWARD);
    ck_assert_uint_eq(decision(4)->contributors, 7);
    initial_members_are(4, 4, (uint8_t[]){0, 1, 2, 3});
    initial_members_are(5, 3, (uint8_t[]){0, 1, 2});
}
END_TEST

START_TEST(a_snapshot_keeps_origins_and_the_ring_before)
{
    static uint8_t bytes[1 << 18];
    struct gw_error why;
    pair_ring_of(4);
    pair_suspect(pair_process(0, 0), pair_process(3, 0), true);
    for (unsigned i = 0; i < 3; i++)
        pair_report(i, 4, 0, 0, 0);
    pair_suspect(pair_process(0, 0), pair_process(1, 0), true);
    size_t used = gw__registry_snapshot(pair.first, bytes, sizeof bytes);
    ck_assert_int_eq(gw__registry_restore(pair.second, bytes, used, &why),
                     GW_OK);
    ck_assert_uint_eq(pair.second->flush.before_count, 3);
    pair_report(0, 4, 7, 7, 3);
    pair_report(2, 4, 0, 0, 0);
    ck_assert_int_eq(decision(4)->fate, GW__EXCLUDE); /* three chunks of 4 */
    initial_members_are(4, 4, (uint8_t[]){0, 1, 2, 3});
}
END_TEST

START_TEST(every_open_op_is_decided_and_old_decisions_are_forgotten)
{
    enum { OPS = GW__REPORT_OPS_MAX, ROUNDS = GW__DECISIONS_MAX / OPS + 2 };
    pair_ring_of(2);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        unsigned life = (unsigned)round;
        pair_suspect(pair_process(0, 0), pair_process(1, life), true);
        struct gw__command c = {.kind = GW__CMD_REPORT,
                                .who = pair_process(0, 0),
                                .flush = {.epoch = pair.first->view.epoch}};
        c.flush.report.low_watermark = OPS * round;
        c.flush.report.op_count = OPS;
        for (unsigned i = 0; i < OPS; i++)
            c.flush.report.ops[i].chunks = GW__REPORT_CHUNKS_MAX;
        ck_assert_int_eq(pair_apply(c), GW_OK);
        ck_assert_int_eq(pair_join(1, life + 1, GW__WORKER), GW_OK);
        ck_assert_int_eq(pair_admit(1, life + 1, OPS * (round + 1)), GW_OK);
    }
    ck_assert_uint_eq(pair.first->decision_count, GW__DECISIONS_MAX);
    ck_assert_ptr_nonnull(gw__registry_decision(pair.first, ROUNDS * OPS - 1));
    ck_assert_ptr_null(gw__registry_decision(pair.first, 2 * OPS - 1));
}
END_TEST

Suite *suite_registry_flush(void)
{
    Suite *suite = suite_create("registry_flush");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, pair_setup, pair_teardown);
    tcase_add_test(t, finals_of_every_chunk_force_forward);
    tcase_add_test(t, else_the_survivors_are_the_contributors);
    tcase_add_test(t, who_did_not_take_part_is_not_counted);
    tcase_add_test(t, a_report_outlives_further_deaths);
    tcase_add_test(t, the_silent_are_declared_dead_at_the_deadline);
    tcase_add_test(t, a_final_copy_from_before_an_exclusion_is_none);
    tcase_add_test(t, different_calls_cannot_go_forward);
    tcase_add_test(t, every_open_op_is_decided_and_old_decisions_are_forgotten);
    tcase_add_test(t, initial_members_include_the_dead);
    tcase_add_test(t, who_takes_part_later_is_no_initial_member);
    tcase_add_test(t, who_was_behind_a_join_holds_nothing);
    tcase_add_test(t, initial_members_stay_through_further_flushes);
    tcase_add_test(t, a_snapshot_keeps_origins_and_the_ring_before);
    suite_add_tcase(suite, t);
    return suite;
}
