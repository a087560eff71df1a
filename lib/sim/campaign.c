/* SPDX-License-Identifier: MIT
 *
 * Runs a campaign seed by seed; see campaign.h.
 */
#include "campaign.h"

#include <inttypes.h>

enum gw_err gw__campaign_try(const struct gw__campaign *campaign, uint64_t seed,
                             const struct gw__faults *faults,
                             struct gw__trial *trial, struct gw_error *why)
{
    struct gw__sim *sim = NULL;
    *trial = (struct gw__trial){0};
    enum gw_err err = campaign->build(campaign->context, seed, &sim, why);
    if (!err)
        err = gw__sim_add_faults(sim, faults->items, faults->count, why);
    if (err) {
        gw__sim_destroy(&sim);
        return err;
    }
    err = gw__sim_run_until(sim, NULL, campaign->limit_ns, NULL);
    if (!err && campaign->check)
        campaign->check(campaign->context, sim);
    err = gw__sim_error(sim, &trial->failure);
    trial->hash = gw__sim_hash(sim);
    trial->counts = *gw__sim_counts(sim);
    gw__sim_destroy(&sim);
    if (err == GW_OK || err == GW_EWRONG)
        return GW_OK;
    return gw_fail(why, err, "%s", trial->failure.text);
}

static void report_seed(const struct gw__campaign *campaign,
                        const struct gw__campaign_result *result, FILE *report)
{
    fprintf(report, "%s: seed %" PRIu64 " fails: %s\n", campaign->name,
            result->seed, result->failure.text);
    fprintf(report, "repeat with: %s%" PRIu64 "\n", campaign->command,
            result->seed);
    fflush(report);
}

static enum gw_err report_fewest(const struct gw__campaign_result *result,
                                 FILE *report, struct gw_error *why)
{
    fprintf(report, "%zu of its %zu faults suffice (%u runs):\n",
            result->fewest.count, result->faults.count, result->shrink_runs);
    enum gw_err err = gw__faults_print(&result->fewest, report, why);
    fprintf(report, "with these it fails: %s\n", result->fewest_failure.text);
    fflush(report);
    return err;
}

static enum gw_err shrink(const struct gw__campaign *campaign, FILE *report,
                          struct gw__campaign_result *result,
                          struct gw_error *why)
{
    result->fewest = result->faults;
    result->fewest_failure = result->failure;
    if (report)
        report_seed(campaign, result, report);
    enum gw_err err =
        gw__campaign_shrink(campaign, result->seed, &result->fewest,
                            &result->fewest_failure, &result->shrink_runs, why);
    if (!err && report)
        err = report_fewest(result, report, why);
    return err ? err
               : gw_fail(why, GW_EWRONG, "%s: seed %" PRIu64 ": %s",
                         campaign->name, result->seed, result->failure.text);
}

enum gw_err gw__campaign_run(const struct gw__campaign *campaign,
                             uint64_t first, uint64_t last, FILE *report,
                             struct gw__campaign_result *result,
                             struct gw_error *why)
{
    *result = (struct gw__campaign_result){0};
    for (uint64_t seed = first; seed <= last; seed++) {
        struct gw__trial trial;
        gw__faults_random(seed, &campaign->faults, &result->faults);
        enum gw_err err =
            gw__campaign_try(campaign, seed, &result->faults, &trial, why);
        if (err)
            return gw_wrap(why, err, "%s: seed %" PRIu64, campaign->name, seed);
        result->seeds++;
        result->inputs += trial.counts.inputs;
        result->crashes += trial.counts.crashes;
        result->digest =
            gw_hash(&trial.hash, sizeof trial.hash, result->digest);
        if (trial.failure.code) {
            result->seed = seed;
            result->failure = trial.failure;
            return shrink(campaign, report, result, why);
        }
        if (seed == UINT64_MAX)
            break;
    }
    return GW_OK;
}
