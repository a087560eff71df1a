/* SPDX-License-Identifier: MIT
 *
 * The parts of pipebench run that need no processes, or only a fork: the words
 * of its options, the states that stages save, and the timelines made from the
 * events of all stages.
 */
#include "pipebench/run/run.h"
#include "schedules.h"

#include <check.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct gw_error why;

static void expect(double a, double b)
{
    ck_assert_double_eq_tol(a, b, 1e-9);
}

/* ---- words ---- */

START_TEST(work_has_one_two_or_three_times)
{
    struct gw_synthetic work = {.spin = true};
    ck_assert(!run_parse_work("sleep:6ms", 1, &work, &why));
    ck_assert(!work.spin);
    expect(work.forward_us, 6000);
    expect(work.input_us, 6000);
    expect(work.weight_us, 6000);
    ck_assert(!run_parse_work("spin:2ms,3ms", 1, &work, &why));
    ck_assert(work.spin);
    expect(work.forward_us, 2000);
    expect(work.input_us, 1500);
    expect(work.weight_us, 1500);
    ck_assert(!run_parse_work("sleep:1ms,2ms,300us", 2, &work, &why));
    expect(work.forward_us, 500); /* a piece has its share */
    expect(work.input_us, 1000);
    expect(work.weight_us, 150);
}
END_TEST

static const char *const wrong_work[] = {
    "",           "5ms",           "sleep",           "sleep:",
    "walk:5ms",   "sleep:5parsec", "sleep:1ms,,1ms",  "sleep:1,2,3,4",
    "sleep:-1ms", "sleep:0",       "sleep:0us,0,0ms",
};

START_TEST(other_work_is_refused)
{
    struct gw_synthetic work;
    ck_assert_int_eq(run_parse_work(wrong_work[_i], 1, &work, &why), GW_EINVAL);
    ck_assert_ptr_nonnull(strstr(why.text, "--work"));
}
END_TEST

START_TEST(slow_stages_multiply)
{
    double slow[3] = {1, 1, 1};
    ck_assert(!run_parse_slow("2:1.5,0:2,2:2", 3, slow, &why));
    expect(slow[0], 2);
    expect(slow[1], 1);
    expect(slow[2], 3);
    static const char *const wrong[] = {"3:2", "1",  "1:",    "1:0",  "1:-2",
                                        "1:x", ":2", "1:2:3", "1:inf"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_eq(run_parse_slow(wrong[i], 3, slow, &why), GW_EINVAL);
        ck_assert_ptr_nonnull(strstr(why.text, "--slow"));
    }
}
END_TEST

START_TEST(faults_name_stage_and_step)
{
    enum { STAGES = 3, STEPS = 5 };
    const struct fault_words words = {"stage", "step"};
    struct rank_faults read = {.count = 0};
    ck_assert(
        !faults_parse("2@4:kill,0@0:stop", &words, STAGES, STEPS, &read, &why));
    ck_assert_uint_eq(read.count, 2);
    ck_assert_uint_eq(read.faults[0].rank, 2);
    ck_assert_uint_eq(read.faults[0].step, 4);
    ck_assert(!read.faults[0].stop && read.faults[1].stop);
    static const char *const wrong[] = {"3@1:kill", "1@5:kill",  "1@1",
                                        "1@1:die",  "1@1:kill2", "1:1:kill"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_eq(
            faults_parse(wrong[i], &words, STAGES, STEPS, &read, &why),
            GW_EINVAL);
        ck_assert_ptr_nonnull(strstr(why.text, "--fail"));
    }
}
END_TEST

/* ---- states saved by stages ---- */

static void keep(struct run_safe *safe, unsigned stage, unsigned step,
                 unsigned char value)
{
    unsigned char state[100];
    memset(state, value, sizeof state);
    ck_assert_msg(!run_safe_keep(safe, stage, step, state, sizeof state, &why),
                  "%s", why.text);
}

