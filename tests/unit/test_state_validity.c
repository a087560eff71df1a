/* SPDX-License-Identifier: MIT
 *
 * Validity of a joiner's copy of the state (ring/state_validity.h): with
 * initial members, without them, and after decisions. Nodes 0 and 1 are the
 * initial members; 2, 3 and 4 are admitted together, from op 7 on.
 */
#include "node_bits.h"

#include <ring/state_validity.h>

#include <string.h>

Suite *suite_state_validity(void);

enum { FROM = 7, EPOCH = 20, DIGEST = 77 };

/* The ring of these nodes, in the order of their numbers. */
static struct gw__view ring_of(uint64_t nodes, uint64_t ring_epoch)
{
    struct gw__view view = {.epoch = ring_epoch, .ring_epoch = ring_epoch};
    for (unsigned node = 0; node < 5; node++)
        if (nodes >> node & 1)
            view.ring[view.ring_count++] =
                (struct gw__ring_member){.node = node,
                                         .incarnation = {1, node + 1},
                                         .from_op = node < 2 ? 0 : FROM};
    return view;
}

static struct gw__process life(unsigned node)
{
    return (struct gw__process){node, {1, node + 1}};
}

static struct gw__state_validity copied(uint64_t ops)
{
    struct gw__state_validity validity = {.copied = false};
    const struct gw__state_validity_copy copy = {
        .ops = ops, .digest = DIGEST, .epoch = EPOCH - 1};
    gw__state_validity_copied(&validity, &copy);
    return validity;
}

START_TEST(a_first_member_has_the_state)
{
    const struct gw__view view = ring_of(3, 1);
    const struct gw__state_validity nothing = {.copied = false},
                                    initial = copied(0), old = copied(9);
    ck_assert_int_eq(gw__state_validity_status(&nothing, &view, life(0)),
                     GW__STATE_VALIDITY_CONFIRMED);
    ck_assert_int_eq(gw__state_validity_status(&initial, &view, life(0)),
                     GW__STATE_VALIDITY_CONFIRMED);
    /* A copy from a ring that has ended is useless in the next ring. */
    ck_assert_int_eq(gw__state_validity_status(&old, &view, life(0)),
                     GW__STATE_VALIDITY_LOST);
}
END_TEST

START_TEST(all_earlier_members_must_have_the_same)
{
    const struct gw__view view = ring_of(0x1f, EPOCH);
    struct gw__state_validity validity = copied(FROM);
    ck_assert_uint_eq(
        node_bits(gw__state_validity_requests(&validity, &view, life(2))), 3);
    ck_assert(gw__state_validity_compare(&validity, 0, FROM, DIGEST));
    ck_assert_uint_eq(
        node_bits(gw__state_validity_requests(&validity, &view, life(2))), 2);
    ck_assert(gw__state_validity_compare(&validity, 1, FROM - 1,
                                         5)); /* not there yet */
    ck_assert_int_eq(gw__state_validity_status(&validity, &view, life(2)),
                     GW__STATE_VALIDITY_UNKNOWN);
    ck_assert(gw__state_validity_compare(&validity, 1, FROM, DIGEST));
    ck_assert_int_eq(gw__state_validity_status(&validity, &view, life(2)),
                     GW__STATE_VALIDITY_CONFIRMED);
    ck_assert(!gw__state_validity_compare(&validity, 1, FROM, 5));
    /* A copy that is one op old does not need confirmation, and a node without
     * a place in the ring has none to ask. */
    validity = copied(FROM - 1);
    ck_assert_uint_eq(
        node_bits(gw__state_validity_requests(&validity, &view, life(2))), 0);
    ck_assert_int_eq(gw__state_validity_status(&validity, &view, life(2)),
                     GW__STATE_VALIDITY_UNKNOWN);
    ck_assert_int_eq(gw__state_validity_status(&validity, &view, life(9)),
                     GW__STATE_VALIDITY_UNKNOWN);
    ck_assert(!gw__state_validity_is_empty(&validity, &view, life(2)));
}
END_TEST

/* The initial members die. Node 2 has a copy, and 3 has one that lacks an
 * op. */
START_TEST(what_earlier_members_leave_is_valid)
{
    const struct gw__view view = ring_of(0x1c, EPOCH + 2);
    struct gw__state_validity whole = copied(FROM), behind = copied(FROM - 1);
    ck_assert_int_eq(gw__state_validity_status(&whole, &view, life(2)),
                     GW__STATE_VALIDITY_CONFIRMED);
    ck_assert(!gw__state_validity_is_empty(&whole, &view, life(2)));
    ck_assert(gw__state_validity_is_empty(&behind, &view, life(3)));
    ck_assert_uint_eq(
        node_bits(gw__state_validity_requests(&behind, &view, life(3))), 0x14);
    gw__state_validity_peer_empty(&behind, 4, EPOCH + 2);
    ck_assert_uint_eq(
        node_bits(gw__state_validity_requests(&behind, &view, life(3))), 4);
    ck_assert_int_eq(gw__state_validity_status(&behind, &view, life(3)),
                     GW__STATE_VALIDITY_UNKNOWN);
}
END_TEST

