/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the ranks tell, gathered and printed: a row an epoch, then what came
 * out. The facts have the same names in every format; in a table some of them
 * share a line or say more.
 *
 * bytes_per_step is what all ranks together sent in a step, counted on the
 * wire; bytes_per_step_formula is what the plan of the algorithm promises.
 */
#include "train.h"

#include "common/command.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct train_results {
    struct output *output;
    struct train_report last;   /* of an epoch or in between */
    struct train_report scores; /* kind is REPORT_SCORES once it came */
    unsigned ranks_done;
    uint64_t steps, rows, bytes_sent, train_ns;
    double comm_share; /* the sum of the ranks' shares */
    bool stopped;
};

static const struct field fields[] = {
    {.name = "epoch", .kind = FIELD_INTEGER},
    {.name = "step", .kind = FIELD_INTEGER},
    {.name = "loss", .kind = FIELD_REAL, .decimals = 6},
    {.name = "accuracy", .kind = FIELD_REAL, .decimals = 4},
    {.name = "rate", .kind = FIELD_REAL, .decimals = 4, .hidden = true},
    {.name = "seconds", .kind = FIELD_REAL, .decimals = 3},
};

enum { FIELD_COUNT = sizeof fields / sizeof *fields };

static bool is_table(void)
{
    return strcmp(common.output, "table") == 0;
}

GW_PRINTF(3, 4)
static void say(struct output *output, const char *name, const char *format,
                ...)
{
    char text[240];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    output_note_text(output, name, text);
}

/* ---- before the start ---- */

static void say_data(const struct training *t, struct output *o)
{
    const struct gw_dataset *d = t->train;
    say(o, "data", "%s: %zu rows, %zu features counted from %u, %u labels",
        t->data_path, d->rows, d->features, d->index_base, d->class_count);
    if (t->test)
        say(o, "test", "%s: %zu rows", t->test_path, t->test->rows);
    if (t->ignored > 0)
        say(o, "ignored",
            "%zu entries of the test rows, whose features the training rows "
            "do not have",
            t->ignored);
    say(o, "scale", "%g%s", (double)t->factor,
        t->factor < 1 || t->factor > 1
            ? ": all values are multiplied by it, so that the largest is 1"
            : "");
}

static void say_plan(const struct training *t, struct output *o, size_t batch)
{
    say(o, "model", "%s of %zu parameters, l2 %g", gw_model_name(t->kind),
        t->vector_length - EXTRAS, t->l2);
    say(o, "epochs", "%u, batches of %zu rows, lr %g%s, momentum %g, seed %llu",
        t->epochs, batch, t->rate, t->cosine ? " falling along a cosine" : "",
        t->momentum, (unsigned long long)common.seed);
    say(o, "ranks", "%u over %s, all-reduce by %s", t->ranks, t->wire,
        t->algo ? t->algo : "no algorithm");
}

static void note_start(const struct training *t, struct output *o, size_t batch)
{
    output_note_text(o, "data", t->data_path);
    output_note_text(o, "test", t->test_path);
    output_note_integer(o, "train_rows", (int64_t)t->train->rows);
    output_note_integer(o, "test_rows", t->test ? (int64_t)t->test->rows : 0);
    output_note_integer(o, "features", (int64_t)t->train->features);
    output_note_integer(o, "labels", t->train->class_count);
    output_note_integer(o, "index_base", t->train->index_base);
    output_note_integer(o, "ignored", (int64_t)t->ignored);
    output_note_real(o, "scale", (double)t->factor);
    output_note_text(o, "model", gw_model_name(t->kind));
    output_note_integer(o, "parameters", (int64_t)t->vector_length - EXTRAS);
    output_note_text(o, "wire", t->wire);
    output_note_text(o, "algo", t->algo);
    output_note_integer(o, "batch", (int64_t)batch);
    output_note_integer(o, "epochs", t->epochs);
    output_note_real(o, "lr", t->rate);
    output_note_real(o, "l2", t->l2);
    output_note_real(o, "momentum", t->momentum);
    output_note_text(o, "schedule", t->cosine ? "cosine" : "constant");
}

enum gw_err train_results_begin(struct training *t, struct gw_error *why)
{
    struct train_results *results = calloc(1, sizeof *results);
    if (!results)
        return gw_fail(why, GW_ENOMEM, "the results");
    enum gw_err code = output_begin("collrun train", common.output, fields,
                                    FIELD_COUNT, &results->output, why);
    if (code) {
        free(results);
        return code;
    }
    t->results = results;
    size_t rows = t->train->rows;
    size_t batch = t->batch == 0 || t->batch > rows ? rows : t->batch;
    if (is_table()) {
        say_data(t, results->output);
        say_plan(t, results->output, batch);
    } else {
        note_start(t, results->output, batch);
    }
    return GW_OK;
}