static bool holds(struct run_safe *safe, unsigned stage, unsigned step,
                  unsigned char value)
{
    const void *state;
    size_t bytes;
    if (run_safe_get(safe, stage, step, &state, &bytes, &why))
        return false;
    const unsigned char *data = state;
    return bytes == 100 && data[0] == value && data[99] == value;
}

START_TEST(the_newest_step_is_one_that_all_have)
{
    struct run_safe *safe;
    unsigned step;
    ck_assert(!run_safe_new(3, &safe, &why));
    ck_assert(!run_safe_newest(safe, &step));
    keep(safe, 0, 0, 10);
    keep(safe, 1, 0, 20);
    ck_assert(!run_safe_newest(safe, &step)); /* stage 2 has none */
    keep(safe, 2, 0, 30);
    ck_assert(run_safe_newest(safe, &step));
    ck_assert_uint_eq(step, 0);
    for (unsigned s = 1; s < 6; s++) {
        keep(safe, 0, s, (unsigned char)(10 + s));
        keep(safe, 2, s, (unsigned char)(30 + s));
        ck_assert(run_safe_newest(safe, &step));
        ck_assert_uint_eq(step, s - 1);
        keep(safe, 1, s, (unsigned char)(20 + s));
        ck_assert(run_safe_newest(safe, &step));
        ck_assert_uint_eq(step, s);
        ck_assert(holds(safe, 1, s, (unsigned char)(20 + s)));
        ck_assert(holds(safe, 1, s - 1, (unsigned char)(19 + s)));
        ck_assert(!holds(safe, 1, s + 1, 0));
    }
    run_safe_destroy(&safe);
}
END_TEST

START_TEST(what_is_damaged_does_not_count)
{
    struct run_safe *safe;
    unsigned step;
    const void *state;
    size_t bytes;
    ck_assert(!run_safe_new(1, &safe, &why));
    keep(safe, 0, 7, 1);
    keep(safe, 0, 8, 2);
    ck_assert(!run_safe_get(safe, 0, 8, &state, &bytes, &why));
    ((unsigned char *)(uintptr_t)state)[50] ^= 1;
    ck_assert(run_safe_newest(safe, &step));
    ck_assert_uint_eq(step, 7);
    ck_assert_int_eq(run_safe_get(safe, 0, 8, &state, &bytes, &why), GW_EDATA);
    run_safe_destroy(&safe);
}
END_TEST

/* Written by a child that has ended, read here and by the next child. */
START_TEST(what_is_kept_outlives_the_stage)
{
    struct run_safe *safe;
    int status;
    unsigned step;
    ck_assert(!run_safe_new(2, &safe, &why));
    for (unsigned stage = 0; stage < 2; stage++)
        if (fork() == 0) {
            keep(safe, stage, 3, (unsigned char)(stage + 1));
            run_safe_count(safe, stage, 17 + stage);
            _exit(run_safe_fires(safe, 2) ? 0 : 1);
        } else {
            wait(&status);
            ck_assert_int_eq(WEXITSTATUS(status), (int)stage); /* fires once */
        }
    ck_assert(run_safe_newest(safe, &step));
    ck_assert_uint_eq(step, 3);
    ck_assert(holds(safe, 0, 3, 1) && holds(safe, 1, 3, 2));
    ck_assert_uint_eq(run_safe_passes(safe, 1), 18);
    if (fork() == 0)
        _exit(holds(safe, 1, 3, 2) ? 0 : 1);
    wait(&status);
    ck_assert_int_eq(status, 0);
    run_safe_destroy(&safe);
}
END_TEST

/* ---- from events to timelines ---- */

struct event_story {
    struct run_record record;
    const struct gw_schedule *schedule;
    uint64_t zero_ns;
};

