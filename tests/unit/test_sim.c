/* SPDX-License-Identifier: MIT
 *
 * The virtual network without faults: the times of messages and timers, the
 * result of a run, that a seed determines the sequence of events, and that a
 * machine which breaks its contract fails the run. test_sim_inject.c has the
 * faults.
 */
#include "sim_puppet.h"

#include <check.h>
#include <string.h>

Suite *suite_sim(void);

START_TEST(nodes_start_once_with_an_incarnation_and_a_configuration)
{
    static const char config[] = "p=3";
    struct sim_stage *s = stage_new(3, &(struct gw__sim_options){
                                           .config = config,
                                           .config_bytes = sizeof config,
                                           .nodes_down = {{1 << 2}},
                                           .start_spread_ns = MS,
                                       });
    stage_run(s, 10 * MS);
    for (uint32_t node = 0; node < 2; node++) {
        const struct sim_input *start = stage_input(s, node, GW__START, 0);
        ck_assert_uint_eq(stage_count(s, node, GW__START), 1);
        ck_assert_uint_eq(start->from, node);
        ck_assert_uint_le(start->time_ns, MS);
        ck_assert_uint_ne(start->incarnation, 0);
        ck_assert_uint_eq(start->incarnation,
                          gw__sim_incarnation(s->sim, node));
    }
    ck_assert(gw__sim_incarnation(s->sim, 0) != gw__sim_incarnation(s->sim, 1));
    ck_assert(!gw__sim_up(s->sim, 2) && !gw__sim_state(s->sim, 2));
    stage_faults(s, "restart 2");
    stage_run(s, 11 * MS);
    ck_assert(gw__sim_up(s->sim, 2));
    stage_destroy(&s);
}
END_TEST

START_TEST(a_message_takes_the_delay_and_some_of_the_jitter)
{
    struct sim_stage *s = stage_new(
        2, &(struct gw__sim_options){
               .seed = 5, .link = {.delay_ns = 2 * MS, .jitter_ns = MS}});
    for (unsigned i = 0; i < 1000; i++)
        stage_command(s, i * 10 * MS, 0, PUPPET_SEND, 1, i);
    stage_run(s, 20000 * MS);
    uint64_t least = UINT64_MAX, most = 0;
    for (unsigned i = 0; i < 1000; i++) {
        const struct sim_input *got = stage_input(s, 1, GW__MESSAGE, i);
        uint64_t took = got->time_ns - i * 10 * MS;
        least = took < least ? took : least;
        most = took > most ? took : most;
        ck_assert_uint_eq(got->value, i);
        ck_assert_uint_eq(got->from, 0);
        ck_assert_uint_eq(got->incarnation, gw__sim_incarnation(s->sim, 0));
    }
    ck_assert_uint_ge(least, 2 * MS);
    ck_assert_uint_le(least, 2 * MS + MS / 50);
    ck_assert_uint_le(most, 3 * MS);
    ck_assert_uint_ge(most, 3 * MS - MS / 50);
    stage_destroy(&s);
}
END_TEST

/* How many of 500 messages sent close together arrive before an earlier one. */
static size_t overtakers(bool ordered)
{
    struct sim_stage *s = stage_new(
        2, &(struct gw__sim_options){
               .seed = 6,
               .link = {.delay_ns = MS, .jitter_ns = MS, .ordered = ordered}});
    size_t overtook = 0;
    for (unsigned i = 0; i < 500; i++)
        stage_command(s, i * MS / 10, 0, PUPPET_SEND, 1, i);
    stage_run(s, 100 * MS);
    ck_assert_uint_eq(stage_count(s, 1, GW__MESSAGE), 500);
    for (unsigned i = 1; i < 500; i++)
        overtook += stage_input(s, 1, GW__MESSAGE, i)->value <
                    stage_input(s, 1, GW__MESSAGE, i - 1)->value;
    stage_destroy(&s);
    return overtook;
}

START_TEST(jitter_reorders_unless_the_link_is_ordered)
{
    ck_assert_uint_gt(overtakers(false), 100);
    ck_assert_uint_eq(overtakers(true), 0);
}
END_TEST

