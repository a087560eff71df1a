/* SPDX-License-Identifier: MIT
 *
 * Leases: which processes get them, and that during a lease no process is
 * declared dead on suspicion.
 */
#include "fronts.h"

Suite *suite_service_lease(void);

enum { SERVER = 10, WORKER = 20 };

static struct gw__reply reply;
static struct gw__answer answer;

static const uint64_t LEASE_MS = 200, LEADER_MS = 550, AFTER_MS = 250;

/* The first request of a client has sequence 1. */
static void known(unsigned node)
{
    fronts_append(&(struct gw__command){
        .kind = GW__CMD_DRAIN, .client = {77, node + 1}, .sequence = 1});
}

static void register_ps(void)
{
    for (unsigned node = SERVER; node < SERVER + 3; node++)
        fronts_append(&(struct gw__command){.kind = GW__CMD_REGISTER,
                                            .who = fronts_process(node, 0),
                                            .join = {.role = GW__SERVER}});
    fronts_append(&(struct gw__command){.kind = GW__CMD_REGISTER,
                                        .who = fronts_process(WORKER, 0),
                                        .join = {.role = GW__WORKER}});
    for (unsigned node = SERVER; node <= WORKER; node++)
        known(node);
    fronts_clear();
}

static void hello(unsigned front, unsigned node, unsigned life)
{
    fronts_hello(front, fronts_process(node, life),
                 fronts_registry(0)->index + 1, 0);
}

static bool leased(unsigned front, unsigned node, struct gw__lease *lease)
{
    const struct sent_message *message =
        mail_pop(&fronts.front[front].mail, node, GW__PROTOCOL_LEASE);
    if (!message)
        return false;
    ck_assert_int_eq(
        gw__lease_decode(message->data, message->bytes, lease, NULL), GW_OK);
    return true;
}

/* Time passes for a running process. */
static void wait_ms(uint64_t ms)
{
    fronts_wait(ms * MS);
    fronts_clear();
}

/* Node `by` suspects `node`. Returns whether the suspicion is in the log; the
 * answer must match. */
static bool suspect(unsigned by, unsigned node, bool certain, uint64_t sequence)
{
    fronts_request(
        0, by, sequence,
        (struct gw__command){.kind = GW__CMD_SUSPECT,
                             .who = fronts_process(by, 0),
                             .suspect = {.suspected = fronts_process(node, 0),
                                         .certain = certain}});
    bool let_in = fronts_commit() > 0;
    ck_assert(fronts_reply(0, by, &reply, &answer));
    ck_assert(let_in == (answer.code != GW_PENDING));
    return let_in;
}

static void become_leader(void)
{
    fronts_lead(0, true);
    fronts_commit();
    fronts_clear();
}

START_TEST(the_leader_gives_servers_a_lease_for_each_hello)
{
    struct gw__lease lease;
    register_ps();
    hello(0, SERVER, 0);
    ck_assert(!leased(0, SERVER, &lease)); /* it does not lead */
    become_leader();
    for (unsigned i = 0; i < 2; i++) {
        hello(0, SERVER, 0);
        ck_assert(leased(0, SERVER, &lease));
        ck_assert_uint_eq(lease.sent_ns, fronts.now_ns);
        ck_assert_uint_eq(lease.lease_ns, LEASE_MS * MS);
        ck_assert_uint_eq(lease.index, fronts_registry(0)->index);
        ck_assert_uint_eq(lease.incarnation.low, SERVER + 1);
        ck_assert(!leased(0, SERVER, &lease));
    }
    hello(1, SERVER, 0);
    ck_assert(!leased(1, SERVER, &lease));
    hello(0, WORKER, 0);
    ck_assert(!leased(0, WORKER, &lease));
    hello(0, SERVER, 1); /* another incarnation */
    ck_assert(!leased(0, SERVER, &lease));
    fronts_suspect(WORKER, SERVER);
    hello(0, SERVER, 0);
    ck_assert(!leased(0, SERVER, &lease)); /* declared dead */
}
END_TEST

START_TEST(a_new_leader_holds_guesses_back_and_facts_not)
{
    register_ps();
    become_leader();
    wait_ms(LEADER_MS - 1);
    ck_assert(!suspect(WORKER, SERVER, false, 2));
    ck_assert_str_eq(answer.text,
                     "node 10 may still have a lease; try again later");
    ck_assert(suspect(WORKER, SERVER + 1, true, 3));
    ck_assert_int_eq(fronts_registry(0)->members[SERVER + 1].state,
                     GW__CONFIRMED_DEAD);
    ck_assert(suspect(SERVER, WORKER, false, 2)); /* it has no lease */
    fronts_wait(1 * MS);
    fronts_clear();
    ck_assert(suspect(WORKER, SERVER, false, 4));
    ck_assert_str_eq(answer.text, "node 10 is suspected by node 20");
}
END_TEST

