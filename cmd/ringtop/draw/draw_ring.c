/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The ring as a picture, and the chunks that travel along its edges. A chunk is
 * drawn at its estimated place, from the usual time of transfers. Transfers
 * between ranks that are not neighbours are written inside. If the members do
 * not fit on the picture, there is a list instead.
 */
#include "draw.h"
#include "ring_path.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MARGIN = 3, LABEL_WIDTH = 6 };

struct scene {
    const struct picture *picture;
    const struct area *area;
    struct ring_path path;
    unsigned ring[RANKS_MAX];
    unsigned count;
    int inside; /* rows that were written inside */
};

static int index_in_ring(const struct scene *s, uint32_t rank)
{
    for (unsigned i = 0; i < s->count; i++)
        if (s->ring[i] == rank)
            return (int)i;
    return -1;
}

static int position_on_path(const struct scene *s, int i)
{
    return ring_path_member(&s->path, (unsigned)i, s->count);
}

/* Is the cell empty or part of the ring's line? */
static bool is_free(const struct scene *s, int x, int y)
{
    if (x < 0 || x >= s->area->width)
        return true;
    const struct cell *cell =
        grid_at(s->area->grid, s->area->x + x, s->area->y + y);
    return cell->style == STYLE_DIM || cell->glyph == ' ';
}

/* Writes text unless its cells or their neighbours are in use. */
static bool write_if_free(const struct scene *s, int x, int y, enum style style,
                          const char *text)
{
    for (int i = -1; i <= (int)strlen(text); i++)
        if (!is_free(s, x + i, y))
            return false;
    area_text(s->area, x, y, style, text);
    return true;
}

/* Centred on a cell of the path. */
static bool write_on_path(const struct scene *s, int at, enum style style,
                          const char *text)
{
    int x, y;
    ring_path_cell(&s->path, at, &x, &y);
    return write_if_free(s, x - (int)strlen(text) / 2, y, style, text);
}

static void draw_line(const struct scene *s)
{
    const struct glyphs *g = s->picture->glyphs;
    const struct ring_path *p = &s->path;
    for (int at = 0; at < ring_path_length(p); at++) {
        int x, y;
        enum heading heading = ring_path_cell(p, at, &x, &y);
        bool side = heading == HEAD_DOWN || heading == HEAD_UP;
        area_put(s->area, x, y, STYLE_DIM, glyph(side ? g->down : g->across));
    }
    for (int corner = 0; corner < 4; corner++)
        area_put(s->area,
                 p->x + (corner == 1 || corner == 2 ? p->width - 1 : 0),
                 p->y + (corner >= 2 ? p->height - 1 : 0), STYLE_DIM,
                 glyph(g->corners[corner]));
}

static void draw_arrows(const struct scene *s)
{
    for (unsigned i = 0; i < s->count; i++) {
        int from = position_on_path(s, (int)i);
        int to = position_on_path(s, (int)((i + 1) % s->count));
        int x, y, at = ring_path_between(&s->path, from, to, 1, 0.5);
        enum heading heading = ring_path_cell(&s->path, at, &x, &y);
        area_put(s->area, x, y, STYLE_DIM,
                 glyph(s->picture->glyphs->arrows[heading]));
    }
}

/* The rank's progress or condition. */
static void member_text(const struct scene *s, unsigned r, char out[24])
{
    const struct state *state = s->picture->state;
    const struct rank *rank = &state->ranks[r];
    enum condition condition = state_condition(state, r);
    if (condition >= RANK_LATE || rank->step == GW_NONE || !rank->in_op)
        snprintf(out, 24, "%s", rank_condition_name(condition));
    else
        snprintf(out, 24, "%" PRIu32 "/%u", rank->step + 1, state_steps(state));
}

/* Its number on the line, the text on the inner side. */
static void draw_member(const struct scene *s, unsigned i)
{
    unsigned r = s->ring[i];
    enum condition condition = state_condition(s->picture->state, r);
    enum style style = condition == RANK_UNKNOWN
                           ? STYLE_PLAIN
                           : rank_condition_style(condition);
    char text[24];
    int x, y, last = s->path.x + s->path.width - 1;
    ring_path_cell(&s->path, position_on_path(s, (int)i), &x, &y);
    int length = snprintf(text, sizeof text, "(%u)", r);
    area_text(s->area, x - length / 2, y, style, text);
    if (s->path.height < 5)
        return;
    member_text(s, r, text);
    length = (int)strlen(text);
    int left = x <= s->path.x ? x + 2
               : x >= last    ? x - 1 - length
                              : x - length / 2;
    (void)write_if_free(s, left, y == s->path.y ? y + 1 : y - 1, STYLE_PLAIN,
                        text);
}

/* ---- chunks ---- */

/* In the next row that has room between the members' texts. The last row shows
 * that there is more. */
