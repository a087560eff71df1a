/* SPDX-License-Identifier: MIT
 *
 * Each fault has its effect, and no other: cuts, losses, duplicates, delays,
 * crashes between and inside steps, restarts, pauses, clocks, reports of a
 * death; alone, overlapping, and ended by themselves or by heal.
 */
#include "sim_puppet.h"

#include <check.h>

START_TEST(observers_see_nodes_start_crash_sleep_and_wake)
{
    struct sim_stage *s = stage_new(3, NULL);
    stage_faults(s, "at 2ms crash 1 for 3ms\n"
                    "at 4ms crash 2\n"
                    "at 6ms pause 0 for 5ms");
    stage_run(s, 8 * MS);
    ck_assert_uint_eq(s->lives[GW__CRASH], 2);
    ck_assert_uint_eq(s->lives[GW__RESTART], 4);
    ck_assert_uint_eq(s->lives[GW__PAUSE], 1);
    ck_assert_uint_eq(s->lives[GW__RESUME], 0);
    stage_run(s, 20 * MS);
    ck_assert_uint_eq(s->lives[GW__RESUME], 1);
    stage_destroy(&s);
}
END_TEST

Suite *suite_sim_inject(void);

/* Node `from` sends its message number i to `to` at i ms, for i < count. */
static void send_each_ms(struct sim_stage *s, uint32_t from, uint32_t to,
                         unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        stage_command(s, i * MS, from, PUPPET_SEND, to, i);
}

/* Which of the messages 0 to 63 reached `node` from `from`, as a set. */
static uint64_t arrived(const struct sim_stage *s, uint32_t node, uint32_t from)
{
    uint64_t set = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->log[i].node == node && s->log[i].kind == GW__MESSAGE &&
            s->log[i].from == from)
            set |= UINT64_C(1) << s->log[i].value;
    return set;
}

/* The numbers from `begin` to `end` - 1 as a set. */
static uint64_t span(unsigned begin, unsigned end)
{
    return (UINT64_C(1) << end) - (UINT64_C(1) << begin);
}

START_TEST(a_cut_loses_what_is_sent_in_one_direction)
{
    struct sim_stage *s = stage_new(2, NULL);
    stage_faults(s, "at 9500us cut 0>1 for 10ms");
    send_each_ms(s, 0, 1, 30);
    send_each_ms(s, 1, 0, 30);
    stage_run(s, 100 * MS);
    ck_assert_uint_eq(arrived(s, 1, 0), span(0, 10) | span(20, 30));
    ck_assert_uint_eq(arrived(s, 0, 1), span(0, 30));
    ck_assert_uint_eq(gw__sim_counts(s->sim)->cut, 10);
    stage_destroy(&s);
}
END_TEST

START_TEST(a_partition_cuts_both_directions_until_healed)
{
    struct sim_stage *s = stage_new(4, NULL);
    stage_faults(s, "at 9500us cut 0,1|2,3\nat 19500us heal");
    send_each_ms(s, 0, 1, 30);
    send_each_ms(s, 0, 2, 30);
    send_each_ms(s, 3, 1, 30);
    send_each_ms(s, 3, 2, 30);
    stage_run(s, 100 * MS);
    ck_assert_uint_eq(arrived(s, 1, 0), span(0, 30));
    ck_assert_uint_eq(arrived(s, 2, 3), span(0, 30));
    ck_assert_uint_eq(arrived(s, 2, 0), span(0, 10) | span(20, 30));
    ck_assert_uint_eq(arrived(s, 1, 3), span(0, 10) | span(20, 30));
    stage_destroy(&s);
}
END_TEST

