/* SPDX-License-Identifier: MIT
 *
 * Late admissions and decisions; the cases are from the simulated ring. An
 * admission is valid only in the ring in which it was requested, and never for
 * a decided op. A decision about an op that no survivor has begun is void.
 */
#include "registry_pair.h"

Suite *suite_registry_admit(void);

static enum gw_err admit_in(uint64_t ring_epoch, unsigned node,
                            uint64_t from_op)
{
    return pair_apply(
        (struct gw__command){.kind = GW__CMD_ADMIT,
                             .admit = {.from_op = from_op,
                                       .count = 1,
                                       .joiners = {pair_process(node, 0)},
                                       .ring_epoch = ring_epoch}});
}

/* Node 0 requests the admission of 7 from op 5 on, and dies. The others
 * complete op 5; then the request arrives. */
START_TEST(an_admission_outlives_no_ring)
{
    pair_ring_of(3);
    pair_join(7, 0, GW__WORKER);
    pair_suspect(pair_process(1, 0), pair_process(0, 0), true);
    pair_report(1, 4, 7, 7, 3);
    pair_report(2, 4, 7, 7, 3);
    ck_assert_int_eq(admit_in(1, 7, 5), GW_EINVAL);
    pair_expect_text(
        "the ring of epoch 1 is out of date; the current one is of epoch 2");
    ck_assert_int_eq(admit_in(2, 7, 5), GW_OK);
}
END_TEST

START_TEST(none_is_admitted_to_an_op_that_is_decided)
{
    pair_ring_of(3);
    pair_join(7, 0, GW__WORKER);
    pair_suspect(pair_process(1, 0), pair_process(0, 0), true);
    pair_report(1, 4, 0, 0, 0);
    pair_report(2, 4, 0, 0, 0);
    ck_assert_int_eq(admit_in(2, 7, 4), GW_EINVAL);
    pair_expect_text("op 4 is already decided");
    ck_assert_int_eq(admit_in(2, 7, 5), GW_OK);
}
END_TEST

/* Only node 3 has begun op 5 when node 0 dies, and it dies before it has sent
 * anything. Op 5 begins again. The old decision must not determine its
 * contributors when node 1 completes it. */
START_TEST(a_decision_about_an_op_not_begun_is_void)
{
    pair_ring_of(4);
    pair_suspect(pair_process(1, 0), pair_process(0, 0), true);
    for (unsigned node = 1; node < 4; node++)
        pair_report(node, node == 3 ? 5 : 4, 0, 0, 0);
    ck_assert_ptr_nonnull(gw__registry_decision(pair.first, 5));
    pair_suspect(pair_process(1, 0), pair_process(3, 0), true);
    for (unsigned node = 1; node < 3; node++)
        ck_assert_int_eq(
            pair_apply((struct gw__command){
                .kind = GW__CMD_REPORT,
                .who = pair_process(node, 0),
                .flush = {.epoch = 3, .report = {.low_watermark = 5}}}),
            GW_OK);
    ck_assert(!pair.first->flush.open);
    ck_assert_ptr_null(gw__registry_decision(pair.first, 5));
}
END_TEST

static enum gw_err admit_ordered(unsigned joiners, uint64_t from_op,
                                 const struct gw__order *order)
{
    return pair_apply(
        (struct gw__command){.kind = GW__CMD_ADMIT,
                             .admit = {from_op,
                                       joiners,
                                       {pair_process(1, 1)},
                                       pair.first->view.ring_epoch,
                                       *order}});
}

static void ring_is(unsigned count, const unsigned nodes[])
{
    ck_assert_uint_eq(pair.first->view.ring_count, count);
    for (unsigned i = 0; i < count; i++)
        ck_assert_uint_eq(pair.first->view.ring[i].node, nodes[i]);
}

/* Node 1 of 0 1 2 3 dies and comes back. */
START_TEST(a_joiner_is_inserted_where_the_order_has_it)
{
    static const struct gw__order numbers = {4, {0, 1, 2, 3}};
    pair_ring_of(4);
    pair_suspect(pair_process(0, 0), pair_process(1, 0), true);
    for (unsigned node = 0; node < 4; node++)
        if (node != 1)
            pair_report(node, 4, 0, 0, 0);
    ck_assert_int_eq(pair_join(1, 1, GW__WORKER), GW_OK);
    ck_assert_int_eq(admit_ordered(1, 5, &numbers), GW_OK);
    ring_is(4, (const unsigned[]){0, 1, 2, 3});
    ck_assert_uint_eq(pair.first->view.from_op, 5);
}
END_TEST

/* Members that are not in the order keep theirs, and all keep their places in
 * the input: a member in op 5 has computed its own share. */
START_TEST(an_order_alone_is_a_new_epoch_and_moves_no_position)
{
    static const struct gw__order some = {2, {3, 1}};
    uint16_t places[GW__NODES_MAX];
    pair_ring_of(4);
    ck_assert_int_eq(admit_ordered(0, 5, &some), GW_OK);
    ring_is(4, (const unsigned[]){3, 1, 0, 2});
    ck_assert_uint_eq(pair.first->view.ring_epoch, 2);
    ck_assert_uint_eq(pair.first->view.from_op, 5);
    ck_assert_uint_eq(gw__ring_places(pair.first->view.ring, 4, 5, places), 4);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_uint_eq(places[i], i);
    ck_assert_int_eq(admit_ordered(0, 6, &some), GW_EINVAL);
    pair_expect_text(
        "the request admits no joiner and does not change the order");
}
END_TEST

/* An order with a repeated or invalid node. */
START_TEST(an_order_is_a_permutation)
{
    static const struct gw__order wrong[] = {{2, {1, 1}}, {1, {GW__NODES_MAX}}};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint8_t bytes[256];
        struct gw_error why;
        struct gw__command command = {.kind = GW__CMD_ADMIT,
                                      .admit = {.order = wrong[i]}};
        size_t used = gw__command_encode(&command, bytes, sizeof bytes);
        ck_assert_int_eq(gw__command_decode(bytes, used, &command, &why),
                         GW_EDATA);
    }
}
END_TEST

Suite *suite_registry_admit(void)
{
    Suite *suite = suite_create("registry_admit");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, pair_setup, pair_teardown);
    tcase_add_test(t, an_admission_outlives_no_ring);
    tcase_add_test(t, none_is_admitted_to_an_op_that_is_decided);
    tcase_add_test(t, a_decision_about_an_op_not_begun_is_void);
    tcase_add_test(t, a_joiner_is_inserted_where_the_order_has_it);
    tcase_add_test(t, an_order_alone_is_a_new_epoch_and_moves_no_position);
    tcase_add_test(t, an_order_is_a_permutation);
    suite_add_tcase(suite, t);
    return suite;
}
