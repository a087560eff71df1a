/* SPDX-License-Identifier: MIT
 *
 * Actors and a learner apart: the policy lag is what the formula says, whoever
 * is the slower; a bound on it holds; and without correction lag does harm.
 */
#include <gradwire/actors.h>

#include <check.h>
#include <math.h>

Suite *suite_actors(void);

static struct gw_error why;

static void play(const struct gw_actors_config *config, uint64_t updates,
                 struct gw_actors_report *report, uint64_t *digest)
{
    struct gw_actors *actors;
    ck_assert_msg(!gw_actors_new(config, &actors, &why), "%s", why.text);
    ck_assert_msg(!gw_actors_run(actors, updates, report, &why), "%s",
                  why.text);
    if (digest)
        *digest = gw_actors_digest(actors);
    gw_actors_destroy(&actors);
    ck_assert_uint_eq(report->updates, updates);
    ck_assert_uint_eq(report->trajectories, updates * config->batch);
}

/* The learner is slow: the queue is full, and with equal times of actors every
 * trajectory is as old as any. */
START_TEST(a_slow_learner_fills_the_queue)
{
    static const unsigned cases[][3] = {/* actors, queue, batch */
                                        {1, 0, 1},  {1, 3, 1},  {4, 0, 1},
                                        {8, 8, 1},  {3, 20, 1}, {8, 8, 4},
                                        {16, 4, 5}, {2, 30, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_actors_config config;
        struct gw_actors_report report;
        gw_actors_defaults(&config);
        config.actors = cases[i][0];
        config.queue = cases[i][1];
        config.batch = cases[i][2];
        config.jitter = 0;
        config.step_ns = 1;
        play(&config, 2000, &report, NULL);
        double wanted = (double)(config.actors + config.queue) / config.batch;
        ck_assert_msg(fabs(report.lag_mean - wanted) < 0.02 * wanted,
                      "%u actors, queue %u, batch %u: lag %g, not %g",
                      config.actors, config.queue, config.batch,
                      report.lag_mean, wanted);
        ck_assert_double_le((double)report.lag_max, ceil(wanted));
        ck_assert_double_gt(report.busy, 0.99);
    }
}
END_TEST

/* As the header says, with all kinds of times. */
START_TEST(lag_is_what_there_is_in_flight)
{
    for (unsigned seed = 1; seed <= 8; seed++) {
        struct gw_actors_config config;
        struct gw_actors_report report;
        gw_actors_defaults(&config);
        config.task.seed = seed;
        config.actors = 1 + 3 * (seed % 4);
        config.queue = 5 * (seed % 3);
        config.batch = 1 + seed % 2;
        config.jitter = seed % 2;
        config.step_ns = 40000 * seed;
        play(&config, 2000, &report, NULL);
        double wanted = (config.actors + report.queue_mean) / config.batch;
        ck_assert_msg(fabs(report.lag_mean - wanted) < 0.03 * wanted,
                      "seed %u: lag %g, not %g", seed, report.lag_mean, wanted);
        ck_assert_double_le(report.queue_mean, config.queue);
    }
}
END_TEST

START_TEST(who_waits_for_actors_has_little_lag)
{
    struct gw_actors_config config;
    struct gw_actors_report report;
    gw_actors_defaults(&config);
    config.step_ns = 100 * config.update_ns;
    play(&config, 500, &report, NULL);
    ck_assert_double_eq_tol(report.lag_mean, config.actors, 0.5);
    ck_assert_double_lt(report.busy, 0.05);
}
END_TEST

START_TEST(a_bound_holds)
{
    struct gw_actors_config config;
    struct gw_actors_report report;
    gw_actors_defaults(&config);
    config.max_lag = 6;
    play(&config, 500, &report, NULL);
    ck_assert_uint_le(report.lag_max, 6);
    ck_assert_uint_gt(report.dropped, 0);
    config.max_lag = 0;
    play(&config, 200, &report, NULL);
    ck_assert_uint_eq(report.lag_max, 0);
}
END_TEST

START_TEST(the_seed_decides)
{
    struct gw_actors_config config;
    struct gw_actors_report report;
    uint64_t digests[3];
    gw_actors_defaults(&config);
    play(&config, 300, &report, &digests[0]);
    play(&config, 300, &report, &digests[1]);
    config.task.seed++;
    play(&config, 300, &report, &digests[2]);
    ck_assert_uint_eq(digests[0], digests[1]);
    ck_assert_uint_ne(digests[0], digests[2]);
}
END_TEST

/* The mean return of the last of 2000 updates; 0 if there are no numbers left.
 */
static double learn(unsigned queue, bool corrected, uint64_t seed)
{
    struct gw_actors_config config;
    struct gw_actors_report report;
    struct gw_actors *actors;
    gw_actors_defaults(&config);
    config.queue = queue;
    config.plain = !corrected;
    config.task.seed = seed;
    ck_assert_int_eq(gw_actors_new(&config, &actors, &why), GW_OK);
    enum gw_err code = gw_actors_run(actors, 1000, &report, &why);
    if (!code)
        code = gw_actors_run(actors, 1000, &report, &why);
    gw_actors_destroy(&actors);
    ck_assert(!code || code == GW_EWRONG);
    return code ? 0 : report.mean_return;
}

/* Of five seeds. */
START_TEST(correction_is_worth_it)
{
    double little = 0, much = 0, corrected = 0;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        little += learn(0, false, seed) / 5;
        much += learn(56, false, seed) / 5;
        corrected += learn(56, true, seed) / 5;
    }
    ck_assert_msg(little > 130, "lag 8: %g", little);
    ck_assert_msg(much < 110, "lag 64: %g", much);
    ck_assert_msg(corrected > 130, "lag 64, corrected: %g", corrected);
}
END_TEST

START_TEST(bad_configs_are_refused)
{
    static const struct {
        unsigned actors, queue, batch;
        double jitter;
        const char *text;
    } cases[] = {{0, 1, 1, 0, "actors are"},
                 {1, GW_ACTORS_QUEUE_MAX + 1, 1, 0, "queue"},
                 {1, 1, 0, 0, "batch"},
                 {1, 1, 1, 2, "jitter"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_actors_config config;
        struct gw_actors *actors;
        gw_actors_defaults(&config);
        config.actors = cases[i].actors;
        config.queue = cases[i].queue;
        config.batch = cases[i].batch;
        config.jitter = cases[i].jitter;
        ck_assert_int_eq(gw_actors_new(&config, &actors, &why), GW_EINVAL);
        ck_assert_ptr_nonnull(strstr(why.text, cases[i].text));
    }
}
END_TEST

Suite *suite_actors(void)
{
    Suite *suite = suite_create("actors");
    TCase *c = tcase_create("actors");
    tcase_add_test(c, a_slow_learner_fills_the_queue);
    tcase_add_test(c, lag_is_what_there_is_in_flight);
    tcase_add_test(c, who_waits_for_actors_has_little_lag);
    tcase_add_test(c, a_bound_holds);
    tcase_add_test(c, the_seed_decides);
    tcase_add_test(c, correction_is_worth_it);
    tcase_add_test(c, bad_configs_are_refused);
    suite_add_tcase(suite, c);
    return suite;
}
