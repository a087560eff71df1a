/* SPDX-License-Identifier: MIT
 *
 * The detector in the simulated network: which nodes it suspects, after how
 * long, and which never.
 */
#include "detector_run.h"

Suite *suite_detector(void);

/* ---- tests ---- */

START_TEST(without_faults_no_member_is_suspected)
{
    for (unsigned nodes = 1; nodes <= NODES_MOST; nodes++) {
        detector_begin(
            nodes, (struct gw__sim_options){
                       .seed = nodes,
                       .link = {.jitter_ns = 10 * MS, .drop = 0.1, .dup = 0.1},
                       .timer_late_ns = 5 * MS,
                       .start_spread_ns = 0});
        detector_run(10000);
        ck_assert_msg(detector_accusations() == 0, "seed %u: %u accusations",
                      nodes, detector_accusations());
        detector_end();
    }
}
END_TEST

START_TEST(a_silent_member_is_suspected_by_its_three_observers)
{
    detector_begin(8, (struct gw__sim_options){.seed = 1});
    detector_scene->deaf = true;
    detector_faults("at 1s crash 3\n");
    detector_run(1400);
    ck_assert_uint_eq(detector_accusers_of(3), 3);
    ck_assert(detector_scene->suspected[2][3] &&
              detector_scene->suspected[4][3]);
    ck_assert_uint_ge(detector_scene->first_ns, 1100 * MS);
    ck_assert_uint_le(detector_scene->first_ns, 1300 * MS);
    ck_assert_uint_eq(detector_accusations(), 3);
    detector_run(2000); /* suspicions repeat while the crash lasts */
    ck_assert_uint_ge(detector_accusations(), 9);
    ck_assert_uint_le(detector_accusations(), 15);
    detector_end();
}
END_TEST

START_TEST(two_of_them_confirm_and_the_new_view_forgets)
{
    detector_begin(8, (struct gw__sim_options){.seed = 2});
    detector_faults("at 1s pause 3\n");
    detector_run(3000);
    ck_assert_uint_eq(detector_scene->registry.view.epoch, 2);
    ck_assert_int_eq(detector_scene->registry.members[3].state,
                     GW__CONFIRMED_DEAD);
    ck_assert_uint_le(detector_scene->view_ns[2], 1300 * MS);
    ck_assert_uint_le(detector_accusations(), 3);
    detector_end();
}
END_TEST

START_TEST(the_end_of_a_process_is_a_fact)
{
    detector_begin(4, (struct gw__sim_options){.seed = 3,
                                               .observers = {[2] = {{1 << 0}}},
                                               .died_delay_ns = MS});
    detector_faults("at 1s crash 2\n");
    detector_run(2000);
    ck_assert_uint_eq(detector_scene->certain, 1);
    ck_assert_uint_eq(detector_scene->first_ns, 1001 * MS);
    ck_assert_uint_eq(detector_accusations(), 1);
    ck_assert_uint_eq(detector_scene->view_ns[2],
                      (1001 + REGISTRY_AFTER_MS) * MS);
    detector_end();
}
END_TEST

START_TEST(who_slept_suspects_no_other)
{
    detector_begin(5, (struct gw__sim_options){.seed = 4});
    detector_scene->deaf = true;
    detector_faults("at 1s pause 2 for 5s\n");
    detector_run(5999);
    ck_assert_uint_eq(detector_accusers_of(2), 3);
    unsigned before = detector_accusations();
    detector_run(8000);
    ck_assert_uint_eq(detector_accusations(), before);
    for (unsigned i = 0; i < 5; i++)
        ck_assert_uint_eq(detector_scene->suspected[2][i], 0);
    ck_assert_uint_eq(detector_scene->trusts, 3); /* it beats again */
    detector_end();
}
END_TEST

START_TEST(a_short_sleep_is_no_crime)
{
    detector_begin(5, (struct gw__sim_options){.seed = 5});
    detector_faults("at 1s pause 2 for 120ms\nat 2s pause 1 for 120ms\n");
    detector_run(4000);
    ck_assert_uint_eq(detector_accusations(), 0);
    detector_end();
}
END_TEST

