/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the parts of `pipebench run`:
 *
 *   run.c          options; from a job to an exit status
 *   run_words.c    --work and --slow
 *   run_predict.c  the predicted time of a step
 *   run_launch.c   starts the stages, and again after a failure
 *   run_rank.c     the life of a stage, with synthetic work
 *   run_net.c      a real network: its files; run_train.c: the life of a stage
 *   run_safe.c     the stages' saved states for their replacements
 *   run_record.c   the passes of all stages, step by step, from events
 *   run_report.c, run_trace.c, run_live.c   the output;
 *   run_publish.c makes the run visible to observers
 *
 * The supervisor reads files and makes the schedule before it forks; so the
 * stages see the same pages. Each stage is a process; all share one clock.
 */
#ifndef RUN_H
#define RUN_H

#include "common/faults.h"
#include "common/launch.h"
#include "common/output.h"
#include "common/rpc/run_publisher.h"

#include <gradwire/gradwire.h>
#include <gradwire/layout.h>
#include <gradwire/learn.h>
#include <gradwire/parallel.h>
#include <gradwire/pipe.h>

/* ---- the job ---- */

/* Training of a real network. */
struct run_net {
    const char *path, *data_path, *test_path;
    unsigned batch, epochs;
    enum gw_optimiser optimiser;
    double rate, momentum;
    const char *until_text; /* NULL: all steps */
    double until;           /* see run/until.h */
    /* as read */
    struct gw_network *network;
    struct gw_layout *layout;
    struct gw_dataset *train, *test; /* test NULL: none */
    unsigned batches;                /* whole ones, per epoch */
};

struct run_safe;

struct run_spec {
    const struct gw_schedule *schedule;
    const char *wire;
    unsigned steps;            /* in all; medians omit step 0, which warms up */
    struct gw_synthetic work;  /* one micro-batch through one piece */
    double *slow;              /* one factor per stage */
    struct run_net *net;       /* NULL: synthetic work */
    struct rank_faults faults; /* in the middle of steps */
    double predicted_us;       /* per step; 0: not known before a run */
    bool elastic;
    unsigned restarts_max;
    /* of this attempt */
    struct run_safe *safe;
    unsigned first_step;
};

/* ---- run_words.c: GW_EINVAL names the option ---- */

/* "sleep:5ms", "spin:F,B", "sleep:F,I,W": times of a whole stage. A single time
 * applies to each of F, I and W. */
GW_MUST_CHECK enum gw_err run_parse_work(const char *text, unsigned chunks,
                                         struct gw_synthetic *work,
                                         struct gw_error *why);
/* "2:1.5,3:2" */
GW_MUST_CHECK enum gw_err run_parse_slow(const char *text, unsigned stages,
                                         double *slow, struct gw_error *why);

/* ---- run_net.c ---- */

/* Reads network and data, and makes the layout: one stage per rank. */
GW_MUST_CHECK enum gw_err run_net_load(struct run_net *net,
                                       const struct gw_schedule *schedule,
                                       struct gw_error *why);
void run_net_fini(struct run_net *net);

/* ---- run_safe.c ---- */

/* Memory that outlives a stage. Each stage has two places in turn, so that a
 * stage never dies while writing its newest state. */
GW_MUST_CHECK enum gw_err run_safe_new(unsigned stages, struct run_safe **safe,
                                       struct gw_error *why);
void run_safe_destroy(struct run_safe **safe);
/* In the stage. `state` NULL with 0 bytes: only marks the step as finished. */
GW_MUST_CHECK enum gw_err run_safe_keep(struct run_safe *safe, unsigned stage,
                                        unsigned step, const void *state,
                                        size_t bytes, struct gw_error *why);
/* In its replacement: the state after `step`. */
GW_MUST_CHECK enum gw_err run_safe_get(struct run_safe *safe, unsigned stage,
                                       unsigned step, const void **state,
                                       size_t *bytes, struct gw_error *why);
/* The newest step that all stages have saved, undamaged; false: none. */
bool run_safe_newest(struct run_safe *safe, unsigned *step);
/* The number of passes of a stage since step 0, without lost ones. */
void run_safe_count(struct run_safe *safe, unsigned stage, uint64_t passes);
uint64_t run_safe_passes(const struct run_safe *safe, unsigned stage);
/* True once for each fault. */
bool run_safe_fires(struct run_safe *safe, unsigned fault);

/* ---- run_rank.c, run_train.c ---- */

/* A report of a stage in training: after each step, and (from stage 0) at the
 * end the scores of the finished network. */
struct run_loss {
    unsigned step;
    bool finished; /* loss and accuracy are of the test rows, or, without any,
                      of all rows */
    bool until;    /* the stop rule ended it */
    double loss, accuracy;
};

/* Passes the events of a stage to the supervisor, counts passes, and triggers
 * the faults. */
