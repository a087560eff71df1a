/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Inside `collrun bench`: the cases (bench_cases.c) of all runs (bench_runs.c),
 * their measurement in every rank (bench_rank.c), the rows that the supervisor
 * prints (bench_table.c), and the command around them (bench.c).
 */
#ifndef BENCH_H
#define BENCH_H

#include "common/launch.h"
#include "common/output.h"

enum {
    BENCH_SIZES_MAX = 64,
    BENCH_RANKS_MAX = 16,
    BENCH_WIRES = 5,
    BENCH_REPEATS_MAX = 1000
};

/* One row: one collective by one algorithm at one size, in one run. */
struct bench_case {
    const char *wire;
    unsigned ranks, root;
    enum gw_collective collective;
    const struct gw_algo *algo;
    size_t count;                  /* of gw_call */
    uint64_t bytes;                /* as nccl-tests counts them; see sizes.h */
    double predicted_us, bound_us; /* NaN: unknown */
    double baseline_us;            /* of --compare; NaN: no partner */
    double optimum_us;             /* of --topo; NaN: unknown */
};

/* A run is one start of the processes: one wire and one number of ranks. */
struct bench {
    unsigned ranks;   /* of the current run */
    const char *wire; /* of the current run */
    unsigned root;    /* --root; a file has its own */
    const char *algo; /* "auto", or a list as in plan_list.h */
    enum gw_dtype type;
    enum gw_redop op;
    bool in_place, malloc;
    uint64_t bytes_min, bytes_max;
    unsigned factor;
    uint64_t sizes[BENCH_SIZES_MAX]; /* replace the others, if there are any */
    size_t size_count;
    uint64_t seconds_ns; /* limit per case */
    uint64_t sample_ns;  /* approximate time of calls timed as one */
    unsigned iterations; /* 0: as many as fit */
    unsigned warmup;     /* at least */
    unsigned checks;     /* additional checked runs */
    unsigned repeats;    /* of every run */
    uint64_t seed;
    struct bench_case *cases; /* run by run */
    size_t case_count, case_room;
    size_t begin, end;               /* the cases of the current run */
    struct bench_baseline *baseline; /* NULL: none to compare with */
    struct gw_topology *topology;    /* of --topo; NULL: none */
};

/* A rank's report on a case. */
struct bench_report {
    uint64_t index; /* of the case */
    uint64_t wrong; /* elements, over all checked runs */
    uint64_t first_wrong;
    uint64_t iterations;
    double time_us; /* mean over the timed loop, on this rank */
    double p50_us, p99_us;
};

/* Appends the cases of the current run for `operand` ("all" or a collective).
 * GW_EINVAL with the valid words for another one. bench->cases is the caller's
 * to free, also on failure. */
GW_MUST_CHECK enum gw_err bench_list(struct bench *bench, const char *operand,
                                     struct gw_error *why);

/* Makes the next run of the list the current one; after the last, false, and
 * the first is next. */
bool bench_next_run(struct bench *bench);

/* The values of --ranks and --wire. */
struct bench_runs {
    unsigned ranks[BENCH_RANKS_MAX], ranks_count;
    const char *wires[BENCH_WIRES];
    unsigned wires_count;
};
/* Reads "2,4,8" and "shm,tcp"; NULL: not given, no entry. */
GW_MUST_CHECK enum gw_err bench_runs_parse(struct bench_runs *runs,
                                           const char *ranks, const char *wires,
                                           struct gw_error *why);
/* Appends the cases of all combinations. */
GW_MUST_CHECK enum gw_err bench_runs_list(const struct bench_runs *runs,
                                          struct bench *bench,
                                          const char *operand,
                                          struct gw_error *why);

/* In every rank: measures and checks each case of the current run, reports it. GW_EINTR when rank
 * 0 was interrupted; all ranks end together. */
GW_MUST_CHECK enum gw_err bench_rank(struct gw_comm *comm,
                                     struct reporter *report,
                                     const struct bench *bench,
                                     struct gw_error *why);

/* The document on stdout. */
struct bench_table {
    const struct bench *bench;
    struct output *output;
    bool percent;       /* the document is a table, with percentages */
    const char *beyond; /* wire of a row that is faster than its bound */
    struct bench_totals {
        unsigned ranks;   /* that have reported in this repeat */
        unsigned repeats; /* that are complete */
        uint64_t wrong;
        struct bench_report *rank0; /* of each repeat */
    } * totals;                     /* one per case */
    struct bench_report *reports;   /* storage of all rank0 */
    double *sorted;                 /* one per repeat */
    uint64_t wrong;                 /* in all */
    size_t measured;                /* cases, counted in every repeat */
    size_t rows;                    /* printed so far */
    double ratios;                  /* sum of their logarithms */
    size_t ratio_count;
    char first_wrong[160];
    char spare[160]; /* of output_spare */
};
GW_MUST_CHECK enum gw_err bench_table_begin(struct bench_table *table,
                                            const struct bench *bench,
                                            struct gw_error *why);
/* Adds the report of `rank`; prints the row after the last one of the last
 * repeat. */
void bench_table_add(struct bench_table *table, unsigned rank,
                     const struct bench_report *report);
/* On a terminal's stderr: the case under way. */
void bench_table_progress(const struct bench_table *table, size_t next);
/* Prints the rows of cases with fewer repeats; closes the document, marked
 * partial after GW_EINTR. */
void bench_table_end(struct bench_table *table, const struct gw_error *error);

#endif