/* ---- on the way ---- */

static void show(const struct training *t, const struct train_report *r)
{
    progress("epoch %u/%u  step %llu  loss %.6f  accuracy %.2f %%", r->epoch,
             t->epochs, (unsigned long long)r->steps, r->loss,
             100 * r->accuracy);
}

static void put_epoch(struct train_results *results,
                      const struct train_report *r)
{
    const union value values[FIELD_COUNT] = {
        {.integer = r->epoch}, {.integer = (int64_t)r->steps},
        {.real = r->loss},     {.real = r->accuracy},
        {.real = r->rate},     {.real = (double)r->train_ns / 1e9},
    };
    output_row(results->output, values);
}

static void add_rank(struct train_results *results,
                     const struct train_report *r)
{
    results->ranks_done++;
    results->steps = r->steps;
    results->rows = r->rows;
    results->bytes_sent += r->bytes_sent;
    results->comm_share += (double)r->comm_ns / (double)r->train_ns;
    results->stopped |= r->stopped;
    if (r->train_ns > results->train_ns)
        results->train_ns = r->train_ns;
}

void train_on_report(void *context, unsigned rank, const void *data,
                     size_t bytes)
{
    struct training *t = context;
    struct train_report report;
    (void)rank;
    if (bytes != sizeof report)
        return;
    memcpy(&report, data, sizeof report);
    switch (report.kind) {
    case REPORT_EPOCH:
        put_epoch(t->results, &report);
        show(t, &report);
        break;
    case REPORT_PROGRESS:
        show(t, &report);
        break;
    case REPORT_TRAINED:
        add_rank(t->results, &report);
        break;
    case REPORT_SCORES:
        t->results->scores = report;
        break;
    }
    if (report.kind == REPORT_EPOCH || report.kind == REPORT_PROGRESS)
        t->results->last = report;
}

/* ---- at the end ---- */

static double bytes_per_step(const struct train_results *results)
{
    return (double)results->bytes_sent / (double)results->steps;
}

/* A number that a person reads with so many decimals. */
static void fact(struct output *o, const char *name, int decimals, double value)
{
    if (is_table() && isfinite(value))
        say(o, name, "%.*f", decimals, value);
    else
        output_note_real(o, name, value);
}

static void put_scores(const struct training *t, struct output *o)
{
    struct train_report s = t->results->scores;
    if (s.kind != REPORT_SCORES)
        s.train_loss = s.train_accuracy = s.test_loss = s.test_accuracy =
            s.objective = (double)NAN;
    fact(o, "train_loss", 6, s.train_loss);
    fact(o, "train_accuracy", 4, s.train_accuracy);
    fact(o, "objective", 6, s.objective);
    if (is_table() && !t->test)
        return;
    fact(o, "test_loss", 6, s.test_loss);
    fact(o, "test_accuracy", 4, s.test_accuracy);
}

static void say_bytes(const struct training *t, struct output *o)
{
    const struct gw_algo *algo =
        t->algo ? gw_algo_find(GW_ALLREDUCE, t->algo) : NULL;
    say(o, "bytes_per_step", "%.0f, sent by all ranks together",
        bytes_per_step(t->results));
    say(o, "bytes_per_step_formula", "%llu: %s, p = %u, n = %zu",
        (unsigned long long)t->price.bytes,
        algo ? algo->formula : "nothing is sent", t->ranks,
        t->vector_length * sizeof(float));
}

static void put_costs(const struct training *t, struct output *o)
{
    const struct train_results *r = t->results;
    bool complete = r->ranks_done == t->ranks;
    double seconds = (double)r->train_ns / 1e9;
    fact(o, "samples_per_s", 0,
         complete ? (double)r->rows / seconds : (double)NAN);
    fact(o, "comm_share", 3, complete ? r->comm_share / t->ranks : (double)NAN);
    if (is_table() && complete) {
        say_bytes(t, o);
    } else if (!is_table()) {
        output_note_real(o, "bytes_per_step",
                         complete ? bytes_per_step(r) : (double)NAN);
        output_note_integer(o, "bytes_per_step_formula",
                            (int64_t)t->price.bytes);
    }
}

void train_results_end(struct training *t, const struct gw_error *error)
{
    struct train_results *r = t->results;
    if (!r)
        return;
    uint64_t steps = r->ranks_done ? r->steps : r->last.steps;
    put_scores(t, r->output);
    put_costs(t, r->output);
    if (!is_table())
        output_note_integer(r->output, "ranks", t->ranks);
    output_note_integer(r->output, "steps", (int64_t)steps);
    if (!is_table())
        output_note_integer(r->output, "seed", (int64_t)common.seed);
    output_end(&r->output, error && error->code != GW_EINTR ? error : NULL,
               r->stopped || (error && error->code == GW_EINTR));
    free(r);
    t->results = NULL;
}
