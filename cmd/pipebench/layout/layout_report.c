/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The reports of a layout's ranks: one row per step, then the counts and their
 * predictions. Each rank's counts are compared with the price of its stage. The
 * output has the sums over the ranks, and for memory the largest rank.
 */
#include "common/command.h"
#include "layout.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FIELD_COUNT = 9, ONE_PROCESS_FIELD = 3, DIFFERENCE_FIELD = 4 };

static const struct field all_fields[FIELD_COUNT] = {
    {"step", NULL, FIELD_INTEGER, 0, false},
    {"loss", NULL, FIELD_REAL, 6, false},
    {"accuracy", NULL, FIELD_REAL, 4, false},
    {"one_process", "one process", FIELD_REAL, 6, false},
    {"difference", NULL, FIELD_REAL, 9, false},
    {"step_us", "step us", FIELD_REAL, 0, false},
    {"comm_us", "gradients us", FIELD_REAL, 0, false},
    {"exposed_us", "exposed us", FIELD_REAL, 0, false},
    {"overlap", NULL, FIELD_REAL, 3, true},
};

static bool is_table(void)
{
    return strcmp(common.output, "table") == 0;
}

/* ---- the prediction ---- */

struct prediction {
    uint64_t tensor_bytes, data_bytes, pipe_bytes; /* per step */
    uint64_t parameter_bytes, gradient_bytes, optimiser_bytes, gathered_bytes;
    uint64_t activation_bytes;
};

static void predict(const struct layout_run *run, unsigned stage,
                    struct prediction *made)
{
    const struct gw_layout *layout = run->layout;
    struct gw_layout_price price;
    gw_layout_price(layout, stage, &price);
    *made = (struct prediction){
        .tensor_bytes = price.tensor_forward_bytes +
                        price.tensor_backward_bytes + price.tensor_weight_bytes,
        .data_bytes = price.data_bytes,
        .pipe_bytes = price.pipe_bytes,
        .parameter_bytes = price.parameter_bytes,
        .gradient_bytes = price.gradient_bytes,
        .optimiser_bytes = price.optimiser_bytes,
        .gathered_bytes = price.gathered_bytes,
        .activation_bytes = gw_layout_peak_bytes(layout, run->schedule, stage),
    };
}

static uint64_t larger_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* For all ranks: the sum of the bytes sent, and the largest memory. */
static struct prediction predict_all(const struct layout_run *run)
{
    struct prediction all = {0}, one;
    const struct gw_mesh *mesh = &run->layout->options.mesh;
    uint64_t alike = (uint64_t)mesh->data * mesh->tensor;
    for (unsigned stage = 0; stage < mesh->pipe; stage++) {
        predict(run, stage, &one);
        all.tensor_bytes += alike * one.tensor_bytes;
        all.data_bytes += alike * one.data_bytes;
        all.pipe_bytes += alike * one.pipe_bytes;
        all.parameter_bytes =
            larger_of(all.parameter_bytes, one.parameter_bytes);
        all.gradient_bytes = larger_of(all.gradient_bytes, one.gradient_bytes);
        all.optimiser_bytes =
            larger_of(all.optimiser_bytes, one.optimiser_bytes);
        all.gathered_bytes = larger_of(all.gathered_bytes, one.gathered_bytes);
        all.activation_bytes =
            larger_of(all.activation_bytes, one.activation_bytes);
    }
    return all;
}

/* ---- reports of the ranks ---- */

static void expect(struct layout_results *results, unsigned rank,
                   const char *what, uint64_t counted, uint64_t predicted)
{
    if (counted != predicted && !results->wrong.code)
        gw_fail(&results->wrong, GW_EWRONG,
                "rank %u %s: %" PRIu64 " bytes counted, %" PRIu64 " by formula",
                rank, what, counted, predicted);
}

static void check_counts(const struct layout_run *run, unsigned rank,
                         const struct gw_parallel_counts *c)
{
    const struct gw_mesh *mesh = &run->layout->options.mesh;
    struct layout_results *results = run->results;
    struct prediction p;
    predict(run, rank / (mesh->data * mesh->tensor), &p);
    if (!run->options->algo) { /* the formula is that of the least bytes */
        expect(results, rank, "sent along tensor", c->tensor_bytes,
               p.tensor_bytes * c->steps);
        expect(results, rank, "sent along data", c->data_bytes,
               p.data_bytes * c->steps);
    }
    expect(results, rank, "sent along pipe", c->pipe_bytes,
           p.pipe_bytes * c->steps);
    expect(results, rank, "holds in parameters", c->parameter_bytes,
           p.parameter_bytes);
    expect(results, rank, "holds in gradients", c->gradient_bytes,
           p.gradient_bytes);
    expect(results, rank, "holds in the optimiser", c->optimiser_bytes,
           p.optimiser_bytes);
    expect(results, rank, "gathers", c->gathered_bytes, p.gathered_bytes);
    expect(results, rank, "holds in activations", c->activation_bytes,
           p.activation_bytes);
}

