/* SPDX-License-Identifier: MIT
 *
 * The service machine driven by hand: requests, proposals and answers, and the
 * first actions of a new leader. The rest is in test_service_updates.c and
 * test_service_monitor.c.
 */
#include "fronts.h"

Suite *suite_service(void);

static struct gw__reply reply;
static struct gw__answer answer;

static struct gw__command slots_of(unsigned count)
{
    return (struct gw__command){
        .kind = GW__CMD_ROUTES,
        .routes = {.slots = count, .replicas = 1, .servers = 1}};
}

START_TEST(who_does_not_lead_names_who_does)
{
    fronts_request(0, 5, 1, slots_of(4));
    ck_assert(fronts_reply(0, 5, &reply, &answer));
    ck_assert_int_eq(reply.protocol, GW__PROTOCOL_REDIRECT);
    ck_assert_uint_eq(reply.leader, GW__NODES_MAX);
    fronts_lead(1, false);
    fronts_request(0, 5, 1, slots_of(4));
    ck_assert(fronts_reply(0, 5, &reply, &answer));
    ck_assert_uint_eq(reply.leader, FRONT_NODE + 1);
    ck_assert_uint_eq(reply.sequence, 1);
    ck_assert_uint_eq(fronts_commit(), 0);
}
END_TEST

START_TEST(a_request_is_answered_when_it_is_applied)
{
    fronts_lead(0, false);
    fronts_request(0, 5, 1, slots_of(4));
    ck_assert(!fronts_reply(0, 5, &reply, &answer));
    ck_assert_uint_eq(fronts_commit(), 1);
    ck_assert(fronts_reply(0, 5, &reply, &answer));
    ck_assert_int_eq(answer.code, GW_OK);
    ck_assert_uint_eq(reply.sequence, 1);
    ck_assert_uint_eq(fronts_registry(1)->routes.slot_count, 4);
    ck_assert(!fronts_reply(1, 5, &reply, &answer)); /* sent to the other */
}
END_TEST

START_TEST(a_repetition_is_answered_from_memory_by_anyone)
{
    fronts_lead(0, false);
    fronts_request(0, 5, 1, slots_of(4));
    fronts_request(0, 5, 1, slots_of(4)); /* it is under way */
    ck_assert_uint_eq(fronts_commit(), 1);
    ck_assert(fronts_reply(0, 5, &reply, &answer));
    ck_assert(!fronts_reply(0, 5, &reply, &answer));
    for (unsigned i = 0; i < FRONTS; i++) {
        fronts_request(i, 5, 1, slots_of(4));
        ck_assert(fronts_reply(i, 5, &reply, &answer));
        ck_assert_int_eq(reply.protocol, GW__PROTOCOL_ANSWER);
        ck_assert_int_eq(answer.code, GW_OK);
    }
    ck_assert_uint_eq(fronts_commit(), 0);
}
END_TEST

START_TEST(a_proposal_that_was_lost_is_made_again)
{
    fronts_lead(0, false);
    fronts_request(0, 5, 1, slots_of(4));
    fronts_clear();
    fronts_sleep(199 * MS);
    fronts_request(0, 5, 1, slots_of(4));
    ck_assert_uint_eq(fronts_commit(), 0);
    fronts_sleep(1 * MS);
    fronts_request(0, 5, 1, slots_of(4));
    ck_assert_uint_eq(fronts_commit(), 1);
    ck_assert(fronts_reply(0, 5, &reply, &answer));
}
END_TEST

