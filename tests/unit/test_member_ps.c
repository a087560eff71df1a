/* SPDX-License-Identifier: MIT
 *
 * The member machine of servers and workers of the parameter server: they send
 * beats and suspect each other without a ring, and a server knows the end of
 * its lease.
 */
#include "member_hand.h"

#include <string.h>

Suite *suite_member_ps(void);

static void set_ps_members(uint64_t epoch, unsigned count,
                           const unsigned *nodes)
{
    hand.update.view.epoch = epoch;
    hand.update.ps_member_count = count;
    for (unsigned i = 0; i < count; i++)
        hand.update.ps_members[i] = (struct gw__ps_member){
            .node = nodes[i],
            .role = nodes[i] == RIGHT ? GW__WORKER : GW__SERVER,
            .incarnation = hand_id_of(nodes[i])};
}

static void begin(enum gw__role role)
{
    struct gw__command c;
    hand.in_ps = true;
    hand_start(role);
    ck_assert(hand_request(GW__CMD_REGISTER, &c));
    ck_assert(!c.join.ring);
    ck_assert_int_eq(c.join.role, role);
    hand_answer(&c, GW_OK, "active");
    set_ps_members(1, 3, (const unsigned[]){SELF, LEFT, RIGHT});
    hand_send_update();
    ck_assert_ptr_nonnull(hand_notification(GW__NOTIFY_REGISTERED));
    ck_assert_ptr_null(hand_notification(GW__NOTIFY_VIEW));
    hand_clear();
}

/* From the leader, about a HELLO sent `ago_ms` ago. */
static void lease_of(unsigned node, uint64_t ago_ms)
{
    uint8_t out[64];
    const struct gw__lease lease = {.incarnation = hand_id_of(node),
                                    .sent_ns = hand.now_ns - ago_ms * MS,
                                    .lease_ns = GW__LEASE_NS};
    size_t bytes = gw__lease_encode(&lease, out, sizeof out);
    hand_input(GW__MESSAGE, 0, out, bytes);
}

static unsigned sent_to(unsigned node, enum gw__protocol kind)
{
    unsigned count = 0;
    for (unsigned i = 0; i < hand.sent_count; i++)
        count += hand.sent[i].to == node && hand.sent[i].data[0] == kind;
    return count;
}

START_TEST(a_lease_counts_from_the_hello)
{
    begin(GW__SERVER);
    ck_assert_uint_eq(gw__member_lease(hand.state), 0);
    hand_pass(1000);
    hand_clear();
    uint64_t now_ns = hand.now_ns;
    lease_of(SELF, 30);
    ck_assert_ptr_nonnull(hand_notification(GW__NOTIFY_LEASE));
    ck_assert_uint_eq(gw__member_lease(hand.state), now_ns + 170 * MS);
    hand_clear();
    lease_of(SELF, 50); /* an older one that came late */
    ck_assert_ptr_null(hand_notification(GW__NOTIFY_LEASE));
    ck_assert_uint_eq(gw__member_lease(hand.state), now_ns + 170 * MS);
    lease_of(LEFT, 0);
    ck_assert_uint_eq(gw__member_lease(hand.state), now_ns + 170 * MS);
}
END_TEST

START_TEST(a_hello_of_a_server_has_times_and_is_more_frequent)
{
    struct gw__hello hello;
    begin(GW__SERVER);
    hand_pass(400);
    ck_assert_uint_eq(sent_to(0, GW__PROTOCOL_HELLO), 10);
    const struct member_sent *last = &hand.sent[hand.sent_count - 1];
    while (last->data[0] != GW__PROTOCOL_HELLO)
        last--;
    ck_assert_int_eq(gw__hello_decode(last->data, last->bytes, &hello, NULL),
                     GW_OK);
    ck_assert_uint_le(hello.sent_ns, hand.now_ns);
    ck_assert_uint_gt(hello.sent_ns, hand.now_ns - 40 * MS - 1);
}
END_TEST

START_TEST(a_worker_has_no_lease_and_need_not_hurry)
{
    begin(GW__WORKER);
    lease_of(SELF, 0);
    ck_assert_uint_eq(gw__member_lease(hand.state), 0);
    hand_pass(400);
    ck_assert_uint_eq(sent_to(0, GW__PROTOCOL_HELLO), 4);
    hand_pass(1000);
    ck_assert_ptr_null(
        hand_notification(GW__NOTIFY_PARKED)); /* nothing waits */
}
END_TEST

