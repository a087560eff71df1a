/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `collrun train`: shared by the supervisor and the ranks. train.c reads the
 * options and the data and starts the ranks, train_rank.c is the life of each
 * rank (train_worker.h), train_report.c gathers their reports and prints them.
 *
 * The supervisor parses the files once, before it forks. The ranks see the same
 * pages, so four ranks need the memory and the time of one, and cannot see
 * different files. With rows on demand it opens the file and its index, and
 * each rank reads its share of each batch (learn/row_source.h).
 */
#ifndef TRAIN_H
#define TRAIN_H

#include "common/launch.h"
#include "common/output.h"

#include <learn/data/row_source.h>

struct training {
    /* As typed. */
    const char *data_path, *test_path;
    enum gw_model_kind kind;
    unsigned ranks;
    const struct launched *launched; /* NULL: the ranks are started here */
    const char *wire;
    const char *algo; /* chosen before the start; NULL with one rank */
    size_t batch;     /* 0: all rows */
    unsigned epochs;
    double rate, l2, momentum;
    bool cosine;            /* the rate falls along a cosine; else constant */
    bool init_broadcast;    /* rank 0 sends its weights to the others; else all
                               ranks make the same */
    const char *until_text; /* NULL: all epochs */
    double until;           /* see run/until.h */

    /* The data; test NULL: none. */
    struct gw__row_source *train; /* its factor scales the test rows, too */
    struct gw_dataset *test;
    size_t ignored; /* entries of the test set beyond the features */

    /* The prediction for one step's all-reduce. */
    size_t vector_length; /* the parameters and EXTRAS */
    struct gw_price price;

    struct train_results *results; /* the supervisor's own */
};

/* The values after the gradient: the loss, the right answers, and the number of
 * interrupted ranks, so that all stop after the same step. */
enum { EXTRA_LOSS, EXTRA_RIGHT, EXTRA_STOP, EXTRAS };

enum report_kind {
    REPORT_PROGRESS, /* from rank 0, now and then */
    REPORT_EPOCH,    /* from rank 0 */
    REPORT_TRAINED,  /* from each rank, after its last step */
    REPORT_SCORES    /* from rank 0, at the end */
};

struct train_report {
    enum report_kind kind;
    unsigned epoch;  /* counted from 1 */
    uint64_t steps;  /* so far */
    double loss;     /* of the rows of this epoch, before each step */
    double accuracy; /* likewise */
    double rate;
    uint64_t train_ns;

    /* REPORT_TRAINED */
    uint64_t rows; /* used for training by all ranks */
    uint64_t comm_ns, bytes_sent;
    uint64_t init_bytes; /* sent before the first step */
    uint64_t data_bytes; /* of rows that this rank has read on demand */
    bool stopped;        /* interrupted */
    bool until;          /* the stop rule ended it */

    /* REPORT_SCORES: of the finished model; NaN where there is no test set */
    double train_loss, train_accuracy, test_loss, test_accuracy;
    double objective; /* train_loss + l2/2 |w|^2 */
};

/* The all-reduce in the output: its name, or the file of its plan; NULL for
 * NULL. */
const char *train_algo_label(const char *algo);

/* Sets *algo, which is NULL, to the algorithm of that name, or to the best one
 * if it is "auto", and the price of an all-reduce of this many floats. With one
 * rank, "auto" leaves both unchanged. */
GW_MUST_CHECK enum gw_err
train_choose(unsigned ranks, const char *wire, const char *name, size_t length,
             const char **algo, struct gw_price *price, struct gw_error *why);

/* Bytes that this rank has sent to the others since the counters were reset. */
uint64_t train_bytes_sent(const struct gw_comm *comm);
/* Sets `weights` on all ranks to those of rank 0; *bytes_sent by this rank. */
GW_MUST_CHECK enum gw_err train_broadcast(struct gw_comm *comm, float *weights,
                                          size_t count, uint64_t *bytes_sent,
                                          struct gw_error *why);
/* The reason why a training ended: "interrupted", "until" or "epochs". */
const char *train_ended(bool interrupted, bool until);

/* A rank's life: launch.rank_main; the context is a struct training. */
enum gw_err train_rank(struct gw_comm *comm, struct reporter *report,
                       void *context, struct gw_error *why);

/* launch.on_report; the context is a struct training. */
void train_on_report(void *context, unsigned rank, const void *data,
                     size_t bytes);
/* Opens the document with the facts known before the start. */
enum gw_err train_results_begin(struct training *training,
                                struct gw_error *why);
/* The notes at its head. */
void train_notes(const struct training *training, struct output *output);
/* A formatted note; for tables. */
void train_note_format(struct output *output, const char *name,
                       const char *format, ...) GW_PRINTF(3, 4);
bool train_is_table(void);
/* Closes it; `error` NULL or the run's error. */
void train_results_end(struct training *training, const struct gw_error *error);

#endif
