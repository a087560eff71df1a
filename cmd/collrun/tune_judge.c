/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the measured times say, without a clock or a file.
 *
 * An algorithm beats another when its median is lower by more than the noise,
 * 3 %, and it was faster in at least two of three rounds; rounds are pairs,
 * since both ran in each, so what slows the machine for a while slows both. A
 * size gets a rule only where some algorithm beats the predicted one. That is
 * the fastest, unless the winner of the size before is not beaten by it: one
 * range is worth more than two.
 *
 * Between two measured sizes the rules meet at their geometric mean.
 */
#include "tune.h"

#include "common/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOISE 0.03

static bool beats(const struct tune_case *item, unsigned a, unsigned b)
{
    const struct tune_algo *x = &item->algos[a], *y = &item->algos[b];
    unsigned won = 0;
    for (unsigned k = 0; k < item->rounds; k++)
        won += x->us[k] < y->us[k];
    return x->median_us * (1 + NOISE) < y->median_us &&
           3 * won >= 2 * item->rounds;
}

static void find_medians(struct tune_case *item)
{
    item->best = 0;
    for (unsigned a = 0; a < item->algo_count; a++) {
        double sorted[TUNE_ROUNDS_MAX];
        struct tune_algo *algo = &item->algos[a];
        memcpy(sorted, algo->us, item->rounds * sizeof *sorted);
        stats_sort(sorted, item->rounds);
        algo->median_us = stats_quantile(sorted, item->rounds, 0.5);
        if (algo->median_us < item->algos[item->best].median_us)
            item->best = a;
    }
}

static bool are_neighbours(const struct tune_case *a, const struct tune_case *b)
{
    return a->collective == b->collective && a->ranks == b->ranks;
}

static const struct gw_algo *ruled(const struct tune_case *item)
{
    return item->rule < 0 ? NULL : item->algos[item->rule].algo;
}

/* The place of `algo` in the case, or -1. */
static int place_of(const struct tune_case *item, const struct gw_algo *algo)
{
    for (unsigned a = 0; a < item->algo_count; a++)
        if (item->algos[a].algo == algo)
            return (int)a;
    return -1;
}

void tune_judge(struct tune *tune, size_t index)
{
    struct tune_case *item = &tune->cases[index];
    const struct tune_case *before = index > 0 ? item - 1 : NULL;
    find_medians(item);
    item->rule = -1;
    if (!beats(item, item->best, item->predicted))
        return;
    item->rule = (int)item->best;
    if (!before || !before->rounds || !are_neighbours(before, item))
        return;
    int kept = place_of(item, ruled(before));
    if (kept >= 0 && beats(item, (unsigned)kept, item->predicted) &&
        !beats(item, item->best, (unsigned)kept))
        item->rule = kept;
}

double tune_regret(const struct tune_case *item, unsigned chosen)
{
    return item->algos[chosen].median_us / item->algos[item->best].median_us -
           1;
}

/* Sorts; NaN when there is none. */
static double quantile(double *values, size_t count, double share)
{
    stats_sort(values, count);
    return stats_quantile(values, count, share);
}

enum gw_err tune_sum_up(const struct tune *tune, struct tune_summary *summary,
                        struct gw_error *why)
{
    size_t n = tune->case_count, measured = 0, errors = 0;
    double *now = calloc((2 + TUNE_ALGOS_MAX) * (n + 1), sizeof *now);
    *summary = (struct tune_summary){.runs = TUNE_ROUNDS_MAX};
    if (!now)
        return gw_fail(why, GW_ENOMEM, "a summary of %zu cases", n);
    double *then = now + n, *error = then + n;
    for (size_t i = 0; i < n; i++) {
        const struct tune_case *item = &tune->cases[i];
        if (!item->rounds)
            continue;
        if (item->rounds < summary->runs)
            summary->runs = item->rounds;
        now[measured] = tune_regret(item, item->chosen);
        then[measured++] = tune_regret(
            item, item->rule < 0 ? item->predicted : (unsigned)item->rule);
        for (unsigned a = 0; a < item->algo_count; a++)
            error[errors++] = fabs(
                item->algos[a].predicted_us / item->algos[a].median_us - 1);
    }
    summary->cases = measured;
    summary->regret_worst = quantile(now, measured, 1);
    summary->regret_median = quantile(now, measured, 0.5);
    summary->ruled_worst = quantile(then, measured, 1);
    summary->ruled_median = quantile(then, measured, 0.5);
    summary->error_median = quantile(error, errors, 0.5);
    summary->error_p95 = quantile(error, errors, 0.95);
    free(now);
    return GW_OK;
}

/* Where the rules of two neighbours meet: the last size of the smaller one. */
static uint64_t meeting_bytes(const struct tune_case *small,
                              const struct tune_case *large)
{
    double mean = sqrt((double)small->bytes) * sqrt((double)large->bytes);
    uint64_t last = (uint64_t)(mean * (1 + 1e-12));
    return last < large->bytes ? last : large->bytes - 1;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a < b ? b : a;
}

static struct gw_rule rule_of(const struct tune *tune, size_t index)
{
    const struct tune_case *item = &tune->cases[index];
    bool first = index == 0 || !are_neighbours(item - 1, item);
    bool last =
        index + 1 == tune->case_count || !are_neighbours(item, item + 1);
    struct gw_rule rule = {
        .collective = item->collective,
        .ranks = item->ranks,
        .algo = ruled(item),
        .from_bytes = first ? least(item->asked, item->bytes)
                            : meeting_bytes(item - 1, item) + 1,
        .to_bytes = last ? most(item->asked, item->bytes)
                         : meeting_bytes(item, item + 1),
        .bytes = item->bytes,
    };
    if (rule.algo) {
        rule.us = item->algos[item->rule].median_us;
        rule.instead = item->algos[item->predicted].algo;
        rule.instead_us = item->algos[item->predicted].median_us;
    }
    return rule;
}

/* Takes `more`, the next size, into *rule; its evidence is where it gains most.
 */
static void extend(struct gw_rule *rule, const struct gw_rule *more)
{
    uint64_t from_bytes = rule->from_bytes;
    if (more->instead_us * rule->us > rule->instead_us * more->us)
        *rule = *more;
    rule->from_bytes = from_bytes;
    rule->to_bytes = more->to_bytes;
}

size_t tune_rules(const struct tune *tune, struct gw_rule *rules)
{
    size_t count = 0;
    for (size_t i = 0; i < tune->case_count; i++) {
        const struct tune_case *item = &tune->cases[i];
        if (!item->rounds)
            continue;
        struct gw_rule rule = rule_of(tune, i);
        bool more = count > 0 && i > 0 && are_neighbours(item - 1, item) &&
                    item[-1].rounds && rules[count - 1].algo == rule.algo;
        if (more)
            extend(&rules[count - 1], &rule);
        else
            rules[count++] = rule;
    }
    return count;
}