START_TEST(faults_of_a_link_overlap_and_end_each_on_its_own)
{
    struct sim_stage *s = stage_new(2, NULL);
    stage_faults(s, "at 4500us cut 0>1 for 20ms\n"
                    "at 9500us cut 0|1 for 5ms\n"
                    "at 1ms delay 0>1 1ms\n"
                    "at 1ms delay 0>1 2ms for 100ms");
    send_each_ms(s, 0, 1, 40);
    stage_run(s, 60 * MS);
    ck_assert_uint_eq(arrived(s, 1, 0), span(0, 5) | span(25, 40));
    ck_assert_uint_eq(stage_input(s, 1, GW__MESSAGE, 6)->time_ns,
                      26 * MS + 4 * MS);
    stage_destroy(&s);
}
END_TEST

START_TEST(drop_and_dup_act_with_their_chance)
{
    struct sim_stage *s = stage_new(
        3, &(struct gw__sim_options){.seed = 3, .link = {.delay_ns = MS / 2}});
    stage_faults(s, "at 500us drop 0>1 0.25\nat 500us dup 0>2 1 for 1000ms");
    send_each_ms(s, 0, 1, 2001);
    send_each_ms(s, 0, 2, 2001);
    stage_run(s, 3000 * MS);
    const struct gw__sim_counts *counts = gw__sim_counts(s->sim);
    ck_assert_uint_gt(counts->dropped, 430);
    ck_assert_uint_lt(counts->dropped, 570);
    ck_assert_uint_eq(counts->doubled, 1000);
    ck_assert_uint_eq(stage_count(s, 1, GW__MESSAGE), 2001 - counts->dropped);
    ck_assert_uint_eq(stage_count(s, 2, GW__MESSAGE), 3001);
    stage_destroy(&s);
}
END_TEST

START_TEST(a_delay_adds_to_the_link_and_a_range_reorders)
{
    struct sim_stage *s = stage_new(3, NULL);
    size_t overtook = 0;
    stage_faults(s, "at 500us delay 0>1 5ms\nat 500us delay 0>2 0s..10ms");
    send_each_ms(s, 0, 1, 60);
    send_each_ms(s, 0, 2, 60);
    stage_run(s, 100 * MS);
    ck_assert_uint_eq(stage_input(s, 1, GW__MESSAGE, 0)->time_ns, MS);
    for (unsigned i = 1; i < 60; i++)
        ck_assert_uint_eq(stage_input(s, 1, GW__MESSAGE, i)->time_ns,
                          (i + 6) * MS);
    for (unsigned i = 1; i < 60; i++)
        overtook += stage_input(s, 2, GW__MESSAGE, i)->value <
                    stage_input(s, 2, GW__MESSAGE, i - 1)->value;
    ck_assert_uint_gt(overtook, 10);
    stage_destroy(&s);
}
END_TEST

START_TEST(a_crash_takes_all_but_what_was_persisted)
{
    struct sim_stage *s = stage_new(2, NULL);
    stage_command(s, 1 * MS, 1, PUPPET_PERSIST, 1, 77);
    stage_command(s, 1 * MS, 1, PUPPET_PERSIST, 1, 78);
    stage_command(s, 2 * MS, 1, PUPPET_TIMER, 0, 3 * MS);
    stage_command(s, 4500000, 0, PUPPET_SEND, 1,
                  5); /* under way at the crash */
    stage_command(s, 4500000, 1, PUPPET_SEND, 0, 6); /* outlives its sender */
    stage_command(s, 5500000, 0, PUPPET_SEND, 1, 7); /* sent while it is down */
    stage_command(s, 7 * MS, 0, PUPPET_SEND, 1, 8);
    stage_faults(s, "at 4800us crash 1\nat 5800us restart 1");
    stage_run(s, 5 * MS);
    uint64_t first = stage_input(s, 1, GW__START, 0)->incarnation;
    ck_assert(!gw__sim_up(s->sim, 1) && !gw__sim_state(s->sim, 1));
    ck_assert_uint_eq(gw__sim_incarnation(s->sim, 1), 0);
    stage_run(s, 20 * MS);
    ck_assert_uint_eq(stage_input(s, 1, GW__START, 0)->value, 0);
    ck_assert_uint_eq(stage_input(s, 1, GW__START, 1)->value, 78);
    ck_assert_uint_ne(stage_input(s, 1, GW__START, 1)->incarnation, first);
    ck_assert_uint_eq(stage_count(s, 1, GW__TIMER), 0);
    ck_assert_uint_eq(arrived(s, 1, 0), span(8, 9));
    ck_assert_uint_eq(arrived(s, 0, 1), span(6, 7));
    ck_assert_uint_eq(stage_input(s, 0, GW__MESSAGE, 0)->incarnation, first);
    ck_assert_uint_eq(*(const uint64_t *)gw__sim_state(s->sim, 1), 2);
    ck_assert_uint_eq(gw__sim_counts(s->sim)->crashes, 1);
    ck_assert_uint_eq(gw__sim_counts(s->sim)->starts, 3);
    stage_destroy(&s);
}
END_TEST

