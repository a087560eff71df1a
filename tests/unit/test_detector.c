/* SPDX-License-Identifier: MIT
 *
 * The detector in the simulated network: whom it accuses, when, and whom never.
 * What it tells goes to a registry in the middle that everybody reaches at
 * once, and the views that come of it go back to the members.
 */
#include <control/detector.h>
#include <control/registry.h>
#include <sim/sim.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_detector(void);

enum { NODES_MOST = 9, REGISTRY_AFTER_MS = 3 };
static const uint64_t MS = 1000000;

struct scene {
    struct gw__sim *sim;
    unsigned nodes;
    struct gw__registry registry;
    bool deaf;                                /* the registry hears nothing */
    unsigned accused[NODES_MOST][NODES_MOST]; /* by whom, whom: how often */
    unsigned certain, trusts, stucks;
    uint64_t first_ns;                   /* accusation */
    uint64_t view_ns[NODES_MOST + 2];    /* when an epoch began */
    struct gw__notice stuck[NODES_MOST]; /* the last one of each member */
};

static struct scene *scene;

static void ask_view(unsigned node, uint64_t at_ns)
{
    uint8_t bytes[GW__DETECTOR_ASK_MAX];
    size_t used = gw__detector_ask_view(bytes, &scene->registry.view);
    gw__sim_ask(scene->sim, at_ns, node, bytes, used);
}

static void publish(void)
{
    uint64_t now = gw__sim_now(scene->sim), epoch = scene->registry.view.epoch;
    if (epoch < NODES_MOST + 2)
        scene->view_ns[epoch] = now + REGISTRY_AFTER_MS * MS;
    for (unsigned i = 0; i < scene->nodes; i++)
        ask_view(i, now + REGISTRY_AFTER_MS * MS);
}

static void propose(struct gw__command command)
{
    uint8_t bytes[GW__COMMAND_BYTES_MAX], answer[GW__ANSWER_BYTES_MAX];
    uint64_t epoch = scene->registry.view.epoch;
    command.time_ms = gw__sim_now(scene->sim) / MS;
    size_t used = gw__command_encode(&command, bytes, sizeof bytes);
    gw__registry_apply(&scene->registry, bytes, used, scene->registry.index + 1,
                       answer);
    if (scene->registry.view.epoch != epoch && command.kind == GW__CMD_ACCUSE)
        publish();
}

static struct gw__process process(unsigned node)
{
    return (struct gw__process){node,
                                {.low = gw__sim_incarnation(scene->sim, node)}};
}

static void hear(void *context, struct gw__sim *sim, uint32_t node,
                 const void *data, size_t bytes)
{
    struct gw__notice n;
    (void)context;
    ck_assert_int_eq(gw__notice_decode(data, bytes, &n, NULL), GW_OK);
    if (n.kind == GW__NOTICE_TRUST)
        scene->trusts++;
    if (n.kind == GW__NOTICE_STUCK) {
        scene->stucks++;
        scene->stuck[node] = n;
    }
    if (n.kind != GW__NOTICE_ACCUSE)
        return;
    ck_assert_uint_ne(n.node, node); /* never itself */
    if (!scene->first_ns)
        scene->first_ns = gw__sim_now(sim);
    scene->accused[node][n.node]++;
    scene->certain += n.certain;
    if (!scene->deaf)
        propose((struct gw__command){
            .kind = GW__CMD_ACCUSE,
            .who = {node, {.low = gw__sim_incarnation(sim, node)}},
            .accuse = {{n.node, n.incarnation}, n.certain}});
}