START_TEST(a_fault_of_one_link_drops_and_duplicates)
{
    struct sim_stage *s = stage_new(3, NULL);
    gw__sim_set_link(s->sim, 0, 1, &(struct gw__sim_link_profile){.drop = 0.3});
    gw__sim_set_link(s->sim, 0, 2, &(struct gw__sim_link_profile){.dup = 0.3});
    for (unsigned i = 0; i < 2000; i++) {
        stage_command(s, i * MS, 0, PUPPET_SEND, 1, i);
        stage_command(s, i * MS, 0, PUPPET_SEND, 2, i);
    }
    stage_run(s, 3000 * MS);
    const struct gw__sim_counts *counts = gw__sim_counts(s->sim);
    ck_assert_uint_eq(counts->sent, 4000);
    ck_assert_uint_gt(counts->dropped, 520);
    ck_assert_uint_lt(counts->dropped, 680);
    ck_assert_uint_gt(counts->doubled, 520);
    ck_assert_uint_lt(counts->doubled, 680);
    ck_assert_uint_eq(stage_count(s, 1, GW__MESSAGE), 2000 - counts->dropped);
    ck_assert_uint_eq(stage_count(s, 2, GW__MESSAGE), 2000 + counts->doubled);
    stage_destroy(&s);
}
END_TEST

START_TEST(a_node_reaches_itself)
{
    struct sim_stage *s =
        stage_new(1, &(struct gw__sim_options){.link = {.drop = 1}});
    struct gw__fault fault = {
        .kind = GW__CUT, .nodes = GW__ALL_NODES, .to = GW__ALL_NODES};
    ck_assert_int_eq(gw__sim_add_faults(s->sim, &fault, 1, NULL), GW_OK);
    stage_command(s, 2 * MS, 0, PUPPET_SEND, 0, 7);
    stage_run(s, 3 * MS);
    ck_assert_uint_eq(stage_input(s, 0, GW__MESSAGE, 0)->value, 7);
    stage_destroy(&s);
}
END_TEST

START_TEST(a_timer_fires_once_when_its_clock_shows_the_time)
{
    struct sim_stage *s = stage_new(1, NULL);
    stage_run(s, MS);
    uint64_t at = gw__sim_clock(s->sim, 0) + 5 * MS;
    stage_command(s, MS, 0, PUPPET_TIMER_AT, 3, at);
    stage_run(s, 100 * MS);
    const struct sim_input *fired = stage_input(s, 0, GW__TIMER, 0);
    ck_assert_uint_eq(stage_count(s, 0, GW__TIMER), 1);
    ck_assert_uint_eq(fired->timer, 3);
    ck_assert_uint_eq(fired->clock_ns, at);
    ck_assert_uint_eq(fired->time_ns, 6 * MS);
    stage_destroy(&s);
}
END_TEST

START_TEST(a_timer_can_be_moved_and_cancelled)
{
    struct sim_stage *s = stage_new(1, NULL);
    stage_command(s, 1 * MS, 0, PUPPET_TIMER, 0, 10 * MS);
    stage_command(s, 2 * MS, 0, PUPPET_TIMER, 0, 20 * MS); /* later: 22 ms */
    stage_command(s, 3 * MS, 0, PUPPET_TIMER, 1, 10 * MS);
    stage_command(s, 4 * MS, 0, PUPPET_TIMER, 1, 0); /* cancelled */
    stage_command(s, 5 * MS, 0, PUPPET_TIMER, 2, 10 * MS);
    stage_command(s, 6 * MS, 0, PUPPET_TIMER, 2, MS);    /* earlier: 7 ms */
    stage_command(s, 8 * MS, 0, PUPPET_TIMER_AT, 63, 1); /* past: at once */
    stage_command(s, 9 * MS, 0, PUPPET_TIMER, 5, 0); /* never set: nothing */
    stage_run(s, 100 * MS);
    ck_assert_uint_eq(stage_count(s, 0, GW__TIMER), 3);
    ck_assert_uint_eq(stage_input(s, 0, GW__TIMER, 0)->timer, 2);
    ck_assert_uint_eq(stage_input(s, 0, GW__TIMER, 0)->time_ns, 7 * MS);
    ck_assert_uint_eq(stage_input(s, 0, GW__TIMER, 1)->timer, 63);
    ck_assert_uint_eq(stage_input(s, 0, GW__TIMER, 1)->time_ns, 8 * MS);
    ck_assert_uint_eq(stage_input(s, 0, GW__TIMER, 2)->timer, 0);
    ck_assert_uint_eq(stage_input(s, 0, GW__TIMER, 2)->time_ns, 22 * MS);
    stage_destroy(&s);
}
END_TEST