static void add_counts(struct layout_results *results,
                       const struct gw_parallel_counts *c)
{
    struct gw_parallel_counts *sum = &results->sum, *most = &results->most;
    sum->tensor_bytes += c->tensor_bytes;
    sum->data_bytes += c->data_bytes;
    sum->pipe_bytes += c->pipe_bytes;
    most->parameter_bytes =
        larger_of(most->parameter_bytes, c->parameter_bytes);
    most->gradient_bytes = larger_of(most->gradient_bytes, c->gradient_bytes);
    most->optimiser_bytes =
        larger_of(most->optimiser_bytes, c->optimiser_bytes);
    most->gathered_bytes = larger_of(most->gathered_bytes, c->gathered_bytes);
    most->activation_bytes =
        larger_of(most->activation_bytes, c->activation_bytes);
    most->steps = larger_of(most->steps, c->steps);
    results->ranks_done++;
}

static double share_hidden(double comm_us, double exposed_us)
{
    return comm_us > 0 ? fmax(0, 1 - exposed_us / comm_us) : (double)NAN;
}

/* A person needs the trend, not every step. */
static bool is_shown(const struct layout_run *run, unsigned step)
{
    enum { SHOWN = 20 };
    unsigned steps = run->options->steps, every = (steps + SHOWN - 1) / SHOWN;
    return !is_table() || common.verbose || step == 1 || step == steps ||
           step % every == 0;
}

static void put_step(const struct layout_run *run,
                     const struct layout_report *report)
{
    const struct gw_parallel_report *r = &report->step_report;
    struct layout_results *results = run->results;
    double expected = (double)NAN, difference = (double)NAN;
    results->losses[results->steps++] = r->loss;
    if (results->expected) {
        expected = results->expected[report->step - 1];
        difference = fabs(r->loss - expected) / fabs(expected);
        results->largest_difference =
            fmax(results->largest_difference, difference);
        if (!results->parted && !(difference <= LAYOUT_DIFFERENCE_MAX))
            results->parted = report->step;
    }
    if (!results->output || !is_shown(run, report->step))
        return;
    output_row(results->output,
               (union value[FIELD_COUNT]){
                   {.integer = report->step},
                   {.real = r->loss},
                   {.real = (double)r->right / run->layout->options.batch},
                   {.real = expected},
                   {.real = difference},
                   {.real = r->step_us},
                   {.real = r->comm_us},
                   {.real = r->exposed_us},
                   {.real = share_hidden(r->comm_us, r->exposed_us)},
               });
}

void layout_on_report(void *context, unsigned rank, const void *data,
                      size_t bytes)
{
    struct layout_run *run = context;
    struct layout_report report;
    if (bytes != sizeof report)
        return;
    memcpy(&report, data, sizeof report);
    switch (report.kind) {
    case LAYOUT_STEP:
        if (run->results->steps < run->options->steps)
            put_step(run, &report);
        progress("step %u/%u  loss %.6f", report.step, run->options->steps,
                 report.step_report.loss);
        break;
    case LAYOUT_COUNTS:
        check_counts(run, rank, &report.counts);
        add_counts(run->results, &report.counts);
        run->results->comm_us += report.comm_us;
        run->results->exposed_us += report.exposed_us;
        run->results->until |= report.until;
        break;
    case LAYOUT_SCORES:
        run->results->scores = report.step_report;
        run->results->scored = true;
        break;
    }
}

/* ---- notes around the rows ---- */

static void put_fact(struct output *output, const char *name,
                     const char *format, ...) GW_PRINTF(3, 4);
static void put_fact(struct output *output, const char *name,
                     const char *format, ...)
{
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    output_note_text(output, name, text);
}

/* `digits` significant ones for a person, who also reads the rest of the
 * sentence; unknown values are omitted. */
static void note_real(struct output *output, const char *name, double value,
                      int digits, const char *rest)
{
    if (!is_table())
        output_note_real(output, name, value);
    else if (isfinite(value))
        put_fact(output, name, "%.*g%s", digits, value, rest);
}