static void write_inside(struct scene *s, enum style style, const char *text)
{
    const struct ring_path *p = &s->path;
    int first = p->height >= 7 ? 2 : 1;
    int rows = p->height - 2 * first;
    bool written = false;
    while (!written && s->inside < rows) {
        bool last = s->inside == rows - 1;
        int y = p->y + first + s->inside++;
        written =
            write_if_free(s, p->x + LABEL_WIDTH, y, style, last ? "..." : text);
    }
}

/* As near to `percent` of the way as there is room, preferably before it. */
static bool draw_on_path(const struct scene *s, int from, int to,
                         bool clockwise, int percent, const char *text)
{
    for (int off = 0; off <= 200; off++) {
        int there = off <= 100 ? percent - off : percent + off - 100;
        if (there < 0 || there > 100)
            continue;
        int at =
            ring_path_between(&s->path, from, to, clockwise, there / 100.0);
        if (write_on_path(s, at, STYLE_CHUNK, text))
            return true;
    }
    return false;
}

/* False for ranks that are not neighbours, and when the edge is full. */
static bool draw_on_edge(const struct scene *s, const struct inflight *inflight)
{
    const struct state *state = s->picture->state;
    int from = index_in_ring(s, inflight->src);
    int to = index_in_ring(s, inflight->dst);
    if (from < 0 || to < 0 || from == to)
        return false;
    bool next = to == (from + 1) % (int)s->count;
    bool previous = from == (to + 1) % (int)s->count;
    if (!next && !previous)
        return false;
    char text[16];
    snprintf(text, sizeof text, "c%" PRIu32, inflight->chunk);
    double progress =
        inflight_progress(&state->inflights, inflight, state->now_ns);
    return draw_on_path(s, position_on_path(s, from), position_on_path(s, to),
                        next, (int)(100 * progress), text);
}

static void draw_chunk(struct scene *s, const struct inflight *inflight)
{
    char text[40];
    if (draw_on_edge(s, inflight))
        return;
    snprintf(text, sizeof text, "%" PRIu32 ">%" PRIu32 " c%" PRIu32,
             inflight->src, inflight->dst, inflight->chunk);
    write_inside(s, STYLE_CHUNK, text);
}

static void draw_gone(struct scene *s)
{
    const struct state *state = s->picture->state;
    for (unsigned r = 0; r < state->rank_count; r++) {
        char text[40];
        enum condition condition = state_condition(state, r);
        if (!rank_is_shown(s->picture, r) || index_in_ring(s, r) >= 0)
            continue;
        snprintf(text, sizeof text, "%s %u %s", state_noun(state), r,
                 rank_condition_name(condition));
        write_inside(s, rank_condition_style(condition), text);
    }
}

static void draw_inflights(struct scene *s)
{
    const struct inflights *inflights = &s->picture->state->inflights;
    for (unsigned i = 0; i < inflights->count; i++)
        if (!inflights->list[i].landed)
            draw_chunk(s, &inflights->list[i]);
}

/* ---- the list ---- */

static void list_chunks(const struct picture *p, const struct area *area)
{
    const struct inflights *inflights = &p->state->inflights;
    int row = 0, waiting = 0;
    for (unsigned i = 0; i < inflights->count; i++) {
        const struct inflight *f = &inflights->list[i];
        waiting += !f->landed && row >= area->height - 1;
        if (f->landed || row >= area->height - 1)
            continue;
        area_print(area, 1, row++, STYLE_CHUNK,
                   "%" PRIu32 " > %" PRIu32 "  c%" PRIu32 "  step %" PRIu32,
                   f->src, f->dst, f->chunk, f->step + 1);
    }
    if (waiting > 0)
        area_print(area, 1, row, STYLE_DIM, "and %d more", waiting);
    else if (row == 0)
        area_text(area, 1, 0, STYLE_DIM, "nothing in flight");
}

/* ---- */

static unsigned count_inflights(const struct inflights *inflights)
{
    unsigned count = 0;
    for (unsigned i = 0; i < inflights->count; i++)
        count += !inflights->list[i].landed;
    return count;
}

static bool fits(const struct scene *s)
{
    int top = (int)(s->count + 1) / 2;
    return s->count >= 1 && s->path.height >= 3 &&
           s->path.width >= 2 * LABEL_WIDTH &&
           (top - 1) * 2 * LABEL_WIDTH <= s->path.width;
}

void draw_ring(const struct picture *p, const struct area *area)
{
    struct area body = draw_title(p, area, "ring: %u chunks in flight",
                                  count_inflights(&p->state->inflights));
    struct scene s = {
        .picture = p,
        .area = &body,
        .path = {.x = MARGIN,
                 .width = body.width - 2 * MARGIN,
                 .height = body.height},
    };
    s.count = state_ring(p->state, s.ring);
    if (!fits(&s)) {
        list_chunks(p, &body);
        return;
    }
    draw_line(&s);
    if (s.count > 1)
        draw_arrows(&s);
    for (unsigned i = 0; i < s.count; i++)
        draw_member(&s, i);
    draw_gone(&s);
    draw_inflights(&s);
}
