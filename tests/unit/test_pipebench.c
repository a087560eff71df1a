/* SPDX-License-Identifier: MIT
 *
 * The computations of pipebench between its options and its tables: costs of
 * stages, the source of a schedule, sizes and the verdict of fit, and a
 * simulated step as events.
 */
#include "pipebench/costs.h"
#include "pipebench/fit_trials.h"
#include "pipebench/schedule_source.h"
#include "pipebench/sim_events.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *suite_pipebench(void);

static struct gw_schedule *schedule_of(const char *name, unsigned stages,
                                       unsigned micros, unsigned chunks)
{
    struct gw_error why = {.code = GW_OK};
    struct gw_schedule *schedule;
    const struct schedule_source source = {name, stages, micros, chunks};
    ck_assert_msg(!schedule_get(NULL, &source, &schedule, &why), "%s",
                  why.text);
    return schedule;
}

static void is_close(double is, double wanted)
{
    ck_assert_double_eq_tol(is, wanted, 1e-9 * (1 + fabs(wanted)));
}

/* ---- schedules ---- */

START_TEST(words_are_those_of_the_list)
{
    char words[128] = "";
    for (const struct gw_schedule_kind *const *k = gw_schedule_kinds(); *k;
         k++) {
        size_t used = strlen(words);
        snprintf(words + used, sizeof words - used, "%s%s", used ? "|" : "",
                 (*k)->name);
    }
    ck_assert_str_eq(words, SCHEDULE_WORDS);
}
END_TEST

START_TEST(formulas_stand_in_the_manual)
{
    enum { MOST = 1 << 16 };
    static char page[MOST];
    FILE *file = fopen("man/gradwire.7", "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_gt(fread(page, 1, MOST - 1, file), 0);
    fclose(file);
    for (const struct gw_schedule_kind *const *k = gw_schedule_kinds(); *k;
         k++) {
        char line[256];
        snprintf(line, sizeof line, "\n.It Cm %s Ta %s\n", (*k)->name,
                 (*k)->formula);
        ck_assert_msg(strstr(page, line) != NULL, "not there: %s", line);
    }
}
END_TEST

/* The price depends on the passes, not on the name. */
START_TEST(price_is_of_the_passes)
{
    struct gw_pipe_price price;
    const struct gw_pipe_costs costs = {
        .forward_us = 1, .input_us = 1, .weight_us = 1};
    struct gw_schedule *s = schedule_of("1f1b", 3, 5, UINT32_MAX);
    snprintf(s->name, sizeof s->name, "mine");
    ck_assert(schedule_price(s, &costs, &price));
    is_close(price.time_us, (5 + 3 - 1) * 3);
    snprintf(s->name, sizeof s->name, "gpipe");
    struct gw_pass first = s->passes[0];
    s->passes[0] = s->passes[1];
    s->passes[1] = first;
    ck_assert(!schedule_price(s, &costs, &price));
    gw_schedule_destroy(&s);
}
END_TEST

START_TEST(defaults_of_a_schedule)
{
    static const struct schedule_source none = SCHEDULE_UNSET;
    struct gw_schedule *schedule;
    ck_assert_int_eq(schedule_get(NULL, &none, &schedule, NULL), GW_OK);
    ck_assert_str_eq(schedule->name, SCHEDULE_DEFAULT);
    ck_assert_uint_eq(schedule->stages, STAGES_DEFAULT);
    ck_assert_uint_eq(schedule->micros, MICROS_DEFAULT);
    gw_schedule_destroy(&schedule);
}
END_TEST

/* ---- costs ---- */

START_TEST(segments_take_their_share)
{
    struct costs costs;
    const struct cost_options options = {
        .forward = "3ms", .backward = "8ms", .message_ns = 5000};
    struct gw_schedule *s = schedule_of("interleaved", 2, 2, 2);
    ck_assert_int_eq(costs_get(&options, s, &costs, NULL), GW_OK);
    is_close(costs.pipe.forward_us, 1500);
    is_close(costs.pipe.input_us, 2000);
    is_close(costs.pipe.weight_us, 2000);
    is_close(costs.pipe.message_us, 5);
    is_close(costs.shortest_pass_us, 1500);
    ck_assert_ptr_null(costs.pipe.forward_each_us);
    costs_fini(&costs);
    gw_schedule_destroy(&s);
}
END_TEST

/* Virtual stage k is on stage k modulo the stages. */
START_TEST(stages_differ)
{
    struct costs costs;
    const struct cost_options options = {
        .forward = "2ms,4ms", .input = "1ms", .slow = "1:3,1:2"};
    struct gw_schedule *s = schedule_of("interleaved", 2, 2, 2);
    ck_assert_int_eq(costs_get(&options, s, &costs, NULL), GW_OK);
    for (unsigned k = 0; k < 4; k++) {
        bool slow = k % 2 == 1;
        is_close(costs.pipe.forward_each_us[k], slow ? 12000 : 1000);
        is_close(costs.pipe.input_each_us[k], slow ? 3000 : 500);
        is_close(costs.pipe.weight_each_us[k], slow ? 3000 : 500);
    }
    is_close(costs.slow[1], 6);
    ck_assert(costs.listed);
    costs_fini(&costs);
    gw_schedule_destroy(&s);
}
END_TEST

START_TEST(wrong_costs)
{
    static const struct {
        struct cost_options options;
        const char *text;
    } cases[] = {
        {{.forward = "1ms,2ms"}, "--forward has 2 times"},
        {{.weight = "1ms,"}, "--weight must be a time"},
        {{.input = "soon"}, "--input must be a time"},
        {{.forward = "0", .backward = "0"}, "the passes of stage 0 must be"},
        {{.backward = "1ms", .input = "1ms"},
         "use either --backward or the other two"},
        {{.slow = "3:2"}, "the stage must be from 0 to 2"},
        {{.slow = "1:0"}, "must be STAGE:FACTOR"},
        {{.slow = "1:1e9"}, "must be STAGE:FACTOR"},
        {{.slow = "1:nan"}, "must be STAGE:FACTOR"},
        {{.slow = "1:2:3"}, "must be STAGE:FACTOR"},
        {{.slow = ""}, "must be STAGE:FACTOR"},
    };
    struct gw_schedule *s = schedule_of("1f1b", 3, 2, UINT32_MAX);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_error why = {.code = GW_OK};
        struct costs costs;
        ck_assert_int_eq(costs_get(&cases[i].options, s, &costs, &why),
                         GW_EINVAL);
        ck_assert_msg(strstr(why.text, cases[i].text) != NULL, "%zu: %s", i,
                      why.text);
        ck_assert_ptr_null(costs.each);
        ck_assert_ptr_null(costs.slow);
    }
    gw_schedule_destroy(&s);
}
END_TEST