START_TEST(timers_may_be_late_but_never_early)
{
    struct sim_stage *s =
        stage_new(1, &(struct gw__sim_options){.seed = 1, .timer_late_ns = MS});
    uint64_t latest = 0;
    for (unsigned i = 0; i < 500; i++)
        stage_command(s, i * 10 * MS, 0, PUPPET_TIMER, 0, 3 * MS);
    stage_run(s, 6000 * MS);
    for (unsigned i = 0; i < 500; i++) {
        uint64_t due = i * 10 * MS + 3 * MS;
        uint64_t fired = stage_input(s, 0, GW__TIMER, i)->time_ns;
        ck_assert_uint_ge(fired, due);
        latest = fired - due > latest ? fired - due : latest;
    }
    ck_assert_uint_le(latest, MS);
    ck_assert_uint_ge(latest, MS - MS / 20);
    stage_destroy(&s);
}
END_TEST

START_TEST(clocks_of_two_nodes_have_nothing_in_common)
{
    struct sim_stage *s = stage_new(2, NULL);
    stage_run(s, MS);
    uint64_t a = gw__sim_clock(s->sim, 0), b = gw__sim_clock(s->sim, 1);
    ck_assert_uint_gt(a > b ? a - b : b - a, 1000 * MS);
    ck_assert_uint_ge(a, 1000 * MS);
    stage_destroy(&s);
}
END_TEST

START_TEST(a_request_to_a_node_that_is_down_is_missed)
{
    struct sim_stage *s =
        stage_new(2, &(struct gw__sim_options){.nodes_down = {{1 << 1}}});
    stage_command(s, MS, 1, PUPPET_NOTIFY, 0, 1);
    stage_command(s, 3 * MS, 1, PUPPET_NOTIFY, 0, 2);
    stage_faults(s, "at 2ms restart 1");
    stage_run(s, 5 * MS);
    ck_assert_uint_eq(s->notified_count, 1);
    ck_assert_uint_eq(s->notified[0], 2);
    ck_assert_uint_eq(gw__sim_counts(s->sim)->missed, 1);
    stage_destroy(&s);
}
END_TEST

static bool has_two_notified(void *context, const struct gw__sim *sim)
{
    (void)sim;
    return ((struct sim_stage *)context)->notified_count >= 2;
}

/* No event follows, and the run has not failed. */
START_TEST(a_run_ends_on_request)
{
    struct sim_stage *s = stage_new(2, NULL);
    stage_command(s, 2 * MS, 0, PUPPET_SEND, 1, 7);
    stage_command(s, 9 * MS, 0, PUPPET_SEND, 1, 8);
    stage_run(s, 5 * MS);
    uint64_t inputs = gw__sim_counts(s->sim)->inputs;
    gw__sim_end(s->sim);
    ck_assert(!gw__sim_step(s->sim));
    stage_run(s, 20 * MS);
    ck_assert_uint_eq(gw__sim_counts(s->sim)->inputs, inputs);
    ck_assert_uint_eq(gw__sim_now(s->sim), 5 * MS);
    ck_assert_int_eq(gw__sim_error(s->sim, NULL), GW_OK);
    stage_destroy(&s);
}
END_TEST

START_TEST(a_run_ends_when_its_predicate_holds)
{
    struct sim_stage *s = stage_new(1, NULL);
    struct gw_error why = {0};
    for (unsigned i = 1; i < 10; i++)
        stage_command(s, i * MS, 0, PUPPET_NOTIFY, 0, i);
    ck_assert_int_eq(gw__sim_run_until(s->sim, has_two_notified, 50 * MS, &why),
                     GW_OK);
    ck_assert_uint_eq(gw__sim_now(s->sim), 2 * MS);
    s->notified_count = 0;
    ck_assert_int_eq(gw__sim_run_until(s->sim, has_two_notified, 3 * MS, &why),
                     GW_ETIMEOUT);
    ck_assert_str_eq(why.text, "the goal was not reached by 3ms: timed out");
    ck_assert_uint_eq(gw__sim_now(s->sim), 3 * MS);
    ck_assert_uint_eq(s->notified_count, 1);
    ck_assert(gw__sim_step(s->sim));
    ck_assert_uint_eq(gw__sim_now(s->sim), 4 * MS);
    stage_run(s, 60 * MS);
    ck_assert_uint_eq(gw__sim_now(s->sim), 60 * MS);
    ck_assert(!gw__sim_step(s->sim));
    stage_destroy(&s);
}
END_TEST

