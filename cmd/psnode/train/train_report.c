/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows and notes of a run: one row per epoch of the data as soon as all its
 * items are done; then the result. In a table, which a person reads, a note may
 * have more text than its number.
 */
#include "train.h"

#include "common/command.h"

#include <learn/tasks/task.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct train_report {
    const struct train_spec *spec;
    const struct train_reference *reference;
    struct output *output;
    bool named;     /* the notes before all rows are printed */
    size_t printed; /* rows */
    double worst;   /* relative difference to the reference */
    json_t *last;   /* the newest status */
};

static const struct field fields[] = {
    {.name = "epoch", .kind = FIELD_INTEGER},
    {.name = "items", .kind = FIELD_INTEGER},
    {.name = "samples", .kind = FIELD_INTEGER},
    {.name = "loss", .kind = FIELD_REAL, .decimals = 6},
    {.name = "quality", .kind = FIELD_REAL, .decimals = 4},
    {.name = "policy_loss", .kind = FIELD_REAL, .decimals = 5},
    {.name = "value_loss", .kind = FIELD_REAL, .decimals = 5},
    {.name = "entropy", .kind = FIELD_REAL, .decimals = 4},
    {.name = "seconds", .kind = FIELD_REAL, .decimals = 3},
    {.name = "reference_loss",
     .header = "reference",
     .kind = FIELD_REAL,
     .decimals = 6},
    {.name = "difference", .kind = FIELD_REAL, .decimals = 9},
};
enum {
    FIELD_COUNT = sizeof fields / sizeof *fields,
    FIELD_QUALITY = 4,
    FIELD_AGENT = 5, /* the first of those for agents */
    AGENT_FIELDS = 3,
    REFERENCE_FIELDS = 2
};

bool train_is_table(void)
{
    return strcmp(common.output, "table") == 0;
}

void train_fact(struct output *output, const char *name, double value,
                const char *format, ...)
{
    char text[240];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (train_is_table())
        output_note_text(output, name, text);
    else
        output_note_real(output, name, value);
}

/* ---- quality ---- */

static bool is_agent(const char *model)
{
    return strcmp(model, gw_task_name(GW_TASK_CARTPOLE)) == 0;
}

static double quality_of(const struct train_report *r, const json_t *point)
{
    /* The loss of models that predict numbers is half the squared error. */
    if (gw__task_model(r->spec->run.work.model)->squared)
        return sqrt(2 * real_of(point, "loss"));
    return (double)integer_of(point, "right", 0) /
           (double)integer_of(point, "samples", 0);
}

/* ---- beginning ---- */

/* Omits the fields of agents, or their values, from other models. */
static void drop_agent(bool agent, void *fields_or_values, size_t item)
{
    char *at = (char *)fields_or_values + FIELD_AGENT * item;
    size_t after = FIELD_COUNT - FIELD_AGENT - AGENT_FIELDS;
    if (!agent)
        memmove(at, at + AGENT_FIELDS * item, after * item);
}

enum gw_err train_report_begin(const struct train_spec *spec,
                               const struct train_reference *reference,
                               struct train_report **report,
                               struct gw_error *why)
{
    struct train_report *r = calloc(1, sizeof *r);
    struct field own[FIELD_COUNT];
    bool agent = is_agent(spec->run.work.model);
    unsigned count = FIELD_COUNT;
    *report = NULL;
    if (!r)
        return gw_fail(why, GW_ENOMEM, "no memory for a report");
    r->spec = spec;
    r->reference = reference;
    memcpy(own, fields, sizeof own);
    own[FIELD_QUALITY].header = gw__task_model(spec->run.work.model)->quality;
    drop_agent(agent, own, sizeof *own);
    if (!agent)
        count -= AGENT_FIELDS;
    if (!reference)
        count -= REFERENCE_FIELDS;
    enum gw_err code = output_begin("psnode train", common.output, own, count,
                                    &r->output, why);
    if (!code)
        output_spare(r->output,
                     "items samples seconds policy_loss value_loss entropy");
    if (code)
        free(r);
    else
        *report = r;
    return code;
}

static void note_run(struct train_report *r, const json_t *status)
{
    const struct run_options *run = &r->spec->run;
    const json_t *clock = json_object_get(status, "clocks");
    r->named = true;
    output_note_text(r->output, "run", text_of(status, "run", "?"));
    output_note_text(r->output, "model", run->work.model);
    output_note_text(r->output, "mode", text_of(clock, "mode", "?"));
    output_note_integer(r->output, "servers", (int64_t)run->servers);
    output_note_integer(r->output, "workers", (int64_t)run->ranks);
    output_note_integer(r->output, "replicas",
                        integer_of(status, "replicas_wanted", 0));
    output_note_integer(r->output, "parts", integer_of(clock, "parts", 0));
    output_note_integer(r->output, "seed", (int64_t)run->seed);
}

/* ---- rows ---- */

static void put_row(struct train_report *r, const json_t *point)
{
    double loss = real_of(point, "loss"), there = (double)NAN;
    int64_t epoch = integer_of(point, "data_epoch", 0);
    if (r->reference && (uint64_t)epoch < r->reference->epochs)
        there = r->reference->losses[epoch];
    double difference = fabs(loss - there) / fabs(there);
    if (difference > r->worst)
        r->worst = difference;
    union value values[FIELD_COUNT] = {
        {.integer = epoch},
        {.integer = integer_of(point, "items", 0)},
        {.integer = integer_of(point, "samples", 0)},
        {.real = loss},
        {.real = quality_of(r, point)},
        {.real = real_of(point, "policy_loss")},
        {.real = real_of(point, "value_loss")},
        {.real = real_of(point, "entropy")},
        {.real = real_of(point, "seconds")},
        {.real = there},
        {.real = difference}};
    drop_agent(is_agent(r->spec->run.work.model), values, sizeof *values);
    output_row(r->output, values);
}