START_TEST(a_cut_link_gives_one_suspicion_and_no_confirmation)
{
    detector_begin(8, (struct gw__sim_options){.seed = 6});
    detector_faults("at 1s cut 3>4\n");
    detector_run(5000);
    ck_assert_uint_eq(detector_accusers_of(3), 1);
    ck_assert_uint_gt(detector_scene->suspected[4][3], 10);
    ck_assert_uint_eq(detector_scene->registry.view.epoch, 1);
    detector_end();
}
END_TEST

/* As on a busy machine, whose members connect late after a new view. */
START_TEST(a_new_member_may_take_a_second_to_connect)
{
    detector_begin(8, (struct gw__sim_options){.seed = 10});
    detector_faults("at 0 cut 3>4 for 800ms\n");
    detector_run(2000);
    ck_assert_uint_eq(detector_accusations(), 0);
    detector_end();
    detector_begin(8, (struct gw__sim_options){.seed = 10});
    detector_faults("at 0 cut 3>4\n");
    detector_run(2000);
    ck_assert_uint_eq(detector_accusers_of(3), 1);
    ck_assert_uint_ge(detector_scene->first_ns, 1000 * MS);
    ck_assert_uint_le(detector_scene->first_ns, 1100 * MS);
    detector_end();
}
END_TEST

START_TEST(a_member_comes_back_as_another_incarnation)
{
    detector_begin(4, (struct gw__sim_options){.seed = 8,
                                               .observers = {[2] = {{1 << 0}}},
                                               .died_delay_ns = MS});
    detector_faults("at 1s crash 2\nat 1200ms restart 2\n");
    detector_run(1500);
    detector_propose((struct gw__command){.kind = GW__CMD_REGISTER,
                                          .who = detector_process(2),
                                          .join = {GW__WORKER, true, "x"}});
    for (unsigned i = 0; i < 4; i++)
        detector_propose((struct gw__command){.kind = GW__CMD_REPORT,
                                              .who = detector_process(i),
                                              .flush = {.epoch = 2}});
    detector_propose((struct gw__command){
        .kind = GW__CMD_ADMIT,
        .admit = {.count = 1,
                  .joiners = {detector_process(2)},
                  .ring_epoch = detector_scene->registry.view.ring_epoch}});
    ck_assert_uint_eq(detector_scene->registry.view.epoch, 3);
    detector_publish();
    detector_run(3000);
    ck_assert_uint_eq(detector_accusations(),
                      1); /* the old report is about the old incarnation */
    detector_faults("at 3s crash 2\n");
    detector_run(3100);
    ck_assert_uint_eq(detector_scene->registry.view.epoch, 4);
    detector_end();
}
END_TEST

START_TEST(a_beat_of_another_incarnation_is_no_beat)
{
    detector_begin(4, (struct gw__sim_options){.seed = 10});
    detector_scene->deaf = true;
    detector_faults("at 1s crash 2\nat 1050ms restart 2\n");
    detector_run(1060);
    detector_scene->registry.view.ring[2].incarnation =
        detector_process(2).incarnation;
    detector_send_view(2, 1061 * MS); /* it beats, believing to be in it */
    detector_run(1500);
    ck_assert_uint_eq(detector_accusers_of(2), 3);
    detector_end();
}
END_TEST

/* ---- the watchdog ---- */

static void stand(unsigned node, uint64_t at_ms,
                  struct gw__progress_report report)
{
    const struct detector_command command = {.stands = true, .report = report};
    gw__sim_request(detector_scene->sim, at_ms * MS, node, &command,
                    sizeof command);
}

