/* SPDX-License-Identifier: MIT
 *
 * Policies for stragglers (gradwire/ps.h), in a simulation of the clock: their
 * input, and the effects of their answers; and learning on a simulated clock,
 * compared with learning without one.
 */
#include "play.h"
#include "plugin_file.h"

#include <gradwire/plugin.h>

#include <check.h>
#include <stdlib.h>

Suite *suite_straggler(void);

static struct gw_error why;

/* ---- policies ---- */

static unsigned policy_calls;
static struct gw_straggler_round seen;
static double arrivals[GW_PS_NODES], means[GW_PS_NODES];

static struct gw_ps_mode record(const struct gw_straggler_round *round)
{
    policy_calls++;
    seen = *round;
    for (unsigned i = 0; i < round->parts; i++)
        arrivals[i] = round->arrivals[i];
    for (unsigned i = 0; i < round->workers; i++)
        means[i] = round->means[i];
    return round->mode;
}

START_TEST(a_policy_is_notified_of_each_round)
{
    static const struct gw_straggler policy = {.choose = record};
    struct gw__clock_sim r = play_how(4, "bsp", 50);
    r.straggler = &policy;
    policy_calls = 0;
    play_times(4, "fixed:1s", "2:3");
    play_run(&r, 1);
    ck_assert_uint_eq(policy_calls, 50);
    ck_assert_uint_eq(seen.number, 50);
    ck_assert_uint_eq(seen.parts, 4);
    ck_assert_uint_eq(seen.workers, 4);
    play_expect_close(seen.seconds, 3, 1e-9, "a round");
    for (unsigned i = 0; i < 4; i++) {
        play_expect_close(arrivals[i], i == 2 ? 3 : 1, 1e-9, "arrival");
        play_expect_close(means[i], i == 2 ? 3 : 1, 1e-9, "mean");
    }
    ck_assert_uint_eq(play_result.modes, 0);
}
END_TEST

/* A part that is missing when a round closes has no arrival time, but is known
 * to be slow. */
START_TEST(a_policy_is_notified_who_is_late)
{
    static const struct gw_straggler policy = {.choose = record};
    struct gw__clock_sim r = play_how(4, "kofn:3", 50);
    r.straggler = &policy;
    play_times(4, "fixed:1s", "2:3.5");
    play_run(&r, 1);
    play_expect_close(seen.seconds, 1, 1e-9, "a round");
    ck_assert(isinf(arrivals[2]));
    ck_assert(means[2] > 3.4 && means[2] < 3.6);
}
END_TEST

START_TEST(a_policy_is_notified_of_asp)
{
    static const struct gw_straggler policy = {.choose = record};
    struct gw__clock_sim r = play_how(4, "asp", 50);
    r.straggler = &policy;
    policy_calls = 0;
    play_times(4, "fixed:1s", NULL);
    play_run(&r, 1);
    ck_assert_uint_eq(policy_calls, 50);
    play_expect_close(seen.seconds, 1, 1e-9, "as many items as parts");
    play_expect_close(arrivals[3], 1, 1e-9, "the last");
}
END_TEST

static struct gw_ps_mode from_the_fifth(const struct gw_straggler_round *round)
{
    struct gw_ps_mode mode = {.kind = GW_PS_KOFN,
                              .bound = round->number < 5 ? 4 : 3};
    return mode;
}

START_TEST(a_policy_chooses)
{
    static const struct gw_straggler policy = {.choose = from_the_fifth};
    struct gw__clock_sim r = play_how(4, "kofn:4", 20);
    r.straggler = &policy;
    r.give_up = true;
    play_times(4, "fixed:1s", "2:3");
    play_run(&r, 1);
    play_expect_close((double)play_result.ended_ns / 1e9, 5 * 3 + 15, 1e-9,
                      "4 of 4, then 3");
    ck_assert_uint_eq(play_result.modes, 1);
    ck_assert_uint_eq(play_result.mode.bound, 3);
    ck_assert_uint_eq(play_result.items, 5 * 4 + 15 * 3);
    ck_assert_uint_eq(play_result.dropped, 15);
}
END_TEST