enum gw_err layout_report_begin(struct layout_run *run, struct gw_error *why)
{
    static struct field fields[FIELD_COUNT]; /* the document keeps a pointer */
    const struct gw_layout_options *o = &run->layout->options;
    struct layout_results *results = run->results;
    memcpy(fields, all_fields, sizeof fields);
    fields[ONE_PROCESS_FIELD].hidden = !results->expected;
    fields[DIFFERENCE_FIELD].hidden = !results->expected;
    if (output_begin("pipebench layout", common.output, fields, FIELD_COUNT,
                     &results->output, why))
        return why->code;
    struct output *output = results->output;
    output_note_text(output, "network", run->layout->network->name);
    put_fact(output, "mesh", "%ux%ux%u", o->mesh.data, o->mesh.tensor,
             o->mesh.pipe);
    output_note_text(output, "mode", gw_data_mode_name(o->mode));
    output_note_integer(output, "group", o->shard_group);
    output_note_integer(output, "batch", o->batch);
    output_note_integer(output, "micro", o->micros);
    output_note_text(output, "schedule", run->schedule->name);
    output_note_text(output, "wire", run->options->wire);
    if (run->options->algo)
        output_note_text(output, "algo", run->options->algo);
    note_real(output, "lr", run->options->rate, 6, "");
    output_note_integer(output, "seed", (int64_t)common.seed);
    return GW_OK;
}

/* Two numbers that must be equal: one line for a person, else two members. The
 * document keeps pointers to the names. */
struct both {
    const char *name, *predicted_name;
    uint64_t counted, predicted;
};

static void note_both(struct output *output, const struct both *both,
                      const char *whose)
{
    if (is_table()) {
        put_fact(output, both->name,
                 "%" PRIu64 " counted, %" PRIu64 " by formula%s", both->counted,
                 both->predicted, whose);
        return;
    }
    output_note_integer(output, both->name, (int64_t)both->counted);
    output_note_integer(output, both->predicted_name, (int64_t)both->predicted);
}

#define BOTH(member, counted)                                                  \
    {                                                                          \
#member, #member "_predicted", counted, predicted.member               \
    }

static void note_counts(const struct layout_run *run, struct output *output)
{
    const struct layout_results *r = run->results;
    const struct gw_parallel_counts *sum = &r->sum, *most = &r->most;
    const struct prediction predicted = predict_all(run);
    uint64_t steps = larger_of(most->steps, 1);
    const struct both sent[] = {
        BOTH(tensor_bytes, sum->tensor_bytes / steps),
        BOTH(data_bytes, sum->data_bytes / steps),
        BOTH(pipe_bytes, sum->pipe_bytes / steps),
    };
    const struct both held[] = {
        BOTH(parameter_bytes, most->parameter_bytes),
        BOTH(gradient_bytes, most->gradient_bytes),
        BOTH(optimiser_bytes, most->optimiser_bytes),
        BOTH(gathered_bytes, most->gathered_bytes),
        BOTH(activation_bytes, most->activation_bytes),
    };
    for (size_t i = 0; i < sizeof sent / sizeof *sent; i++)
        note_both(output, &sent[i], ", sent by all ranks in a step");
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        note_both(output, &held[i], ", held by the rank that holds the most");
}

static void note_end(const struct layout_run *run, struct output *output)
{
    const struct layout_results *r = run->results;
    const double none = (double)NAN;
    double tests = r->scored ? (double)run->test->rows : none;
    output_note_integer(output, "steps", r->steps);
    output_note_text(output, "ended",
                     r->until        ? "until"
                     : r->ranks_done ? "steps"
                                     : NULL);
    note_real(output, "loss_last", r->steps ? r->losses[r->steps - 1] : none, 6,
              "");
    note_real(output, "test_accuracy", (double)r->scores.right / tests, 4, "");
    note_real(output, "test_loss", r->scored ? r->scores.loss : none, 6, "");
    note_real(output, "largest_difference",
              r->expected ? r->largest_difference : none, 2,
              " relative to the loss of one process");
    if (r->ranks_done == gw_mesh_size(&run->layout->options.mesh))
        note_counts(run, output);
    note_real(output, "overlap", share_hidden(r->comm_us, r->exposed_us), 3,
              " of the communication time of gradients overlapped with "
              "computation");
}

void layout_report_end(struct layout_run *run, const struct gw_error *error)
{
    struct output **output = &run->results->output;
    bool stopped = error && error->code == GW_EINTR;
    progress("%s", "");
    note_end(run, *output);
    output_end(output, stopped ? NULL : error, stopped);
}
