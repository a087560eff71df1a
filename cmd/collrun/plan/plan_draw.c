/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun plan --draw (plan_draw.h).
 */
#include "plan_draw.h"

#include "common/command.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 64, CELL_BYTES = 64 };

void plan_notes(struct output *output, const struct gw_plan *plan)
{
    output_note_text(output, "op", gw_collective_name(plan->collective));
    output_note_text(output, "algo", *plan->algo ? plan->algo : NULL);
    output_note_integer(output, "ranks", plan->ranks);
    output_note_integer(output, "chunks", plan->chunks);
    output_note_integer(output, "root", plan->root);
    output_note_integer(output, "ports", plan->ports);
    output_note_integer(output, "steps", plan->steps);
}

char plan_action_sign(unsigned action)
{
    return action == GW_ADD ? '+' : action == GW_TOKEN ? '|' : '=';
}

struct cell {
    char text[CELL_BYTES];
};

/* Appends a transfer; "..." replaces those that do not fit. */
static void append_transfer(struct cell *cell,
                            const struct gw_transfer *transfer)
{
    static const char more[] = " ...";
    char item[40], scratch[12] = "";
    if (transfer->dst_scratch)
        snprintf(scratch, sizeof scratch, ".%u", transfer->dst_scratch);
    size_t used = strlen(cell->text);
    int length = snprintf(item, sizeof item, "%sc%u%c>%u%s", used ? " " : "",
                          transfer->chunk, plan_action_sign(transfer->action),
                          transfer->dst, scratch);
    if (used + (size_t)length + sizeof more <= CELL_BYTES)
        memcpy(cell->text + used, item, (size_t)length + 1);
    else if (used < 3 || strcmp(cell->text + used - 3, "...") != 0)
        memcpy(cell->text + used, more, sizeof more);
}

static void fill_cells(const struct gw_plan *plan, unsigned rank,
                       struct cell *cells)
{
    memset(cells, 0, plan->steps * sizeof *cells);
    for (unsigned s = 0; s < plan->steps; s++)
        for (size_t t = plan->step_begin[s]; t < plan->step_begin[s + 1]; t++)
            if (plan->transfers[t].src == rank)
                append_transfer(&cells[s], &plan->transfers[t]);
}

static void rows(struct output *output, const struct gw_plan *plan,
                 struct cell *cells)
{
    union value row[STEPS_MAX + 1];
    for (unsigned rank = 0; rank < plan->ranks; rank++) {
        fill_cells(plan, rank, cells);
        row[0].integer = rank;
        for (unsigned s = 0; s < plan->steps; s++)
            row[s + 1].text = *cells[s].text ? cells[s].text : NULL;
        output_row(output, row);
    }
}

enum gw_err plan_draw(const struct gw_plan *plan, struct gw_error *why)
{
    struct field fields[STEPS_MAX + 1] = {
        {.name = "rank", .kind = FIELD_INTEGER}};
    char names[STEPS_MAX][16];
    struct output *output;
    if (plan->steps > STEPS_MAX)
        return gw_fail(why, GW_EINVAL,
                       "--draw: %u steps are too many; the maximum is %d",
                       plan->steps, STEPS_MAX);
    for (unsigned s = 0; s < plan->steps; s++) {
        snprintf(names[s], sizeof names[s], "step%u", s + 1);
        fields[s + 1] = (struct field){.name = names[s], .kind = FIELD_TEXT};
    }
    struct cell *cells = calloc(plan->steps + (size_t)1, sizeof *cells);
    if (!cells)
        return gw_fail(why, GW_ENOMEM, "drawing %u steps", plan->steps);
    enum gw_err err = output_begin("collrun plan", common.output, fields,
                                   plan->steps + 1, &output, why);
    if (!err) {
        plan_notes(output, plan);
        output_collect(output);
        rows(output, plan, cells);
        output_end(&output, NULL, false);
    }
    free(cells);
    return err;
}
