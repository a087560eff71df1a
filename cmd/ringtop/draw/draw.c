/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The layout (draw.h): a header, a page, a line of keys. The overview has as
 * many panels as fit:
 *
 *     +-------------------------+
 *     | header                  |
 *     | ranks                   |
 *     | chunks     | events     |     40 columns: chunks, and events below
 *     | ring       |            |     10 rows: ranks and chunks
 *     | keys                    |
 *     +-------------------------+
 *
 * The overview of parameter servers is in draw_ps.c, that of a pipeline in
 * draw_pipeline.c.
 */
#include "draw.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SIDE_BY_SIDE = 66, RING_WIDTH = 30, RING_HEIGHT = 6 };

uint32_t glyph(const char *text)
{
    return utf8_next(&text);
}

struct area draw_title(const struct picture *p, const struct area *area,
                       const char *format, ...)
{
    char text[160];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (int x = 0; x < area->width; x++)
        area_put(area, x, 0, STYLE_DIM, glyph(p->glyphs->across));
    area_print(area, 2, 0, STYLE_STRONG, " %s ", text);
    return area_part(area, 0, 1, area->width, area->height - 1);
}

static int least_of(int a, int b)
{
    return a < b ? a : b;
}

/* ---- the overview ---- */

static void draw_left(const struct picture *p, const struct area *area)
{
    int chunks = least_of(draw_chunks_height(p), area->height);
    int ring = area->height - chunks;
    bool room = ring >= RING_HEIGHT && area->width >= RING_WIDTH;
    struct area top =
        area_part(area, 0, 0, area->width, room ? chunks : area->height);
    draw_chunks(p, &top);
    if (!room)
        return;
    struct area rest = area_part(area, 0, chunks, area->width, ring);
    draw_ring(p, &rest);
}

static void draw_side_by_side(const struct picture *p, const struct area *area)
{
    int wanted = draw_chunks_width(p);
    int left = wanted < area->width / 2 - 1 ? area->width / 2 - 1 : wanted;
    left = least_of(left, area->width * 3 / 5);
    struct area chunks = area_part(area, 0, 0, left, area->height);
    struct area events =
        area_part(area, left + 1, 0, area->width - left - 1, area->height);
    draw_left(p, &chunks);
    draw_events(p, &events);
}

static void draw_below(const struct picture *p, const struct area *area)
{
    enum { ROWS_MIN = 3 };
    int height = least_of(draw_chunks_height(p), area->height);
    if (area->height - height < ROWS_MIN)
        height = area->height;
    struct area chunks = area_part(area, 0, 0, area->width, height);
    struct area events =
        area_part(area, 0, height, area->width, area->height - height);
    draw_chunks(p, &chunks);
    if (events.height > 0)
        draw_events(p, &events);
}

static void draw_overview(const struct picture *p, const struct area *area)
{
    enum { ROWS_LEFT = 3 };
    int wanted = draw_ranks_height(p), half = area->height / 2;
    int rows = least_of(wanted, area->height - ROWS_LEFT);
    if (rows > half && area->height > 2 * RING_HEIGHT)
        rows = least_of(wanted, half);
    struct area ranks = area_part(area, 0, 0, area->width, rows);
    struct area rest =
        area_part(area, 0, rows, area->width, area->height - rows);
    draw_ranks(p, &ranks);
    if (area->width >= SIDE_BY_SIDE)
        draw_side_by_side(p, &rest);
    else
        draw_below(p, &rest);
}

/* ---- */

/* A run has a ring, parameter servers or a pipeline. A page of the other kinds
 * is replaced by the run's own. */
enum page page_shown(const struct picture *p)
{
    enum page page = p->view->page;
    if (p->state->ps.here)
        return page == PAGE_RING     ? PAGE_CLOCKS
               : page == PAGE_CHUNKS ? PAGE_SLOTS
                                     : page;
    if (p->state->pipe.here && (page == PAGE_RING || page == PAGE_CHUNKS))
        return PAGE_PIPELINE;
    return page;
}

static void draw_page(const struct picture *p, const struct area *area)
{
    static void (*const pages[PAGES])(const struct picture *,
                                      const struct area *) = {
        [PAGE_OVERVIEW] = draw_overview,       [PAGE_RING] = draw_ring,
        [PAGE_CHUNKS] = draw_chunks,           [PAGE_SLOTS] = draw_slots,
        [PAGE_REQUESTS] = draw_requests,       [PAGE_CLOCKS] = draw_clocks,
        [PAGE_PIPELINE] = draw_pipeline,       [PAGE_EVENTS] = draw_events,
        [PAGE_FAILOVER] = draw_failover,       [PAGE_LOSS] = draw_loss,
        [PAGE_CONTROLLERS] = draw_controllers,
    };
    if (p->view->help)
        draw_help(p, area);
    else if (p->view->page == PAGE_OVERVIEW && p->state->ps.here)
        draw_ps(p, area);
    else if (p->view->page == PAGE_OVERVIEW && p->state->pipe.here)
        draw_pipe_overview(p, area);
    else
        pages[page_shown(p)](p, area);
}

static void draw_too_small(struct grid *grid)
{
    char text[64];
    struct area all = grid_area(grid);
    int length = snprintf(text, sizeof text, "terminal too small (%dx%d)",
                          grid->width, grid->height);
    int x = (grid->width - length) / 2;
    area_text(&all, x > 0 ? x : 0, (grid->height - 1) / 2, STYLE_STRONG, text);
}

void draw(const struct picture *p, struct grid *grid)
{
    grid_clear(grid);
    if (grid->width < SMALLEST_WIDTH || grid->height < SMALLEST_HEIGHT) {
        draw_too_small(grid);
        return;
    }
    struct area all = grid_area(grid);
    int below = p->keys;
    struct area header = area_part(&all, 0, 0, all.width, 1);
    struct area page = area_part(&all, 0, 1, all.width, all.height - 1 - below);
    struct area keys = area_part(&all, 0, all.height - 1, all.width, below);
    draw_header(p, &header);
    struct area panels = page;
    if (!p->view->help && !p->view->explain)
        panels.height -= draw_look_for(p, &page);
    draw_page(p, &panels);
    if (p->view->explain)
        draw_guide(p, &page);
    if (below)
        draw_keys(p, &keys);
}