/* `nodes` members in epoch 1, since 0 ms. */
static void begin(unsigned nodes, struct gw__sim_options options)
{
    const struct gw__machine_kind *kinds[NODES_MOST];
    struct gw__command all = {.kind = GW__CMD_ADMIT};
    for (unsigned i = 0; i < nodes; i++)
        kinds[i] = &gw__detector_machine;
    scene = calloc(1, sizeof *scene);
    ck_assert_ptr_nonnull(scene);
    scene->nodes = nodes;
    options.on_tell = hear;
    options.link.delay_ns = MS / 10;
    ck_assert_int_eq(gw__sim_new(kinds, nodes, &options, &scene->sim, NULL),
                     GW_OK);
    ck_assert_int_eq(gw__sim_run_until(scene->sim, NULL, 1, NULL), GW_OK);
    gw__registry_init(&scene->registry);
    for (unsigned i = 0; i < nodes; i++) {
        propose((struct gw__command){.kind = GW__CMD_REGISTER,
                                     .who = process(i),
                                     .join = {GW__WORKER, true, "x"}});
        all.admit.joiners[all.admit.count++] = process(i);
    }
    propose(all);
    publish();
}

static void end(void)
{
    gw__sim_destroy(&scene->sim);
    free(scene);
    scene = NULL;
}

static void faults(const char *text)
{
    struct gw__faults list;
    ck_assert_int_eq(
        gw__faults_parse(text, strlen(text), "test", scene->nodes, &list, NULL),
        GW_OK);
    ck_assert_int_eq(
        gw__sim_add_faults(scene->sim, list.items, list.count, NULL), GW_OK);
}

static void run(uint64_t until_ms)
{
    struct gw_error why = {0};
    ck_assert_msg(!gw__sim_run_until(scene->sim, NULL, until_ms * MS, &why),
                  "%s", why.text);
}

static unsigned accusers_of(unsigned node)
{
    unsigned count = 0;
    for (unsigned i = 0; i < scene->nodes; i++)
        count += scene->accused[i][node] > 0;
    return count;
}

static unsigned accusations(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < scene->nodes; i++)
        for (unsigned j = 0; j < scene->nodes; j++)
            count += scene->accused[i][j];
    return count;
}

/* ---- tests ---- */

START_TEST(nobody_is_accused_on_an_ordinary_day)
{
    for (unsigned nodes = 1; nodes <= NODES_MOST; nodes++) {
        begin(nodes,
              (struct gw__sim_options){
                  .seed = nodes,
                  .link = {.jitter_ns = 10 * MS, .drop = 0.1, .dup = 0.1},
                  .timer_late_ns = 5 * MS,
                  .start_spread_ns = 0});
        run(10000);
        ck_assert_msg(accusations() == 0, "seed %u: %u accusations", nodes,
                      accusations());
        end();
    }
}
END_TEST

START_TEST(a_silent_member_is_accused_by_its_three_observers)
{
    begin(8, (struct gw__sim_options){.seed = 1});
    scene->deaf = true;
    faults("at 1s crash 3\n");
    run(1400);
    ck_assert_uint_eq(accusers_of(3), 3);
    ck_assert(scene->accused[2][3] && scene->accused[4][3]);
    ck_assert_uint_ge(scene->first_ns, 1100 * MS);
    ck_assert_uint_le(scene->first_ns, 1300 * MS);
    ck_assert_uint_eq(accusations(), 3);
    run(2000); /* they repeat themselves while it lasts */
    ck_assert_uint_ge(accusations(), 9);
    ck_assert_uint_le(accusations(), 15);
    end();
}
END_TEST

START_TEST(two_of_them_convict_and_the_new_view_forgets)
{
    begin(8, (struct gw__sim_options){.seed = 2});
    faults("at 1s pause 3\n");
    run(3000);
    ck_assert_uint_eq(scene->registry.view.epoch, 2);
    ck_assert_int_eq(scene->registry.members[3].state, GW__CONVICTED);
    ck_assert_uint_le(scene->view_ns[2], 1300 * MS);
    ck_assert_uint_le(accusations(), 3);
    end();
}
END_TEST

START_TEST(the_end_of_a_process_is_a_fact)
{
    begin(4, (struct gw__sim_options){.seed = 3,
                                      .observers = {0, 0, 1 << 0, 0},
                                      .died_delay_ns = MS});
    faults("at 1s crash 2\n");
    run(2000);
    ck_assert_uint_eq(scene->certain, 1);
    ck_assert_uint_eq(scene->first_ns, 1001 * MS);
    ck_assert_uint_eq(accusations(), 1);
    ck_assert_uint_eq(scene->view_ns[2], (1001 + REGISTRY_AFTER_MS) * MS);
    end();
}
END_TEST

