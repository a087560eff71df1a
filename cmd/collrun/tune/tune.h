/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Inside `collrun tune`: the cases (tune_cases.c, of a program tune_trace.c),
 * their measurement in every rank (tune_rank.c), the evaluation of the times (tune_evaluate.c and
 * tune_sum.c, pure), the rows (tune_table.c), and the command around them
 * (tune.c).
 */
#ifndef TUNE_H
#define TUNE_H

#include "common/launch.h"
#include "common/output.h"

enum {
    TUNE_ALGOS_MAX = 24,
    TUNE_ROUNDS_MAX = 25,
    TUNE_RANKS_MAX = 16,
    TUNE_SIZES = 65 /* by the number of binary digits */
};

/* Calls of a program with sizes between two powers of two, as bytes of the
 * call's `count`. */
struct tune_use {
    uint64_t calls, least_bytes, most_bytes;
};

/* One collective at one size among one number of ranks. */
struct tune_case {
    enum gw_collective collective;
    unsigned ranks;
    size_t count;             /* of gw_call */
    uint64_t requested_bytes; /* the requested size */
    uint64_t bytes; /* the real one, rounded to whole elements in every block */
    unsigned algo_count;
    struct tune_algo {
        const struct gw_algo *algo;
        bool added; /* not of the library: no rule can name it */
        double predicted_us;
        double us[TUNE_ROUNDS_MAX]; /* per call, of the slowest rank */
        double median_us;
    } algos[TUNE_ALGOS_MAX];
    unsigned chosen;    /* the current choice */
    unsigned predicted; /* the choice without a rule, by the costs in effect
                           after the run */

    /* After the measurement. */
    unsigned rounds; /* 0: not yet */
    unsigned best;   /* also an added one */
    int tuned_algo;  /* the algorithm for a rule; -1: no rule needed */
};

struct tune {
    const char *wire;
    bool collectives[GW_COLLECTIVES];
    unsigned ranks[TUNE_RANKS_MAX], ranks_count;
    uint64_t bytes_min, bytes_max;
    unsigned factor;
    uint64_t seconds_ns; /* per case, for all its algorithms */
    bool calibrate;      /* calibrate meanwhile, and use these costs */
    bool all;            /* also hopeless ones by prediction */
    const char *words;   /* of --algo (plan_list.h); NULL: what could win */
    bool from_program;   /* --from: the cases are those of `uses` */
    struct tune_use uses[GW_COLLECTIVES][TUNE_SIZES];
    const char *by; /* one row per "size", "algo" or "ranks" */
    uint64_t seed;
    struct tune_case *cases; /* by number of ranks, collective, size */
    size_t case_count, case_room;
    size_t begin, end; /* those with the current number of ranks */
    struct gw_wire_costs costs[TUNE_RANKS_MAX]; /* measured meanwhile */
    unsigned costs_count;
    struct output *output;
};

/* Rank 0's report on a case. */
struct tune_report {
    uint64_t index;
    uint64_t rounds;
    double us[TUNE_ALGOS_MAX][TUNE_ROUNDS_MAX];
};

/* Lists the cases; tune->cases is the caller's to free, also on failure. */
GW_MUST_CHECK enum gw_err tune_list(struct tune *tune, struct gw_error *why);

/* Reads a recording of a program's events, for `uses` and `ranks`. GW_EDATA: it
 * is wrong, or has no collective of two ranks. */
GW_MUST_CHECK enum gw_err tune_read_uses(struct tune *tune, const char *path,
                                         struct gw_error *why);

/* Predicts the cases of the current number of ranks again, with new costs. */
void tune_predict(struct tune *tune, const struct gw_wire_costs *costs);

/* In every rank: measures the cases from `begin` to `end`. GW_EINTR when a rank
 * was interrupted; all end together. */
GW_MUST_CHECK enum gw_err tune_rank(struct gw_comm *comm,
                                    struct reporter *report,
                                    const struct tune *tune,
                                    struct gw_error *why);

/* ---- tune_evaluate.c ---- */

/* Evaluates the times of case `index`: medians, the best, and the algorithm for
 * a rule. In order of the cases. */
void tune_evaluate(struct tune *tune, size_t index);
/* Is `a` faster than `b` by more than the noise, in the rounds from `first` by
 * `stride`? */
bool tune_beats(const struct tune_case *item, unsigned a, unsigned b,
                unsigned first, unsigned stride);
/* The median of the rounds from `first` by `stride`. */
double tune_median(const struct tune_case *item, unsigned algo, unsigned first,
                   unsigned stride);
/* Rules for all measured cases; neighbouring sizes with one winner are one
 * rule. One without `algo` means that no rule is needed. `rules` has room for
 * one per case; returns how many there are. */
size_t tuning_rules_make(const struct tune *tune,
                         struct gw_tuning_rule *tuning_rules);

/* ---- tune_sum.c ---- */

/* How much slower `chosen` was than the fastest, relative. The fastest is
 * determined by other rounds than those of the comparison. */
double tune_regret(const struct tune_case *item, unsigned chosen);
/* The apparent difference of the algorithm from itself. */
double tune_noise(const struct tune_case *item, unsigned algo);

/* The spread of many numbers; NaN when there are none. */
struct tune_spread {
    double median, p95, worst;
    const struct tune_case *worst_case; /* NULL: likewise */
    unsigned worst_algo;
};
/* The summary of the measured cases. */
struct tune_summary {
    size_t cases;
    unsigned runs;             /* the least number of any case */
    struct tune_spread regret; /* of the current choice */
    struct tune_spread tuned;  /* of the choice by rules */
    struct tune_spread noise;  /* of the best */
    struct tune_spread
        error; /* |predicted / measured - 1| of every algorithm */
};
/* For the cases with this number of ranks; 0: all. */
GW_MUST_CHECK enum gw_err tune_sum_up(const struct tune *tune, unsigned ranks,
                                      struct tune_summary *summary,
                                      struct gw_error *why);

/* ---- tune_table.c ---- */

GW_MUST_CHECK enum gw_err tune_table_begin(struct tune *tune,
                                           struct gw_error *why);
void tune_table_row(struct tune *tune, const struct tune_case *item);
/* One row per number of ranks, if requested; always a sentence for each below
 * the rows. */
GW_MUST_CHECK enum gw_err tune_table_ranks(struct tune *tune,
                                           struct gw_error *why);
/* On a terminal's stderr: the case under way. */
void tune_table_progress(const struct tune *tune);
/* The summary and the end; `rules` is the number of rules. */
void tune_table_end(struct tune *tune, const struct tune_summary *summary,
                    size_t tuning_rule_count, bool stored,
                    const struct gw_error *error);

#endif
