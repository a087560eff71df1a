/* SPDX-License-Identifier: MIT
 *
 * The table of ops: the ops that have begun, the tasks that a flush leaves, and
 * the results that may be adopted. Whole rings run in tests/sim; here each rule
 * is tested alone. Views are written as epoch: nodes, with the op from which a
 * newcomer takes part.
 */
#include "node_bits.h"

#include <ring/op_table.h>

#include <string.h>

Suite *suite_op_table(void);

static struct gw__op_table op_table;

/* Nodes 0 .. count - 1, from op 0 on. */
static struct gw__view view_of(uint64_t epoch, unsigned count)
{
    struct gw__view view = {.epoch = epoch, .ring_epoch = epoch};
    for (unsigned i = 0; i < count; i++)
        view.ring[view.ring_count++] =
            (struct gw__ring_member){.node = i, .incarnation = {1, i + 1}};
    return view;
}

static struct gw__view with(struct gw__view view, unsigned node, uint64_t from)
{
    view.ring[view.ring_count++] = (struct gw__ring_member){
        .node = node, .incarnation = {1, node + 1}, .from_op = from};
    view.from_op = from;
    return view;
}

static struct gw__view without(struct gw__view view, uint64_t epoch,
                               unsigned rank)
{
    view.epoch = view.ring_epoch = epoch;
    view.ring_count--;
    for (unsigned i = rank; i < view.ring_count; i++)
        view.ring[i] = view.ring[i + 1];
    return view;
}

static void adopt(struct gw__view view)
{
    ck_assert(gw__op_table_may_adopt(&op_table, &view));
    ck_assert(gw__op_table_adopt(&op_table, &view));
}

/* Node 1 in a ring of three, with `done` ops complete. */
static void setup_three(uint64_t done)
{
    gw__op_table_init(&op_table, 1, 0);
    adopt(view_of(1, 3));
    for (uint64_t op = 0; op < done; op++) {
        gw__op_table_begin(&op_table);
        const struct gw_nodes full[3] = {{{7}}, {{7}}, {{7}}};
        gw__contributor_sets_retarget(gw__op_table_sets(&op_table, op),
                                      &full[0], full);
        gw__op_table_done(&op_table, op);
    }
}

/* The holdings of a chunk of an op with initial members 0, 1 and 2. */
static struct gw__held_chunk held(const struct gw__report *report, uint64_t op,
                                  unsigned chunk)
{
    const struct gw__places places = {3, (const unsigned[]){0, 1, 2}};
    return gw__holdings_of(gw__report_of(report, op), &places, chunk);
}

static struct gw__recovery_task recovery_task(void)
{
    struct gw__recovery_task t;
    ck_assert(gw__op_table_recovery_task(&op_table, &t));
    return t;
}

static bool has_recovery_task(void)
{
    struct gw__recovery_task t;
    return gw__op_table_recovery_task(&op_table, &t);
}

static struct gw__decision decision(uint64_t epoch, uint64_t op,
                                    enum gw__fate fate, uint64_t contributors)
{
    return (struct gw__decision){.epoch = epoch,
                                 .op = op,
                                 .fate = fate,
                                 .contributors = node_set(contributors),
                                 .initial_count = 3,
                                 .initial_members = {0, 1, 2}};
}

/* The flush that lost node 2: all survivors have reported the holdings of node
 * 1. */
static void resume(const struct gw__decision *decisions, unsigned count)
{
    static struct gw__report report;
    const struct gw__report *reports[GW__NODES_MAX] = {&report, &report};
    struct gw__view view = view_of(2, 2);
    gw__op_table_freeze(&op_table);
    gw__op_table_report(&op_table, &report);
    gw__op_table_resume(&op_table, &view, decisions, count, reports);
}