START_TEST(a_server_without_a_lease_is_parked)
{
    begin(GW__SERVER);
    hand_pass(499);
    ck_assert_ptr_null(hand_notification(GW__NOTIFY_PARKED));
    hand_pass(41);
    ck_assert_ptr_nonnull(strstr(hand_notification(GW__NOTIFY_PARKED)->text,
                                 "node 4 does not serve"));
    ck_assert(gw__member_parked(hand.state));
    hand.update.leader = true;
    hand_send_update(); /* a leader alone is not enough */
    ck_assert(gw__member_parked(hand.state));
    lease_of(SELF, 250); /* nor one that is over */
    ck_assert(gw__member_parked(hand.state));
    lease_of(SELF, 0);
    ck_assert(!gw__member_parked(hand.state));
    ck_assert_ptr_nonnull(hand_notification(GW__NOTIFY_UNPARKED));
    hand_clear();
    hand_pass(650);
    ck_assert_ptr_null(hand_notification(GW__NOTIFY_PARKED));
    hand_pass(150);
    ck_assert_ptr_nonnull(hand_notification(GW__NOTIFY_PARKED));
}
END_TEST

START_TEST(ps_members_send_heartbeats_and_suspect_the_silent)
{
    struct gw__command c;
    begin(GW__WORKER);
    hand_pass_watching(100);
    ck_assert_uint_ge(sent_to(LEFT, GW__PROTOCOL_BEAT), 3);
    ck_assert_uint_ge(sent_to(RIGHT, GW__PROTOCOL_BEAT), 3);
    hand_clear();
    for (unsigned i = 0; i < 20 && !hand_notification(GW__NOTIFY_SUSPECT);
         i++) {
        hand.sent_count = 0;
        hand_pass_watching(100);
    }
    unsigned node = hand_notification(GW__NOTIFY_SUSPECT)->node;
    ck_assert(node == LEFT || node == RIGHT);
    ck_assert(hand_request(GW__CMD_SUSPECT, &c));
    ck_assert(!c.suspect.certain);
    ck_assert(gw__id_equal(c.suspect.suspected.incarnation,
                           hand_id_of(c.suspect.suspected.node)));
    hand_clear();
    set_ps_members(2, 1, (const unsigned[]){SELF}); /* declared dead */
    hand_send_update();
    hand_answer(&c, GW_OK, "declared dead");
    hand_clear();
    hand_pass_watching(500);
    ck_assert(!hand_request(GW__CMD_SUSPECT, &c));
    ck_assert_uint_eq(sent_to(LEFT, GW__PROTOCOL_BEAT), 0);
}
END_TEST

START_TEST(a_certain_end_of_a_ps_member_is_reported_too)
{
    struct gw__command c;
    begin(GW__SERVER);
    hand_input(GW__DIED, RIGHT, NULL, 0);
    ck_assert(hand_request(GW__CMD_SUSPECT, &c));
    ck_assert(c.suspect.certain);
    ck_assert_uint_eq(c.suspect.suspected.node, RIGHT);
}
END_TEST

START_TEST(updates_have_ps_members_and_routes_until_death)
{
    begin(GW__SERVER);
    hand.update.routes.version = 1;
    hand.update.routes.slot_count = hand.update.routes.replicas = 1;
    hand.update.routes.servers = 1;
    struct gw__slot_route *slot = &hand.update.routes.slots[0];
    slot->term = slot->count = 1;
    slot->primary = slot->replica[0] = SELF;
    slot->learner = slot->leaver = slot->successor = GW__NO_NODE;
    hand_send_update();
    const struct gw__membership_update *update = gw__member_update(hand.state);
    ck_assert_uint_eq(update->ps_member_count, 3);
    ck_assert_uint_eq(update->routes.slots[0].primary, SELF);
    lease_of(SELF, 0);
    hand.update.state = GW__CONFIRMED_DEAD;
    set_ps_members(2, 2, (const unsigned[]){LEFT, RIGHT});
    hand_send_update();
    ck_assert_ptr_nonnull(hand_notification(GW__NOTIFY_GONE));
    ck_assert_uint_eq(gw__member_lease(hand.state), 0);
}
END_TEST

Suite *suite_member_ps(void)
{
    Suite *suite = suite_create("member_ps");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, hand_setup, hand_teardown);
    tcase_add_test(t, a_lease_counts_from_the_hello);
    tcase_add_test(t, a_hello_of_a_server_has_times_and_is_more_frequent);
    tcase_add_test(t, a_worker_has_no_lease_and_need_not_hurry);
    tcase_add_test(t, a_server_without_a_lease_is_parked);
    tcase_add_test(t, ps_members_send_heartbeats_and_suspect_the_silent);
    tcase_add_test(t, a_certain_end_of_a_ps_member_is_reported_too);
    tcase_add_test(t, updates_have_ps_members_and_routes_until_death);
    suite_add_tcase(suite, t);
    return suite;
}