/* The events of pass `i` of the stage, from begin to end, in microseconds. */
static void emit_pass(struct event_story *t, unsigned stage, unsigned step,
                      size_t i, double begin_us, double end_us,
                      uint32_t waited_for)
{
    const struct gw_pass *pass =
        &t->schedule->passes[t->schedule->begin[stage] + i];
    struct gw_event event = {
        .time_ns = t->zero_ns + (uint64_t)(begin_us * 1000),
        .kind = GW_EV_PASS_BEGIN,
        .rank = stage,
        .peer = waited_for,
        .step = step,
        .op = pass->micro,
        .chunk = pass->chunk,
        .value = pass->kind,
    };
    run_record_event(&t->record, &event);
    event.kind = GW_EV_PASS_END;
    event.time_ns = t->zero_ns + (uint64_t)(end_us * 1000);
    event.bytes = pass->kind == GW_FORWARD ? 1 : 0;
    run_record_event(&t->record, &event);
}

/* Two stages, one micro-batch: F0 F0 B0 B0, each of 10 us, 5 us in between; the
 * step begins at `at`. */
static void emit_step(struct event_story *t, unsigned step, double at,
                      double us)
{
    emit_pass(t, 1, step, 0, at + us + 5, at + 2 * us + 5, 0);
    emit_pass(t, 0, step, 0, at, at + us,
              GW_NONE); /* emitted later, but earlier */
    emit_pass(t, 1, step, 1, at + 2 * us + 5, at + 3 * us + 5, GW_NONE);
    emit_pass(t, 0, step, 1, at + 3 * us + 10, at + 4 * us + 10, 1);
}

static struct event_story begin_story(struct gw_schedule *schedule,
                                      unsigned steps)
{
    struct event_story story = {.schedule = schedule};
    struct run_spec config = {.schedule = schedule, .steps = steps};
    ck_assert(!run_record_init(&story.record, &config, &why));
    story.zero_ns = story.record.zero_ns;
    return story;
}

START_TEST(events_make_a_timeline)
{
    struct gw_schedule *schedule = schedule_made("gpipe", 2, 1, 0);
    struct event_story story = begin_story(schedule, 2);
    double least_us, most_us;
    emit_step(&story, 0, 100, 50);
    emit_step(&story, 1, 1000, 10);
    const struct run_step *step =
        run_record_median(&story.record, &least_us, &most_us);
    ck_assert_ptr_eq(step, &story.record.steps[1]); /* 0 is the warm-up */
    expect(step->begin_us, 1000);
    expect(step->time_us, 50);
    const struct gw_timeline *t = step->timeline;
    expect(t->ideal_us, 20);
    expect(t->times[0].begin_us, 0);
    expect(t->times[2].begin_us, 15);
    expect(t->stage[0].busy_us, 20);
    expect(t->stage[0].wait_us, 30);
    expect(t->stage[1].wait_us, 15);
    expect(t->stage[1].rest_us, 15);
    ck_assert_uint_eq(t->stage[0].waits_most_for, 1);
    ck_assert_uint_eq(t->stage[1].waits_most_for, 0);
    ck_assert_uint_eq(t->peak_activations, 1);
    run_record_fini(&story.record);
    gw_schedule_destroy(&schedule);
}
END_TEST

START_TEST(the_median_is_of_the_finished_steps)
{
    struct gw_schedule *schedule = schedule_made("gpipe", 2, 1, 0);
    struct event_story story = begin_story(schedule, 8);
    double least_us, most_us;
    ck_assert_ptr_null(run_record_median(&story.record, &least_us, &most_us));
    ck_assert(isnan(least_us));
    for (unsigned i = 0; i < 6; i++) /* 510, 130, 90, 50, 170, 210 us */
        emit_step(&story, i, 1000 * i, (double[]){125, 30, 20, 10, 40, 50}[i]);
    emit_pass(&story, 0, 6, 0, 9000, 9001, GW_NONE); /* unfinished */
    const struct run_step *step =
        run_record_median(&story.record, &least_us, &most_us);
    expect(step->time_us, 130);
    expect(least_us, 50);
    expect(most_us, 210);
    ck_assert_uint_eq(story.record.steps_done, 6);
    run_record_forget(&story.record, 2);
    ck_assert_uint_eq(story.record.steps_done, 2);
    step = run_record_median(&story.record, &least_us, &most_us);
    expect(step->time_us, 130);
    emit_step(&story, 2, 20000, 10);
    ck_assert_uint_eq(story.record.steps_done, 3);
    run_record_fini(&story.record);
    gw_schedule_destroy(&schedule);
}
END_TEST

