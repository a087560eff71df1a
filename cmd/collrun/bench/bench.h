/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Inside `collrun bench`: the cases (bench_cases.c), their measurement in every
 * rank (bench_rank.c), the rows that the supervisor prints (bench_table.c), and
 * the command around them (bench.c).
 */
#ifndef BENCH_H
#define BENCH_H

#include "common/launch.h"
#include "common/output.h"

enum { BENCH_SIZES_MAX = 64 };

/* One row: one collective by one algorithm at one size. */
struct bench_case {
    enum gw_collective collective;
    const struct gw_algo *algo;
    size_t count;                  /* of gw_call */
    uint64_t bytes;                /* as nccl-tests counts them; see sizes.h */
    double predicted_us, bound_us; /* NaN: unknown */
};

struct bench {
    unsigned ranks, root;
    const char *wire;
    const char *algo; /* "auto", "all" or a name */
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
    uint64_t seed;
    struct bench_case *cases;
    size_t case_count, case_room;
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

/* Lists the cases for `operand` ("all" or a collective). GW_EINVAL with the
 * valid words for another one. bench->cases is the caller's to free, also on
 * failure. */
GW_MUST_CHECK enum gw_err bench_list(struct bench *bench, const char *operand,
                                     struct gw_error *why);
/* In every rank: measures and checks each case, reports it. GW_EINTR when rank
 * 0 was interrupted; all ranks end together. */
GW_MUST_CHECK enum gw_err bench_rank(struct gw_comm *comm,
                                     struct reporter *report,
                                     const struct bench *bench,
                                     struct gw_error *why);

/* The document on stdout. */
struct bench_table {
    const struct bench *bench;
    struct output *output;
    struct bench_totals {
        unsigned ranks; /* that have reported */
        uint64_t wrong;
        struct bench_report rank0;
    } * totals;     /* one per case */
    uint64_t wrong; /* in all */
    size_t rows;    /* printed so far */
    char first_wrong[160];
};
GW_MUST_CHECK enum gw_err bench_table_begin(struct bench_table *table,
                                            const struct bench *bench,
                                            struct gw_error *why);
/* Adds the report of `rank`; prints the row after the last one. */
void bench_table_add(struct bench_table *table, unsigned rank,
                     const struct bench_report *report);
/* On a terminal's stderr: the case under way. */
void bench_table_progress(const struct bench_table *table);
/* Closes the document, marked partial after GW_EINTR. */
void bench_table_end(struct bench_table *table, const struct gw_error *error);

#endif