START_TEST(a_new_leader_proposes_at_once_and_it_is_done_once)
{
    const struct gw__command suspect = {
        .kind = GW__CMD_SUSPECT,
        .who = fronts_process(5, 0),
        .suspect = {fronts_process(2, 0), .certain = true}};
    fronts_ring_of(6);
    fronts_lead(0, false);
    fronts_request(0, 5, 1, suspect);
    fronts_lead(1, false); /* front 0's proposal seems lost */
    fronts_request(1, 5, 1, suspect);
    fronts_request(0, 5, 1, suspect);
    ck_assert(fronts_reply(0, 5, &reply, &answer));
    ck_assert_uint_eq(reply.leader, FRONT_NODE + 1);
    fronts_lead(0, false);
    fronts_request(0, 5, 1, suspect);
    fronts_request(1, 5, 1, suspect);
    ck_assert_uint_eq(fronts_commit(), 1);
    ck_assert(fronts_reply(0, 5, &reply, &answer));
    ck_assert_str_eq(answer.text, "node 2 is declared dead: epoch 2");
    ck_assert_int_eq(fronts_registry(0)->members[2].state, GW__CONFIRMED_DEAD);
}
END_TEST

START_TEST(both_entries_of_a_request_have_one_effect)
{
    fronts_lead(0, false);
    fronts_request(0, 5, 1, slots_of(4));
    fronts_lead(1, true);
    fronts_request(1, 5, 1, slots_of(4));
    ck_assert_uint_ge(fronts_commit(), 2); /* and their own proposals */
    for (unsigned i = 0; i < FRONTS; i++) {
        ck_assert(fronts_reply(i, 5, &reply, &answer));
        ck_assert_int_eq(answer.code, GW_OK);
        ck_assert(!fronts_reply(i, 5, &reply, &answer));
    }
    ck_assert_uint_eq(fronts_registry(0)->routes.slot_count, 4);
}
END_TEST

START_TEST(nameless_and_broken_requests_are_dropped)
{
    uint8_t out[1 + GW__COMMAND_BYTES_MAX] = {GW__PROTOCOL_REQUEST};
    struct gw__command c = slots_of(4);
    struct gw__input input = {.kind = GW__MESSAGE, .from = 5, .data = out};
    fronts_lead(0, false);
    input.bytes = 1 + gw__command_encode(&c, out + 1, sizeof out - 1);
    fronts_input(0, input); /* of no client */
    input.bytes--;
    fronts_input(0, input);
    input.bytes = 1;
    fronts_input(0, input);
    input.bytes = 0;
    fronts_input(0, input);
    ck_assert_uint_eq(fronts_commit(), 0);
    ck_assert_uint_eq(fronts.front[0].mail.sent_count, 0);
}
END_TEST

START_TEST(more_clients_than_entries_evict_the_oldest)
{
    fronts_lead(0, false);
    for (unsigned i = 0; i <= GW__NODES_MAX; i++) {
        struct gw__command c = slots_of(1 + i);
        uint8_t out[1 + GW__COMMAND_BYTES_MAX] = {GW__PROTOCOL_REQUEST};
        c.client = (struct gw__id){1, 1 + i};
        c.sequence = 1;
        size_t bytes = gw__command_encode(&c, out + 1, sizeof out - 1);
        fronts_sleep(1);
        fronts_input(0, (struct gw__input){.kind = GW__MESSAGE,
                                           .from = 5,
                                           .data = out,
                                           .bytes = 1 + bytes});
    }
    ck_assert_uint_eq(fronts_commit(), GW__NODES_MAX + 1);
    unsigned answers = 0;
    while (mail_pop(&fronts.front[0].mail, 5, GW__PROTOCOL_ANSWER))
        answers++;
    ck_assert_uint_eq(answers, GW__NODES_MAX);
}
END_TEST

START_TEST(the_leader_stamps_a_time_that_goes_on_from_the_log)
{
    struct gw__command old = slots_of(1);
    old.time_ms = 500000;
    fronts_append(&old);
    fronts_lead(0, false);
    fronts_sleep(1500 * MS);
    struct gw__command lying = slots_of(4);
    lying.time_ms = UINT64_MAX;
    fronts_request(0, 5, 1, lying);
    fronts_commit();
    ck_assert_uint_eq(fronts_registry(0)->time_ms, 501500);
    old.time_ms = 700000; /* of an earlier leader, applied late */
    fronts_append(&old);
    fronts_request(0, 5, 2, slots_of(4));
    fronts_commit();
    fronts_sleep(10 * MS);
    fronts_request(0, 5, 3, slots_of(4));
    fronts_commit();
    ck_assert_uint_eq(fronts_registry(0)->time_ms, 700010);
}
END_TEST

