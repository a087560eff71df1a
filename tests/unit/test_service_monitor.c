/* SPDX-License-Identifier: MIT
 *
 * The leader as an observer: silence, certain ends, its own health, and the
 * deadline of a flush.
 */
#include "fronts.h"

Suite *suite_service_monitor(void);

/* A ring of four with front 0 as its leader, registered. */
static void setup(void)
{
    fronts_setup();
    fronts_ring_of(4);
    fronts_lead(0, true);
    fronts_commit();
    fronts_clear();
}

/* Time passes; all nodes but `silent` (bits) send a HELLO every 100 ms. */
static void live(uint64_t ns, uint64_t silent)
{
    for (; ns > 0; ns -= 100 * MS) {
        for (unsigned f = 0; f < FRONTS; f++)
            for (unsigned i = 0; i < 4; i++)
                if (!(silent >> i & 1))
                    fronts_hello(f, fronts_process(i, 0), UINT64_MAX, 0);
        fronts_wait(100 * MS);
    }
}

/* The only suspicion proposed; it is not committed. */
static struct gw__command accusation(unsigned front)
{
    struct gw__command c;
    ck_assert_uint_eq(fronts.front[front].mail.notified_count, 1);
    ck_assert(mail_command(&fronts.front[front].mail, &c));
    ck_assert_int_eq(c.kind, GW__CMD_SUSPECT);
    ck_assert_uint_eq(c.who.node, FRONT_NODE + front);
    return c;
}

static bool has_notified(void)
{
    return fronts.front[0].mail.notified_count > 0;
}

START_TEST(a_silence_of_half_a_second_is_a_suspicion)
{
    live(2000 * MS, 0);
    ck_assert(!has_notified());
    uint64_t last_ns = fronts.now_ns - 100 * MS; /* its last HELLO */
    fronts_wait(350 * MS);
    ck_assert(!has_notified());
    for (unsigned i = 0; i < 100 && !has_notified(); i++) {
        for (unsigned node = 0; node < 3; node++)
            fronts_hello(0, fronts_process(node, 0), UINT64_MAX, 0);
        fronts_wait(1 * MS);
    }
    ck_assert_uint_ge(fronts.now_ns - last_ns, 450 * MS);
    ck_assert_uint_le(fronts.now_ns - last_ns, 550 * MS);
    struct gw__command c = accusation(0);
    ck_assert_uint_eq(c.suspect.suspected.node, 3);
    ck_assert_uint_eq(c.suspect.suspected.incarnation.high, 100);
    ck_assert(!c.suspect.certain);
}
END_TEST

START_TEST(it_is_repeated_until_the_silence_ends)
{
    live(2000 * MS, 0);
    live(500 * MS, 8);
    accusation(0);
    live(200 * MS, 8);
    accusation(0);
    live(100 * MS, 8);
    ck_assert(!has_notified());
    live(6500 * MS, 0); /* until the silence is outside phi's window */
    ck_assert(!has_notified());
    live(500 * MS, 8);
    accusation(0);
}
END_TEST

START_TEST(a_second_suspicion_confirms_it)
{
    live(1000 * MS, 0);
    struct gw__command suspect = {
        .kind = GW__CMD_SUSPECT,
        .who = fronts_process(0, 0),
        .suspect = {.suspected = fronts_process(3, 0)}};
    fronts_request(0, 0, 1, suspect);
    ck_assert_uint_eq(fronts_commit(), 1);
    live(500 * MS, 8);
    ck_assert_uint_eq(fronts_commit(), 1);
    ck_assert_uint_eq(fronts_registry(0)->view.ring_count, 3);
    for (unsigned i = 0; i < 3; i++)
        fronts_report(i, 0);
    live(2000 * MS, 8); /* it is not observed any more */
    ck_assert(!has_notified());
}
END_TEST

START_TEST(only_a_leader_suspects_but_all_receive)
{
    live(1000 * MS, 0);
    live(600 * MS, 8);
    ck_assert_uint_eq(fronts.front[1].mail.notified_count, 0);
    fronts_append(
        &(struct gw__command){.kind = GW__CMD_REGISTER,
                              .who = fronts_process(FRONT_NODE + 1, 0),
                              .join = {GW__CONTROLLER, false, ""}});
    fronts_clear();
    fronts_lead(1, true); /* it observed the same silence */
    ck_assert_uint_eq(accusation(1).suspect.suspected.node, 3);
}
END_TEST

START_TEST(who_is_not_registered_suspects_none)
{
    struct gw__command c;
    live(1000 * MS, 0);
    fronts_lead(1, true);
    ck_assert(mail_command(&fronts.front[1].mail, &c));
    ck_assert_int_eq(c.kind, GW__CMD_REGISTER);
    fronts_wait(1000 * MS);
    while (mail_command(&fronts.front[1].mail, &c))
        ck_assert_int_eq(c.kind, GW__CMD_REGISTER);
}
END_TEST

