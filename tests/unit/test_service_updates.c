/* SPDX-License-Identifier: MIT
 *
 * The recipients and times of membership updates: at once after a change and
 * for nodes that lag behind, with reports after a flush.
 */
#include "fronts.h"

Suite *suite_service_updates(void);

static struct gw__membership_update update;

/* Each of `nodes` (bits) has got exactly one update, and no other node any. */
static void update_went_to(unsigned front, uint64_t nodes)
{
    for (unsigned node = 0; node < GW__NODES_MAX; node++)
        ck_assert_msg(fronts_update(front, node, &update) ==
                          (node < 64 && nodes >> node & 1),
                      "node %u", node);
    for (unsigned node = 0; node < GW__NODES_MAX; node++)
        ck_assert(!fronts_update(front, node, &update));
}

/* The nodes whose reports this node has received. */
static uint64_t reports_to(unsigned front, unsigned node)
{
    static struct gw__reported reported;
    struct gw__report report;
    unsigned from;
    uint64_t nodes = 0;
    for (;;) {
        const struct sent_message *message =
            mail_pop(&fronts.front[front].mail, node, GW__PROTOCOL_REPORTED);
        if (!message)
            return nodes;
        ck_assert_int_eq(
            gw__reported_decode(message->data, message->bytes, &reported, NULL),
            GW_OK);
        ck_assert_uint_eq(reported.flush_epoch,
                          fronts_registry(0)->flush.since_epoch);
        while (gw__reported_next(&reported, &from, &report)) {
            ck_assert(!(nodes >> from & 1));
            nodes |= UINT64_C(1) << from;
        }
    }
}

static void join(unsigned node, enum gw__role role)
{
    fronts_append(&(struct gw__command){.kind = GW__CMD_REGISTER,
                                        .who = fronts_process(node, 0),
                                        .join = {role, true, "ipc://@w"}});
}

START_TEST(a_change_is_sent_at_once_to_all_known_nodes)
{
    fronts_ring_of(3);
    fronts_hello(0, fronts_process(9, 0), 0, 0); /* not in the registry */
    fronts_hello(0, fronts_process(10, 0), 0, 0);
    fronts_sleep(3000 * MS - 1);
    fronts_hello(0, fronts_process(9, 0), 0, 0);
    fronts_clear();
    fronts_sleep(1);
    join(30, GW__WORKER);
    update_went_to(0, 7 | 1 << 9 | 1 << 30);
    update_went_to(1, 7 | 1 << 30); /* it has received no HELLO */
    fronts_suspect(0, 2);
    update_went_to(0, 3 | 1 << 9 | 1 << 30); /* node 2 has sent no HELLO */
}
END_TEST

START_TEST(what_concerns_no_member_is_sent_to_none)
{
    fronts_ring_of(3);
    fronts_append(&(struct gw__command){.kind = GW__CMD_DRAIN,
                                        .who = fronts_process(0, 0)});
    fronts_append(
        &(struct gw__command){.kind = GW__CMD_SUSPECT,
                              .who = fronts_process(0, 0),
                              .suspect = {.suspected = fronts_process(1, 0)}});
    update_went_to(0, 0);
}
END_TEST

START_TEST(who_is_behind_gets_the_update_on_its_hello)
{
    fronts_ring_of(3);
    uint64_t index = fronts_registry(0)->index;
    fronts_hello(0, fronts_process(1, 0), index - 1, 0);
    ck_assert(fronts_update(0, 1, &update));
    ck_assert_uint_eq(update.index, index);
    ck_assert_uint_eq(update.view.ring_count, 3);
    ck_assert(!update.leader);
    ck_assert_int_eq(update.state, GW__ACTIVE);
    fronts_hello(0, fronts_process(1, 0), index, 0);
    fronts_append(&(struct gw__command){.kind = GW__CMD_DRAIN,
                                        .who = fronts_process(0, 0)});
    fronts_hello(0, fronts_process(1, 0), index, 0); /* no reports for it */
    fronts_hello(0, fronts_process(1, 0), index + 9, 0);
    update_went_to(0, 0);
}
END_TEST

START_TEST(the_unknown_and_the_dead_learn_what_they_are)
{
    fronts_ring_of(3);
    fronts_suspect(0, 2);
    fronts_report(0, 0);
    fronts_report(1, 0);
    fronts_clear();
    fronts_hello(0, fronts_process(2, 0), 1, 0);
    ck_assert(fronts_update(0, 2, &update));
    ck_assert_int_eq(update.state, GW__CONFIRMED_DEAD);
    fronts_hello(0, fronts_process(40, 0), 0, 0);
    ck_assert(fronts_update(0, 40, &update));
    ck_assert_int_eq(update.state, GW__NO_MEMBER);
    fronts_hello(0, fronts_process(1, 7), 0, 0); /* of another incarnation */
    ck_assert(fronts_update(0, 1, &update));
    ck_assert_uint_eq(update.incarnation.high, 100);
    fronts_hello(0, fronts_process(1, 7), fronts_registry(0)->index, 0);
    ck_assert_uint_eq(fronts.front[0].mail.sent_count, 0);
}
END_TEST

