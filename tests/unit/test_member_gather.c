/* SPDX-License-Identifier: MIT
 *
 * Members that end together, as an observer reports them.
 */
#include "member_hand.h"

Suite *suite_member_gather(void);

/* In a ring of more than GW__GATHER_ABOVE members. */
START_TEST(members_of_a_large_ring_that_end_together_are_one_request)
{
    struct gw__command c;
    unsigned nodes[GW__GATHER_ABOVE + 2];
    hand_in_ring();
    for (unsigned i = 0; i < GW__GATHER_ABOVE + 2; i++)
        nodes[i] = i;
    hand_ring_is(2, GW__GATHER_ABOVE + 2, nodes);
    hand_send_update();
    hand_clear();
    hand_input(GW__DIED, LEFT, NULL, 0);
    hand_input(GW__DIED, RIGHT, NULL, 0);
    ck_assert(!hand_request(GW__CMD_SUSPECT, &c));
    hand_pass(2);
    ck_assert(hand_request(GW__CMD_SUSPECT, &c));
    ck_assert(c.suspect.certain);
    ck_assert_uint_eq(c.suspect.more_count, 1);
    ck_assert_uint_eq(c.suspect.suspected.node + c.suspect.more[0].node,
                      LEFT + RIGHT);
    hand_answer(&c, GW_OK, "2 nodes are declared dead");
    hand_clear();
    hand_pass(100);
    ck_assert(!hand_request(GW__CMD_SUSPECT, &c));
    hand_pass(150); /* until the view shows it */
    ck_assert(hand_request(GW__CMD_SUSPECT, &c));
    ck_assert_uint_eq(c.suspect.more_count, 1);
}
END_TEST

Suite *suite_member_gather(void)
{
    Suite *suite = suite_create("member_gather");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, hand_setup, hand_teardown);
    tcase_add_test(t,
                   members_of_a_large_ring_that_end_together_are_one_request);
    suite_add_tcase(suite, t);
    return suite;
}
