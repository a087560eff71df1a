/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the parts of `pipebench layout`:
 *   layout.c         options; the network, its layout and its schedule
 *   layout_table.c   the placed operators and the inserted collectives
 *   layout_bars.c    --bars: the memory of each stage
 *   layout_topo.c    --topo: a step on a cluster, in both orders of the mesh
 *   layout_search.c  --search: the fastest layout that fits
 *   layout_train.c   --run: the data, the ranks, and --compare
 *   layout_algo.c    --algo: the algorithm of all-reduces
 *   layout_rank.c    the life of one rank
 *   layout_report.c  the ranks' reports: gathered, checked and printed
 */
#ifndef LAYOUT_H
#define LAYOUT_H

#include "common/launch.h"
#include "common/output.h"

#include <gradwire/gradwire.h>

/* As typed. Missing values are NaN or NULL. */
struct layout_options {
    struct gw_layout_options layout;
    enum gw_optimiser optimiser;
    const char *data, *test, *scale, *wire;
    const char *algo; /* of layout_algo */
    unsigned steps;
    double rate, momentum, until; /* the last: see run/until.h */
    uint64_t bucket_bytes;
    bool overlap, compare;
};

/* Finds the all-reduce that --algo names (NULL: none), and verifies it for
 * groups of a mesh of so many ranks. As plan_algo and plan_prove. */
GW_MUST_CHECK enum gw_err layout_algo(const char *word, unsigned ranks,
                                      const char **name, struct gw_error *why);
/* The algorithm of a call in a table; NULL: a message. */
const char *layout_algo_label(const struct gw_layout_call *call);

/* Prints the operators of a layout, the traffic of a step and the memory of a
 * rank. */
GW_MUST_CHECK enum gw_err layout_show(const struct gw_layout *layout,
                                      const struct gw_schedule *schedule,
                                      struct gw_error *why);

/* The memory of a rank of a stage, by part. */
enum { LAYOUT_HELD_PARTS = 5 };
struct layout_held {
    struct {
        const char *what; /* "parameters" */
        uint64_t bytes;
    } parts[LAYOUT_HELD_PARTS];
    uint64_t bytes; /* their sum */
};
void layout_held(const struct gw_layout *layout,
                 const struct gw_schedule *schedule, unsigned stage,
                 struct layout_held *held);
/* Prints the memory of a rank of each stage as bars. limit 0: none. */
GW_MUST_CHECK enum gw_err layout_bars(const struct gw_layout *layout,
                                      const struct gw_schedule *schedule,
                                      uint64_t limit, struct gw_error *why);

/* The cluster that a layout is simulated on. */
struct layout_cluster {
    const char *topo, *without; /* without NULL: all links */
    const char *algo;           /* of --algo */
    unsigned ranks;             /* of the mesh; 0: all of the cluster */
    double tflops;              /* per rank, 10^12 per second */
    uint64_t alpha_ns;
    uint64_t reduce_rate; /* bytes per second; 0: no limit */
    bool links;           /* one row per link */
};
/* Both belong to the caller, also after an error. */
GW_MUST_CHECK enum gw_err
layout_cluster_get(const struct layout_cluster *cluster,
                   struct gw_topology **topology,
                   struct gw_layout_timer **timer, struct gw_error *why);
/* Notes about the parameters of the cluster. */
struct output;
void layout_cluster_notes(const struct layout_cluster *cluster,
                          const struct gw_topology *topology,
                          struct output *output);
/* Prints a step's calls, times, memory and links in both orders. */
GW_MUST_CHECK enum gw_err layout_time_show(const struct layout_cluster *cluster,
                                           const struct gw_layout *layout,
                                           const struct gw_schedule *schedule,
                                           struct gw_error *why);
/* Network, mesh, mode and so on. */
void layout_notes(struct output *output, const struct gw_layout *layout);

/* Trains. GW_EWRONG: the counts differ from the prediction, or --compare finds
 * other losses. */
GW_MUST_CHECK enum gw_err layout_train(const struct layout_options *options,
                                       const struct gw_layout *layout,
                                       const struct gw_schedule *schedule,
                                       struct gw_error *why);

/* ---- training ---- */

/* The relative difference of a loss that --compare accepts. */
#define LAYOUT_DIFFERENCE_MAX 1e-5

struct layout_results;

struct layout_run {
    const struct layout_options *options;
    const struct gw_layout *layout;
    const struct gw_schedule *schedule;
    /* Read once, before the ranks are forked off. test NULL: none. */
    struct gw_dataset *train, *test;
    struct layout_results *results; /* the supervisor's own */
};

enum layout_report_kind {
    LAYOUT_STEP,   /* from rank 0 */
    LAYOUT_COUNTS, /* from each rank, after its last step */
    LAYOUT_SCORES  /* from rank 0, at the end: of the test rows */
};

struct layout_report {
    enum layout_report_kind kind;
    unsigned step; /* from 1 */
    struct gw_parallel_report step_report;
    struct gw_parallel_counts counts;
    double comm_us, exposed_us; /* COUNTS: over all steps */
    bool until;                 /* COUNTS: the stop rule has ended them */
};

/* A rank's life: launch.rank_main; the context is a struct layout_run. */
enum gw_err layout_rank(struct gw_comm *comm, struct reporter *report,
                        void *context, struct gw_error *why);

/* The reports of a run's ranks. */
struct layout_results {
    struct output *output;     /* NULL: not printed */
    const double *expected;    /* losses of one process; NULL: unknown */
    double *losses;            /* one per step */
    unsigned steps;            /* reported so far */
    double largest_difference; /* of a loss, relative */
    unsigned parted;           /* the first step whose loss differs by more than
                                  LAYOUT_DIFFERENCE_MAX; 0: none */
    struct gw_parallel_counts sum, most; /* over ranks; steps: of each */
    double comm_us, exposed_us;          /* over ranks and steps */
    unsigned ranks_done;
    bool scored, until;
    struct gw_parallel_report scores;
    struct gw_error wrong; /* the first wrong count */
};

/* launch.on_report; the context is a struct layout_run. */
void layout_on_report(void *context, unsigned rank, const void *data,
                      size_t bytes);
/* Opens the document. */
GW_MUST_CHECK enum gw_err layout_report_begin(struct layout_run *run,
                                              struct gw_error *why);
/* Closes it; `error` NULL or the run's error. */
void layout_report_end(struct layout_run *run, const struct gw_error *error);

#endif