START_TEST(a_suspicion_waits_for_the_end_of_the_lease)
{
    register_ps();
    become_leader();
    wait_ms(LEADER_MS);
    hello(0, SERVER, 0);
    fronts_clear();
    wait_ms(AFTER_MS - 1);
    ck_assert(!suspect(WORKER, SERVER, false, 2));
    wait_ms(1);
    ck_assert(suspect(WORKER, SERVER, false, 3));
    ck_assert(suspect(SERVER + 1, SERVER, false, 2));
    ck_assert_int_eq(fronts_registry(0)->members[SERVER].state,
                     GW__CONFIRMED_DEAD);
}
END_TEST

START_TEST(who_is_suspected_gets_no_lease)
{
    struct gw__lease lease;
    register_ps();
    become_leader();
    wait_ms(LEADER_MS);
    fronts_request(0, WORKER, 2,
                   (struct gw__command){
                       .kind = GW__CMD_SUSPECT,
                       .who = fronts_process(WORKER, 0),
                       .suspect = {.suspected = fronts_process(SERVER, 0)}});
    hello(0, SERVER, 0); /* the suspicion is under way */
    ck_assert(!leased(0, SERVER, &lease));
    ck_assert_uint_eq(fronts_commit(), 1);
    hello(0, SERVER, 0); /* one suspicion declares no process dead */
    ck_assert(leased(0, SERVER, &lease));
}
END_TEST

/* Suspicions accepted by earlier leaders may still declare it dead. */
START_TEST(a_new_leader_gives_none_before_its_first_entry_is_out)
{
    struct gw__lease lease;
    register_ps();
    for (unsigned leader_since = 0; leader_since < 2; leader_since++) {
        fronts_lead(0, true);
        hello(0, SERVER, 0);
        ck_assert(!leased(0, SERVER, &lease));
        ck_assert_uint_eq(fronts_commit(), 1);
        hello(0, SERVER, 0);
        ck_assert(leased(0, SERVER, &lease));
        fronts_lead(FRONTS, true);
    }
}
END_TEST

START_TEST(who_has_slept_does_not_know_whether_it_leads)
{
    struct gw__lease lease;
    register_ps();
    become_leader();
    wait_ms(LEADER_MS);
    fronts_sleep(200 * MS);
    hello(0, SERVER, 0);
    ck_assert(!leased(0, SERVER, &lease));
    wait_ms(299);
    hello(0, SERVER, 0);
    ck_assert(!leased(0, SERVER, &lease));
    wait_ms(1);
    hello(0, SERVER, 0);
    ck_assert(leased(0, SERVER, &lease));
}
END_TEST

START_TEST(ps_members_get_updates_at_once_and_are_monitored)
{
    static struct gw__membership_update update;
    register_ps();
    struct gw__command c = {.kind = GW__CMD_ROUTES, .routes = {4, 2, 2}};
    fronts_append(&c);
    ck_assert(fronts_update(0, SERVER, &update));
    ck_assert_uint_eq(update.ps_member_count, 4);
    ck_assert_int_eq(update.ps_members[0].role, GW__SERVER);
    ck_assert_uint_eq(update.ps_members[3].node, WORKER);
    ck_assert_uint_eq(update.routes.slot_count, 4);
    ck_assert_uint_eq(update.routes.slots[3].count, 2);
    ck_assert(fronts_update(1, WORKER, &update)); /* without any HELLO */
    fronts_lead(0, true);
    fronts_commit(); /* front 0 registers */
    fronts_wait(3000 * MS);
    fronts_commit(); /* no HELLO from any: all are suspected */
    for (unsigned node = SERVER; node < SERVER + 3; node++)
        ck_assert_uint_eq(fronts_registry(0)->members[node].suspected_by.node,
                          FRONT_NODE);
}
END_TEST

Suite *suite_service_lease(void)
{
    Suite *suite = suite_create("service_lease");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, fronts_setup, fronts_teardown);
    tcase_add_test(t, the_leader_gives_servers_a_lease_for_each_hello);
    tcase_add_test(t, a_new_leader_holds_guesses_back_and_facts_not);
    tcase_add_test(t, a_suspicion_waits_for_the_end_of_the_lease);
    tcase_add_test(t, who_is_suspected_gets_no_lease);
    tcase_add_test(t, a_new_leader_gives_none_before_its_first_entry_is_out);
    tcase_add_test(t, who_has_slept_does_not_know_whether_it_leads);
    tcase_add_test(t, ps_members_get_updates_at_once_and_are_monitored);
    suite_add_tcase(suite, t);
    return suite;
}