START_TEST(a_hello_with_a_wrong_incarnation_is_none)
{
    uint8_t out[64];
    const struct gw__hello hello = {{100, 3}, 0, {{0}}, 0};
    fronts_ring_of(3);
    fronts_input(0, (struct gw__input){
                        .kind = GW__MESSAGE,
                        .from = 2,
                        .incarnation = 4,
                        .data = out,
                        .bytes = gw__hello_encode(&hello, out, sizeof out)});
    ck_assert_uint_eq(fronts.front[0].mail.sent_count, 0);
}
END_TEST

START_TEST(when_a_flush_closes_the_reports_follow_the_update)
{
    fronts_ring_of(4);
    join(9, GW__WORKER);
    fronts_clear();
    fronts_suspect(0, 2);
    update_went_to(0, 1 | 2 | 8 | 1 << 9);
    fronts_report(0, 0);
    fronts_report(1, 0);
    update_went_to(0, 0);
    ck_assert_uint_eq(reports_to(0, 1), 0);
    fronts_report(3, 0);
    const struct mail *mail = &fronts.front[0].mail;
    ck_assert_uint_eq(mail->sent[0].data[0], GW__PROTOCOL_UPDATE);
    ck_assert_uint_eq(mail->sent[mail->sent_count - 1].data[0],
                      GW__PROTOCOL_REPORTED);
    ck_assert_uint_eq(reports_to(0, 0), 11);
    ck_assert_uint_eq(reports_to(0, 1), 11);
    ck_assert_uint_eq(reports_to(0, 3), 11);
    ck_assert_uint_eq(reports_to(0, 9), 0); /* it took part in no flush */
    update_went_to(0, 1 | 2 | 8 | 1 << 9);
    ck_assert_uint_eq(reports_to(1, 0), 11); /* every replica sends them */
}
END_TEST

START_TEST(a_hello_gets_the_reports_that_it_lacks)
{
    fronts_ring_of(4);
    fronts_hello(0, fronts_process(1, 0), fronts_registry(0)->index, 0);
    ck_assert_uint_eq(reports_to(0, 1), 0); /* no flush yet */
    fronts_suspect(0, 2);
    for (unsigned i = 0; i < 4; i++)
        if (i != 2)
            fronts_report(i, 0);
    fronts_clear();
    uint64_t index = fronts_registry(0)->index;
    fronts_hello(0, fronts_process(1, 0), index, 2);
    ck_assert_uint_eq(reports_to(0, 1), 1 | 8);
    fronts_hello(0, fronts_process(1, 0), index, 11);
    fronts_hello(0, fronts_process(1, 0), index - 1, 0);
    ck_assert_uint_eq(reports_to(0, 1), 0); /* the update comes first */
    fronts_hello(0, fronts_process(1, 5), index, 0);
    fronts_hello(0, fronts_process(2, 0), index, 0);
    ck_assert_uint_eq(reports_to(0, 1) | reports_to(0, 2), 0);
}
END_TEST

START_TEST(while_flushing_the_leader_answers_every_hello)
{
    fronts_ring_of(4);
    fronts_lead(0, false);
    fronts_suspect(0, 2);
    fronts_report(0, 0);
    fronts_clear();
    for (unsigned i = 0; i < FRONTS; i++)
        fronts_hello(i, fronts_process(1, 0), fronts_registry(0)->index, 0);
    ck_assert(fronts_update(0, 1, &update));
    ck_assert(update.leader && update.flushing);
    ck_assert_uint_eq(update.reported.words[0], 1);
    ck_assert(!fronts_update(1, 1, &update));
    ck_assert_uint_eq(reports_to(0, 1), 0);
}
END_TEST

START_TEST(a_restored_snapshot_is_an_update)
{
    static uint8_t bytes[1 << 18];
    fronts.down = 2;
    fronts_ring_of(3);
    size_t used =
        gw__registry_snapshot(fronts_registry(0), bytes, sizeof bytes);
    ck_assert_int_eq(
        gw__registry_restore(gw__service_registry(fronts.front[1].state), bytes,
                             used, NULL),
        GW_OK);
    fronts_wait(20 * MS);
    update_went_to(1, 7);
    fronts.down = 0;
    fronts_suspect(0, 2); /* it continues there: digests match */
    update_went_to(1, 3);
}
END_TEST

Suite *suite_service_updates(void)
{
    Suite *suite = suite_create("service_updates");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, fronts_setup, fronts_teardown);
    tcase_add_test(t, a_change_is_sent_at_once_to_all_known_nodes);
    tcase_add_test(t, what_concerns_no_member_is_sent_to_none);
    tcase_add_test(t, who_is_behind_gets_the_update_on_its_hello);
    tcase_add_test(t, the_unknown_and_the_dead_learn_what_they_are);
    tcase_add_test(t, a_hello_with_a_wrong_incarnation_is_none);
    tcase_add_test(t, when_a_flush_closes_the_reports_follow_the_update);
    tcase_add_test(t, a_hello_gets_the_reports_that_it_lacks);
    tcase_add_test(t, while_flushing_the_leader_answers_every_hello);
    tcase_add_test(t, a_restored_snapshot_is_an_update);
    suite_add_tcase(suite, t);
    return suite;
}
