/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Inside `collrun bench`: what is to be measured (bench_cases.c), measuring it
 * in every rank (bench_rank.c), the rows that the supervisor prints
 * (bench_table.c), and the command around them (bench.c).
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
    uint64_t sizes[BENCH_SIZES_MAX]; /* instead of those, if there are any */
    size_t size_count;
    uint64_t seconds_ns; /* a case may take this long */
    uint64_t sample_ns;  /* calls that are timed as one take about so long */
    unsigned iterations; /* 0: as many as fit */
    unsigned warmup;     /* at least */
    unsigned checks;     /* more runs that are checked than the one */
    uint64_t seed;
    struct bench_case *cases;
    size_t case_count, case_room;
};

/* What a rank tells the supervisor about a case. */
struct bench_report {
    uint64_t index; /* of the case */
    uint64_t wrong; /* elements, over all checked runs */
    uint64_t first_wrong;
    uint64_t iterations;
    double time_us; /* mean over the timed loop, of this rank */
    double p50_us, p99_us;
};

/* Lists the cases for `operand` ("all" or a collective). GW_EINVAL with the
 * valid words when there is none such. bench->cases is the caller's to free,
 * also on failure. */
GW_MUST_CHECK enum gw_err bench_list(struct bench *bench, const char *operand,
                                     struct gw_error *why);
/* In every rank: measures and checks each case, reports it. GW_EINTR when rank
 * 0 was told to stop; all ranks end together. */
GW_MUST_CHECK enum gw_err bench_rank(struct gw_comm *comm,
                                     struct reporter *report,
                                     const struct bench *bench,
                                     struct gw_error *why);

/* The document on stdout. */
struct bench_table {
    const struct bench *bench;
    struct output *output;
    struct bench_heard {
        unsigned ranks; /* that have reported */
        uint64_t wrong;
        struct bench_report rank0;
    } * heard;      /* a case each */
    uint64_t wrong; /* in all */
    size_t rows;    /* that are printed */
    char first_wrong[160];
};
GW_MUST_CHECK enum gw_err bench_table_begin(struct bench_table *table,
                                            const struct bench *bench,
                                            struct gw_error *why);
/* Takes what `rank` reports; prints the row when it was the last to do so. */
void bench_table_add(struct bench_table *table, unsigned rank,
                     const struct bench_report *report);
/* On a terminal's stderr: which case is being measured. */
void bench_table_progress(const struct bench_table *table);
/* Closes the document, marked partial after GW_EINTR. */
void bench_table_end(struct bench_table *table, const struct gw_error *error);

#endif
