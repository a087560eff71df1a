/* SPDX-License-Identifier: MIT
 *
 * The detector in the simulated network, with members that share a host and can
 * inspect each other's processes: a process that waits for a CPU gets more
 * time, a stopped one is found.
 */
#include "detector_run.h"

Suite *suite_detector_inspect(void);

static struct {
    bool starve; /* a paused process waits for a CPU, it is not stopped */
    bool paused[NODES_MOST];
    uint64_t inspected_ns[NODES_MOST][NODES_MOST];
} host;

static void on_life(void *context, struct gw__sim *sim, uint32_t node,
                    enum gw__fault_kind what)
{
    (void)context, (void)sim;
    host.paused[node] = what == GW__PAUSE;
}

static void inspect(void *context, struct gw__sim *sim, uint32_t observer,
                    uint32_t node, struct gw__sight *sight)
{
    uint64_t now = gw__sim_now(sim), *last = &host.inspected_ns[observer][node];
    uint64_t since_ns = now - *last;
    (void)context, *last = now;
    sight->state =
        host.paused[node] && !host.starve ? GW__SIGHT_STOPPED : GW__SIGHT_AWAKE;
    if (host.paused[node] && since_ns < 1000 * MS)
        sight->waited_ns = since_ns;
}

static void begin_on_a_host(unsigned nodes, bool starve,
                            struct gw__sim_options options)
{
    memset(&host, 0, sizeof host);
    host.starve = starve;
    options.on_life = on_life;
    options.observe = inspect;
    detector_begin(nodes, options);
}

START_TEST(who_waits_for_a_cpu_is_not_suspected)
{
    for (unsigned seed = 1; seed <= 20; seed++) {
        begin_on_a_host(5, true, (struct gw__sim_options){.seed = seed});
        detector_faults("at 1s pause 2 for 4s\nat 7s pause 1 for 1s\n"
                        "at 7500ms pause 4 for 1s\n");
        detector_run(12000);
        ck_assert_msg(detector_accusations() == 0, "seed %u: %u accusations",
                      seed, detector_accusations());
        detector_end();
    }
}
END_TEST

START_TEST(but_not_for_ever)
{
    begin_on_a_host(5, true, (struct gw__sim_options){.seed = 1});
    detector_faults("at 1s pause 2\n");
    detector_run(10000);
    ck_assert_uint_eq(detector_accusations(), 0);
    detector_run(12000);
    ck_assert_int_eq(detector_scene->registry.members[2].state,
                     GW__CONFIRMED_DEAD);
    detector_end();
}
END_TEST

/* Milliseconds from the stop to the declaration, for a member whose observers
 * themselves hardly run and receive its beats irregularly. */
static uint64_t dead_after_ms(uint64_t seed, bool seen)
{
    const struct gw__sim_options busy = {
        .seed = seed, .link = {.jitter_ns = 80 * MS}, .timer_late_ns = 60 * MS};
    if (seen)
        begin_on_a_host(6, false, busy);
    else
        detector_begin(6, busy);
    detector_faults("at 3s pause 3\n");
    detector_run(8000);
    ck_assert_uint_eq(detector_scene->registry.view.epoch, 2);
    ck_assert_int_eq(detector_scene->registry.members[3].state,
                     GW__CONFIRMED_DEAD);
    uint64_t after_ms = detector_scene->view_ns[2] / MS - 3000;
    detector_end();
    return after_ms;
}

START_TEST(a_stop_that_is_seen_is_found_soon)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        ck_assert_uint_le(dead_after_ms(seed, true), 450);
        ck_assert_uint_gt(dead_after_ms(seed, false),
                          dead_after_ms(seed, true));
    }
}
END_TEST

/* They resume one after the other, and none of them has seen a stop. */
START_TEST(who_was_stopped_with_the_others_suspects_none)
{
    begin_on_a_host(4, false, (struct gw__sim_options){.seed = 9});
    detector_faults("at 1s pause 0 for 3s\nat 1s pause 1 for 3010ms\n"
                    "at 1s pause 2 for 3050ms\nat 1s pause 3 for 3080ms\n");
    detector_run(6000);
    ck_assert_uint_eq(detector_accusations(), 0);
    detector_end();
}
END_TEST

/* As when slots move: many epochs with the same members. */
START_TEST(views_that_follow_each_other_hide_no_stop)
{
    begin_on_a_host(5, false, (struct gw__sim_options){.seed = 4});
    detector_scene->deaf = true;
    detector_faults("at 1s pause 3\n");
    for (unsigned ms = 0; ms < 2000; ms += 50) {
        detector_run(ms);
        detector_scene->registry.view.epoch++;
        detector_scene->registry.view.ring_epoch++;
        detector_publish();
    }
    ck_assert_uint_ge(detector_accusers_of(3), 2);
    detector_end();
}
END_TEST

START_TEST(what_is_seen_to_have_ended_is_a_fact)
{
    begin_on_a_host(4, false, (struct gw__sim_options){.seed = 3});
    detector_faults("at 1s crash 2\n");
    detector_run(1150);
    ck_assert_uint_ge(detector_scene->certain, 1);
    ck_assert_uint_eq(detector_scene->registry.view.epoch, 2);
    detector_end();
}
END_TEST

Suite *suite_detector_inspect(void)
{
    Suite *suite = suite_create("detector_inspect");
    TCase *t = tcase_create("all");
    tcase_add_test(t, who_waits_for_a_cpu_is_not_suspected);
    tcase_add_test(t, but_not_for_ever);
    tcase_add_test(t, a_stop_that_is_seen_is_found_soon);
    tcase_add_test(t, who_was_stopped_with_the_others_suspects_none);
    tcase_add_test(t, views_that_follow_each_other_hide_no_stop);
    tcase_add_test(t, what_is_seen_to_have_ended_is_a_fact);
    suite_add_tcase(suite, t);
    return suite;
}