START_TEST(who_slept_blames_nobody_for_it)
{
    begin(5, (struct gw__sim_options){.seed = 4});
    scene->deaf = true;
    faults("at 1s pause 2 for 5s\n");
    run(5999);
    ck_assert_uint_eq(accusers_of(2), 3);
    unsigned before = accusations();
    run(8000);
    ck_assert_uint_eq(accusations(), before);
    for (unsigned i = 0; i < 5; i++)
        ck_assert_uint_eq(scene->accused[2][i], 0);
    ck_assert_uint_eq(scene->trusts, 3); /* it beats again */
    end();
}
END_TEST

START_TEST(a_short_sleep_is_no_crime)
{
    begin(5, (struct gw__sim_options){.seed = 5});
    faults("at 1s pause 2 for 120ms\nat 2s pause 1 for 120ms\n");
    run(4000);
    ck_assert_uint_eq(accusations(), 0);
    end();
}
END_TEST

START_TEST(a_cut_link_gives_one_accuser_and_no_conviction)
{
    begin(8, (struct gw__sim_options){.seed = 6});
    faults("at 1s cut 3>4\n");
    run(5000);
    ck_assert_uint_eq(accusers_of(3), 1);
    ck_assert_uint_gt(scene->accused[4][3], 10);
    ck_assert_uint_eq(scene->registry.view.epoch, 1);
    end();
}
END_TEST

START_TEST(data_counts_as_a_beat)
{
    uint8_t bytes[GW__DETECTOR_ASK_MAX];
    begin(2, (struct gw__sim_options){.seed = 7});
    scene->deaf = true;
    faults("at 1s cut 0>1\n");
    size_t used =
        gw__detector_ask_heard(bytes, 0, gw__sim_incarnation(scene->sim, 0));
    for (uint64_t ms = 1000; ms < 3000; ms += 50)
        gw__sim_ask(scene->sim, ms * MS, 1, bytes, used);
    run(3100);
    ck_assert_uint_eq(accusations(), 0);
    run(3300);
    ck_assert_uint_eq(accusers_of(0), 1);
    end();
}
END_TEST

START_TEST(a_member_comes_back_as_another_incarnation)
{
    begin(4, (struct gw__sim_options){.seed = 8,
                                      .observers = {0, 0, 1 << 0, 0},
                                      .died_delay_ns = MS});
    faults("at 1s crash 2\nat 1200ms restart 2\n");
    run(1500);
    propose((struct gw__command){.kind = GW__CMD_REGISTER,
                                 .who = process(2),
                                 .join = {GW__WORKER, true, "x"}});
    for (unsigned i = 0; i < 4; i++)
        propose((struct gw__command){
            .kind = GW__CMD_REPORT, .who = process(i), .flush = {.epoch = 2}});
    propose((struct gw__command){
        .kind = GW__CMD_ADMIT,
        .admit = {0, 1, {process(2)}, scene->registry.view.ring_epoch}});
    ck_assert_uint_eq(scene->registry.view.epoch, 3);
    publish();
    run(3000);
    ck_assert_uint_eq(accusations(), 1); /* the old fact is about the old one */
    faults("at 3s crash 2\n");
    run(3100);
    ck_assert_uint_eq(scene->registry.view.epoch, 4);
    end();
}
END_TEST

START_TEST(a_beat_of_another_incarnation_is_no_beat)
{
    begin(4, (struct gw__sim_options){.seed = 10});
    scene->deaf = true;
    faults("at 1s crash 2\nat 1050ms restart 2\n");
    run(1060);
    scene->registry.view.ring[2].incarnation = process(2).incarnation;
    ask_view(2, 1061 * MS); /* it believes to be in and beats */
    run(1500);
    ck_assert_uint_eq(accusers_of(2), 3);
    end();
}
END_TEST