START_TEST(who_has_never_sent_hello_gets_time_to_connect)
{
    fronts_wait(1300 * MS);
    ck_assert(!has_notified());
    fronts_wait(300 * MS);
    ck_assert_uint_eq(fronts.front[0].mail.notified_count, 4);
}
END_TEST

START_TEST(when_it_did_not_run_itself_none_was_silent)
{
    live(2000 * MS, 0);
    fronts_sleep(5000 * MS);
    fronts_wait(100 * MS);
    live(300 * MS, 8); /* node 3: 500 ms on our clock */
    ck_assert(!has_notified());
    live(100 * MS, 8);
    ck_assert_uint_eq(accusation(0).suspect.suspected.node, 3);
}
END_TEST

START_TEST(a_certain_end_is_proposed_at_once)
{
    struct gw__input died = {.kind = GW__DIED, .from = 2, .incarnation = 99};
    live(500 * MS, 0);
    fronts_input(0, died); /* of an earlier incarnation */
    ck_assert(!has_notified());
    died.incarnation = fronts_process(2, 0).incarnation.low;
    fronts_input(1, died);
    fronts_input(0, died);
    struct gw__command c = accusation(0);
    ck_assert_uint_eq(c.suspect.suspected.node, 2);
    ck_assert(c.suspect.certain);
    ck_assert_uint_eq(fronts.front[1].mail.notified_count, 0);
    fronts_append(&c);
    for (unsigned i = 0; i < 4; i++)
        if (i != 2)
            fronts_report(i, 0);
    live(1000 * MS, 4);
    ck_assert(!has_notified());
}
END_TEST

/* The ring of 4 gets 14 more members. */
static void grow(void)
{
    struct gw__command all = {
        .kind = GW__CMD_ADMIT,
        .admit = {.ring_epoch = fronts_registry(0)->view.ring_epoch}};
    for (unsigned i = 4; i < 18; i++) {
        struct gw__command join = {.kind = GW__CMD_REGISTER,
                                   .who = fronts_process(i, 0),
                                   .join = {GW__WORKER, true, "ipc://@w"}};
        fronts_append(&join);
        all.admit.joiners[all.admit.count++] = join.who;
    }
    fronts_append(&all);
    ck_assert_uint_gt(fronts_registry(0)->view.ring_count, GW__GATHER_ABOVE);
    fronts_clear();
}

START_TEST(ends_in_a_large_ring_are_gathered)
{
    grow();
    for (unsigned node = 2; node < 5; node++)
        fronts_input(
            0, (struct gw__input){.kind = GW__DIED,
                                  .from = node,
                                  .incarnation =
                                      fronts_process(node, 0).incarnation.low});
    ck_assert(!has_notified());
    fronts_wait(2 * MS);
    struct gw__command c = accusation(0);
    ck_assert(c.suspect.certain);
    ck_assert_uint_eq(c.suspect.suspected.node, 2);
    ck_assert_uint_eq(c.suspect.more_count, 2);
    ck_assert_uint_eq(c.suspect.more[1].node, 4);
}
END_TEST

/* ---- the deadline ---- */

static unsigned deadlines(void)
{
    struct gw__command c;
    unsigned count = 0;
    while (mail_command(&fronts.front[0].mail, &c)) {
        if (c.kind != GW__CMD_DEADLINE)
            continue;
        ck_assert_uint_eq(c.epoch, fronts_registry(0)->view.epoch);
        count++;
    }
    return count;
}

/* No node sends anything, and proposals are dropped. */
static void idle(uint64_t ns)
{
    for (; ns > 0; ns -= 500 * MS) {
        fronts_wait(500 * MS);
        fronts_clear();
    }
}

/* Nodes 1 to 3 leave, and node 0 is silent from then on, for `ns`. */
static void desert(uint64_t ns)
{
    for (unsigned node = 1; node < 4; node++)
        fronts_append(&(struct gw__command){.kind = GW__CMD_LEAVE,
                                            .who = fronts_process(node, 0)});
    fronts_report(0, 0);
    ck_assert_uint_eq(fronts_registry(0)->view.ring_count, 1);
    fronts_hello(0, fronts_process(0, 0), UINT64_MAX, 0);
    idle(ns);
}

/* Whether it proposes a certain suspicion of node 0 within a second. */
static bool proposes_the_last(void)
{
    struct gw__command c;
    bool certain = false;
    for (unsigned i = 0; i < 10; i++) {
        fronts_wait(100 * MS);
        while (mail_command(&fronts.front[0].mail, &c))
            certain =
                certain || (c.kind == GW__CMD_SUSPECT &&
                            c.suspect.suspected.node == 0 && c.suspect.certain);
    }
    return certain;
}

