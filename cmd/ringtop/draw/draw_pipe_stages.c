/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The stages of a pipeline as a table: the current pass, the progress, the held
 * activations, and the use of time in the last complete step. Below it, one
 * line with the duration of steps.
 *
 *     stage rank now      passes  held   works waits ends  mostly for
 *         0    0 B3        12/32   3/4     81%    2%  17%  s1
 */
#include "table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct pipe *pipe_of(const struct picture *p)
{
    return &p->state->pipe;
}

/* ---- columns ---- */

static void write_stage(const struct picture *p, unsigned s, char *out,
                        size_t size)
{
    (void)p;
    snprintf(out, size, "%5u", s);
}

static void write_rank(const struct picture *p, unsigned s, char *out,
                       size_t size)
{
    uint32_t rank = pipe_of(p)->ranks[s];
    table_number(rank != GW_NONE, rank, 4, out, size);
}

/* The condition of its rank if it is abnormal, else RANK_IDLE. */
static enum condition trouble_of(const struct picture *p, unsigned s)
{
    uint32_t rank = pipe_of(p)->ranks[s];
    enum condition condition =
        rank < RANKS_MAX ? state_condition(p->state, rank) : RANK_IDLE;
    return condition >= RANK_PARKED ? condition : RANK_IDLE;
}

static void write_now(const struct picture *p, unsigned s, char *out,
                      size_t size)
{
    const struct pipe_pass *pass;
    uint32_t peer;
    enum pipe_doing doing = pipe_doing(pipe_of(p), s, &pass, &peer);
    enum condition trouble = trouble_of(p, s);
    if (trouble != RANK_IDLE)
        snprintf(out, size, "%s", rank_condition_name(trouble));
    else if (doing == PIPE_WORKS)
        snprintf(out, size, "%c%" PRIu32,
                 gw_pass_symbol((enum gw_pass_kind)pass->kind), pass->micro);
    else if (doing == PIPE_WAITS)
        snprintf(out, size, "waits s%" PRIu32, peer);
    else
        snprintf(out, size, "%s",
                 doing == PIPE_DONE   ? "done"
                 : doing == PIPE_IDLE ? "idle"
                                      : "-");
}

static enum style now_style(const struct picture *p, unsigned s)
{
    const struct pipe_pass *pass;
    uint32_t peer;
    enum condition trouble = trouble_of(p, s);
    if (trouble != RANK_IDLE)
        return rank_condition_style(trouble);
    switch (pipe_doing(pipe_of(p), s, &pass, &peer)) {
    case PIPE_WORKS:
        return STYLE_GOOD;
    case PIPE_WAITS:
        return STYLE_WARN;
    default:
        return STYLE_PLAIN;
    }
}

static void write_passes(const struct picture *p, unsigned s, char *out,
                         size_t size)
{
    const struct pipe *pipe = pipe_of(p);
    const struct pipe_step *step = pipe_current(pipe);
    char text[32] = "-";
    unsigned all = step ? pipe_passes(pipe, step, s) : 0;
    unsigned done = step ? pipe_done(&step->lanes[s]) : 0;
    if (step && all >= done && all > 0)
        snprintf(text, sizeof text, "%u/%u", done, all);
    else if (step)
        snprintf(text, sizeof text, "%u", done);
    snprintf(out, size, "%7s", text);
}

static void write_held(const struct picture *p, unsigned s, char *out,
                       size_t size)
{
    const struct pipe *pipe = pipe_of(p);
    const struct pipe_step *step = pipe_current(pipe);
    const struct pipe_step *last = pipe_complete(pipe);
    char text[48] = "-";
    if (step) {
        const struct pipe_lane *lane = &step->lanes[s];
        uint64_t peak = lane->peak;
        if (last && last->lanes[s].peak > peak)
            peak = last->lanes[s].peak;
        snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64, lane->held, peak);
    }
    snprintf(out, size, "%5s", text);
}

/* Of the last step; false: there is none. */
static bool total_of(const struct picture *p, unsigned s,
                     struct pipe_total *total)
{
    const struct pipe *pipe = pipe_of(p);
    const struct pipe_step *step = pipe_complete(pipe);
    if (step)
        pipe_total(pipe, step, s, total);
    return step != NULL;
}