START_TEST(an_op_is_begun_done_and_over)
{
    setup_three(0);
    ck_assert(!has_recovery_task());
    gw__op_table_begin(&op_table);
    struct gw__recovery_task t = recovery_task();
    ck_assert_uint_eq(t.op, 0);
    ck_assert(!t.recovers);
    ck_assert_int_eq(t.rank, 1);
    ck_assert_uint_eq(t.plan.ranks, 3);
    ck_assert_uint_eq(t.plan.chunks, 3);
    ck_assert_uint_eq(node_bits(t.plan.target), 7);
    ck_assert_uint_eq(node_bits(gw__op_table_contributors(&op_table, 0)), 7);
    gw__op_table_done(&op_table, 0);
    ck_assert(!has_recovery_task());
    ck_assert_uint_eq(op_table.next_op, 1);
    gw__op_table_begin(&op_table);
    ck_assert_uint_eq(node_bits(gw__op_table_contributors(&op_table, 0)),
                      7); /* still open */
    gw__op_table_done(&op_table, 1);
    gw__op_table_begin(&op_table);
    ck_assert_uint_eq(node_bits(gw__op_table_contributors(&op_table, 0)),
                      0); /* over */
}
END_TEST

START_TEST(only_data_of_this_ring_and_of_what_is_begun_comes_in)
{
    setup_three(1);
    ck_assert(
        gw__op_table_accepts(&op_table, 1, 0)); /* others may still be in it */
    ck_assert(!gw__op_table_accepts(&op_table, 1, 1));
    gw__op_table_begin(&op_table);
    ck_assert(gw__op_table_accepts(&op_table, 1, 1));
    ck_assert(!gw__op_table_accepts(&op_table, 0, 1));
    ck_assert(!gw__op_table_accepts(&op_table, 2, 1));
    op_table.any_epoch = true; /* only a simulation sets it */
    ck_assert(gw__op_table_accepts(&op_table, 0, 1));
    gw__op_table_init(&op_table, 0, 1);
    ck_assert(!op_table.any_epoch);
    setup_three(1);
    gw__op_table_begin(&op_table);
    gw__op_table_freeze(&op_table);
    ck_assert(!gw__op_table_accepts(&op_table, 1, 1));
    ck_assert(!has_recovery_task());
}
END_TEST

START_TEST(a_report_has_the_newest_result_and_the_current_op)
{
    struct gw__report report;
    setup_three(5);
    gw__op_table_report(&op_table, &report);
    ck_assert_uint_eq(report.low_watermark, 4);
    ck_assert_uint_eq(report.op_count, 1);
    ck_assert(held(&report, 4, 2).final);
    gw__op_table_begin(&op_table);
    ck_assert_int_eq(gw__contributor_sets_add(gw__op_table_sets(&op_table, 5),
                                              1, &(struct gw_nodes){{4}}, NULL),
                     GW_OK);
    gw__op_table_freeze(&op_table);
    gw__op_table_report(&op_table, &report);
    ck_assert_uint_eq(report.low_watermark, 4);
    ck_assert_uint_eq(report.op_count, 2);
    ck_assert_uint_eq(node_bits(held(&report, 5, 1).set), 6);
    ck_assert_uint_eq(node_bits(held(&report, 5, 0).set), 0);
}
END_TEST

/* Otherwise its report would claim that all have completed the op before its
 * first. */
START_TEST(a_joiner_reports_nothing_until_it_has_begun)
{
    struct gw__report report;
    gw__op_table_init(&op_table, 9, 6);
    gw__op_table_report(&op_table, &report); /* before any view, too */
    ck_assert_uint_eq(report.op_count, 0);
    ck_assert_uint_eq(report.low_watermark, 0);
    adopt(with(view_of(2, 2), 9, 6));
    gw__op_table_report(&op_table, &report);
    ck_assert_uint_eq(report.low_watermark, 0);
    gw__op_table_begin(&op_table);
    gw__op_table_report(&op_table, &report);
    ck_assert_uint_eq(report.low_watermark, 6);
    ck_assert_uint_eq(report.op_count, 1);
}
END_TEST

START_TEST(an_op_without_the_newcomer_is_finished_first)
{
    setup_three(5);
    struct gw__view wider = with(view_of(2, 3), 9, 6);
    ck_assert(!gw__op_table_may_adopt(&op_table, &wider)); /* op 5: old view */
    gw__op_table_begin(&op_table);
    ck_assert(!gw__op_table_may_adopt(&op_table, &wider));
    gw__op_table_done(&op_table, 5);
    adopt(wider);
    gw__op_table_begin(&op_table);
    ck_assert_uint_eq(recovery_task().plan.chunks, 4);
    ck_assert_uint_eq(node_bits(recovery_task().plan.target), 0x207);
}
END_TEST

