/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The ranks' reports, gathered and printed: one row per epoch, then the result.
 * train_notes.c prints the facts known before the start.
 *
 * bytes_per_step is the measured traffic of all ranks in a step;
 * bytes_per_step_formula is that of the algorithm's plan.
 */
#include "train.h"

#include "common/command.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct train_results {
    struct output *output;
    struct train_report last;   /* of an epoch or in between */
    struct train_report scores; /* kind is REPORT_SCORES once it came */
    unsigned ranks_done;
    uint64_t steps, rows, bytes_sent, train_ns;
    double comm_share; /* the sum of the ranks' shares */
    uint64_t init_bytes, data_bytes, data_bytes_most;
    bool stopped, until;
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
    train_notes(t, results->output);
    return GW_OK;
}

static void show_progress(const struct training *t,
                          const struct train_report *r)
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
    results->init_bytes += r->init_bytes;
    results->data_bytes += r->data_bytes;
    if (r->data_bytes > results->data_bytes_most)
        results->data_bytes_most = r->data_bytes;
    results->stopped |= r->stopped;
    results->until |= r->until;
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
        show_progress(t, &report);
        break;
    case REPORT_PROGRESS:
        show_progress(t, &report);
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

static double bytes_per_step(const struct train_results *results)
{
    return (double)results->bytes_sent / (double)results->steps;
}

/* A number, shown to a person with `decimals` decimals. */
static void fact(struct output *o, const char *name, int decimals, double value)
{
    if (train_is_table() && isfinite(value))
        train_note_format(o, name, "%.*f", decimals, value);
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
    if (train_is_table() && !t->test)
        return;
    fact(o, "test_loss", 6, s.test_loss);
    fact(o, "test_accuracy", 4, s.test_accuracy);
}

static void note_bytes(const struct training *t, struct output *o)
{
    const struct gw_algo *algo =
        t->algo ? gw_algo_find(GW_ALLREDUCE, t->algo) : NULL;
    const char *formula = algo ? algo->formula : "no communication";
    train_note_format(o, "bytes_per_step", "%.0f, sent by all ranks together",
                      bytes_per_step(t->results));
    train_note_format(o, "bytes_per_step_formula", "%llu: %s, p = %u, n = %zu",
                      (unsigned long long)t->price.bytes,
                      formula ? formula : train_algo_label(t->algo), t->ranks,
                      t->vector_length * sizeof(float));
}

/* For rows on demand, if no epoch was interrupted: each row is read once per
 * epoch, by one rank. */
static void put_data(const struct training *t, struct output *o)
{
    const struct train_results *r = t->results;
    if (!t->train->file || r->ranks_done < t->ranks || r->stopped)
        return;
    uint64_t bytes = gw__row_source_bytes(t->train);
    if (train_is_table()) {
        train_note_format(o, "data_bytes_read",
                          "%" PRIu64 " of rows, %" PRIu64
                          " by the rank that read most",
                          r->data_bytes, r->data_bytes_most);
        train_note_format(o, "data_bytes_formula",
                          "%" PRIu64 ": %" PRIu64 " of all rows, %u epochs",
                          bytes * r->last.epoch, bytes, r->last.epoch);
        return;
    }
    output_note_integer(o, "data_bytes_read", (int64_t)r->data_bytes);
    output_note_integer(o, "data_bytes_most", (int64_t)r->data_bytes_most);
    output_note_integer(o, "data_bytes_formula",
                        (int64_t)(bytes * r->last.epoch));
}

static void put_costs(const struct training *t, struct output *o)
{
    const struct train_results *r = t->results;
    bool complete = r->ranks_done == t->ranks;
    double seconds = (double)r->train_ns / 1e9;
    fact(o, "samples_per_s", 0,
         complete ? (double)r->rows / seconds : (double)NAN);
    fact(o, "comm_share", 3, complete ? r->comm_share / t->ranks : (double)NAN);
    if (train_is_table() && complete) {
        note_bytes(t, o);
    } else if (!train_is_table()) {
        output_note_real(o, "bytes_per_step",
                         complete ? bytes_per_step(r) : (double)NAN);
        output_note_integer(o, "bytes_per_step_formula",
                            (int64_t)t->price.bytes);
    }
}

static void put_ended(const struct training *t, const struct train_results *r)
{
    struct output *o = r->output;
    if (t->init_broadcast || !train_is_table())
        output_note_integer(o, "init_bytes", (int64_t)r->init_bytes);
    if (r->until && train_is_table())
        train_note_format(o, "ended", "after epoch %u, %s", r->last.epoch,
                          t->until_text);
    else if (t->until_text || !train_is_table())
        output_note_text(o, "ended",
                         train_ended(interrupted || r->stopped, r->until));
}

void train_results_end(struct training *t, const struct gw_error *error)
{
    struct train_results *r = t->results;
    if (!r)
        return;
    uint64_t steps = r->ranks_done ? r->steps : r->last.steps;
    progress("%s", "");
    put_scores(t, r->output);
    put_costs(t, r->output);
    put_data(t, r->output);
    if (!train_is_table())
        output_note_integer(r->output, "ranks", t->ranks);
    output_note_integer(r->output, "steps", (int64_t)steps);
    put_ended(t, r);
    if (!train_is_table())
        output_note_integer(r->output, "seed", (int64_t)common.seed);
    output_end(&r->output, error && error->code != GW_EINTR ? error : NULL,
               r->stopped || (error && error->code == GW_EINTR));
    free(r);
    t->results = NULL;
}