START_TEST(without_any_holder_the_state_is_lost)
{
    struct gw__view view = ring_of(0x1c, EPOCH + 2);
    struct gw__state_validity validity = {.copied = false};
    gw__state_validity_peer_empty(&validity, 3, EPOCH + 2);
    ck_assert_int_eq(gw__state_validity_status(&validity, &view, life(2)),
                     GW__STATE_VALIDITY_UNKNOWN);
    gw__state_validity_peer_empty(&validity, 4, EPOCH + 2);
    ck_assert_int_eq(gw__state_validity_status(&validity, &view, life(2)),
                     GW__STATE_VALIDITY_LOST);
    /* In the next ring it asks again: node 3 may have a copy from the dead node
     * 4. */
    view = ring_of(0xc, EPOCH + 3);
    ck_assert_int_eq(gw__state_validity_status(&validity, &view, life(2)),
                     GW__STATE_VALIDITY_UNKNOWN);
    gw__state_validity_peer_empty(&validity, 3, EPOCH + 2); /* late */
    ck_assert_int_eq(gw__state_validity_status(&validity, &view, life(2)),
                     GW__STATE_VALIDITY_UNKNOWN);
    gw__state_validity_peer_empty(&validity, 3, EPOCH + 3);
    ck_assert_int_eq(gw__state_validity_status(&validity, &view, life(2)),
                     GW__STATE_VALIDITY_LOST);
    /* A node alone in its ring has no other to ask. */
    view = ring_of(4, EPOCH + 4);
    ck_assert_int_eq(gw__state_validity_status(&validity, &view, life(2)),
                     GW__STATE_VALIDITY_LOST);
}
END_TEST

/* Node 2 died alone in its ring and returns before it knows of another ring. */
START_TEST(the_position_of_an_earlier_life_is_not_ours)
{
    const struct gw__view view = ring_of(4, EPOCH);
    const struct gw__state_validity validity = {.copied = false};
    const struct gw__process again = {2, {2, 99}};
    ck_assert_int_eq(gw__state_validity_status(&validity, &view, life(2)),
                     GW__STATE_VALIDITY_LOST);
    ck_assert_int_eq(gw__state_validity_status(&validity, &view, again),
                     GW__STATE_VALIDITY_UNKNOWN);
    ck_assert_uint_eq(
        node_bits(gw__state_validity_requests(&validity, &view, again)), 0);
    ck_assert(!gw__state_validity_is_empty(&validity, &view, again));
}
END_TEST

/* Node 0 had completed op 6 and served the state when it died. Node 1 did that
 * op without it, and died, too. */
START_TEST(what_was_decided_otherwise_is_void)
{
    const struct gw__view view = ring_of(0x1c, EPOCH + 2);
    struct gw__decision decision = {.epoch = EPOCH,
                                    .op = FROM - 1,
                                    .fate = GW__EXCLUDE,
                                    .contributors = {{2}}};
    struct gw__state_validity validity = copied(FROM);
    ck_assert(!gw__state_validity_decided(&validity, &decision, 1));
    ck_assert(gw__state_validity_is_empty(&validity, &view, life(2)));
    ck_assert_int_eq(gw__state_validity_status(&validity, &view, life(2)),
                     GW__STATE_VALIDITY_UNKNOWN);

    struct gw__decision other[3] = {decision, decision, decision};
    other[0].epoch = EPOCH - 1; /* before it was completed */
    other[1].op = FROM - 2;
    other[2].fate = GW__FORWARD;
    validity = copied(FROM);
    ck_assert(gw__state_validity_decided(&validity, other, 3));
    ck_assert_int_eq(gw__state_validity_status(&validity, &view, life(2)),
                     GW__STATE_VALIDITY_CONFIRMED);
}
END_TEST

START_TEST(a_ring_lasts_while_a_member_stays)
{
    const struct gw__view none = ring_of(0, 9), some = ring_of(7, 9),
                          fewer = ring_of(4, 10), others = ring_of(0x18, 10);
    struct gw__view again = ring_of(4, 11);
    again.ring[0].incarnation.low = 99;
    ck_assert(gw__state_validity_lasts(&none, &some));
    ck_assert(gw__state_validity_lasts(&some, &fewer));
    ck_assert(!gw__state_validity_lasts(&some, &none));
    ck_assert(!gw__state_validity_lasts(&some, &others));
    ck_assert(!gw__state_validity_lasts(&fewer, &again));
}
END_TEST

Suite *suite_state_validity(void)
{
    Suite *suite = suite_create("state_validity");
    TCase *tcase = tcase_create("link profiles");
    tcase_add_test(tcase, a_first_member_has_the_state);
    tcase_add_test(tcase, all_earlier_members_must_have_the_same);
    tcase_add_test(tcase, what_earlier_members_leave_is_valid);
    tcase_add_test(tcase, without_any_holder_the_state_is_lost);
    tcase_add_test(tcase, the_position_of_an_earlier_life_is_not_ours);
    tcase_add_test(tcase, what_was_decided_otherwise_is_void);
    tcase_add_test(tcase, a_ring_lasts_while_a_member_stays);
    suite_add_tcase(suite, tcase);
    return suite;
}