/* A busy network under every kind of fault. */
static uint64_t hash_of(uint64_t seed, uint64_t *inputs)
{
    struct sim_stage *s = stage_new(
        4, &(struct gw__sim_options){
               .seed = seed,
               .link = {.delay_ns = MS / 10, .jitter_ns = MS, .drop = 0.01},
               .timer_late_ns = 1000,
               .start_spread_ns = MS,
               .observers = {[2] = {{15}}},
               .died_jitter_ns = MS,
           });
    stage_faults(s, "at 5ms crash 2 after 1 for 3ms\n"
                    "at 10ms pause 3 for 8ms\n"
                    "at 20ms cut 0,1|2,3 for 5ms\n"
                    "drop *|* 0.1\ndup 0>* 0.2\ndelay 1>2 0s..9ms\n"
                    "clock 1 -3000ppm\nat 30ms heal\nat 31ms restart 0\n");
    for (unsigned i = 0; i < 400; i++) {
        stage_command(s, i * MS / 10, i % 4, PUPPET_SEND, (i + 1) % 4, i);
        stage_command(s, i * MS / 10, i % 4, PUPPET_TIMER, i % 64, MS);
    }
    stage_run(s, 100 * MS);
    uint64_t hash = gw__sim_hash(s->sim);
    *inputs = gw__sim_counts(s->sim)->inputs;
    stage_destroy(&s);
    return hash;
}

START_TEST(a_seed_is_one_sequence_of_events)
{
    uint64_t inputs[3];
    uint64_t hash = hash_of(1, &inputs[0]);
    ck_assert_uint_eq(hash_of(1, &inputs[1]), hash);
    ck_assert_uint_eq(inputs[0], inputs[1]);
    ck_assert_uint_gt(inputs[0], 500);
    for (uint64_t seed = 2; seed < 30; seed++)
        ck_assert_uint_ne(hash_of(seed, &inputs[2]), hash);
}
END_TEST

START_TEST(after_a_warm_up_nothing_is_allocated)
{
    struct sim_stage *s = stage_new(2, NULL);
    uint64_t arenas = 0;
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < 100; i++) {
            stage_command(s, 0, 0, PUPPET_SEND, 1, i);
            stage_command(s, 0, 0, PUPPET_SEND_BYTES, 1, 40 * i);
            stage_command(s, 0, 1, PUPPET_TIMER, i % 64, MS / 100);
            stage_command(s, 0, 1, PUPPET_PERSIST, i % 7, i);
        }
        stage_run(s, (round + 1) * 2 * MS);
        if (round == 0)
            arenas = gw__sim_counts(s->sim)->arenas;
    }
    ck_assert_uint_gt(arenas, 0);
    ck_assert_uint_eq(gw__sim_counts(s->sim)->arenas, arenas);
    stage_destroy(&s);
}
END_TEST

/* Runs one bad order at 1 ms; the run must fail with `sentence`. */
static void expect_breach(const struct gw__sim_options *options,
                          struct puppet_command order, const char *sentence)
{
    struct sim_stage *s = stage_new(2, options);
    struct gw_error why = {0};
    stage_commands(s, MS, 0, &order, 1);
    ck_assert_int_eq(gw__sim_run_until(s->sim, NULL, 10 * MS, &why), GW_EWRONG);
    ck_assert_str_eq(why.text, sentence);
    ck_assert_int_eq(gw__sim_error(s->sim, &why), GW_EWRONG);
    ck_assert(!gw__sim_step(s->sim));
    stage_destroy(&s);
}

START_TEST(a_machine_that_breaks_its_contract_fails_the_run)
{
    expect_breach(NULL, (struct puppet_command){PUPPET_SEND, 2, 0},
                  "at 1ms: node 0 sends 8 bytes to node 2; a message has at "
                  "most 131072 bytes, and there are 2 nodes");
    expect_breach(
        NULL,
        (struct puppet_command){PUPPET_SEND_BYTES, 1, GW__MESSAGE_MAX + 1},
        "at 1ms: node 0 sends 131073 bytes to node 1; a message has at most "
        "131072 bytes, and there are 2 nodes");
    expect_breach(NULL, (struct puppet_command){PUPPET_TIMER, 64, MS},
                  "at 1ms: node 0 sets timer 64; timers are numbered below 64");
    expect_breach(NULL, (struct puppet_command){PUPPET_LOAD, 1, 0},
                  "at 1ms: node 0 loads its state outside of START");
    expect_breach(&(struct gw__sim_options){.inputs_most = 2},
                  (struct puppet_command){PUPPET_NOTIFY, 0, 0},
                  "at 1ms: the run needs more than 2 inputs");
}
END_TEST