START_TEST(mail_may_survive_the_crash_of_its_receiver)
{
    struct sim_stage *s =
        stage_new(2, &(struct gw__sim_options){.mail_survives = true,
                                               .link = {.delay_ns = 2 * MS}});
    stage_command(s, 4 * MS, 0, PUPPET_SEND, 1, 1);
    stage_command(s, 5 * MS, 0, PUPPET_SEND, 1, 2);
    stage_faults(s, "at 5ms crash 1 for 1500us");
    stage_run(s, 20 * MS);
    ck_assert_uint_eq(arrived(s, 1, 0), span(2, 3));
    ck_assert_uint_eq(gw__sim_counts(s->sim)->missed, 1);
    stage_destroy(&s);
}
END_TEST

/* Three actions, of which the first `after` take effect before the crash. */
static void crash_inside(unsigned after)
{
    static const struct puppet_command commands[] = {
        {PUPPET_PERSIST, 1, 9}, {PUPPET_SEND, 0, 4}, {PUPPET_NOTIFY, 0, 3}};
    struct sim_stage *s = stage_new(2, NULL);
    char text[64];
    snprintf(text, sizeof text, "at 1ms crash 1 after %u for 10ms", after);
    stage_faults(s, text);
    stage_commands(s, 5 * MS, 1, commands, 3);
    stage_commands(s, 8 * MS, 1, commands, 3);
    stage_run(s, 30 * MS);
    ck_assert_uint_eq(gw__sim_counts(s->sim)->crashes, 1);
    ck_assert_uint_eq(stage_count(s, 1, GW__REQUESTED), 1);
    ck_assert_uint_eq(stage_count(s, 1, GW__START), 2);
    ck_assert_uint_eq(stage_input(s, 1, GW__START, 1)->time_ns, 11 * MS);
    ck_assert_uint_eq(stage_input(s, 1, GW__START, 1)->value,
                      after >= 1 ? 9 : 0);
    ck_assert_uint_eq(stage_count(s, 0, GW__MESSAGE), after >= 2);
    ck_assert_uint_eq(s->notified_count, after >= 3);
    stage_destroy(&s);
}

START_TEST(a_crash_may_come_after_any_of_a_steps_actions)
{
    for (unsigned after = 0; after < 6; after++)
        crash_inside(after);
}
END_TEST

START_TEST(a_crash_that_waits_in_vain_comes_when_it_ends)
{
    struct sim_stage *s = stage_new(2, NULL);
    stage_faults(s, "at 1ms crash 0 after 0 for 10ms\n"
                    "at 1ms crash 1 after 0");
    stage_run(s, 20 * MS);
    ck_assert_uint_eq(stage_count(s, 0, GW__START), 2);
    ck_assert_uint_eq(stage_input(s, 0, GW__START, 1)->time_ns, 11 * MS);
    ck_assert(gw__sim_up(s->sim, 1)); /* nothing happened to node 1 */
    stage_destroy(&s);
}
END_TEST