/* The new order applies from op 6: op 5 is finished in the old order, and in op
 * 6 members change ranks but keep their places in the input. */
START_TEST(a_new_order_moves_ranks_and_no_positions)
{
    static const struct gw__order backwards = {3, {2, 1, 0}};
    setup_three(5);
    struct gw__view turned = view_of(2, 3);
    gw__view_reorder(&turned, &backwards);
    turned.from_op = 6;
    gw__op_table_begin(&op_table);
    ck_assert(!gw__op_table_may_adopt(&op_table, &turned));
    gw__op_table_done(&op_table, 5);
    gw__op_table_begin(&op_table);
    ck_assert(gw__op_table_may_adopt(&op_table, &turned));
    ck_assert(!gw__op_table_adopt(&op_table, &turned));
    gw__op_table_begin(&op_table);
    struct gw__recovery_task t = recovery_task();
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(t.plan.nodes[i], 2 - i);
        ck_assert_uint_eq(t.plan.initial_members[i], i);
    }
}
END_TEST

START_TEST(an_op_in_which_the_newcomer_takes_part_is_begun_anew)
{
    setup_three(6);
    gw__op_table_begin(&op_table);
    struct gw__view wider = with(view_of(2, 3), 9, 6);
    ck_assert(gw__op_table_may_adopt(&op_table, &wider));
    ck_assert(!gw__op_table_adopt(&op_table, &wider));
    ck_assert(!gw__op_table_accepts(&op_table, 2, 6));
    gw__op_table_begin(&op_table);
    ck_assert(gw__op_table_accepts(&op_table, 2, 6));
    ck_assert_uint_eq(recovery_task().plan.ranks, 4);
}
END_TEST

START_TEST(joiners_are_admitted_once_an_op_of_this_view_is_complete)
{
    setup_three(0);
    ck_assert(!gw__op_table_may_admit(&op_table));
    gw__op_table_begin(&op_table);
    gw__op_table_done(&op_table, 0);
    ck_assert(gw__op_table_may_admit(&op_table));
    gw__op_table_begin(&op_table);
    ck_assert(!gw__op_table_may_admit(&op_table)); /* no boundary */
    const struct gw__decision one = decision(2, 1, GW__EXCLUDE, 3);
    resume(&one, 1);
    gw__op_table_done(&op_table, 1); /* decided: another member may not know */
    ck_assert(!gw__op_table_may_admit(&op_table));
    gw__op_table_begin(&op_table);
    gw__op_table_done(&op_table, 2);
    ck_assert(gw__op_table_may_admit(&op_table));
}
END_TEST

START_TEST(what_is_complete_is_spread_before_the_next_goes_on)
{
    setup_three(5);
    gw__op_table_begin(&op_table);
    const struct gw__decision two[2] = {decision(2, 4, GW__FORWARD, 7),
                                        decision(2, 5, GW__EXCLUDE, 3)};
    resume(two, 2);
    struct gw__recovery_task t = recovery_task();
    ck_assert_uint_eq(t.op, 4);
    ck_assert(t.recovers && t.fate == GW__FORWARD);
    ck_assert_uint_eq(t.plan.ranks, 2);
    ck_assert_uint_eq(t.plan.chunks, 3);
    ck_assert_uint_eq(node_bits(t.plan.target), 7);
    const struct gw__places places = {3, t.plan.initial_members};
    struct gw__held_chunk chunk =
        gw__holdings_of(t.plan.held[t.rank], &places, 0);
    ck_assert_uint_eq(node_bits(chunk.set), 7);
    gw__op_table_done(&op_table, 4);
    ck_assert_uint_eq(op_table.next_op, 5);
    t = recovery_task();
    ck_assert_uint_eq(t.op, 5);
    ck_assert_uint_eq(node_bits(t.plan.target), 3);
    ck_assert_uint_eq(t.plan.initial_count, 3);
    gw__op_table_done(&op_table, 5);
    ck_assert_uint_eq(op_table.next_op, 6);
}
END_TEST

