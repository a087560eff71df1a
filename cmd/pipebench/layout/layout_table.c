/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A layout as rows: each operator with its split, after the collectives that
 * are inserted before it. Then, for each stage, the traffic of one rank in a
 * step, its memory, and the memory of one process alone.
 *
 * Bytes are those that a rank sends in a step: of all its micro-batches.
 */
#include "common/command.h"
#include "layout.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct field fields[] = {
    {"stage", NULL, FIELD_INTEGER, 0, false},
    {"kind", NULL, FIELD_TEXT, 0, false},
    {"what", NULL, FIELD_TEXT, 0, false},
    {"split", NULL, FIELD_TEXT, 0, false},
    {"in", NULL, FIELD_TEXT, 0, false},
    {"out", NULL, FIELD_TEXT, 0, false},
    {"shape", NULL, FIELD_TEXT, 0, false},
    {"parameters", NULL, FIELD_REAL, 0, false},
    {"bytes", NULL, FIELD_REAL, 0, false},
    {"one_process", "alone", FIELD_REAL, 0, false},
    {"virtual_stage", "virtual stage", FIELD_REAL, 0, true},
    {"line", NULL, FIELD_REAL, 0, true},
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

struct row {
    unsigned stage;
    const char *kind, *what, *split, *in, *out, *shape;
    double parameters, bytes, one_process, virtual_stage, line; /* NAN: none */
};

static void put_layout_row(struct output *output, const struct row *row)
{
    output_row(output, (union value[FIELD_COUNT]){
                           {.integer = row->stage},
                           {.text = row->kind},
                           {.text = row->what},
                           {.text = row->split},
                           {.text = row->in},
                           {.text = row->out},
                           {.text = row->shape},
                           {.real = row->parameters},
                           {.real = row->bytes},
                           {.real = row->one_process},
                           {.real = row->virtual_stage},
                           {.real = row->line},
                       });
}

static struct row stage_row(unsigned stage, const char *kind, const char *what)
{
    const double none = (double)NAN;
    return (struct row){.stage = stage,
                        .kind = kind,
                        .what = what,
                        .parameters = none,
                        .bytes = none,
                        .one_process = none,
                        .virtual_stage = none,
                        .line = none};
}

static unsigned stage_of(const struct gw_layout *layout, unsigned i)
{
    return layout->op_layouts[i].virtual_stage % layout->options.mesh.pipe;
}

static void put_operator(struct output *output, const struct gw_layout *layout,
                         unsigned i)
{
    char shape[32];
    const struct gw_operator *op = &layout->network->operators[i];
    const struct gw_operator_layout *op_layout = &layout->op_layouts[i];
    struct row row =
        stage_row(stage_of(layout, i), "operator", gw_operator_name(op->kind));
    if (op_layout->parameters)
        snprintf(shape, sizeof shape, "%ux%u", op_layout->local_in,
                 op_layout->local_out);
    else
        snprintf(shape, sizeof shape, "%u", op_layout->local_in);
    row.split = gw_split_name(op_layout->split);
    row.in = gw_sharding_name(op_layout->in);
    row.out =
        op->kind == GW_OP_SOFTMAX ? "loss" : gw_sharding_name(op_layout->out);
    row.shape = shape;
    row.parameters = (double)op_layout->parameters_local;
    row.virtual_stage = op_layout->virtual_stage;
    row.line = op->line;
    put_layout_row(output, &row);
}

/* ---- inserted collectives ---- */

static const char *name_of(const struct gw_conversion *conversion)
{
    return conversion->collective == GW_COLLECTIVES
               ? "slice"
               : gw_collective_name(conversion->collective);
}

static void put_inserted(struct output *output, const struct gw_layout *layout,
                         unsigned stage, const char *kind,
                         const struct gw_conversion *conversion)
{
    if (!conversion->needed)
        return;
    struct row row = stage_row(stage, kind, name_of(conversion));
    row.split = "inserted";
    row.in = gw_sharding_name(conversion->from);
    row.out = gw_sharding_name(conversion->to);
    row.bytes = (double)(conversion->bytes * layout->options.micros);
    put_layout_row(output, &row);
}

static void put_sent(struct output *output, const struct gw_layout *layout,
                     unsigned stage, const char *kind,
                     enum gw_sharding sharding, unsigned features)
{
    char shape[32];
    bool shared = sharding == GW_BY_ROW || sharding == GW_BY_FEATURE;
    unsigned ranks = shared ? layout->options.mesh.tensor : 1;
    struct row row = stage_row(stage, kind, "send");
    snprintf(shape, sizeof shape, "%ux%u",
             layout->rows / (sharding == GW_BY_ROW ? ranks : 1),
             features / (sharding == GW_BY_FEATURE ? ranks : 1));
    row.in = row.out = gw_sharding_name(sharding);
    row.shape = shape;
    row.bytes = (double)layout->rows * features / ranks * sizeof(float) *
                layout->options.micros;
    put_layout_row(output, &row);
}