/* No combination of events breaks it. */
START_TEST(nonsense_is_passed_over)
{
    struct gw_schedule *schedule = schedule_made("gpipe", 2, 1, 0);
    struct event_story story = begin_story(schedule, 2);
    struct gw_event event = {.time_ns = story.zero_ns,
                             .kind = GW_EV_PASS_END,
                             .op = 0,
                             .value = GW_FORWARD};
    event.rank = 7;
    run_record_event(&story.record, &event);
    event.rank = 1;
    event.step = 99;
    run_record_event(&story.record, &event);
    event.step = 0;
    event.op = 5;
    run_record_event(&story.record, &event);
    emit_step(&story, 0, 10, 10);
    ck_assert_uint_eq(story.record.steps_done, 1);
    emit_step(&story, 0, 500, 10); /* again: it has ended */
    ck_assert_uint_eq(story.record.steps_done, 1);
    run_record_fini(&story.record);
    gw_schedule_destroy(&schedule);
}
END_TEST

/* ---- predictions ---- */

START_TEST(a_slow_stage_is_predicted_to_be_slow)
{
    struct gw_schedule *schedule = schedule_made("1f1b", 4, 8, 0);
    double slow[4] = {1, 1, 1, 1};
    struct run_spec config = {
        .schedule = schedule,
        .slow = slow,
        .work = {.forward_us = 10, .input_us = 10, .weight_us = 10}};
    struct run_prediction p;
    ck_assert(!run_predict(&config, &p, &why));
    ck_assert(p.priced);
    expect(p.price.time_us, (8 + 3) * 30);
    expect(p.timeline->time_us, (8 + 3) * 30);
    run_prediction_fini(&p);
    slow[2] = 2;
    ck_assert(!run_predict(&config, &p, &why));
    ck_assert(!p.priced);
    expect(p.timeline->stage[2].busy_us, 8 * 60);
    expect(p.timeline->stage[1].busy_us, 8 * 30);
    struct run_prediction again; /* the same from the measured timeline */
    ck_assert(!run_predict_from(&config, p.timeline, &again, &why));
    expect(again.timeline->time_us, p.timeline->time_us);
    run_prediction_fini(&again);
    run_prediction_fini(&p);
    gw_schedule_destroy(&schedule);
}
END_TEST

Suite *suite_pipebench_run(void);

Suite *suite_pipebench_run(void)
{
    Suite *suite = suite_create("pipebench run");
    TCase *words = tcase_create("words");
    tcase_add_test(words, work_has_one_two_or_three_times);
    tcase_add_loop_test(words, other_work_is_refused, 0,
                        sizeof wrong_work / sizeof *wrong_work);
    tcase_add_test(words, slow_stages_multiply);
    tcase_add_test(words, faults_name_stage_and_step);
    suite_add_tcase(suite, words);
    TCase *safe = tcase_create("safe");
    tcase_add_test(safe, the_newest_step_is_one_that_all_have);
    tcase_add_test(safe, what_is_damaged_does_not_count);
    tcase_add_test(safe, what_is_kept_outlives_the_stage);
    suite_add_tcase(suite, safe);
    TCase *record = tcase_create("run record");
    tcase_add_test(record, events_make_a_timeline);
    tcase_add_test(record, the_median_is_of_the_finished_steps);
    tcase_add_test(record, nonsense_is_passed_over);
    tcase_add_test(record, a_slow_stage_is_predicted_to_be_slow);
    suite_add_tcase(suite, record);
    return suite;
}