/* The last reports of an epoch may come after the clock has reached the next
 * one. The number of its parts is only known while workers neither come nor go.
 */
static void put_rows(struct train_report *r, const json_t *status, bool all)
{
    const json_t *curve = json_object_get(status, "curve");
    const json_t *clock = json_object_get(status, "clocks");
    int64_t items =
        integer_of(clock, "batches", 0) * integer_of(clock, "parts", 0);
    for (; r->printed < json_array_size(curve); r->printed++) {
        const json_t *point = json_array_get(curve, r->printed);
        int64_t past = integer_of(clock, "data_epoch", 0) -
                       integer_of(point, "data_epoch", 0);
        bool whole =
            past > 1 || (past == 1 && integer_of(point, "items", 0) >= items);
        if (!all && !whole)
            break;
        put_row(r, point);
    }
}

static void show_status(const json_t *status)
{
    const json_t *clock = json_object_get(status, "clocks");
    progress("run %s: epoch %" PRId64 "/%" PRId64 ", batch %" PRId64 "/%" PRId64
             ", loss %.6f, %" PRId64 " servers, %" PRId64 " workers",
             text_of(status, "run", "?"), integer_of(clock, "data_epoch", 0),
             integer_of(clock, "data_epochs", 0), integer_of(clock, "batch", 0),
             integer_of(clock, "batches", 0), real_of(status, "loss"),
             integer_of(status, "servers", 0),
             integer_of(status, "workers", 0));
}

bool train_report_status(void *report, const json_t *status)
{
    struct train_report *r = report;
    const json_t *clock = json_object_get(status, "clocks");
    json_decref(r->last);
    r->last = json_deep_copy(status);
    if (!r->named && integer_of(clock, "batches", 0) > 0)
        note_run(r, status);
    put_rows(r, status, false);
    show_status(status);
    return true;
}

/* ---- the result ---- */

static void number(struct output *o, const char *name, int decimals,
                   double value)
{
    if (isfinite(value))
        train_fact(o, name, value, "%.*f", decimals, value);
    else if (!train_is_table())
        output_note_real(o, name, value);
}

static void put_scores(struct output *o, const json_t *result)
{
    static char train[32], test[32]; /* names of notes are not copied */
    const char *quality = text_of(result, "quality", "quality");
    snprintf(train, sizeof train, "train_%s", quality);
    snprintf(test, sizeof test, "test_%s", quality);
    number(o, "train_loss", 6, real_of(result, "train_loss"));
    number(o, train, 4, real_of(result, "train_quality"));
    number(o, "test_loss", 6, real_of(result, "test_loss"));
    number(o, test, 4, real_of(result, "test_quality"));
    output_note_text(o, "digest", text_of(result, "digest", NULL));
}

/* For modes in which workers do not wait for the end of a clock; in others
 * nothing is stale. */
static void put_staleness(struct output *o, const json_t *status)
{
    const json_t *clock = json_object_get(status, "clocks");
    const char *mode = text_of(clock, "mode", "");
    if (strcmp(mode, "asp") != 0 && strncmp(mode, "ssp", 3) != 0)
        return;
    number(o, "staleness_mean", 4, train_staleness_mean(status));
    output_note_integer(o, "staleness_max", train_staleness(status));
}

/* Equal bits are a stronger result than a nearby loss curve. */
static void put_reference(const struct train_report *r, const json_t *result)
{
    const struct train_reference *reference = r->reference;
    char digest[24];
    snprintf(digest, sizeof digest, "%016" PRIx64, reference->digest);
    output_note_text(r->output, "reference_digest", digest);
    output_note_text(r->output, "same_bits",
                     strcmp(digest, text_of(result, "digest", "")) == 0 ? "yes"
                                                                        : "no");
    train_fact(r->output, "max_difference", r->worst,
               "%.3g relative, of the losses of the epochs", r->worst);
    number(r->output, "reference_seconds", 3, reference->seconds);
}

struct output *train_report_result(struct train_report *r)
{
    struct output *o = r->output;
    const json_t *status = r->last;
    const json_t *result = json_object_get(status, "result");
    const json_t *clock = json_object_get(status, "clocks");
    put_rows(r, status, true);
    put_scores(o, result);
    number(o, "seconds", 3, real_of(result, "seconds"));
    output_note_text(o, "ended", text_of(result, "ended", NULL));
    if (r->spec->run.straggler)
        output_note_text(o, "last_mode", text_of(clock, "mode", "?"));
    output_note_integer(o, "items", integer_of(clock, "items", 0));
    output_note_integer(o, "dropped", integer_of(clock, "dropped", 0));
    output_note_integer(o, "redone", integer_of(clock, "redone", 0));
    output_note_integer(o, "parts_dropped",
                        integer_of(clock, "parts_dropped", 0));
    output_note_integer(o, "lost", integer_of(status, "lost", 0));
    output_note_integer(o, "doubled", integer_of(status, "doubled", 0));
    output_note_integer(o, "recoveries",
                        integer_of(status, "recoveries_count", 0));
    train_traffic(o, status);
    number(o, "waited_share", 4, train_waited(status));
    put_staleness(o, status);
    if (r->reference)
        put_reference(r, result);
    return o;
}

double train_report_seconds(const struct train_report *r)
{
    return real_of(json_object_get(r->last, "result"), "seconds");
}

void train_report_end(struct train_report **report,
                      const struct gw_error *error)
{
    struct train_report *r = *report;
    *report = NULL;
    progress("%s", "");
    output_end(&r->output, error, error && error->code == GW_EINTR);
    json_decref(r->last);
    free(r);
}