/* ---- becoming the leader ---- */

START_TEST(a_leader_registers_as_a_controller)
{
    fronts_lead(0, true);
    ck_assert_uint_eq(fronts_commit(), 1);
    const struct gw__member *m = &fronts_registry(0)->members[FRONT_NODE];
    ck_assert_int_eq(m->state, GW__ACTIVE);
    ck_assert_int_eq(m->role, GW__CONTROLLER);
    ck_assert_str_eq(m->endpoint, "ipc://@front");
    ck_assert_uint_eq(m->incarnation.high, 100);
    fronts_wait(1000 * MS);
    fronts_lead(FRONTS, true);
    fronts_lead(0, true);
    ck_assert_uint_eq(fronts_commit(), 0);
}
END_TEST

START_TEST(it_tries_again_until_it_is_registered)
{
    fronts_lead(0, false);
    fronts_wait(199 * MS);
    ck_assert_uint_eq(fronts.front[0].mail.notified_count, 0);
    fronts_wait(21 * MS);
    ck_assert_uint_eq(fronts.front[0].mail.notified_count, 1);
}
END_TEST

START_TEST(its_earlier_life_leaves_first)
{
    fronts_append(
        &(struct gw__command){.kind = GW__CMD_REGISTER,
                              .who = fronts_process(FRONT_NODE, 9),
                              .join = {GW__CONTROLLER, false, "ipc://@old"}});
    fronts_lead(0, true);
    ck_assert_uint_eq(fronts_commit(), 2);
    const struct gw__member *m = &fronts_registry(0)->members[FRONT_NODE];
    ck_assert_int_eq(m->state, GW__ACTIVE);
    ck_assert_uint_eq(m->incarnation.high, 100);
}
END_TEST

/* ---- endpoints ---- */

START_TEST(who_wants_to_register_can_be_answered)
{
    struct gw__command join = {.kind = GW__CMD_REGISTER,
                               .who = fronts_process(5, 0),
                               .join = {GW__WORKER, true, "ipc://@five"}};
    char endpoint[GW__ENDPOINT_MAX];
    unsigned node;
    struct mail *mail = &fronts.front[0].mail;
    fronts_request(0, 5, 1, join);
    ck_assert_uint_eq(mail->notified_count, 1);
    ck_assert(gw__service_sends_endpoint(
        mail->notified[0].data, mail->notified[0].bytes, &node, endpoint));
    ck_assert_uint_eq(node, 5);
    ck_assert_str_eq(endpoint, "ipc://@five");
    fronts_clear();
    fronts_lead(0, false);
    fronts_request(0, 5, 1, slots_of(4));
    ck_assert(!gw__service_sends_endpoint(
        mail->notified[0].data, mail->notified[0].bytes, &node, endpoint));
}
END_TEST

START_TEST(who_registers_others_is_known_already)
{
    fronts_request(0, 6, 1,
                   (struct gw__command){.kind = GW__CMD_REGISTER,
                                        .who = fronts_process(5, 0)});
    ck_assert_uint_eq(fronts.front[0].mail.notified_count, 0);
}
END_TEST

START_TEST(but_not_with_the_number_of_an_active_one)
{
    struct gw__command join = {.kind = GW__CMD_REGISTER,
                               .who = fronts_process(1, 1),
                               .join = {GW__WORKER, true, "ipc://@other"}};
    fronts_ring_of(2);
    fronts_request(0, 1, 1, join);
    ck_assert_uint_eq(fronts.front[0].mail.notified_count, 0);
}
END_TEST