/* ---- the watchdog ---- */

static void stand(unsigned node, uint64_t at_ms, struct gw__standing standing)
{
    uint8_t bytes[GW__DETECTOR_ASK_MAX];
    size_t used = gw__detector_ask_standing(bytes, &standing);
    gw__sim_ask(scene->sim, at_ms * MS, node, bytes, used);
}

START_TEST(the_watchdog_names_the_one_at_the_root)
{
    begin(8, (struct gw__sim_options){.seed = 9});
    for (unsigned i = 0; i < 8; i++)
        stand(
            i, 100,
            (struct gw__standing){.op = 12,
                                  .phase = i == 5 ? GW__COMPUTE : GW__REDUCING,
                                  .waits_for = (i + 7) % 8});
    run(2050);
    ck_assert_uint_eq(scene->stucks, 0);
    run(2200);
    ck_assert_uint_eq(scene->stucks, 7);
    for (unsigned i = 0; i < 8; i++) {
        char text[160];
        if (i == 5)
            continue;
        gw__laggard_text(&scene->stuck[i].laggard, text);
        ck_assert_str_eq(
            text, "op 12, reduce: node 5 has not entered it; node 6 waits "
                  "for it");
    }
    stand(
        5, 2300,
        (struct gw__standing){.op = 12, .phase = GW__REDUCING, .waits_for = 4});
    for (unsigned i = 0; i < 8; i++) /* and on it goes */
        for (unsigned ms = 2300; ms < 4100; ms += 300)
            stand(i, ms,
                  (struct gw__standing){.op = 12,
                                        .moved = ms,
                                        .phase = GW__REDUCING,
                                        .waits_for = (i + 7) % 8});
    run(4100);
    ck_assert_uint_eq(scene->stucks, 7);
    ck_assert_uint_eq(accusations(), 0);
    end();
}
END_TEST

/* ---- many schedules ---- */

/* Crashes, pauses and lossy links at random: who neither crashed nor was paused
 * stays in the view; who crashed is out of it after half a second. */
static void random_day(unsigned seed)
{
    enum { NODES = 6, DAY_MS = 4000 };
    struct gw_rng rng;
    char text[256];
    gw_rng_seed(&rng, seed);
    begin(NODES,
          (struct gw__sim_options){.seed = seed,
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
    faults(text);
    run(DAY_MS);
    for (unsigned i = 0; i < NODES; i++) {
        bool in = scene->registry.members[i].state == GW__ACTIVE;
        if (i != crashed && i != paused)
            ck_assert_msg(in, "seed %u: node %u is out\n%s", seed, i, text);
        if (i == crashed)
            ck_assert_msg(!in, "seed %u: node %u is in\n%s", seed, i, text);
    }
    end();
}

START_TEST(the_right_ones_are_convicted)
{
    for (unsigned seed = 1; seed <= 150; seed++)
        random_day(seed);
}
END_TEST

Suite *suite_detector(void)
{
    Suite *suite = suite_create("detector");
    TCase *t = tcase_create("all");
    tcase_add_test(t, nobody_is_accused_on_an_ordinary_day);
    tcase_add_test(t, a_silent_member_is_accused_by_its_three_observers);
    tcase_add_test(t, two_of_them_convict_and_the_new_view_forgets);
    tcase_add_test(t, the_end_of_a_process_is_a_fact);
    tcase_add_test(t, who_slept_blames_nobody_for_it);
    tcase_add_test(t, a_short_sleep_is_no_crime);
    tcase_add_test(t, a_cut_link_gives_one_accuser_and_no_conviction);
    tcase_add_test(t, data_counts_as_a_beat);
    tcase_add_test(t, a_member_comes_back_as_another_incarnation);
    tcase_add_test(t, the_watchdog_names_the_one_at_the_root);
    tcase_add_test(t, a_beat_of_another_incarnation_is_no_beat);
    tcase_add_test(t, the_right_ones_are_convicted);
    suite_add_tcase(suite, t);
    return suite;
}
