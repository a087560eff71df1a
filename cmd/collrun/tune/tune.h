/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Inside `collrun tune`: what is measured (tune_cases.c), measuring it in every
 * rank (tune_rank.c), what the times say (tune_judge.c and tune_sum.c, pure),
 * the rows (tune_table.c), and the command around them (tune.c).
 */
#ifndef TUNE_H
#define TUNE_H

#include "common/launch.h"
#include "common/output.h"

enum { TUNE_ALGOS_MAX = 24, TUNE_ROUNDS_MAX = 25, TUNE_RANKS_MAX = 16 };

/* One collective at one size among so many ranks. */
struct tune_case {
    enum gw_collective collective;
    unsigned ranks;
    size_t count;   /* of gw_call */
    uint64_t asked; /* the size asked for */
    uint64_t bytes; /* the real one, rounded to whole elements in every block */
    unsigned algo_count;
    struct tune_algo {
        const struct gw_algo *algo;
        double predicted_us;
        double us[TUNE_ROUNDS_MAX]; /* a call, of the slowest rank */
        double median_us;
    } algos[TUNE_ALGOS_MAX];
    unsigned chosen;    /* what a call takes now */
    unsigned predicted; /* what it would without a rule, by the prices that are
                         * in force after the run */

    /* after it was measured */
    unsigned rounds; /* 0: not yet */
    unsigned best;
    int rule; /* what a rule should name; -1: the prediction will do */
};

struct tune {
    const char *wire;
    bool collectives[GW_COLLECTIVES];
    unsigned ranks[TUNE_RANKS_MAX], ranks_count;
    uint64_t bytes_min, bytes_max;
    unsigned factor;
    uint64_t seconds_ns; /* a case, all its algorithms together */
    bool calibrate;      /* meanwhile, and go by these prices */
    bool all;            /* also those that are predicted to be hopeless */
    const char *by;      /* a row for each "size", "algo" or "ranks" */
    uint64_t seed;
    struct tune_case *cases; /* by number of ranks, collective, size */
    size_t case_count, case_room;
    size_t begin, end; /* those of the ranks that run now */
    struct gw_wire_costs costs[TUNE_RANKS_MAX]; /* found meanwhile */
    unsigned costs_count;
    struct output *output;
};

/* What rank 0 tells of a case. */
struct tune_report {
    uint64_t index;
    uint64_t rounds;
    double us[TUNE_ALGOS_MAX][TUNE_ROUNDS_MAX];
};

/* Lists the cases; tune->cases is the caller's to free, also on failure. */
GW_MUST_CHECK enum gw_err tune_list(struct tune *tune, struct gw_error *why);

/* The prices of the ranks that run now: their cases are predicted anew. */
void tune_predict(struct tune *tune, const struct gw_wire_costs *costs);

/* In every rank: measures the cases from `begin` to `end`. GW_EINTR when a rank
 * was told to stop; all end together. */
GW_MUST_CHECK enum gw_err tune_rank(struct gw_comm *comm,
                                    struct reporter *report,
                                    const struct tune *tune,
                                    struct gw_error *why);

/* ---- tune_judge.c ---- */

/* Case `index` has its times: medians, the best, and what a rule should name.
 * In order of the cases. */
void tune_judge(struct tune *tune, size_t index);
/* Is `a` faster than `b` by more than the noise, in the rounds from `first` by
 * `stride`? */
bool tune_beats(const struct tune_case *item, unsigned a, unsigned b,
                unsigned first, unsigned stride);
/* The median of the rounds from `first` by `stride`. */
double tune_median(const struct tune_case *item, unsigned algo, unsigned first,
                   unsigned stride);
/* Rules for all measured cases, neighbouring sizes of one winner as one; those
 * without `algo` say that none is needed. `rules` has room for a case each;
 * returns how many there are. */
size_t tune_rules(const struct tune *tune, struct gw_rule *rules);

/* ---- tune_sum.c ---- */

/* How much slower `chosen` was than the fastest, relative: the fastest is named
 * by other rounds than those that judge it. */
double tune_regret(const struct tune_case *item, unsigned chosen);
/* The same of what rules would name that are made from other rounds again. */
double tune_ruled_regret(const struct tune_case *item);
/* What the algorithm seems to be slower or faster than itself. */
double tune_noise(const struct tune_case *item, unsigned algo);

/* Of many numbers; NaN when there are none. */
struct tune_spread {
    double median, p95, worst;
    const struct tune_case *worst_case; /* NULL: likewise */
    unsigned worst_algo;
};
/* What the measured cases say together. */
struct tune_summary {
    size_t cases;
    unsigned runs;             /* the least of any case */
    struct tune_spread regret; /* of what calls take now */
    struct tune_spread ruled;  /* of what they would take by rules */
    struct tune_spread noise;  /* of the best */
    struct tune_spread
        error; /* |predicted / measured - 1| of every algorithm */
};
/* Of those with so many ranks; 0: of all. */
GW_MUST_CHECK enum gw_err tune_sum_up(const struct tune *tune, unsigned ranks,
                                      struct tune_summary *summary,
                                      struct gw_error *why);

/* ---- tune_table.c ---- */

GW_MUST_CHECK enum gw_err tune_table_begin(struct tune *tune,
                                           struct gw_error *why);
void tune_table_row(struct tune *tune, const struct tune_case *item);
/* A row for each number of ranks, where they are asked for; in any case a
 * sentence of each below the rows. */
GW_MUST_CHECK enum gw_err tune_table_ranks(struct tune *tune,
                                           struct gw_error *why);
/* On a terminal's stderr: which case is being measured. */
void tune_table_progress(const struct tune *tune);
/* The summary and the end; `rules` is how many there are. */
void tune_table_end(struct tune *tune, const struct tune_summary *summary,
                    size_t rules, bool stored, const struct gw_error *error);

#endif
