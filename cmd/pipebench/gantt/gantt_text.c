/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A timeline in cells of a terminal (gantt.h). 1f1b of four stages and four
 * micro-batches, two cells per forward:
 *
 *     stage 0 F0F1F2F3············B0▓▓··B1▓▓··B2▓▓··B3▓▓
 *     stage 1 ··F0F1F2········B0▓▓F3B1▓▓··B2▓▓··B3▓▓····
 *     stage 2 ····F0F1····B0▓▓F2B1▓▓F3B2▓▓··B3▓▓········
 *     stage 3 ······F0B0▓▓F1B1▓▓F2B2▓▓F3B3▓▓············
 *             ╵0                  ╵10 ms
 *
 * Each cell belongs to the pass that has most of it, or to no pass when half of
 * it is idle. The cells of a pass get its label, then its shade.
 */
#include "gantt_parts.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

enum {
    CELLS_MAX = 1000,
    CELLS_LEAST = 10,
    PASS_CELLS_MAX = 6,
    TICK_CELLS = 10
};
#define NO_PASS SIZE_MAX

/* One drawing. */
struct canvas {
    FILE *file;
    const struct gantt *gantt;
    const struct gantt_style *style;
    unsigned label_width, cells;
    unsigned lived; /* cells that are in the past */
    double span_us, cell_us;
};

struct lane {
    size_t owner[CELLS_MAX]; /* index of a pass, or NOBODY */
    double most_us[CELLS_MAX], busy_us[CELLS_MAX];
};

/* A whole number of cells for the shortest pass, if possible. */
static void scale_canvas(struct canvas *c, unsigned room)
{
    double shortest_pass_us = c->gantt->shortest_pass_us;
    double each = floor(room * shortest_pass_us / c->span_us * (1 + 1e-9));
    c->cells = room;
    c->cell_us = c->span_us / room;
    if (each >= 1) {
        c->cell_us = shortest_pass_us / fmin(each, PASS_CELLS_MAX);
        c->cells = (unsigned)ceil(c->span_us / c->cell_us * (1 - 1e-9));
    }
}

static void lay_out_canvas(struct canvas *c)
{
    unsigned stages = c->gantt->schedule->stages;
    double there_us = gantt_span_us(c->gantt->timeline);
    c->span_us = fmax(c->gantt->span_us, there_us);
    if (c->span_us <= 0)
        c->span_us = 1;
    c->label_width = 7 + (unsigned)snprintf(NULL, 0, "%u", stages - 1);
    unsigned room = c->style->width > c->label_width + CELLS_LEAST
                        ? c->style->width - c->label_width
                        : CELLS_LEAST;
    scale_canvas(c, room < CELLS_MAX ? room : CELLS_MAX);
    assert(c->cells > 0 && c->cells <= CELLS_MAX);
    c->lived = (unsigned)ceil(there_us / c->cell_us * (1 - 1e-9));
    c->lived = c->lived < c->cells ? c->lived : c->cells;
}

static unsigned cell_at(const struct canvas *c, double time_us)
{
    double cell = floor(time_us / c->cell_us);
    if (cell < 0)
        return 0;
    return cell < c->cells ? (unsigned)cell : c->cells - 1;
}

static void occupy(const struct canvas *c, struct lane *lane, size_t pass)
{
    const struct gw_pass_time *time = &c->gantt->timeline->times[pass];
    unsigned last = cell_at(c, time->end_us);
    for (unsigned i = cell_at(c, time->begin_us); i <= last; i++) {
        double share_us = fmin(time->end_us, (i + 1) * c->cell_us) -
                          fmax(time->begin_us, i * c->cell_us);
        if (share_us <= 0)
            continue;
        lane->busy_us[i] += share_us;
        if (share_us > lane->most_us[i] * (1 + 1e-9)) {
            lane->most_us[i] = share_us;
            lane->owner[i] = pass;
        }
    }
}

static void fill_lane(const struct canvas *c, struct lane *lane, unsigned stage)
{
    const struct gw_schedule *schedule = c->gantt->schedule;
    memset(lane, 0, sizeof *lane);
    for (size_t i = schedule->begin[stage]; i < schedule->begin[stage + 1]; i++)
        if (gantt_drawn(&c->gantt->timeline->times[i]))
            occupy(c, lane, i);
    for (unsigned i = 0; i < c->cells; i++)
        if (lane->busy_us[i] < c->cell_us / 2 * (1 - 1e-9))
            lane->owner[i] = NO_PASS;
}

/* The longest of "f3.1", "f3", "f" that fits. With colour, which shows the
 * kind, "3" is more useful than "f". */
static void label(const struct canvas *c, const struct gw_pass *pass,
                  unsigned room, char out[16])
{
    char number[8];
    gantt_pass_label(pass, c->gantt->schedule->chunks, out);
    if (pass->chunk > 0)
        *out = (char)tolower((unsigned char)*out);
    unsigned digits =
        (unsigned)snprintf(number, sizeof number, "%u", pass->micro);
    if (strlen(out) <= room)
        return;
    if (1 + digits <= room)
        out[1 + digits] = 0;
    else if (c->style->color && digits <= room)
        memcpy(out, number, digits + 1);
    else
        out[1] = 0;
}