static struct gw_ps_mode nonsense(const struct gw_straggler_round *round)
{
    (void)round;
    return (struct gw_ps_mode){.kind = GW_PS_KOFN, .bound = 40};
}

START_TEST(nonsense_is_refused)
{
    static const struct gw_straggler policy = {.choose = nonsense};
    struct gw__clock_sim r = play_how(4, "bsp", 20);
    r.straggler = &policy;
    play_times(4, "fixed:1s", NULL);
    ck_assert_int_eq(gw__clock_sim_run(&r, &play_result, &why), GW_EINVAL);
    ck_assert_str_eq(why.text, "the policy for stragglers, after round 1: "
                               "kofn:40 needs at most the 4 parts of a round");
    r = play_how(4, "bsp", 0);
    ck_assert_int_eq(gw__clock_sim_run(&r, &play_result, &why), GW_EINVAL);
    r = play_how(GW_PS_NODES, "bsp", 1);
    r.workers++;
    ck_assert_int_eq(gw__clock_sim_run(&r, &play_result, &why), GW_EINVAL);
}
END_TEST

/* Modes may change to any other at any time: each item of the plan is closed
 * once or dropped, and the run ends. */
static struct gw_ps_mode wander(const struct gw_straggler_round *round)
{
    static const struct gw_ps_mode modes[] = {{.kind = GW_PS_KOFN, .bound = 2},
                                              {.kind = GW_PS_ASP},
                                              {.kind = GW_PS_SSP, .bound = 1},
                                              {.kind = GW_PS_BSP}};
    return modes[round->number % 4];
}

START_TEST(modes_wander)
{
    static const struct gw_straggler policy = {.choose = wander};
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct gw__clock_sim r = play_how(5, "bsp", 200);
        r.straggler = &policy;
        r.give_up = seed % 2;
        play_times(5, "exp:1s", NULL);
        play_run(&r, seed);
        ck_assert_uint_gt(play_result.modes, 10);
        ck_assert_uint_le(play_result.items, 1000);
        ck_assert_uint_ge(play_result.items, 400);
    }
}
END_TEST

/* The example: worker 0 is slow from 100 s to 400 s. No round waits for it
 * then, except the first round and while it is late. */
START_TEST(drop_slowest_drops_the_slowest)
{
    struct plugin_file file =
        plugin_file_from_source("labs/plugins/drop_slowest.c");
    struct gw_plugin *plugin;
    ck_assert_msg(
        gw_plugin_open(file.path, GW_PLUGIN_STRAGGLER, &plugin, &why) == GW_OK,
        "%s", why.text);
    struct gw__clock_sim r = play_how(8, "bsp", 1000);
    r.straggler = plugin->straggler;
    play_times(8, "fixed:1s", "0:20@100s-400s");
    play_run(&r, 1);
    ck_assert_uint_eq(play_result.mode.bound, 8);
    ck_assert_uint_ge(play_result.modes, 2);
    play_expect_close((double)play_result.ended_ns / 1e9, 1000 + 20, 0.01,
                      "the run");
    /* Those of the slow time, and those until 19 (7/8)^22 < 1: the mean is then
     * below 2. */
    ck_assert_uint_le(play_result.dropped, 300 / 20 + 22);
    gw_plugin_close(&plugin);
    plugin_file_remove(&file);
}
END_TEST

/* ---- learning ---- */

static struct sim_learn *learn;

static enum gw_err on_granted(void *context, unsigned worker,
                              const struct gw_ps_work *work,
                              struct gw_error *error)
{
    (void)context;
    return sim_learn_granted(learn, worker, work, error);
}