static void write_share(bool known, double share, char *out, size_t size)
{
    if (known)
        snprintf(out, size, "%4.0f%%", share > 0 ? 100 * share : 0);
    else
        snprintf(out, size, "%5s", "-");
}

static void write_works(const struct picture *p, unsigned s, char *out,
                        size_t size)
{
    struct pipe_total total = {0};
    bool known = total_of(p, s, &total);
    write_share(known, total.busy, out, size);
}

static void write_waits(const struct picture *p, unsigned s, char *out,
                        size_t size)
{
    struct pipe_total total = {0};
    bool known = total_of(p, s, &total);
    write_share(known, total.wait, out, size);
}

static void write_rests(const struct picture *p, unsigned s, char *out,
                        size_t size)
{
    struct pipe_total total = {0};
    bool known = total_of(p, s, &total);
    write_share(known, total.rest, out, size);
}

static void write_mostly(const struct picture *p, unsigned s, char *out,
                         size_t size)
{
    struct pipe_total total = {0};
    if (total_of(p, s, &total) && total.waits_most_for != GW_NONE)
        snprintf(out, size, "s%" PRIu32, total.waits_most_for);
    else
        snprintf(out, size, "-");
}

static const struct table_column columns[] = {
    {"stage", 5, 0, write_stage, NULL},
    {"rank", 4, 8, write_rank, NULL},
    {"now", 9, 1, write_now, now_style},
    {" passes", 7, 3, write_passes, NULL},
    {" held", 5, 2, write_held, NULL},
    {"works", 5, 4, write_works, NULL},
    {"waits", 5, 5, write_waits, NULL},
    {"rests", 5, 7, write_rests, NULL},
    {"mostly for", 10, 6, write_mostly, NULL},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

void draw_pipe_stages(const struct picture *p, const struct area *area)
{
    unsigned order[PIPE_STAGES];
    unsigned count = pipe_of(p)->stages;
    struct table table = table_fit(columns, COLUMNS, area->width - 1);
    for (unsigned s = 0; s < count; s++)
        order[s] = s;
    table_list(&table, p, area, order, count, "stage");
}

/* ---- sums ---- */

/* The newest steps that fit, on a scale from 0. */
static void draw_history(const struct picture *p, const struct area *area,
                         int x)
{
    const struct pipe *pipe = pipe_of(p);
    uint64_t kept =
        pipe->finished < PIPE_HISTORY ? pipe->finished : PIPE_HISTORY;
    uint64_t room = area->width > x ? (uint64_t)(area->width - x) : 0;
    uint64_t count = kept < room ? kept : room, most_ns = 1;
    for (uint64_t i = pipe->finished - count; i < pipe->finished; i++) {
        uint64_t ns = pipe->history_ns[i % PIPE_HISTORY];
        most_ns = ns > most_ns ? ns : most_ns;
    }
    for (uint64_t i = pipe->finished - count; i < pipe->finished; i++) {
        double share =
            (double)pipe->history_ns[i % PIPE_HISTORY] / (double)most_ns;
        area_put(area, x++, 0, STYLE_CHUNK,
                 glyph(p->glyphs->levels[1 + (int)(share * 7)]));
    }
}

void draw_pipe_sums(const struct picture *p, const struct area *area)
{
    enum { WIDE = 72 };
    const struct pipe *pipe = pipe_of(p);
    const struct pipe_step *step = pipe_complete(pipe);
    char took[16], predicted[16], bubble[32] = "", time[32] = "";
    double expected;
    bool wide = area->width >= WIDE;
    if (!step) {
        area_text(area, 1, 0, STYLE_DIM, "no step is complete yet");
        return;
    }
    double share = pipe_bubble(pipe, step, &expected);
    format_ns(pipe_took_ns(pipe, step, step->end_ns), took);
    format_ns(pipe->predicted_ns, predicted);
    if (expected >= 0) {
        snprintf(time, sizeof time, wide ? " (predicted %s)" : "/%s",
                 predicted);
        snprintf(bubble, sizeof bubble, wide ? " (predicted %.1f %%)" : "/%.1f",
                 100 * expected);
    }
    int x = 1 + area_print(area, 1, 0, STYLE_PLAIN,
                           wide ? "last step %s%s, bubble %.1f %%%s"
                                : "%s%s, bubble %.1f%s %%",
                           took, time, 100 * share, bubble);
    draw_history(p, area, x + 1);
}