struct run_tap {
    struct gw_sink sink;
    struct gw_sink *to;
    struct run_spec *spec;
    unsigned stage;
    unsigned passes; /* begun, in this step */
    uint64_t done;
};
void run_tap_init(struct run_tap *tap, struct run_spec *spec, unsigned stage,
                  struct reporter *report);

/* launch.rank_main; the context is a struct run. */
enum gw_err run_stage(struct gw_comm *comm, struct reporter *report,
                      void *context, struct gw_error *why);
enum gw_err run_train(struct gw_comm *comm, struct reporter *report,
                      struct run_spec *spec, struct gw_error *why);

/* ---- run_record.c ---- */

struct run_step {
    struct gw_timeline *timeline; /* NULL: not begun, or not kept */
    double begin_us;              /* of its first pass, since the beginning of
                                     the run */
    unsigned *done;               /* ended passes, per stage */
    unsigned *peak;
    size_t left; /* passes */
    double time_us;
};

/* All passes in the order of the schedule, which stages never change. */
struct run_record {
    const struct gw_schedule *schedule;
    uint64_t zero_ns;
    unsigned step_count, steps_kept, steps_done;
    struct run_step *steps;
    unsigned newest; /* step that has begun */
    double *loss;    /* per step; NaN: not reported */
    double final_loss, final_accuracy;
    bool until; /* the stop rule has ended it */
};

GW_MUST_CHECK enum gw_err run_record_init(struct run_record *record,
                                          const struct run_spec *spec,
                                          struct gw_error *why);
void run_record_fini(struct run_record *record);
void run_record_event(struct run_record *record, const struct gw_event *event);
/* Drops `step` and all later ones, which are repeated. */
void run_record_forget(struct run_record *record, unsigned step);
/* The step whose time is the median, without the one that warms up; NULL: no
 * step has been finished. *least and *most: the times of the fastest and the
 * slowest. */
const struct run_step *run_record_median(const struct run_record *record,
                                         double *least_us, double *most_us);

/* ---- run_predict.c ---- */

struct run_prediction {
    struct gw_pipe_costs costs;
    double *each; /* storage of the costs; NULL: stages are equal */
    struct gw_timeline *timeline;
    bool priced; /* there is a formula: */
    struct gw_pipe_price price;
};

/* For synthetic work: from its configured times. */
GW_MUST_CHECK enum gw_err run_predict(const struct run_spec *spec,
                                      struct run_prediction *prediction,
                                      struct gw_error *why);
/* For a real network: a simulation with the mean times of passes, without
 * messages and without other delays between passes. */
GW_MUST_CHECK enum gw_err run_predict_from(const struct run_spec *spec,
                                           const struct gw_timeline *measured,
                                           struct run_prediction *prediction,
                                           struct gw_error *why);
void run_prediction_fini(struct run_prediction *prediction);

/* ---- run_launch.c ---- */

enum { RUN_RECOVERIES_MAX = 64 };
struct run_recovery {
    char name[16]; /* "recovery_1" */
    char text[400];
    uint64_t passes; /* redone */
};

/* The supervisor's state while stages run. */
struct run {
    struct run_spec *spec;
    struct run_record record;
    struct run_prediction prediction;
    struct run_publisher *publisher; /* NULL: not announced */
    struct recorder *recorder;       /* NULL: not requested */
    struct run_live *live;           /* NULL: not requested */
    struct run_recovery recoveries[RUN_RECOVERIES_MAX];
    unsigned recovery_count;
};

/* Runs until the last step, or the error that ends the run. */
GW_MUST_CHECK enum gw_err run_launch(struct run *run, struct gw_error *why);

/* ---- run_live.c ---- */

/* The picture of the current step, drawn over the last one. */
struct run_live;
GW_MUST_CHECK enum gw_err run_live_new(const struct run *run,
                                       struct run_live **live,
                                       struct gw_error *why);
void run_live_draw(struct run_live *live, const struct gw_event *event);
/* The last picture stays. */
void run_live_destroy(struct run_live **live);

/* ---- run_publish.c ---- */

/* A failure to announce is an error only if the user has named the run. */
GW_MUST_CHECK enum gw_err run_publish(struct run *run, const char *name,
                                      struct gw_error *why);
/* `error` NULL, or the run's error. */
void run_publish_end(struct run *run, const struct gw_error *error);

/* ---- run_trace.c, run_report.c ---- */

/* Chrome's trace format: two lanes per stage, predicted and measured. */
GW_MUST_CHECK enum gw_err
run_trace_write(const char *path, const struct run *run, struct gw_error *why);
/* Prints the document; `error` NULL or the run's error. */
GW_MUST_CHECK enum gw_err run_report(const struct run *run,
                                     const struct gw_error *error,
                                     struct gw_error *why);

#endif
