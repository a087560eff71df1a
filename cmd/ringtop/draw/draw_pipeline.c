/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The page of a pipeline, and the overview of such a run:
 *
 *     +-------------------------+
 *     | the current step        |   next to it, or below the sums, the last
 *     | sums                    |   finished one if there is room
 *     | stages                  |
 *     | the last step  | events |   events: of the overview
 *     +-------------------------+   40 columns, 10 rows: step and sums
 */
#include "draw.h"

enum { SIDE_BY_SIDE = 66, TWO_CHARTS = 150, ROWS_MIN = 5 };

static int least_of(int a, int b)
{
    return a < b ? a : b;
}

static int chart_height(const struct picture *p)
{
    return 1 + (int)p->state->pipe.stages;
}

/* The current step and, on a wide screen, the last one to its right. Returns
 * whether that was shown. */
static bool draw_charts(const struct picture *p, const struct area *area)
{
    const struct pipe *pipe = &p->state->pipe;
    const struct pipe_step *last = pipe_last(pipe);
    bool both = last && area->width >= TWO_CHARTS;
    int width = both ? area->width / 2 : area->width;
    struct area left = area_part(area, 0, 0, width, area->height);
    struct area right =
        area_part(area, width + 1, 0, area->width - width - 1, area->height);
    draw_gantt(p, &left, pipe_current(pipe));
    if (both)
        draw_gantt(p, &right, last);
    return both;
}

static const char *nothing_to_show(const struct picture *p)
{
    if (!p->state->pipe.here || p->state->pipe.stages == 0)
        return "no pipeline reported yet";
    return pipe_current(&p->state->pipe) ? NULL : "no pass has begun yet";
}

/* Takes so many rows from the top of *rest. */
static struct area split_top(struct area *rest, int rows)
{
    struct area top = area_part(rest, 0, 0, rest->width, rows);
    *rest =
        area_part(rest, 0, top.height, rest->width, rest->height - top.height);
    return top;
}

/* Charts and sums; *rest is the area left below. False: there is nothing to
 * show. */
static bool draw_top(const struct picture *p, struct area *rest, bool *both)
{
    const char *nothing = nothing_to_show(p);
    if (nothing) {
        struct area body = draw_title(p, rest, "pipeline");
        area_text(&body, 1, 0, STYLE_DIM, nothing);
        return false;
    }
    struct area charts =
        split_top(rest, least_of(chart_height(p), rest->height - 1));
    struct area sums = split_top(rest, 1);
    *both = draw_charts(p, &charts);
    draw_pipe_sums(p, &sums);
    return true;
}

void draw_pipeline(const struct picture *p, const struct area *area)
{
    struct area rest = *area;
    bool both;
    if (!draw_top(p, &rest, &both))
        return;
    const struct pipe_step *last = pipe_last(&p->state->pipe);
    int stages = least_of(chart_height(p), rest.height);
    if (stages < least_of(chart_height(p), ROWS_MIN))
        return;
    struct area table = split_top(&rest, stages);
    draw_pipe_stages(p, &table);
    if (last && !both && rest.height >= chart_height(p)) {
        struct area below = split_top(&rest, chart_height(p));
        draw_gantt(p, &below, last);
    }
}

void draw_pipe_overview(const struct picture *p, const struct area *area)
{
    struct area rest = *area;
    bool both;
    if (!draw_top(p, &rest, &both) ||
        rest.height < least_of(chart_height(p), ROWS_MIN))
        return;
    if (rest.width < SIDE_BY_SIDE) {
        draw_pipe_stages(p, &rest);
        return;
    }
    int half = rest.width / 2;
    struct area left = area_part(&rest, 0, 0, half, rest.height);
    struct area right =
        area_part(&rest, half + 1, 0, rest.width - half - 1, rest.height);
    struct area body = draw_title(p, &left, "stages");
    draw_pipe_stages(p, &body);
    draw_events(p, &right);
}
