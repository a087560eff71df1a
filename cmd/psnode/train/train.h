/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * psnode train: a run (cmd/run) that this command starts, follows by its
 * status, and ends. The parts:
 *
 *   train.c            options, and the choice between these:
 *   train_run.c        one run, from its start to its end
 *   train_report.c     its rows and its result
 *   train_reference.c  the same training in this process, for comparison
 *   train_compare.c    all modes with a straggler, in one table
 *   train_sweep.c      the effect of the allowed staleness
 *   train_words.c      word2vec, deepwalk: neighbours, Hogwild in this process
 */
#ifndef PSNODE_TRAIN_H
#define PSNODE_TRAIN_H

#include "common/output.h"
#include "common/text/json_get.h"
#include "run/supervisor/supervisor_options.h"

#include <math.h>
#include <stdarg.h>

/* ---- train_run.c ---- */

/* Delays of workers: they sleep in each item. */
struct train_delays {
    bool is_set;
    bool random; /* drawn for each item: exponential, with this mean */
    uint64_t ns[RUN_WORKERS_MAX];
};

struct train_spec {
    struct run_options run;
    struct train_delays delays;
};

/* How a run is followed. */
struct train_observer {
    void *context;
    /* The newest status, now and then; the last one is of the finished run.
     * False: the run should end. */
    bool (*status)(void *context, const json_t *status);
    /* Called for the finished run, before it ends; may be NULL. */
    enum gw_err (*done)(void *context, const char *run, struct gw_error *why);
};

/* Starts it, follows it until it is done, ends it. GW_EINTR after Ctrl-C, or
 * when another process has ended it; GW_ETIMEOUT with the reason for the wait.
 * No process is left. job->run.run is its name. */
GW_MUST_CHECK enum gw_err train_run(struct train_spec *spec,
                                    const struct train_observer *observer,
                                    struct gw_error *why);
/* Sends the verb `snapshot` to a run by its name; waits until it is written. */
GW_MUST_CHECK enum gw_err train_snapshot(const char *run, const char *directory,
                                         struct gw_error *why);
/* `path` from the root, whether it exists or not. */
GW_MUST_CHECK enum gw_err train_whole_path(const char *path, char *out,
                                           size_t room, struct gw_error *why);

/* ---- train_reference.c ---- */

enum { TRAIN_EPOCHS_MAX = 4096 };

/* A training with the same samples, updaters and order, by one process without
 * servers. */
struct train_reference {
    struct gw_task *task;
    uint64_t epochs;
    double *losses; /* per epoch, the mean over samples while training */
    double test_loss, test_quality; /* NaN: no test set */
    double train_loss, train_quality;
    double seconds;
    uint64_t digest;
};

/* The task of a job, with its data; `epochs` as planned. */
GW_MUST_CHECK enum gw_err train_task(const struct train_spec *spec,
                                     struct gw_task **task, unsigned *parts,
                                     struct gw_error *why);
GW_MUST_CHECK enum gw_err
train_reference_make(const struct train_spec *spec,
                     struct train_reference *reference, struct gw_error *why);
void train_reference_fini(struct train_reference *reference);

/* ---- train_report.c ---- */

struct train_report;

GW_MUST_CHECK enum gw_err
train_report_begin(const struct train_spec *spec,
                   const struct train_reference *reference, /* or NULL */
                   struct train_report **report, struct gw_error *why);
/* For struct train_observer; the context is the report. */
bool train_report_status(void *report, const json_t *status);
/* The final values in the newest status of a finished run: as notes. */
struct output *train_report_result(struct train_report *report);
void train_report_end(struct train_report **report,
                      const struct gw_error *error);

/* A note: a table has the text, data the number. */
void train_fact(struct output *output, const char *name, double value,
                const char *format, ...) GW_PRINTF(4, 5);
bool train_is_table(void);

/* The duration of the finished run, from the newest status. */
double train_report_seconds(const struct train_report *report);

/* ---- train_traffic.c ---- */

/* Notes about the traffic, and about the hottest server and slot. */
void train_traffic(struct output *output, const json_t *status);

/* ---- numbers of a status (train_numbers.c) ---- */

/* A sum over all nodes of this role. */
int64_t train_sum(const json_t *status, const char *role, const char *name);
/* The mean share of time that workers waited for others; NaN. */
double train_waited(const json_t *status);
/* The largest staleness of pulls. */
int64_t train_staleness(const json_t *status);
/* The mean over all pulls; NaN. */
double train_staleness_mean(const json_t *status);

/* ---- other kinds of train ---- */

/* One worker is `times` slower than the others, whose items take compute_ns;
 * each mode runs until it is done, but at most for a limit (0: no limit). */
struct train_compare {
    struct train_spec *spec;
    uint64_t compute_ns, limit_ns;
    double times;
};
int train_compare(const struct train_compare *compare);
/* Items take compute_ns on average; `target` NaN: the final loss of S = 0. */
int train_sweep(struct train_spec *spec, uint64_t compute_ns, double target);

/* word2vec: the nearest words of ten common ones, from a snapshot of the
 * finished run, and words per second. deepwalk: those of the three nodes with
 * most edges. With `baseline`, the same of one process. */
struct train_words {
    const struct train_spec *spec;
    const char *snapshot;
    double seconds;     /* duration of the run */
    const char *labels; /* NULL, or classes of words for a classification */
    bool baseline;
};
GW_MUST_CHECK enum gw_err train_words(const struct train_words *words,
                                      struct output *output,
                                      struct gw_error *why);

#endif