START_TEST(a_node_stays_down_while_a_crash_lasts)
{
    struct sim_stage *s =
        stage_new(4, &(struct gw__sim_options){.nodes_down = {{1 << 3}}});
    stage_faults(s, "at 1ms crash 0 for 10ms\n"
                    "at 5ms crash 0 for 10ms\n" /* till 15 ms */
                    "at 1ms crash 1\n"
                    "at 5ms crash 1 for 5ms\n" /* the first lasts forever */
                    "at 1ms crash 2\nat 2ms restart 2\nat 3ms restart 2\n"
                    "at 4ms crash 2 for 1ms\n" /* the first is over */
                    "at 1ms crash 3 for 5ms"); /* was down without it */
    stage_run(s, 100 * MS);
    ck_assert_uint_eq(stage_input(s, 0, GW__START, 1)->time_ns, 15 * MS);
    ck_assert_uint_eq(stage_count(s, 1, GW__START), 1);
    ck_assert_uint_eq(stage_count(s, 2, GW__START), 4);
    ck_assert_uint_eq(stage_count(s, 3, GW__START), 0);
    stage_destroy(&s);
}
END_TEST

START_TEST(what_a_paused_node_gets_arrives_at_once_when_it_wakes)
{
    struct sim_stage *s = stage_new(2, NULL);
    stage_command(s, 2 * MS, 1, PUPPET_TIMER, 0, 8 * MS); /* at 10 ms */
    stage_command(s, 3 * MS, 1, PUPPET_SEND, 0, 63);      /* is on its way */
    send_each_ms(s, 0, 1, 40);
    stage_faults(s, "at 3500us pause 1 for 20ms");
    stage_run(s, 10 * MS);
    ck_assert(gw__sim_paused(s->sim, 1) && gw__sim_up(s->sim, 1));
    stage_run(s, 60 * MS);
    ck_assert_uint_eq(arrived(s, 1, 0), span(0, 40));
    ck_assert_uint_eq(arrived(s, 0, 1), UINT64_C(1) << 63);
    const struct sim_input *fired = stage_input(s, 1, GW__TIMER, 0);
    ck_assert_uint_eq(fired->time_ns, 23500000);
    for (unsigned i = 0; i < 40; i++) {
        const struct sim_input *got = stage_input(s, 1, GW__MESSAGE, i);
        uint64_t normal = (i + 1) * MS;
        bool late = normal > 3500000 && normal < 23500000;
        ck_assert_uint_eq(got->value, i);
        ck_assert_uint_eq(got->time_ns, late ? 23500000 : normal);
    }
    uint64_t jump = stage_input(s, 1, GW__MESSAGE, 3)->clock_ns -
                    stage_input(s, 1, GW__MESSAGE, 2)->clock_ns;
    ck_assert_uint_eq(jump, 23500000 - 3 * MS);
    stage_destroy(&s);
}
END_TEST

START_TEST(on_waking_timers_may_come_first_in_between_or_last)
{
    bool first = false, between = false, last = false;
    for (uint64_t seed = 0; seed < 30; seed++) {
        struct sim_stage *s =
            stage_new(2, &(struct gw__sim_options){.seed = seed,
                                                   .link = {.delay_ns = MS}});
        stage_command(s, MS, 1, PUPPET_TIMER, 0, 5500000);
        send_each_ms(s, 0, 1, 10);
        stage_faults(s, "at 1500us pause 1\nat 50ms resume 1");
        stage_run(s, 60 * MS);
        size_t before = 0;
        while (s->log[before].kind != GW__TIMER)
            before++;
        first |= before < s->count - 9;
        last |= before == s->count - 1;
        between |= before > s->count - 9 && before < s->count - 1;
        stage_destroy(&s);
    }
    ck_assert(first && between && last);
}
END_TEST

