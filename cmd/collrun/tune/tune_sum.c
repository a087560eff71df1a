/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The summary of all cases, without a clock or a file.
 *
 * A regret is only honest when the fastest is determined independently of the
 * comparison. The fastest of ten equal algorithms was lucky: in the rounds that
 * determined it, any other choice looks slow. So the rounds are divided into
 * three sets: one makes the rule, one determines the best, one compares both;
 * then the sets are exchanged, and the mean of the three counts. It can be
 * negative: the choice is then faster than the best of other rounds. The noise,
 * for comparison, is the difference of an algorithm from itself between two
 * sets.
 */
#include "tune.h"

#include "common/stats.h"

#include <math.h>
#include <stdlib.h>

enum { ROUND_SETS = 3 };

/* With fewer rounds, each set has all of them. */
static double median_of(const struct tune_case *item, unsigned algo,
                        unsigned round_set)
{
    return item->rounds < ROUND_SETS
               ? item->algos[algo].median_us
               : tune_median(item, algo, round_set % ROUND_SETS, ROUND_SETS);
}

/* A rule can name only those of the library. The first is of the library. */
static unsigned best_of(const struct tune_case *item, unsigned round_set,
                        bool library_only)
{
    unsigned best = 0;
    for (unsigned a = 1; a < item->algo_count; a++)
        if (!(library_only && item->algos[a].added) &&
            median_of(item, a, round_set) < median_of(item, best, round_set))
            best = a;
    return best;
}

double tune_regret(const struct tune_case *item, unsigned chosen)
{
    double sum = 0;
    for (unsigned round_set = 0; round_set < ROUND_SETS; round_set++)
        sum += median_of(item, chosen, round_set) /
                   median_of(item, best_of(item, round_set + 1, false),
                             round_set) -
               1;
    return sum / ROUND_SETS;
}

/* As tune_regret, for the choice by rules, which are made from a third set of
 * rounds. */
static double tuned_choice_regret(const struct tune_case *item)
{
    double sum = 0;
    if (item->rounds < ROUND_SETS)
        return tune_regret(item, item->tuned_algo < 0
                                     ? item->predicted
                                     : (unsigned)item->tuned_algo);
    for (unsigned round_set = 0; round_set < ROUND_SETS; round_set++) {
        unsigned maker = (round_set + 2) % ROUND_SETS;
        unsigned named = best_of(item, maker, true);
        if (!tune_beats(item, named, item->predicted, maker, ROUND_SETS))
            named = item->predicted;
        sum += median_of(item, named, round_set) /
                   median_of(item, best_of(item, round_set + 1, false),
                             round_set) -
               1;
    }
    return sum / ROUND_SETS;
}

double tune_noise(const struct tune_case *item, unsigned algo)
{
    double sum = 0;
    for (unsigned round_set = 0; round_set < ROUND_SETS; round_set++)
        sum += fabs(median_of(item, algo, round_set) /
                        median_of(item, algo, round_set + 1) -
                    1);
    return sum / ROUND_SETS;
}

/* One kind of numbers, and the case of the largest so far. */
struct collection {
    double *values, largest;
    size_t count;
    struct tune_spread *spread;
};

static void collect(struct collection *c, double value,
                    const struct tune_case *item, unsigned algo)
{
    if (c->count == 0 || value > c->largest) {
        c->largest = value;
        c->spread->worst_case = item;
        c->spread->worst_algo = algo;
    }
    c->values[c->count++] = value;
}

static void finish_spread(struct collection *c)
{
    stats_sort(c->values, c->count);
    c->spread->median = stats_quantile(c->values, c->count, 0.5);
    c->spread->p95 = stats_quantile(c->values, c->count, 0.95);
    c->spread->worst = stats_quantile(c->values, c->count, 1);
}

enum gw_err tune_sum_up(const struct tune *tune, unsigned ranks,
                        struct tune_summary *summary, struct gw_error *why)
{
    enum { KINDS = 4 };
    size_t room = tune->case_count + 1;
    double *values =
        calloc((KINDS - 1 + TUNE_ALGOS_MAX) * room, sizeof *values);
    *summary = (struct tune_summary){.runs = TUNE_ROUNDS_MAX};
    if (!values)
        return gw_fail(why, GW_ENOMEM, "a summary of %zu cases", room - 1);
    struct collection regret = {values, 0, 0, &summary->regret},
                      tuned = {values + room, 0, 0, &summary->tuned},
                      noise = {values + 2 * room, 0, 0, &summary->noise},
                      error = {values + 3 * room, 0, 0, &summary->error};
    for (size_t i = 0; i < tune->case_count; i++) {
        const struct tune_case *item = &tune->cases[i];
        if (!item->rounds || (ranks && item->ranks != ranks))
            continue;
        summary->cases++;
        if (item->rounds < summary->runs)
            summary->runs = item->rounds;
        collect(&regret, tune_regret(item, item->chosen), item, item->chosen);
        collect(&tuned, tuned_choice_regret(item), item, item->best);
        collect(&noise, tune_noise(item, item->best), item, item->best);
        for (unsigned a = 0; a < item->algo_count; a++)
            collect(
                &error,
                fabs(item->algos[a].predicted_us / item->algos[a].median_us -
                     1),
                item, a);
    }
    struct collection *all[KINDS] = {&regret, &tuned, &noise, &error};
    for (unsigned k = 0; k < KINDS; k++)
        finish_spread(all[k]);
    free(values);
    return GW_OK;
}