static void repeat(FILE *file, const char *glyph, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        fputs(glyph, file);
}

static void put_pass(const struct canvas *c, const struct gw_pass *pass,
                     unsigned cells)
{
    char text[16];
    const struct gantt_pass_style *pass_style = &gantt_pass_styles[pass->kind];
    const char ascii[2] = {pass_style->ascii, 0};
    label(c, pass, cells, text);
    const char *behind = c->style->color  ? " "
                         : c->style->utf8 ? pass_style->utf8
                                          : ascii;
    if (c->style->color)
        fprintf(c->file, "\033[%sm", pass_style->color[pass->chunk % 2]);
    fputs(text, c->file);
    repeat(c->file, behind, cells - (unsigned)strlen(text));
    if (c->style->color)
        fputs("\033[m", c->file);
}

static void put_idle(const struct canvas *c, unsigned cells)
{
    fputs(c->style->color ? "\033[2m" : "", c->file);
    repeat(c->file, c->style->utf8 ? "·" : ".", cells);
    fputs(c->style->color ? "\033[m" : "", c->file);
}

static void put_lane(const struct canvas *c, const struct lane *lane,
                     unsigned stage)
{
    fprintf(c->file, "stage %*u ", (int)c->label_width - 7, stage);
    for (unsigned from = 0, to; from < c->lived; from = to) {
        size_t owner = lane->owner[from];
        for (to = from + 1; to < c->lived && lane->owner[to] == owner;)
            to++;
        if (owner == NO_PASS)
            put_idle(c, to - from);
        else
            put_pass(c, &c->gantt->schedule->passes[owner], to - from);
    }
    fputc('\n', c->file);
}

/* Each tick is at its place, followed by its time if there is room. */
static void put_axis(const struct canvas *c)
{
    char text[24];
    unsigned column = 0;
    double axis_us = c->cells * c->cell_us;
    double step_us = gantt_tick_us(axis_us, c->cells / TICK_CELLS);
    fprintf(c->file, "%*s", (int)c->label_width, "");
    for (unsigned i = 0; i * step_us < axis_us * (1 - 1e-9); i++) {
        unsigned at = (unsigned)(i * step_us / c->cell_us + 0.5);
        gantt_tick_label(i * step_us, axis_us, text);
        unsigned length = 1 + (unsigned)strlen(text);
        if (at < column || at + length > c->cells)
            continue;
        fprintf(c->file, "%*s%s%s", (int)(at - column), "",
                c->style->utf8 ? "╵" : "'", text);
        column = at + length;
    }
    fputc('\n', c->file);
}

unsigned gantt_draw(FILE *file, const struct gantt *gantt,
                    const struct gantt_style *style)
{
    struct canvas canvas = {.file = file, .gantt = gantt, .style = style};
    struct lane lane;
    lay_out_canvas(&canvas);
    for (unsigned s = 0; s < gantt->schedule->stages; s++) {
        fill_lane(&canvas, &lane, s);
        put_lane(&canvas, &lane, s);
    }
    put_axis(&canvas);
    return gantt->schedule->stages + 1;
}

void gantt_legend(FILE *file, const struct gw_schedule *schedule,
                  const struct gantt_style *style)
{
    unsigned kinds = gantt_kinds(schedule);
    for (unsigned k = 0; k < GW_PASS_KINDS; k++) {
        const struct gantt_pass_style *pass_style = &gantt_pass_styles[k];
        const char ascii[2] = {pass_style->ascii, 0};
        if (!(kinds & 1u << k))
            continue;
        if (style->color)
            fprintf(file, "\033[%sm%c \033[m", pass_style->color[0],
                    gw_pass_symbol((enum gw_pass_kind)k));
        else
            fprintf(file, "%c%s", gw_pass_symbol((enum gw_pass_kind)k),
                    style->utf8 ? pass_style->utf8 : ascii);
        fprintf(file, " %s   ", pass_style->word);
    }
    fprintf(file, "%s idle", style->utf8 ? "·" : ".");
    if (schedule->chunks > 1)
        fprintf(file, "   small letters: %s",
                schedule->chunks > 2 ? "chunks 1 and higher" : "chunk 1");
    fputc('\n', file);
}

void gantt_figure(FILE *file, const struct gantt *gantt,
                  const struct gantt_style *style)
{
    char caption[160];
    const struct gw_schedule *schedule = gantt->schedule;
    gantt_caption(gantt->schedule, gantt->timeline, caption);
    fprintf(file, "%s, %u stage%s, %u micro-batch%s", schedule->name,
            schedule->stages, schedule->stages == 1 ? "" : "s",
            schedule->micros, schedule->micros == 1 ? "" : "es");
    if (schedule->chunks > 1)
        fprintf(file, ", %u chunks per stage", schedule->chunks);
    fprintf(file, "\n%s\n", caption);
    gantt_draw(file, gantt, style);
    gantt_legend(file, schedule, style);
}