START_TEST(the_watchdog_names_the_one_at_the_root)
{
    detector_begin(8, (struct gw__sim_options){.seed = 9});
    for (unsigned i = 0; i < 8; i++)
        stand(i, 100,
              (struct gw__progress_report){.op = 12,
                                           .phase = i == 5 ? GW__COMPUTE
                                                           : GW__REDUCING,
                                           .waits_for = (i + 7) % 8});
    detector_run(2050);
    ck_assert_uint_eq(detector_scene->stucks, 0);
    detector_run(2200);
    ck_assert_uint_eq(detector_scene->stucks, 7);
    for (unsigned i = 0; i < 8; i++) {
        char text[160];
        if (i == 5)
            continue;
        gw__stall_diagnosis_text(&detector_scene->stuck[i].stall, text);
        ck_assert_str_eq(
            text, "op 12, reduce: node 5 has not entered it; node 6 waits "
                  "for it");
    }
    stand(5, 2300,
          (struct gw__progress_report){
              .op = 12, .phase = GW__REDUCING, .waits_for = 4});
    for (unsigned i = 0; i < 8; i++) /* the member continues */
        for (unsigned ms = 2300; ms < 4100; ms += 300)
            stand(i, ms,
                  (struct gw__progress_report){.op = 12,
                                               .moved = ms,
                                               .phase = GW__REDUCING,
                                               .waits_for = (i + 7) % 8});
    detector_run(4100);
    ck_assert_uint_eq(detector_scene->stucks, 7);
    ck_assert_uint_eq(detector_accusations(), 0);
    detector_end();
}
END_TEST

/* ---- many schedules ---- */

/* Random crashes, pauses and lossy links. A node that neither crashed nor was
 * paused stays in the view; a crashed one is out of it after half a second. */
static void random_day(unsigned seed)
{
    enum { NODES = 6, DAY_MS = 4000 };
    struct gw_rng rng;
    char text[256];
    gw_rng_seed(&rng, seed);
    detector_begin(NODES, (struct gw__sim_options){
                              .seed = seed,
                              .link = {.jitter_ns = 8 * MS, .drop = 0.05},
                              .timer_late_ns = 4 * MS});
    unsigned crashed = (unsigned)gw_rng_below(&rng, NODES);
    unsigned paused = (unsigned)gw_rng_below(&rng, NODES);
    unsigned cut = (unsigned)gw_rng_below(&rng, NODES);
    snprintf(text, sizeof text,
             "at %ums crash %u\nat %ums pause %u for %ums\n"
             "at %ums cut %u>%u for 2s\n",
             200 + (unsigned)gw_rng_below(&rng, 3000), crashed,
             200 + (unsigned)gw_rng_below(&rng, 3000), paused,
             (unsigned)gw_rng_below(&rng, 900) + 1,
             200 + (unsigned)gw_rng_below(&rng, 3000), cut, (cut + 1) % NODES);
    detector_faults(text);
    detector_run(DAY_MS);
    for (unsigned i = 0; i < NODES; i++) {
        bool in = detector_scene->registry.members[i].state == GW__ACTIVE;
        if (i != crashed && i != paused)
            ck_assert_msg(in, "seed %u: node %u is out\n%s", seed, i, text);
        if (i == crashed)
            ck_assert_msg(!in, "seed %u: node %u is in\n%s", seed, i, text);
    }
    detector_end();
}

START_TEST(the_right_ones_are_declared_dead)
{
    for (unsigned seed = 1; seed <= 150; seed++)
        random_day(seed);
}
END_TEST

Suite *suite_detector(void)
{
    Suite *suite = suite_create("detector");
    TCase *t = tcase_create("all");
    tcase_add_test(t, without_faults_no_member_is_suspected);
    tcase_add_test(t, a_silent_member_is_suspected_by_its_three_observers);
    tcase_add_test(t, two_of_them_confirm_and_the_new_view_forgets);
    tcase_add_test(t, the_end_of_a_process_is_a_fact);
    tcase_add_test(t, who_slept_suspects_no_other);
    tcase_add_test(t, a_short_sleep_is_no_crime);
    tcase_add_test(t, a_cut_link_gives_one_suspicion_and_no_confirmation);
    tcase_add_test(t, a_new_member_may_take_a_second_to_connect);
    tcase_add_test(t, a_member_comes_back_as_another_incarnation);
    tcase_add_test(t, the_watchdog_names_the_one_at_the_root);
    tcase_add_test(t, a_beat_of_another_incarnation_is_no_beat);
    tcase_add_test(t, the_right_ones_are_declared_dead);
    suite_add_tcase(suite, t);
    return suite;
}
