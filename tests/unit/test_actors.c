/* SPDX-License-Identifier: MIT
 *
 * Actors and a learner apart. The policy lag matches the formula, whichever
 * side is slower. A bound on the lag holds, and uncorrected lag harms learning.
 * Actors in processes learn the same, and count their bytes.
 */
#include "ranks.h"

#include <gradwire/actors.h>

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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
 * trajectory has the same lag. */
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

/* The formula of the header, with all kinds of times. */
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

/* The mean return of the last of 2000 updates; 0 if the values are not
 * finite. */
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
START_TEST(correction_pays_off)
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
    } cases[] = {{0, 1, 1, 0, "the number of actors must be"},
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

/* ---- actors as processes (here: threads) ---- */

enum { ACTORS_MAX = 4 };

struct group {
    struct gw_actors_config config;
    uint64_t updates;
    unsigned leaves; /* the actor that leaves at once; ACTORS_MAX: none */
    struct gw_actors_report report;
    struct gw_counters counters;
    uint64_t digest;
};

static void must(enum gw_err code, const struct gw_error *error)
{
    if (!code)
        return;
    fprintf(stderr, "%s\n", error->text);
    abort();
}

static void lead(struct group *g, struct gw_comm **comms)
{
    struct gw_error error;
    struct gw_actors *actors;
    must(gw_actors_serve(&g->config, comms, &actors, &error), &error);
    must(gw_actors_run(actors, g->updates, &g->report, &error), &error);
    gw_actors_stop(actors, &g->counters);
    g->digest = gw_actors_digest(actors);
    gw_actors_destroy(&actors);
}

static void act(struct gw_comm *comm, void *context)
{
    struct group *g = context;
    struct gw_comm *comms[ACTORS_MAX] = {NULL};
    struct gw_error error;
    unsigned rank = gw_comm_rank(comm);
    for (unsigned i = 0; i < g->config.actors; i++)
        must(gw_comm_split(comm, rank == 0 || rank == i + 1 ? 0 : -1, (int)rank,
                           &comms[i], &error),
             &error);
    if (rank == 0)
        lead(g, comms);
    else if (rank - 1 != g->leaves)
        must(gw_actor_run(&(struct gw_actor_process){.config = &g->config,
                                                     .number = rank - 1},
                          comms[rank - 1], &error),
             &error);
    for (unsigned i = 0; i < g->config.actors; i++)
        gw_comm_destroy(&comms[i]);
}

static struct group group_of(unsigned actors, unsigned queue, unsigned batch)
{
    struct group g = {.updates = 200, .leaves = ACTORS_MAX};
    gw_actors_defaults(&g.config);
    g.config.actors = actors;
    g.config.queue = queue;
    g.config.batch = batch;
    g.config.step_ns = 1000;
    g.config.update_ns = 50000;
    return g;
}

/* With one actor and no queue the result does not depend on time. */
START_TEST(processes_learn_what_virtual_actors_learn)
{
    struct group g = group_of(1, 0, 1);
    struct gw_actors_report report;
    uint64_t digest;
    run_ranks(NULL, 2, act, &g);
    play(&g.config, g.updates, &report, &digest);
    ck_assert_uint_eq(g.digest, digest);
    ck_assert_double_eq(g.report.lag_mean, report.lag_mean);
    ck_assert_uint_eq(g.report.steps, report.steps);
}
END_TEST

/* On a machine with any other load. The trajectory of an actor that waits for a
 * CPU at the end is not counted, so the run is long: such a wait lasts for up to
 * 60 updates. */
START_TEST(lag_of_processes_is_what_there_is_in_flight)
{
    static const unsigned cases[][3] = {{2, 0, 1}, {3, 8, 2}, {4, 4, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct group g = group_of(cases[i][0], cases[i][1], cases[i][2]);
        g.updates = 1000;
        run_ranks(NULL, g.config.actors + 1, act, &g);
        double in_flight = g.report.actors_mean + g.report.queue_mean;
        double wanted = in_flight / g.config.batch;
        ck_assert_msg(fabs(g.report.lag_mean - wanted) < 0.1 * wanted,
                      "%u actors: lag %g, not %g", g.config.actors,
                      g.report.lag_mean, wanted);
        ck_assert_uint_eq(g.report.lost, 0);
        ck_assert_double_eq(g.report.actors_mean, g.config.actors);
        ck_assert_uint_ge(g.counters.messages_received,
                          g.updates * g.config.batch);
    }
}
END_TEST

/* One policy per trajectory, and one more that ends the actor. */
START_TEST(policies_and_trajectories_are_counted)
{
    struct group g = group_of(2, 2, 1);
    const uint64_t floats = 7 * (g.config.task.cartpole.hidden + 1);
    const uint64_t numbers = 7 + 6 * g.config.task.cartpole.unroll;
    run_ranks(NULL, 3, act, &g);
    const struct gw_counters *c = &g.counters;
    ck_assert_uint_eq(c->messages_sent, c->messages_received + 2);
    ck_assert_uint_eq(c->bytes_sent, c->messages_sent * (8 + 4 * floats));
    ck_assert_uint_eq(c->bytes_received, c->messages_received * 8 * numbers);
}
END_TEST

START_TEST(the_learner_goes_on_without_a_lost_actor)
{
    struct group g = group_of(3, 2, 1);
    g.leaves = 1;
    run_ranks(NULL, 4, act, &g);
    ck_assert_uint_eq(g.report.updates, g.updates);
    ck_assert_uint_eq(g.report.lost, 1);
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
    tcase_add_test(c, correction_pays_off);
    tcase_add_test(c, bad_configs_are_refused);
    suite_add_tcase(suite, c);
    TCase *p = tcase_create("processes");
    tcase_add_test(p, processes_learn_what_virtual_actors_learn);
    tcase_add_test(p, lag_of_processes_is_what_there_is_in_flight);
    tcase_add_test(p, policies_and_trajectories_are_counted);
    tcase_add_test(p, the_learner_goes_on_without_a_lost_actor);
    suite_add_tcase(suite, p);
    return suite;
}
