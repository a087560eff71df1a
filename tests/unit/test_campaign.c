/* SPDX-License-Identifier: MIT
 *
 * Campaigns: correct protocols survive thousands of schedules, a protocol with
 * a bug does not, and the schedule after shrinking has only the few faults that
 * the bug needs.
 */
#include "node_bits.h"
#include "sim_samples.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_campaign(void);

#define MS UINT64_C(1000000)

static void expect_survives(enum sim_sample sample, uint64_t seeds)
{
    struct sample_run run;
    struct gw_error why = {0};
    static struct gw__campaign_result result;
    struct gw__campaign campaign = sample_campaign(sample, &run);
    enum gw_err err =
        gw__campaign_run(&campaign, 1, seeds, stderr, &result, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    ck_assert_uint_eq(result.seeds, seeds);
    ck_assert_uint_gt(result.inputs, 100 * seeds);
    ck_assert_uint_gt(result.crashes, seeds);
}

START_TEST(the_right_voter_survives)
{
    expect_survives(SAMPLE_VOTER, 4000);
}
END_TEST

START_TEST(the_right_beacon_survives)
{
    expect_survives(SAMPLE_BEACON, 4000);
}
END_TEST

/* Runs until a seed fails; the caller frees the report. */
static char *find(const struct gw__campaign *campaign, uint64_t seeds,
                  struct gw__campaign_result *result)
{
    char *text = NULL;
    size_t bytes = 0;
    struct gw_error why = {0};
    FILE *report = open_memstream(&text, &bytes);
    ck_assert_ptr_nonnull(report);
    enum gw_err err =
        gw__campaign_run(campaign, 1, seeds, report, result, &why);
    fclose(report);
    ck_assert_msg(err == GW_EWRONG, "%d: not found in %d seeds: %s", err,
                  (int)seeds, why.text);
    ck_assert_int_eq(result->failure.code, GW_EWRONG);
    return text;
}

/* Every remaining fault is needed: without it the run does not fail. */
static void expect_minimal(const struct gw__campaign *campaign,
                           const struct gw__campaign_result *result)
{
    struct gw__trial trial;
    ck_assert_int_eq(
        gw__campaign_try(campaign, result->seed, &result->fewest, &trial, NULL),
        GW_OK);
    ck_assert_str_eq(trial.failure.text, result->fewest_failure.text);
    for (size_t i = 0; i < result->fewest.count; i++) {
        struct gw__faults fewer = result->fewest;
        memmove(&fewer.items[i], &fewer.items[i + 1],
                (--fewer.count - i) * sizeof *fewer.items);
        ck_assert_int_eq(
            gw__campaign_try(campaign, result->seed, &fewer, &trial, NULL),
            GW_OK);
        ck_assert_int_eq(trial.failure.code, GW_OK);
    }
}

static unsigned count_of(const struct gw__faults *faults,
                         enum gw__fault_kind kind)
{
    unsigned count = 0;
    for (size_t i = 0; i < faults->count; i++)
        count += faults->items[i].kind == kind;
    return count;
}

START_TEST(a_vote_that_is_not_persisted_is_found)
{
    struct sample_run run;
    static struct gw__campaign_result result;
    struct gw__campaign campaign = sample_campaign(SAMPLE_VOTER_FORGETS, &run);
    char *report = find(&campaign, 1000, &result);
    ck_assert_ptr_nonnull(strstr(result.failure.text, "has two leaders"));
    ck_assert_msg(result.fewest.count <= 3, "%s", report);
    ck_assert_msg(count_of(&result.fewest, GW__CRASH) >= 1, "%s", report);
    expect_minimal(&campaign, &result);
    free(report);
}
END_TEST

START_TEST(a_vote_sent_before_it_is_persisted_is_found)
{
    struct sample_run run;
    static struct gw__campaign_result result;
    struct gw__campaign campaign = sample_campaign(SAMPLE_VOTER_EARLY, &run);
    char *report = find(&campaign, 20000, &result);
    const struct gw__fault *crash = NULL;
    for (size_t i = 0; i < result.fewest.count; i++)
        if (result.fewest.items[i].kind == GW__CRASH &&
            result.fewest.items[i].after == 1)
            crash = &result.fewest.items[i];
    ck_assert_msg(crash, "%s", report); /* between sending and persisting */
    ck_assert_msg(result.fewest.count <= 4, "%s", report);
    expect_minimal(&campaign, &result);
    free(report);
}
END_TEST

START_TEST(a_late_message_of_an_old_incarnation_is_found)
{
    struct sample_run run;
    static struct gw__campaign_result result;
    struct gw__campaign campaign = sample_campaign(SAMPLE_BEACON_NAIVE, &run);
    char *report = find(&campaign, 1000, &result);
    ck_assert_ptr_nonnull(strstr(result.failure.text, "goes back to start"));
    ck_assert_msg(count_of(&result.fewest, GW__CRASH) == 1 &&
                      count_of(&result.fewest, GW__DELAY) == 1 &&
                      result.fewest.count == 2,
                  "%s", report);
    for (size_t i = 0; i < 2; i++)
        if (result.fewest.items[i].kind == GW__CRASH)
            ck_assert_uint_eq(node_bits(result.fewest.items[i].nodes), 1 << 0);
    expect_minimal(&campaign, &result);
    free(report);
}
END_TEST

START_TEST(the_report_repeats_the_failure)
{
    struct sample_run run;
    static struct gw__campaign_result result;
    struct gw__campaign campaign = sample_campaign(SAMPLE_BEACON_NAIVE, &run);
    char *report = find(&campaign, 1000, &result);
    char line[1024];
    snprintf(line, sizeof line, "naive beacon: seed %llu fails: %s\n",
             (unsigned long long)result.seed, result.failure.text);
    ck_assert_msg(strncmp(report, line, strlen(line)) == 0, "%s", report);
    snprintf(line, sizeof line, "repeat with: toy --seed %llu\n",
             (unsigned long long)result.seed);
    ck_assert_ptr_nonnull(strstr(report, line));
    snprintf(line, sizeof line, "2 of its %zu faults suffice (%u runs):\n",
             result.faults.count, result.shrink_runs);
    char *faults = strstr(report, line);
    ck_assert_ptr_nonnull(faults);
    faults += strlen(line);
    char *end = strstr(faults, "with these it fails: at ");
    ck_assert_ptr_nonnull(end);
    struct gw__faults again;
    struct gw__trial trial;
    ck_assert_int_eq(gw__faults_parse(faults, (size_t)(end - faults), "report",
                                      SAMPLE_NODES, &again, NULL),
                     GW_OK);
    ck_assert_int_eq(
        gw__campaign_try(&campaign, result.seed, &again, &trial, NULL), GW_OK);
    ck_assert_str_eq(trial.failure.text, result.fewest_failure.text);
    free(report);
}
END_TEST

START_TEST(a_campaign_is_determined_by_its_seeds)
{
    struct sample_run run;
    static struct gw__campaign_result first, second;
    struct gw__campaign campaign = sample_campaign(SAMPLE_VOTER_FORGETS, &run);
    char *report = find(&campaign, 1000, &first);
    char *again = find(&campaign, 1000, &second);
    ck_assert_str_eq(report, again);
    ck_assert_uint_eq(first.digest, second.digest);
    free(report);
    free(again);
    for (uint64_t seed = 1; seed < 20; seed++) {
        struct gw__faults faults;
        struct gw__trial a, b;
        gw__faults_random(seed, &campaign.faults, &faults);
        ck_assert_int_eq(gw__campaign_try(&campaign, seed, &faults, &a, NULL),
                         GW_OK);
        ck_assert_int_eq(gw__campaign_try(&campaign, seed, &faults, &b, NULL),
                         GW_OK);
        ck_assert_uint_eq(a.hash, b.hash);
        ck_assert_uint_eq(a.counts.inputs, b.counts.inputs);
    }
}
END_TEST

static enum gw_err build_nothing(void *context, uint64_t seed,
                                 struct gw__sim **sim, struct gw_error *why)
{
    (void)context;
    (void)seed;
    (void)sim;
    return gw_fail(why, GW_EINVAL, "no network");
}

static void always_wrong(void *context, struct gw__sim *sim)
{
    (void)context;
    gw__sim_fail(sim, "never right");
}

START_TEST(what_fails_without_faults_is_shrunk_to_none)
{
    struct sample_run run;
    static struct gw__campaign_result result;
    struct gw__campaign campaign = sample_campaign(SAMPLE_BEACON, &run);
    campaign.check = always_wrong;
    char *report = find(&campaign, 10, &result);
    ck_assert_uint_eq(result.fewest.count, 0);
    ck_assert_uint_eq(result.shrink_runs, 1);
    ck_assert_str_eq(result.failure.text, "at 200ms: never right");
    free(report);
}
END_TEST

START_TEST(a_network_that_cannot_be_built_is_an_error)
{
    struct sample_run run;
    struct gw_error why = {0};
    static struct gw__campaign_result result;
    struct gw__campaign campaign = sample_campaign(SAMPLE_BEACON, &run);
    campaign.build = build_nothing;
    ck_assert_int_eq(gw__campaign_run(&campaign, 7, 9, NULL, &result, &why),
                     GW_EINVAL);
    ck_assert_str_eq(why.text, "beacon: seed 7: no network");
}
END_TEST

static void two_crashes(void *context, struct gw__sim *sim)
{
    (void)context;
    if (gw__sim_counts(sim)->crashes >= 2)
        gw__sim_fail(sim, "two crashes");
}

/* Two crashes at a time would be simpler, but the profile has one. */
START_TEST(shrinking_keeps_within_the_profile)
{
    struct sample_run run;
    static struct gw__campaign_result result;
    struct gw__campaign campaign = sample_campaign(SAMPLE_BEACON, &run);
    campaign.check = two_crashes;
    campaign.faults.down_most = 1;
    campaign.faults.for_least_ns = 20 * MS;
    char *report = find(&campaign, 100, &result);
    ck_assert_uint_eq(result.fewest.count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct gw__fault *fault = &result.fewest.items[i];
        ck_assert_uint_eq(gw__faults_down(&result.fewest, fault), 0);
        ck_assert_uint_le(fault->at_ns + fault->for_ns, 100 * MS);
        ck_assert_uint_gt(fault->for_ns, 0);
    }
    free(report);
}
END_TEST

START_TEST(shrinking_is_bounded)
{
    struct sample_run run;
    static struct gw__campaign_result result;
    struct gw__campaign campaign = sample_campaign(SAMPLE_BEACON_NAIVE, &run);
    campaign.runs_most = 5;
    char *report = find(&campaign, 1000, &result);
    ck_assert_uint_eq(result.shrink_runs, 5);
    free(report);
}
END_TEST

Suite *suite_campaign(void)
{
    Suite *suite = suite_create("campaign");
    TCase *survive = tcase_create("campaign right");
    tcase_add_test(survive, the_right_voter_survives);
    tcase_add_test(survive, the_right_beacon_survives);
    suite_add_tcase(suite, survive);
    TCase *finds = tcase_create("campaign finds");
    tcase_add_test(finds, a_vote_that_is_not_persisted_is_found);
    tcase_add_test(finds, a_vote_sent_before_it_is_persisted_is_found);
    tcase_add_test(finds, a_late_message_of_an_old_incarnation_is_found);
    suite_add_tcase(suite, finds);
    TCase *reports = tcase_create("campaign reports");
    tcase_add_test(reports, the_report_repeats_the_failure);
    tcase_add_test(reports, a_campaign_is_determined_by_its_seeds);
    tcase_add_test(reports, what_fails_without_faults_is_shrunk_to_none);
    tcase_add_test(reports, a_network_that_cannot_be_built_is_an_error);
    tcase_add_test(reports, shrinking_keeps_within_the_profile);
    tcase_add_test(reports, shrinking_is_bounded);
    suite_add_tcase(suite, reports);
    return suite;
}