/* ---- fit ---- */

/* T(s) of a fixed cost of 400 us and 500 us a sample. */
static double step_us(const struct size_options *o, unsigned size)
{
    return ((double)o->batch / size + o->stages - 1) * (400.0 + 500.0 * size);
}

static void plan_fit(const struct size_options *options,
                     struct size_bench *bench, struct fit_trials *trials)
{
    struct gw_error why = {.code = GW_OK};
    ck_assert_int_eq(size_bench_init(bench, options, &why), GW_OK);
    const struct size_trial pair[2] = {
        {.size = 4, .time_us = step_us(options, 4)},
        {.size = 64, .time_us = step_us(options, 64)}};
    ck_assert_msg(!fit_trials_plan(bench, pair, trials, &why), "%s", why.text);
}

START_TEST(fit_plans_what_to_try)
{
    static const unsigned sizes[] = {2, 4, 8, 16, 32, 64};
    static const struct size_options options = SIZE_DEFAULTS;
    struct size_bench bench;
    struct fit_trials trials;
    plan_fit(&options, &bench, &trials);
    is_close(trials.fit.fixed_us, 400);
    is_close(trials.fit.sample_us, 500);
    ck_assert_uint_eq(trials.best_size, 8);
    ck_assert_uint_eq(trials.count, 6);
    for (unsigned i = 0; i < 6; i++) {
        const struct fit_trial *t = &trials.list[i];
        ck_assert_uint_eq(t->trial.size, sizes[i]);
        ck_assert_uint_eq(t->trial.micros, 256 / sizes[i]);
        is_close(t->trial.predicted_us, step_us(&options, sizes[i]));
        ck_assert_int_eq(t->timed, sizes[i] == 4 || sizes[i] == 64);
        ck_assert_int_eq(t->role, t->timed        ? FIT_FITTED
                                  : sizes[i] == 8 ? FIT_BEST
                                                  : FIT_AROUND);
    }
}
END_TEST

/* Near the limits of the batch there are fewer sizes to try. */
START_TEST(fit_at_the_edge)
{
    struct size_options options = SIZE_DEFAULTS;
    struct size_bench bench;
    struct fit_trials trials;
    options.stages = 1;
    plan_fit(&options, &bench, &trials);
    ck_assert_uint_eq(trials.best_size, 256);
    ck_assert_uint_eq(trials.list[trials.count - 1].trial.size, 256);
    ck_assert_uint_eq(trials.count, 4); /* 4, 64 and 128, 256 */
}
END_TEST

/* Every size takes the predicted time, except one that takes `factor` times as
 * long. */
static enum gw_err verdict_of(unsigned size, double factor, double spread_us,
                              struct gw_error *why)
{
    static const struct size_options options = SIZE_DEFAULTS;
    struct size_bench bench;
    struct fit_trials trials;
    struct fit_verdict verdict;
    plan_fit(&options, &bench, &trials);
    for (unsigned i = 0; i < trials.count; i++) {
        struct fit_trial *t = &trials.list[i];
        t->trial.time_us = t->trial.predicted_us;
        if (t->trial.size == size)
            t->trial.time_us *= factor;
        t->trial.spread_us = spread_us;
        t->timed = true;
    }
    fit_evaluate(&trials, &verdict);
    return fit_accept(&trials, &verdict, why);
}

