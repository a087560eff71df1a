/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The evaluation of the measured times, without a clock or a file.
 *
 * An algorithm beats another when its median is lower by more than the noise, 3
 * %, and it was faster in at least two of three rounds. Rounds are pairs, since
 * both ran in each, so a temporary slowdown of the machine affects both. A size
 * gets a rule only if some algorithm beats the predicted one. It names the
 * fastest, or the winner of the size before unless that is beaten: one range is
 * better than two.
 *
 * Between two measured sizes the rules meet at their geometric mean.
 */
#include "tune.h"

#include "common/stats.h"

#include <math.h>

#define NOISE 0.03

double tune_median(const struct tune_case *item, unsigned algo, unsigned first,
                   unsigned stride)
{
    double sorted[TUNE_ROUNDS_MAX];
    unsigned count = 0;
    for (unsigned k = first; k < item->rounds; k += stride)
        sorted[count++] = item->algos[algo].us[k];
    stats_sort(sorted, count);
    return stats_quantile(sorted, count, 0.5);
}

bool tune_beats(const struct tune_case *item, unsigned a, unsigned b,
                unsigned first, unsigned stride)
{
    unsigned won = 0, rounds = 0;
    for (unsigned k = first; k < item->rounds; k += stride, rounds++)
        won += item->algos[a].us[k] < item->algos[b].us[k];
    return tune_median(item, a, first, stride) * (1 + NOISE) <
               tune_median(item, b, first, stride) &&
           3 * won >= 2 * rounds;
}

static bool beats(const struct tune_case *item, unsigned a, unsigned b)
{
    return tune_beats(item, a, b, 0, 1);
}

static void find_medians(struct tune_case *item)
{
    item->best = 0;
    for (unsigned a = 0; a < item->algo_count; a++) {
        struct tune_algo *algo = &item->algos[a];
        algo->median_us = tune_median(item, a, 0, 1);
        if (algo->median_us < item->algos[item->best].median_us)
            item->best = a;
    }
}

/* The fastest that a rule can name. */
static unsigned best_of_library(const struct tune_case *item)
{
    unsigned best = item->predicted;
    for (unsigned a = 0; a < item->algo_count; a++)
        if (!item->algos[a].added &&
            item->algos[a].median_us < item->algos[best].median_us)
            best = a;
    return best;
}

static bool are_neighbours(const struct tune_case *a, const struct tune_case *b)
{
    return a->collective == b->collective && a->ranks == b->ranks;
}

static const struct gw_algo *tuned_algo_of(const struct tune_case *item)
{
    return item->tuned_algo < 0 ? NULL : item->algos[item->tuned_algo].algo;
}

/* The index of `algo` in the case, or -1. */
static int algorithm_index(const struct tune_case *item,
                           const struct gw_algo *algo)
{
    for (unsigned a = 0; a < item->algo_count; a++)
        if (item->algos[a].algo == algo)
            return (int)a;
    return -1;
}

void tune_evaluate(struct tune *tune, size_t index)
{
    struct tune_case *item = &tune->cases[index];
    const struct tune_case *before = index > 0 ? item - 1 : NULL;
    find_medians(item);
    unsigned best = best_of_library(item);
    item->tuned_algo = -1;
    if (!beats(item, best, item->predicted))
        return;
    item->tuned_algo = (int)best;
    if (!before || !before->rounds || !are_neighbours(before, item))
        return;
    int kept = algorithm_index(item, tuned_algo_of(before));
    if (kept >= 0 && beats(item, (unsigned)kept, item->predicted) &&
        !beats(item, best, (unsigned)kept))
        item->tuned_algo = kept;
}

/* The boundary of the rules of two neighbours: the last size of the smaller
 * one. */
static uint64_t boundary_bytes(const struct tune_case *small,
                               const struct tune_case *large)
{
    double mean = sqrt((double)small->bytes) * sqrt((double)large->bytes);
    uint64_t last = (uint64_t)(mean * (1 + 1e-12));
    return last < large->bytes ? last : large->bytes - 1;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a < b ? b : a;
}

static struct gw_tuning_rule tuning_rule_of(const struct tune *tune,
                                            size_t index)
{
    const struct tune_case *item = &tune->cases[index];
    bool first = index == 0 || !are_neighbours(item - 1, item);
    bool last =
        index + 1 == tune->case_count || !are_neighbours(item, item + 1);
    struct gw_tuning_rule tuning_rule = {
        .collective = item->collective,
        .ranks = item->ranks,
        .algo = tuned_algo_of(item),
        .from_bytes = first ? least_of(item->requested_bytes, item->bytes)
                            : boundary_bytes(item - 1, item) + 1,
        .to_bytes = last ? most(item->requested_bytes, item->bytes)
                         : boundary_bytes(item, item + 1),
        .bytes = item->bytes,
    };
    if (tuning_rule.algo) {
        tuning_rule.us = item->algos[item->tuned_algo].median_us;
        tuning_rule.instead = item->algos[item->predicted].algo;
        tuning_rule.instead_us = item->algos[item->predicted].median_us;
    }
    return tuning_rule;
}

/* Adds `more`, the next size, to *rule; its evidence is the case with the
 * largest gain. */
static void extend(struct gw_tuning_rule *tuning_rule,
                   const struct gw_tuning_rule *more)
{
    uint64_t from_bytes = tuning_rule->from_bytes;
    if (more->instead_us * tuning_rule->us > tuning_rule->instead_us * more->us)
        *tuning_rule = *more;
    tuning_rule->from_bytes = from_bytes;
    tuning_rule->to_bytes = more->to_bytes;
}

size_t tuning_rules_make(const struct tune *tune,
                         struct gw_tuning_rule *tuning_rules)
{
    size_t count = 0;
    for (size_t i = 0; i < tune->case_count; i++) {
        const struct tune_case *item = &tune->cases[i];
        if (!item->rounds)
            continue;
        struct gw_tuning_rule tuning_rule = tuning_rule_of(tune, i);
        bool more = count > 0 && i > 0 && are_neighbours(item - 1, item) &&
                    item[-1].rounds &&
                    tuning_rules[count - 1].algo == tuning_rule.algo;
        if (more)
            extend(&tuning_rules[count - 1], &tuning_rule);
        else
            tuning_rules[count++] = tuning_rule;
    }
    return count;
}
