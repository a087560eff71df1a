/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The output of `collrun train` before it starts: the data, the model and the
 * training method. The facts have the same names in every format; in a table,
 * which a person reads, some of them share a line or have more text.
 */
#include "train.h"

#include "common/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool train_is_table(void)
{
    return strcmp(common.output, "table") == 0;
}

void train_note_format(struct output *output, const char *name,
                       const char *format, ...)
{
    char text[240];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    output_note_text(output, name, text);
}

static void note_data(const struct training *t, struct output *o)
{
    const struct gw_dataset *d = t->train->shape;
    train_note_format(
        o, "data", "%s: %zu rows, %zu features counted from %u, %u labels",
        t->data_path, d->rows, d->features, d->index_base, d->class_count);
    if (t->test)
        train_note_format(o, "test", "%s: %zu rows", t->test_path,
                          t->test->rows);
    if (t->ignored > 0)
        train_note_format(
            o, "ignored",
            "%zu entries of the test rows, because their features are not in "
            "the training rows",
            t->ignored);
    train_note_format(
        o, "scale", "%g%s", (double)t->train->factor,
        t->train->factor < 1 || t->train->factor > 1
            ? ": all values are multiplied by it, so the largest becomes 1"
            : "");
}

static void note_plan(const struct training *t, struct output *o, size_t batch)
{
    train_note_format(o, "model", "%s of %zu parameters, l2 %g",
                      gw_model_name(t->kind), t->vector_length - EXTRAS, t->l2);
    train_note_format(
        o, "epochs", "%u, batches of %zu rows, lr %g%s, momentum %g, seed %llu",
        t->epochs, batch, t->rate, t->cosine ? " falling along a cosine" : "",
        t->momentum, (unsigned long long)common.seed);
    train_note_format(o, "ranks", "%u over %s, all-reduce by %s", t->ranks,
                      t->wire,
                      t->algo ? train_algo_label(t->algo) : "no algorithm");
}

static void note_start(const struct training *t, struct output *o, size_t batch)
{
    const struct gw_dataset *shape = t->train->shape;
    output_note_text(o, "data", t->data_path);
    output_note_text(o, "test", t->test_path);
    output_note_integer(o, "train_rows", (int64_t)shape->rows);
    output_note_integer(o, "test_rows", t->test ? (int64_t)t->test->rows : 0);
    output_note_integer(o, "features", (int64_t)shape->features);
    output_note_integer(o, "labels", shape->class_count);
    output_note_integer(o, "index_base", shape->index_base);
    output_note_integer(o, "ignored", (int64_t)t->ignored);
    output_note_real(o, "scale", (double)t->train->factor);
    output_note_text(o, "model", gw_model_name(t->kind));
    output_note_integer(o, "parameters", (int64_t)t->vector_length - EXTRAS);
    output_note_text(o, "wire", t->wire);
    output_note_text(o, "algo", train_algo_label(t->algo));
    output_note_integer(o, "batch", (int64_t)batch);
    output_note_integer(o, "epochs", t->epochs);
    output_note_real(o, "lr", t->rate);
    output_note_real(o, "l2", t->l2);
    output_note_real(o, "momentum", t->momentum);
    output_note_text(o, "schedule", t->cosine ? "cosine" : "constant");
    output_note_text(o, "init", t->init_broadcast ? "broadcast" : "same");
    output_note_text(o, "until", t->until_text);
}

void train_notes(const struct training *t, struct output *output)
{
    size_t rows = t->train->shape->rows;
    size_t batch = t->batch == 0 || t->batch > rows ? rows : t->batch;
    if (train_is_table()) {
        note_data(t, output);
        note_plan(t, output, batch);
    } else {
        note_start(t, output, batch);
    }
}
