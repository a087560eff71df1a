/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Inside `collrun bench`: what is to be measured (bench_cases.c), measuring it
 * in every rank (bench_rank.c), and printing it in the supervisor (bench.c).
 */
#ifndef BENCH_H
#define BENCH_H

#include "common/launch.h"

/* One row: one collective by one algorithm at one size. */
struct bench_case {
    enum gw_collective collective;
    const struct gw_algo *algo;
    size_t count;   /* of gw_call */
    uint64_t bytes; /* as nccl-tests counts them; see bench_bytes */
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
    uint64_t seconds_ns; /* a case may take this long */
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
/* The size column of nccl-tests: the buffer of broadcast, reduce, all-reduce;
 * of the collectives of blocks, all blocks of a rank's whole buffer. */
uint64_t bench_bytes(enum gw_collective collective, unsigned ranks,
                     size_t count, size_t elem_bytes);
/* busbw / algbw: what of the size crosses the busiest link at least. All-reduce
 * 2(p-1)/p; broadcast, reduce 1; the others (p-1)/p. */
double bench_bus_factor(enum gw_collective collective, unsigned ranks);

/* The rank_main of a launch whose context is a struct bench: measures and
 * checks each case, reports it. */
GW_MUST_CHECK enum gw_err bench_rank(struct gw_comm *comm,
                                     struct reporter *report, void *context,
                                     struct gw_error *why);

#endif
