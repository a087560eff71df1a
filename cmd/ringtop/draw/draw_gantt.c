/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A step of a pipeline as a Gantt chart: time goes to the right, each row is a
 * stage. A pass begins with its letter and the number of its micro-batch (only
 * the last digit if there is no room), and continues in its shade; ">" is its
 * head while it is under way. Every second piece of a stage has small letters.
 * Dots are idle time. After the present time, the row has the stage that it
 * waits for.
 *
 *     s0 F0F1F2F3··B0░░B1
 *     s1 ··F0F1F2B0F3B1>
 *     s2 ····F0··F1     waits for s1
 *
 * The scale covers the predicted time of the step, or the last step's if that
 * was longer. A step that takes even longer extends it by quarters, so that the
 * picture seldom jumps. A column shows the pass at its middle.
 */
#include "draw.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct chart {
    const struct picture *picture;
    const struct pipe *pipe;
    const struct pipe_step *step;
    struct area plot;
    uint64_t begin_ns, now_ns, scale_ns;
};

/* ---- the scale ---- */

static uint64_t scale_of(const struct pipe *pipe, uint64_t now_ns)
{
    const struct pipe_step *steps[] = {pipe_current(pipe), pipe_last(pipe)};
    uint64_t scale_ns = pipe->predicted_ns, least_ns = 0;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t took_ns = steps[i] ? pipe_took_ns(pipe, steps[i], now_ns) : 0;
        if (steps[i] && steps[i]->complete && took_ns > scale_ns)
            scale_ns = took_ns;
        least_ns = took_ns > least_ns ? took_ns : least_ns;
    }
    if (scale_ns == 0)
        scale_ns = 1000;
    while (scale_ns < least_ns && scale_ns < UINT64_MAX / 2)
        scale_ns += (scale_ns + 3) / 4;
    return scale_ns;
}

/* The middle of a column, on the events' clock. */
static uint64_t time_of(const struct chart *c, int x)
{
    double share = (x + 0.5) / c->plot.width;
    return c->begin_ns + (uint64_t)(share * (double)c->scale_ns);
}

/* ---- one stage ---- */

static uint64_t end_of(const struct chart *c, const struct pipe_pass *pass)
{
    return pass->end_ns == PIPE_NEVER ? c->now_ns : pass->end_ns;
}

/* The character in column k of a pass of `columns`. */
static uint32_t glyph_of(const struct chart *c, const struct pipe_pass *pass,
                         int k, int columns)
{
    char label[16];
    char letter = gw_pass_symbol((enum gw_pass_kind)pass->kind);
    bool small = pass->chunk % 2 == 1;
    int digits = snprintf(label, sizeof label, "%" PRIu32, pass->micro);
    const struct glyphs *glyphs = c->picture->glyphs;
    if (k == 0)
        return (uint32_t)(small ? tolower(letter) : letter);
    if (columns == 2)
        return (uint32_t)label[digits - 1];
    if (pass->end_ns == PIPE_NEVER && k == columns - 1)
        return glyph(glyphs->arrows[0]);
    if (k <= digits && digits < columns)
        return (uint32_t)label[k - 1];
    return glyph(glyphs->passes[pass->kind]);
}

static void draw_pass(const struct chart *c, int y, int from, int to,
                      const struct pipe_pass *pass)
{
    enum style style = (enum style)(STYLE_FORWARD + pass->kind);
    for (int x = from; x < to; x++)
        area_put(&c->plot, x, y, style, glyph_of(c, pass, x - from, to - from));
}

/* Dots up to now; the future is unknown. */
static void draw_idle(const struct chart *c, int y, int from, int to)
{
    for (int x = from; x < to && time_of(c, x) < c->now_ns; x++)
        area_put(&c->plot, x, y, STYLE_DIM, glyph(c->picture->glyphs->idle));
}

/* The first column whose middle is not before `time_ns`. */
static int column_from(const struct chart *c, uint64_t time_ns, int x)
{
    while (x < c->plot.width && time_of(c, x) < time_ns)
        x++;
    return x;
}

static void report_wait(const struct chart *c, int y, unsigned stage)
{
    const struct pipe_pass *pass;
    uint32_t peer;
    char text[32];
    int x = column_from(c, c->now_ns, 0) + 1;
    if (c->step->complete || c->step != pipe_current(c->pipe) ||
        pipe_doing(c->pipe, stage, &pass, &peer) != PIPE_WAITS)
        return;
    int length = snprintf(text, sizeof text, "waits for s%" PRIu32, peer);
    if (x + length <= c->plot.width)
        area_text(&c->plot, x, y, STYLE_DIM, text);
}

static void draw_lane(const struct chart *c, int y, unsigned stage)
{
    const struct pipe_lane *lane = &c->step->lanes[stage];
    int x = 0;
    for (unsigned i = 0; i < lane->count && x < c->plot.width; i++) {
        const struct pipe_pass *pass = &lane->passes[i];
        int from = column_from(c, pass->begin_ns, x);
        int to = column_from(c, end_of(c, pass), from);
        draw_idle(c, y, x, from);
        draw_pass(c, y, from, to, pass);
        x = to;
    }
    draw_idle(c, y, x, c->plot.width);
    report_wait(c, y, stage);
}

/* ---- the chart ---- */

static struct area draw_chart_title(const struct picture *p,
                                    const struct area *area,
                                    const struct pipe_step *step,
                                    uint64_t took_ns)
{
    const struct pipe *pipe = &p->state->pipe;
    char took[16], predicted[16], of[40] = "", end[24] = "";
    format_ns(took_ns, took);
    format_ns(pipe->predicted_ns, predicted);
    if (pipe->predicted_ns > 0)
        snprintf(of, sizeof of, "%s %s", step->complete ? ", predicted" : " of",
                 predicted);
    if (step->partial)
        snprintf(end, sizeof end, "; not all was seen");
    return draw_title(p, area, "step %" PRIu32 ": %s%s%s", step->step, took, of,
                      end);
}

static int digits_of(unsigned number)
{
    return snprintf(NULL, 0, "%u", number);
}

void draw_gantt(const struct picture *p, const struct area *area,
                const struct pipe_step *step)
{
    const struct pipe *pipe = &p->state->pipe;
    uint64_t took_ns = pipe_took_ns(pipe, step, p->state->now_ns);
    struct area body = draw_chart_title(p, area, step, took_ns);
    int label = 3 + digits_of(pipe->stages - 1);
    uint64_t begin_ns = pipe_begin_ns(pipe, step);
    struct chart c = {
        .picture = p,
        .pipe = pipe,
        .step = step,
        .plot = area_part(&body, label, 0, body.width - label, body.height),
        .begin_ns = begin_ns == PIPE_NEVER ? p->state->now_ns : begin_ns,
        .scale_ns = scale_of(pipe, p->state->now_ns),
    };
    c.now_ns = c.begin_ns + took_ns;
    unsigned top = list_top(p->view->rank_top, pipe->stages, body.height);
    for (int y = 0; y < body.height && top < pipe->stages; y++, top++) {
        area_print(&body, 1, y, STYLE_PLAIN, "s%u", top);
        draw_lane(&c, y, top);
    }
}
