/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * pipebench layout --bars: the memory of a rank of each stage, as one bar of
 * letters. All bars have the same scale. A part ends where the sum of the parts
 * so far ends, rounded to a cell, so the length of a bar is right although
 * small parts may vanish.
 */
#include "common/command.h"
#include "layout.h"

#include <string.h>

enum { BAR_CELLS = 56 };

/* The last one is for people only. */
static const struct field fields[] = {
    {"stage", NULL, FIELD_INTEGER, 0, false},
    {"parameter_bytes", "parameters", FIELD_INTEGER, 0, true},
    {"gradient_bytes", "gradients", FIELD_INTEGER, 0, true},
    {"optimiser_bytes", "optimiser", FIELD_INTEGER, 0, true},
    {"gathered_bytes", "gathered", FIELD_INTEGER, 0, true},
    {"activation_bytes", "activations", FIELD_INTEGER, 0, true},
    {"held_bytes", "bytes", FIELD_INTEGER, 0, false},
    {"memory", NULL, FIELD_TEXT, 0, false},
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

void layout_held(const struct gw_layout *layout,
                 const struct gw_schedule *schedule, unsigned stage,
                 struct layout_held *held)
{
    struct gw_layout_price price;
    gw_layout_price(layout, stage, &price);
    *held = (struct layout_held){
        .parts = {
            {"parameters", price.parameter_bytes},
            {"gradients", price.gradient_bytes},
            {"optimiser", price.optimiser_bytes},
            {"gathered", price.gathered_bytes},
            {"activations", gw_layout_peak_bytes(layout, schedule, stage)}}};
    for (unsigned i = 0; i < LAYOUT_HELD_PARTS; i++)
        held->bytes += held->parts[i].bytes;
}

static unsigned cells_of(uint64_t bytes, uint64_t scale)
{
    return (unsigned)((double)bytes / (double)scale * BAR_CELLS + 0.5);
}

/* "PPPGGGOOOAAAAA....|": dots are unused memory below the limit. */
static void draw_bar(const struct layout_held *held, uint64_t scale,
                     uint64_t limit, char bar[BAR_CELLS + 2])
{
    static const char letters[LAYOUT_HELD_PARTS + 1] = "PGOWA";
    unsigned from = 0, end = cells_of(limit, scale);
    uint64_t sum = 0;
    memset(bar, 0, BAR_CELLS + 2);
    memset(bar, '.', end);
    for (unsigned i = 0; i < LAYOUT_HELD_PARTS; i++) {
        sum += held->parts[i].bytes;
        unsigned to = cells_of(sum, scale);
        memset(bar + from, letters[i], to - from);
        from = to;
    }
    if (limit)
        bar[end] = '|';
}

static void put_bar(struct output *output, const struct layout_held *held,
                    unsigned stage, const char *bar)
{
    union value row[FIELD_COUNT] = {{.integer = stage}};
    for (unsigned i = 0; i < LAYOUT_HELD_PARTS; i++)
        row[1 + i].integer = (int64_t)held->parts[i].bytes;
    row[FIELD_COUNT - 2].integer = (int64_t)held->bytes;
    row[FIELD_COUNT - 1].text = bar;
    output_row(output, row);
}

enum gw_err layout_bars(const struct gw_layout *layout,
                        const struct gw_schedule *schedule, uint64_t limit,
                        struct gw_error *why)
{
    struct output *output;
    struct layout_held held;
    char bar[BAR_CELLS + 2];
    uint64_t scale = limit;
    bool table = strcmp(common.output, "table") == 0;
    unsigned stages = layout->options.mesh.pipe;
    for (unsigned stage = 0; stage < stages; stage++) {
        layout_held(layout, schedule, stage, &held);
        scale = held.bytes > scale ? held.bytes : scale;
    }
    if (output_begin("pipebench layout", common.output, fields,
                     table ? FIELD_COUNT : FIELD_COUNT - 1, &output, why))
        return why->code;
    layout_notes(output, layout);
    output_note_text(output, "schedule", schedule->name);
    output_collect(output);
    for (unsigned stage = 0; stage < stages; stage++) {
        layout_held(layout, schedule, stage, &held);
        draw_bar(&held, scale, limit, bar);
        put_bar(output, &held, stage, bar);
    }
    if (table)
        output_note_text(output, "letters",
                         "Parameters, Gradients, Optimiser, W gathered "
                         "parameters, Activations");
    output_end(&output, NULL, false);
    return GW_OK;
}