static enum gw_err on_closed(void *context,
                             const struct gw__round_commit *commit,
                             uint64_t now_ns, struct gw_error *error)
{
    (void)context;
    return sim_learn_closed(learn, commit, now_ns, error);
}

static struct gw_task *make_task(void)
{
    struct gw_task_config config;
    struct gw_task *task;
    ck_assert_int_eq(gw_task_defaults("drift", &config, &why), GW_OK);
    config.drift.rows = 2000;
    config.drift.period = 1e12;
    ck_assert_int_eq(gw_task_new(&config, &task, &why), GW_OK);
    return task;
}

static double loss_of(const struct gw_task *task, const char *mode,
                      uint64_t rounds)
{
    struct gw__clock_sim r = play_how(4, mode, rounds);
    unsigned count;
    r.granted = on_granted;
    r.closed = on_closed;
    play_times(4, "exp:1s", NULL);
    ck_assert_int_eq(sim_learn_new(task, 4, rounds, 20, &learn, &why), GW_OK);
    play_run(&r, 1);
    const struct sim_point *points = sim_learn_points(learn, &count);
    ck_assert_uint_eq(count, 21);
    ck_assert_uint_eq(points[20].items, 4 * rounds);
    double loss = points[20].loss;
    ck_assert(points[0].loss > 5);
    sim_learn_destroy(&learn);
    return loss;
}

/* bsp: the same as without a clock. */
START_TEST(learning_by_rounds_is_exact)
{
    enum { ROUNDS = 60 };
    struct gw_task *task = make_task();
    struct gw_table_store *store;
    struct gw_work_item *item;
    struct gw_sample_sums sums;
    struct gw_task_score score;
    unsigned count;
    double loss = loss_of(task, "bsp", ROUNDS);
    const struct gw_ps_table_config *tables = gw_task_tables(task, &count);
    ck_assert_int_eq(gw_table_store_new(tables, count, &store, &why), GW_OK);
    ck_assert_int_eq(gw_work_item_new(task, &item, &why), GW_OK);
    for (unsigned b = 0; b < ROUNDS; b++)
        ck_assert_int_eq(gw_table_store_run_batch(store, item, b / 20, b % 20,
                                                  4, &sums, &why),
                         GW_OK);
    const struct gw_fetch fetch = gw_table_store_fetch(store);
    ck_assert_int_eq(gw_task_evaluate(task, GW_TASK_TEST,
                                      gw_task_config(task)->epochs, &fetch,
                                      &score, &why),
                     GW_OK);
    ck_assert_double_eq(loss, score.loss);
    gw_work_item_destroy(&item);
    gw_table_store_destroy(&store);
    gw_task_destroy(&task);
}
END_TEST

START_TEST(all_modes_learn)
{
    static const char *const modes[] = {"ssp:2", "asp", "kofn:3", "bsp"};
    struct gw_task *task = make_task();
    for (unsigned i = 0; i < 4; i++) {
        double loss = loss_of(task, modes[i], 100);
        ck_assert_msg(loss < 0.1, "%s: %g", modes[i], loss);
    }
    gw_task_destroy(&task);
}
END_TEST

Suite *suite_straggler(void)
{
    Suite *suite = suite_create("straggler");
    TCase *policies = tcase_create("policies");
    tcase_add_test(policies, a_policy_is_notified_of_each_round);
    tcase_add_test(policies, a_policy_is_notified_who_is_late);
    tcase_add_test(policies, a_policy_is_notified_of_asp);
    tcase_add_test(policies, a_policy_chooses);
    tcase_add_test(policies, nonsense_is_refused);
    tcase_add_test(policies, modes_wander);
    tcase_add_test(policies, drop_slowest_drops_the_slowest);
    suite_add_tcase(suite, policies);
    TCase *learning = tcase_create("learning");
    tcase_add_test(learning, learning_by_rounds_is_exact);
    tcase_add_test(learning, all_modes_learn);
    suite_add_tcase(suite, learning);
    return suite;
}