START_TEST(fit_reports_its_error)
{
    struct gw_error why;
    ck_assert_int_eq(verdict_of(8, 1, 0, &why), GW_OK);
    ck_assert_int_eq(verdict_of(16, 0.95, 0, &why), GW_OK);
    ck_assert_int_eq(verdict_of(16, 0.9, 0, &why), GW_EWRONG);
    ck_assert_ptr_nonnull(strstr(why.text, "micro-batches of 8 took 7.2 %"));
    ck_assert_int_eq(verdict_of(16, 0.9, 10000, &why), GW_EUNSURE);
    ck_assert_int_eq(verdict_of(32, 0.85, 0, &why), GW_EWRONG);
    ck_assert_ptr_nonnull(strstr(why.text, "of 32 were the fastest, a factor"));
    ck_assert_int_eq(verdict_of(32, 0.85, 2000, &why), GW_EUNSURE);
    ck_assert_int_eq(gw_err_exit(GW_EUNSURE), 2);
}
END_TEST

START_TEST(lists_of_sizes)
{
    static const struct size_options options = SIZE_DEFAULTS;
    struct size_bench bench;
    struct gw_error why;
    unsigned sizes[4], count;
    ck_assert_int_eq(size_bench_init(&bench, &options, &why), GW_OK);
    ck_assert_int_eq(
        size_list(&bench, "--micro", "16,2,16,4", 4, sizes, &count, &why),
        GW_OK);
    ck_assert_uint_eq(count, 3);
    ck_assert_uint_eq(sizes[0] * 10000 + sizes[1] * 100 + sizes[2], 20416);
    static const char *const wrong[] = {
        "", ",", "1,", "0", "3", "1,2,4,8,16", "-1", "1 2", "4294967296"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(size_list(&bench, "--micro", wrong[i], 4, sizes, &count,
                                &why) == GW_EINVAL,
                      "\"%s\"", wrong[i]);
}
END_TEST

/* ---- events ---- */

struct event_tally {
    unsigned stages, begun, ended, running[4];
    uint64_t now_ns, held_most;
};

static void count_event(struct event_tally *tally, const struct gw_event *event)
{
    ck_assert_uint_ge(event->time_ns, tally->now_ns);
    ck_assert_uint_lt(event->rank, 4);
    tally->now_ns = event->time_ns;
    tally->stages += event->kind == GW_EV_STAGE;
    tally->begun += event->kind == GW_EV_PASS_BEGIN;
    tally->ended += event->kind == GW_EV_PASS_END;
    if (event->kind == GW_EV_PASS_BEGIN)
        ck_assert_uint_eq(tally->running[event->rank]++, 0);
    if (event->kind == GW_EV_PASS_END)
        ck_assert_uint_eq(tally->running[event->rank]--, 1);
    if (event->bytes > tally->held_most)
        tally->held_most = event->bytes;
}

/* Also with passes of no time: none ends before it begins. */
START_TEST(a_step_as_events)
{
    char path[] = "/tmp/gw-sim-events-XXXXXX", line[1024];
    struct event_tally tally = {.stages = 0};
    struct gw_timeline *timeline;
    struct gw_error why;
    const struct gw_pipe_costs costs = {
        .forward_us = 10, .input_us = 5, .weight_us = _i ? 0 : 5};
    struct gw_schedule *s = schedule_of("zb-h1", 4, 6, UINT32_MAX);
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(gw_pipe_simulate(s, &costs, &timeline, &why), GW_OK);
    ck_assert_int_eq(sim_events_write(path, s, timeline, &why), GW_OK);
    FILE *file = fdopen(fd, "r");
    while (fgets(line, sizeof line, file)) {
        struct gw_event event;
        ck_assert_msg(!gw_event_parse(line, &event, &why), "%s", why.text);
        count_event(&tally, &event);
    }
    fclose(file);
    unlink(path);
    ck_assert_uint_eq(tally.stages, 4);
    ck_assert_uint_eq(tally.begun, s->pass_count);
    ck_assert_uint_eq(tally.ended, s->pass_count);
    ck_assert_uint_eq(tally.held_most, timeline->peak_activations);
    ck_assert_uint_eq(tally.now_ns, (uint64_t)(timeline->time_us * 1e3 + 0.5));
    gw_timeline_destroy(&timeline);
    gw_schedule_destroy(&s);
}
END_TEST

Suite *suite_pipebench(void)
{
    const TTest *const tests[] = {
        words_are_those_of_the_list,
        formulas_stand_in_the_manual,
        price_is_of_the_passes,
        defaults_of_a_schedule,
        segments_take_their_share,
        stages_differ,
        wrong_costs,
        fit_plans_what_to_try,
        fit_at_the_edge,
        fit_reports_its_error,
        lists_of_sizes,
    };
    Suite *suite = suite_create("pipebench");
    TCase *tcase = tcase_create("pipebench");
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    tcase_add_loop_test(tcase, a_step_as_events, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}