START_TEST(a_timer_cancelled_on_waking_does_not_fire)
{
    size_t fired = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct sim_stage *s =
            stage_new(1, &(struct gw__sim_options){.seed = seed});
        stage_command(s, MS, 0, PUPPET_TIMER, 0, 5 * MS);
        stage_command(s, 3 * MS, 0, PUPPET_TIMER, 0, 0);
        stage_faults(s, "at 2ms pause 0 for 10ms");
        stage_run(s, 60 * MS);
        fired += stage_count(s, 0, GW__TIMER);
        stage_destroy(&s);
    }
    ck_assert_uint_gt(fired, 0); /* when timers came first */
    ck_assert_uint_lt(fired, 20);
}
END_TEST

START_TEST(a_pause_ends_with_the_life_it_stopped)
{
    struct sim_stage *s = stage_new(2, NULL);
    stage_command(s, MS, 0, PUPPET_TIMER, 0, 2 * MS);
    stage_command(s, 3 * MS, 0, PUPPET_NOTIFY, 0, 1); /* waits, then is lost */
    stage_command(s, 7 * MS, 0, PUPPET_NOTIFY, 0, 2);
    stage_faults(s, "at 2ms pause 0 for 50ms\nat 6ms restart 0\n"
                    "at 20ms pause 0 for 2ms\n" /* the first is over */
                    "at 10ms pause 1 for 10ms\nat 12ms pause 1 for 20ms\n"
                    "at 40ms pause 1\nat 45ms resume 1\nat 46ms resume 1");
    stage_run(s, 15 * MS);
    ck_assert(gw__sim_up(s->sim, 0) && !gw__sim_paused(s->sim, 0));
    ck_assert_uint_eq(s->notified_count, 1);
    ck_assert_uint_eq(s->notified[0], 2);
    ck_assert_uint_eq(stage_count(s, 0, GW__TIMER), 0);
    stage_run(s, 25 * MS);
    ck_assert(!gw__sim_paused(s->sim, 0));
    ck_assert(gw__sim_paused(s->sim, 1)); /* the second still lasts */
    stage_run(s, 33 * MS);
    ck_assert(!gw__sim_paused(s->sim, 1));
    stage_run(s, 42 * MS);
    ck_assert(gw__sim_paused(s->sim, 1));
    stage_run(s, 45 * MS);
    ck_assert(!gw__sim_paused(s->sim, 1));
    stage_destroy(&s);
}
END_TEST

START_TEST(a_clock_runs_fast_or_slow_and_timers_follow_it)
{
    struct sim_stage *s = stage_new(2, NULL);
    stage_command(s, MS, 0, PUPPET_TIMER, 0, 100 * MS);
    stage_command(s, MS, 1, PUPPET_TIMER, 0, 100 * MS);
    stage_faults(s, "at 51ms clock 0 +250000ppm for 1s\n"
                    "at 51ms clock 1 -250000ppm");
    stage_run(s, 51 * MS);
    uint64_t before = gw__sim_clock(s->sim, 0);
    stage_run(s, 55 * MS);
    ck_assert_uint_eq(gw__sim_clock(s->sim, 0) - before, 5 * MS);
    stage_run(s, 2000 * MS);
    const struct sim_input *fast = stage_input(s, 0, GW__TIMER, 0);
    const struct sim_input *slow = stage_input(s, 1, GW__TIMER, 0);
    ck_assert_uint_eq(fast->time_ns, 51 * MS + 40 * MS);
    ck_assert_uint_eq(slow->time_ns, 51 * MS + 66666667);
    ck_assert_uint_eq(gw__sim_clock(s->sim, 0) - before,
                      1000 * MS / 4 + 1949 * MS);
    stage_destroy(&s);
}
END_TEST