/* A process that asks for any number uses one drawn at random. */
START_TEST(nor_of_one_that_waits_to_be_admitted)
{
    struct gw__command join = {.kind = GW__CMD_REGISTER,
                               .who = fronts_process(5, 0),
                               .join = {GW__WORKER, true, "ipc://@five"}};
    const struct mail *mail = &fronts.front[0].mail;
    fronts_append(&join);
    join.who.node = GW__NODE_ANY;
    fronts_request(0, 5, 1, join);
    ck_assert_uint_eq(mail->notified_count,
                      1); /* the answer is still unknown */
    join.who.incarnation.low++;
    fronts_request(0, 5, 1, join);
    ck_assert_uint_eq(mail->notified_count, 1);
    join.who.node = 5; /* under the same node: accepted */
    fronts_request(0, 5, 1, join);
    ck_assert_uint_eq(mail->notified_count, 2);
}
END_TEST

START_TEST(an_entry_counts_once)
{
    uint8_t command[GW__COMMAND_BYTES_MAX], out[GW__SERVICE_REQUEST_MAX];
    struct gw__command c = slots_of(4);
    size_t bytes = gw__command_encode(&c, command, sizeof command);
    struct gw__input input = {.kind = GW__REQUESTED, .data = out};
    fronts_append(&c);
    input.bytes = gw__service_request_applied(out, 1, command, bytes);
    fronts_input(0, input);
    ck_assert_uint_eq(fronts_registry(0)->index, 1);
    ck_assert_uint_eq(gw__service_request_applied(out, 2, command, sizeof out),
                      0);
}
END_TEST

START_TEST(rubbish_is_ignored)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, 1);
    fronts_ring_of(3);
    for (unsigned i = 0; i < 20000; i++) {
        uint8_t bytes[80];
        for (size_t j = 0; j < sizeof bytes; j++)
            bytes[j] = (uint8_t)gw_rng_below(&rng, j ? 256 : 10);
        struct gw__input input = {
            .kind = (enum gw__input_kind)(1 + gw_rng_below(&rng, 4)),
            .from = (uint32_t)gw_rng_below(&rng, 70),
            .incarnation = gw_rng_below(&rng, 3),
            .data = bytes,
            .bytes = gw_rng_below(&rng, sizeof bytes)};
        fronts_sleep(1);
        fronts_input(0, input);
        fronts_clear();
    }
}
END_TEST

Suite *suite_service(void)
{
    Suite *suite = suite_create("service");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, fronts_setup, fronts_teardown);
    tcase_add_test(t, who_does_not_lead_names_who_does);
    tcase_add_test(t, a_request_is_answered_when_it_is_applied);
    tcase_add_test(t, a_repetition_is_answered_from_memory_by_anyone);
    tcase_add_test(t, a_proposal_that_was_lost_is_made_again);
    tcase_add_test(t, a_new_leader_proposes_at_once_and_it_is_done_once);
    tcase_add_test(t, both_entries_of_a_request_have_one_effect);
    tcase_add_test(t, nameless_and_broken_requests_are_dropped);
    tcase_add_test(t, more_clients_than_entries_evict_the_oldest);
    tcase_add_test(t, the_leader_stamps_a_time_that_goes_on_from_the_log);
    tcase_add_test(t, a_leader_registers_as_a_controller);
    tcase_add_test(t, it_tries_again_until_it_is_registered);
    tcase_add_test(t, its_earlier_life_leaves_first);
    tcase_add_test(t, who_wants_to_register_can_be_answered);
    tcase_add_test(t, who_registers_others_is_known_already);
    tcase_add_test(t, but_not_with_the_number_of_an_active_one);
    tcase_add_test(t, nor_of_one_that_waits_to_be_admitted);
    tcase_add_test(t, an_entry_counts_once);
    tcase_add_test(t, rubbish_is_ignored);
    suite_add_tcase(suite, t);
    return suite;
}