START_TEST(the_last_one_is_removed_when_another_waits_for_it)
{
    desert(20000 * MS);
    ck_assert(!proposes_the_last()); /* no process needs it */
    fronts_append(
        &(struct gw__command){.kind = GW__CMD_REGISTER,
                              .who = fronts_process(5, 0),
                              .join = {GW__WORKER, true, "ipc://@5"}});
    ck_assert(!proposes_the_last()); /* an unknown process */
    fronts_hello(0, fronts_process(5, 0), 0, 0);
    ck_assert(proposes_the_last());
}
END_TEST

START_TEST(the_last_one_is_waited_for)
{
    desert(10000 * MS);
    fronts_append(
        &(struct gw__command){.kind = GW__CMD_REGISTER,
                              .who = fronts_process(5, 0),
                              .join = {GW__WORKER, true, "ipc://@5"}});
    fronts_hello(0, fronts_process(5, 0), 0, 0);
    ck_assert(!proposes_the_last());
    fronts_hello(0, fronts_process(0, 0), 0, 0);
    idle(10000 * MS);
    fronts_hello(0, fronts_process(5, 0), 0, 0);
    ck_assert(!proposes_the_last());
}
END_TEST

START_TEST(a_flush_has_a_deadline)
{
    live(1000 * MS, 0);
    fronts_suspect(0, 2);
    fronts_report(0, 0);
    fronts_report(1, 0);
    live(300 * MS, 4 | 8);
    fronts_wait(99 * MS);
    ck_assert_uint_eq(deadlines(), 0);
    fronts_wait(21 * MS);
    ck_assert_uint_eq(deadlines(), 1);
    live(200 * MS, 4 | 8);
    ck_assert_uint_eq(deadlines(), 1);
    fronts_append(&(struct gw__command){
        .kind = GW__CMD_DEADLINE, .epoch = fronts_registry(0)->view.epoch});
    ck_assert(!fronts_registry(0)->flush.open);
    ck_assert_uint_eq(fronts_registry(0)->view.ring_count, 2);
    live(1000 * MS, 4 | 8);
    ck_assert_uint_eq(deadlines(), 0);
}
END_TEST

/* The node is only slow. */
START_TEST(who_sends_hello_gets_time_to_report)
{
    live(1000 * MS, 0);
    fronts_suspect(0, 2);
    fronts_report(0, 0);
    fronts_report(1, 0);
    live(2900 * MS, 4);
    ck_assert_uint_eq(deadlines(), 0);
    live(200 * MS, 4);
    ck_assert_uint_eq(deadlines(), 1);
}
END_TEST

START_TEST(a_leader_that_hardly_runs_waits_longer)
{
    live(1000 * MS, 0);
    fronts_suspect(0, 2);
    fronts_report(0, 0);
    live(200 * MS, 4);
    fronts_sleep(3000 * MS);
    fronts_wait(300 * MS); /* 500 on its clock, but twice the patience */
    ck_assert_uint_eq(deadlines(), 0);
    fronts_wait(100 * MS); /* healthy again */
    ck_assert_uint_eq(deadlines(), 1);
}
END_TEST

START_TEST(the_deadline_counts_from_becoming_leader)
{
    live(1000 * MS, 0);
    fronts_suspect(0, 2);
    fronts_report(0, 0);
    fronts_lead(FRONTS, false);
    live(1000 * MS, 2 | 4 | 8);
    fronts_lead(0, false);
    live(300 * MS, 2 | 4 | 8);
    ck_assert_uint_eq(deadlines(), 0);
    live(200 * MS, 2 | 4 | 8);
    ck_assert_uint_eq(deadlines(), 1);
}
END_TEST

Suite *suite_service_monitor(void)
{
    Suite *suite = suite_create("service_monitor");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, setup, fronts_teardown);
    tcase_add_test(t, a_silence_of_half_a_second_is_a_suspicion);
    tcase_add_test(t, it_is_repeated_until_the_silence_ends);
    tcase_add_test(t, a_second_suspicion_confirms_it);
    tcase_add_test(t, only_a_leader_suspects_but_all_receive);
    tcase_add_test(t, who_is_not_registered_suspects_none);
    tcase_add_test(t, who_has_never_sent_hello_gets_time_to_connect);
    tcase_add_test(t, when_it_did_not_run_itself_none_was_silent);
    tcase_add_test(t, a_certain_end_is_proposed_at_once);
    tcase_add_test(t, ends_in_a_large_ring_are_gathered);
    tcase_add_test(t, the_last_one_is_removed_when_another_waits_for_it);
    tcase_add_test(t, the_last_one_is_waited_for);
    tcase_add_test(t, a_flush_has_a_deadline);
    tcase_add_test(t, who_sends_hello_gets_time_to_report);
    tcase_add_test(t, a_leader_that_hardly_runs_waits_longer);
    tcase_add_test(t, the_deadline_counts_from_becoming_leader);
    suite_add_tcase(suite, t);
    return suite;
}