START_TEST(a_flood_fails_the_run)
{
    struct sim_stage *s =
        stage_new(2, &(struct gw__sim_options){.events_most = 50,
                                               .link = {.delay_ns = 100 * MS}});
    struct gw_error why = {0};
    struct puppet_command commands[60];
    for (unsigned i = 0; i < 60; i++)
        commands[i] = (struct puppet_command){PUPPET_SEND, 1, i};
    stage_commands(s, MS, 0, commands, 60);
    ck_assert_int_eq(gw__sim_run_until(s->sim, NULL, 10 * MS, &why), GW_EWRONG);
    ck_assert_str_eq(why.text, "at 1ms: more than 50 events are in flight");
    stage_destroy(&s);
}
END_TEST

START_TEST(the_largest_message_arrives)
{
    struct sim_stage *s = stage_new(2, NULL);
    stage_command(s, MS, 0, PUPPET_SEND_BYTES, 1, GW__MESSAGE_MAX);
    stage_command(s, MS, 0, PUPPET_SEND_BYTES, 1, 0);
    stage_run(s, 10 * MS);
    ck_assert_uint_eq(stage_count(s, 1, GW__MESSAGE), 2);
    stage_destroy(&s);
}
END_TEST

START_TEST(a_network_has_1_to_576_nodes)
{
    const struct gw__machine_kind *kinds[577];
    struct gw__sim_options options = {0};
    struct gw_error why = {0};
    struct gw__sim *sim;
    for (unsigned i = 0; i < 577; i++)
        kinds[i] = &puppet_kind;
    ck_assert_int_eq(gw__sim_new(kinds, 0, &options, &sim, &why), GW_EINVAL);
    ck_assert_int_eq(gw__sim_new(kinds, 577, &options, &sim, &why), GW_EINVAL);
    ck_assert_str_eq(why.text, "a network must have 1 to 576 nodes, not 577");
    ck_assert_ptr_null(sim);
    ck_assert_int_eq(gw__sim_new(kinds, 576, &options, &sim, &why), GW_OK);
    ck_assert_int_eq(gw__sim_run_until(sim, NULL, MS, &why), GW_OK);
    ck_assert_uint_eq(gw__sim_counts(sim)->starts, 576);
    gw__sim_destroy(&sim);
    gw__sim_destroy(&sim);
}
END_TEST

Suite *suite_sim(void)
{
    Suite *suite = suite_create("sim");
    TCase *messages = tcase_create("sim messages");
    tcase_add_test(messages,
                   nodes_start_once_with_an_incarnation_and_a_configuration);
    tcase_add_test(messages, a_message_takes_the_delay_and_some_of_the_jitter);
    tcase_add_test(messages, jitter_reorders_unless_the_link_is_ordered);
    tcase_add_test(messages, a_fault_of_one_link_drops_and_duplicates);
    tcase_add_test(messages, a_node_reaches_itself);
    tcase_add_test(messages, the_largest_message_arrives);
    suite_add_tcase(suite, messages);
    TCase *timers = tcase_create("sim timers");
    tcase_add_test(timers, a_timer_fires_once_when_its_clock_shows_the_time);
    tcase_add_test(timers, a_timer_can_be_moved_and_cancelled);
    tcase_add_test(timers, timers_may_be_late_but_never_early);
    tcase_add_test(timers, clocks_of_two_nodes_have_nothing_in_common);
    suite_add_tcase(suite, timers);
    TCase *runs = tcase_create("sim runs");
    tcase_add_test(runs, a_request_to_a_node_that_is_down_is_missed);
    tcase_add_test(runs, a_run_ends_when_its_predicate_holds);
    tcase_add_test(runs, a_run_ends_on_request);
    tcase_add_test(runs, a_seed_is_one_sequence_of_events);
    tcase_add_test(runs, after_a_warm_up_nothing_is_allocated);
    tcase_add_test(runs, a_machine_that_breaks_its_contract_fails_the_run);
    tcase_add_test(runs, a_flood_fails_the_run);
    tcase_add_test(runs, a_network_has_1_to_576_nodes);
    suite_add_tcase(suite, runs);
    return suite;
}