/* Between operator i and the one before it. */
static void put_border(struct output *output, const struct gw_layout *layout,
                       unsigned i)
{
    const struct gw_operator_layout *op_layout = &layout->op_layouts[i];
    unsigned features = layout->network->operators[i].in;
    unsigned from = stage_of(layout, i - 1), to = stage_of(layout, i);
    put_inserted(output, layout, from, "forward", &op_layout->forward);
    if (from != to)
        put_sent(output, layout, from, "forward", op_layout->in, features);
    put_inserted(output, layout, to, "backward", &op_layout->backward);
    if (from != to)
        put_sent(output, layout, to, "backward", op_layout[-1].grad_out,
                 features);
}

/* Gradients of weights that the ranks of the tensor axis share. */
static void put_shared_weights(struct output *output,
                               const struct gw_layout *layout, unsigned i)
{
    const struct gw_operator_layout *op_layout = &layout->op_layouts[i];
    uint64_t tensor = layout->options.mesh.tensor;
    if (!op_layout->weights_partial)
        return;
    size_t padded = gw_layout_block(layout, op_layout->parameters_local) *
                    layout->options.shard_group;
    uint64_t bytes = 2 * (tensor - 1) * (padded / tensor) * sizeof(float);
    struct row row = stage_row(stage_of(layout, i), "weights",
                               gw_collective_name(GW_ALLREDUCE));
    row.split = "inserted";
    row.in = gw_sharding_name(GW_PARTIAL);
    row.out = gw_sharding_name(GW_REPLICATED);
    row.bytes = (double)bytes;
    put_layout_row(output, &row);
}

/* ---- traffic and memory ---- */

static void put_total(struct output *output, unsigned stage, const char *kind,
                      const char *what, uint64_t bytes, double one_process)
{
    struct row row = stage_row(stage, kind, what);
    row.bytes = (double)bytes;
    row.one_process = one_process;
    put_layout_row(output, &row);
}

static void put_totals(struct output *output, const struct gw_layout *layout,
                       const struct gw_schedule *schedule, unsigned stage)
{
    struct layout_held held;
    struct gw_layout_price price;
    double whole =
        (double)(gw_network_parameters(layout->network) * sizeof(float));
    gw_layout_price(layout, stage, &price);
    put_total(output, stage, "sent", "tensor",
              price.tensor_forward_bytes + price.tensor_backward_bytes +
                  price.tensor_weight_bytes,
              0);
    put_total(output, stage, "sent", "data", price.data_bytes, 0);
    put_total(output, stage, "sent", "pipe", price.pipe_bytes, 0);
    const double one_process[LAYOUT_HELD_PARTS] = {
        whole, whole, whole * layout->options.optimiser_words, 0, (double)NAN};
    layout_held(layout, schedule, stage, &held);
    for (unsigned i = 0; i < LAYOUT_HELD_PARTS; i++)
        put_total(output, stage, "held", held.parts[i].what,
                  held.parts[i].bytes, one_process[i]);
}

/* ---- the document ---- */

void layout_notes(struct output *output, const struct gw_layout *layout)
{
    char mesh[40];
    const struct gw_layout_options *o = &layout->options;
    snprintf(mesh, sizeof mesh, "%ux%ux%u", o->mesh.data, o->mesh.tensor,
             o->mesh.pipe);
    output_note_text(output, "network", layout->network->name);
    output_note_text(output, "mesh", mesh);
    output_note_text(output, "mode", gw_data_mode_name(o->mode));
    output_note_integer(output, "group", o->shard_group);
    output_note_integer(output, "batch", o->batch);
    output_note_integer(output, "micro", o->micros);
    output_note_integer(output, "chunks", o->chunks);
}

enum gw_err layout_show(const struct gw_layout *layout,
                        const struct gw_schedule *schedule,
                        struct gw_error *why)
{
    struct output *output;
    if (output_begin("pipebench layout", common.output, fields, FIELD_COUNT,
                     &output, why))
        return why->code;
    layout_notes(output, layout);
    output_collect(output);
    output_spare(output, "one_process parameters shape");
    for (unsigned i = 0; i < layout->operator_count; i++) {
        if (i > 0)
            put_border(output, layout, i);
        put_operator(output, layout, i);
        put_shared_weights(output, layout, i);
    }
    for (unsigned stage = 0; stage < layout->options.mesh.pipe; stage++)
        put_totals(output, layout, schedule, stage);
    output_end(&output, NULL, false);
    return GW_OK;
}