START_TEST(who_had_not_begun_begins_as_decided)
{
    unsigned origin[GW__NODES_MAX];
    setup_three(5);
    const struct gw__decision one = decision(2, 5, GW__EXCLUDE, 3);
    resume(&one, 1);
    ck_assert(!has_recovery_task());
    ck_assert(!gw__op_table_accepts(&op_table, 2, 5));
    gw__op_table_begin(&op_table);
    struct gw__recovery_task t = recovery_task();
    ck_assert(t.recovers);
    ck_assert_uint_eq(t.plan.chunks, 3); /* although two members are left */
    ck_assert_uint_eq(node_bits(t.plan.target), 3);
    ck_assert_uint_eq(gw__op_table_initial_members(&op_table, 5, origin), 3);
    ck_assert_uint_eq(origin[2], 2);
}
END_TEST

START_TEST(a_decision_that_was_not_made_again_is_void)
{
    setup_three(5);
    const struct gw__decision one = decision(2, 5, GW__EXCLUDE, 3);
    resume(&one, 1);
    resume(NULL, 0);
    gw__op_table_begin(&op_table);
    ck_assert(!recovery_task().recovers);
    ck_assert_uint_eq(recovery_task().plan.chunks, 2);
}
END_TEST

START_TEST(holdings_of_another_number_of_chunks_are_none)
{
    setup_three(5);
    gw__op_table_begin(&op_table);
    struct gw__decision wider = decision(2, 5, GW__EXCLUDE, 3);
    wider.initial_count = 4; /* a fourth member had been admitted */
    wider.initial_members[3] = 9;
    resume(&wider, 1);
    struct gw__recovery_task t = recovery_task();
    ck_assert_uint_eq(t.plan.chunks, 4);
    ck_assert_ptr_null(t.plan.held[0]);
    ck_assert_ptr_null(t.plan.held[1]);
    ck_assert_uint_eq(gw__op_table_sets(&op_table, 5)->chunks, 4);
}
END_TEST

START_TEST(a_joiner_has_no_part_in_what_was_before_it)
{
    const struct gw__report *none[GW__NODES_MAX] = {0};
    const struct gw__decision two[2] = {decision(3, 5, GW__FORWARD, 7),
                                        decision(3, 6, GW__EXCLUDE, 0x203)};
    struct gw__view view = without(with(view_of(2, 3), 9, 6), 3, 2);
    gw__op_table_init(&op_table, 9, 6);
    gw__op_table_freeze(&op_table); /* its first sign of the new view */
    gw__op_table_resume(&op_table, &view, two, 2, none);
    ck_assert(!has_recovery_task());
    gw__op_table_begin(&op_table);
    ck_assert_uint_eq(recovery_task().op, 6);
    ck_assert_uint_eq(node_bits(recovery_task().plan.target), 0x203);
    ck_assert_int_eq(recovery_task().rank, 2);
    gw__op_table_done(&op_table, 6);
    ck_assert(!has_recovery_task());
}
END_TEST

Suite *suite_op_table(void)
{
    Suite *suite = suite_create("op_table");
    TCase *t = tcase_create("all");
    tcase_add_test(t, an_op_is_begun_done_and_over);
    tcase_add_test(t, only_data_of_this_ring_and_of_what_is_begun_comes_in);
    tcase_add_test(t, a_report_has_the_newest_result_and_the_current_op);
    tcase_add_test(t, a_joiner_reports_nothing_until_it_has_begun);
    tcase_add_test(t, an_op_without_the_newcomer_is_finished_first);
    tcase_add_test(t, a_new_order_moves_ranks_and_no_positions);
    tcase_add_test(t, an_op_in_which_the_newcomer_takes_part_is_begun_anew);
    tcase_add_test(t, joiners_are_admitted_once_an_op_of_this_view_is_complete);
    tcase_add_test(t, what_is_complete_is_spread_before_the_next_goes_on);
    tcase_add_test(t, who_had_not_begun_begins_as_decided);
    tcase_add_test(t, a_decision_that_was_not_made_again_is_void);
    tcase_add_test(t, holdings_of_another_number_of_chunks_are_none);
    tcase_add_test(t, a_joiner_has_no_part_in_what_was_before_it);
    suite_add_tcase(suite, t);
    return suite;
}