START_TEST(observers_learn_of_a_death_and_only_of_a_death)
{
    struct sim_stage *s =
        stage_new(4, &(struct gw__sim_options){
                         .observers = {[2] = {{1 << 0 | 1 << 2 | 1 << 3}}},
                         .died_delay_ns = MS,
                         .died_jitter_ns = 2 * MS,
                     });
    stage_faults(s, "at 2ms pause 2 for 5ms\nat 3ms cut 2|*\n"
                    "at 10ms crash 2 for 1ms\nat 9ms crash 3 for 3ms\n"
                    "at 20ms crash 1");
    stage_run(s, 9 * MS);
    uint64_t dead = gw__sim_incarnation(s->sim, 2);
    stage_run(s, 100 * MS);
    const struct sim_input *deaths = stage_input(s, 0, GW__DIED, 0);
    ck_assert_uint_eq(stage_count(s, 0, GW__DIED), 1);
    ck_assert_uint_eq(deaths->from, 2);
    ck_assert_uint_eq(deaths->incarnation, dead);
    ck_assert_uint_ge(deaths->time_ns, 11 * MS);
    ck_assert_uint_le(deaths->time_ns, 13 * MS);
    for (uint32_t node = 1; node < 4; node++)
        ck_assert_uint_eq(stage_count(s, node, GW__DIED), 0);
    stage_destroy(&s);
}
END_TEST

START_TEST(notice_of_a_death_may_be_lost)
{
    struct sim_stage *s =
        stage_new(2, &(struct gw__sim_options){.observers = {[1] = {{15}}},
                                               .died_lost = 0.5});
    for (unsigned i = 1; i <= 400; i++) {
        struct gw__fault restart = {
            .kind = GW__RESTART, .at_ns = i * MS, .nodes = {{1 << 1}}};
        ck_assert_int_eq(gw__sim_add_faults(s->sim, &restart, 1, NULL), GW_OK);
    }
    stage_run(s, 1000 * MS);
    ck_assert_uint_gt(stage_count(s, 0, GW__DIED), 150);
    ck_assert_uint_lt(stage_count(s, 0, GW__DIED), 250);
    stage_destroy(&s);
}
END_TEST

Suite *suite_sim_inject(void)
{
    Suite *suite = suite_create("sim_inject");
    TCase *links = tcase_create("sim faults of links");
    tcase_add_test(links, a_cut_loses_what_is_sent_in_one_direction);
    tcase_add_test(links, a_partition_cuts_both_directions_until_healed);
    tcase_add_test(links, faults_of_a_link_overlap_and_end_each_on_its_own);
    tcase_add_test(links, drop_and_dup_act_with_their_chance);
    tcase_add_test(links, a_delay_adds_to_the_link_and_a_range_reorders);
    suite_add_tcase(suite, links);
    TCase *crashes = tcase_create("sim crashes");
    tcase_add_test(crashes, a_crash_takes_all_but_what_was_persisted);
    tcase_add_test(crashes, mail_may_survive_the_crash_of_its_receiver);
    tcase_add_test(crashes, a_crash_may_come_after_any_of_a_steps_actions);
    tcase_add_test(crashes, a_crash_that_waits_in_vain_comes_when_it_ends);
    tcase_add_test(crashes, a_node_stays_down_while_a_crash_lasts);
    tcase_add_test(crashes, observers_learn_of_a_death_and_only_of_a_death);
    tcase_add_test(crashes, notice_of_a_death_may_be_lost);
    suite_add_tcase(suite, crashes);
    TCase *pauses = tcase_create("sim pauses and clocks");
    tcase_add_test(pauses,
                   what_a_paused_node_gets_arrives_at_once_when_it_wakes);
    tcase_add_test(pauses, on_waking_timers_may_come_first_in_between_or_last);
    tcase_add_test(pauses, a_timer_cancelled_on_waking_does_not_fire);
    tcase_add_test(pauses, a_pause_ends_with_the_life_it_stopped);
    tcase_add_test(pauses, a_clock_runs_fast_or_slow_and_timers_follow_it);
    tcase_add_test(pauses, observers_see_nodes_start_crash_sleep_and_wake);
    suite_add_tcase(suite, pauses);
    return suite;
}
