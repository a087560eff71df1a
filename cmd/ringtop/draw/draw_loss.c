/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The loss over the steps: each column is the mean of some steps, as high as
 * the loss, in eighths of a row.
 */
#include "draw.h"

#include <inttypes.h>

enum { AXIS = 9 };

struct curve {
    const struct losses *losses;
    int columns;
    double least, most;
};

/* The mean of the points that fall into a column; false when there is none. */
static bool column_of(const struct curve *c, int column, double *mean)
{
    unsigned used = losses_used(c->losses);
    unsigned first = used * (unsigned)column / (unsigned)c->columns;
    unsigned end = used * (unsigned)(column + 1) / (unsigned)c->columns;
    double sum = 0;
    unsigned count = 0;
    for (unsigned i = first; i < end || i == first; i++) {
        sum += c->losses->sum[i];
        count += c->losses->count[i];
    }
    *mean = count > 0 ? sum / count : 0;
    return count > 0;
}

static bool find_range(struct curve *c)
{
    bool any = false;
    for (int x = 0; x < c->columns; x++) {
        double mean;
        if (!column_of(c, x, &mean))
            continue;
        c->least = !any || mean < c->least ? mean : c->least;
        c->most = !any || mean > c->most ? mean : c->most;
        any = true;
    }
    return any;
}

/* The lowest loss is one eighth high, so that it is visible. */
static void draw_column(const struct picture *p, const struct area *plot, int x,
                        const struct curve *c)
{
    double mean, range = c->most - c->least;
    if (!column_of(c, x, &mean))
        return;
    double share = range > 0 ? (mean - c->least) / range : 1;
    int eighths = 1 + (int)(share * (8 * plot->height - 1));
    for (int y = plot->height - 1; y >= 0 && eighths > 0; y--) {
        const char *level = p->glyphs->levels[eighths < 8 ? eighths : 8];
        area_put(plot, x, y, STYLE_CHUNK, glyph(level));
        eighths -= 8;
    }
}

static void draw_axes(const struct area *body, const struct curve *c)
{
    const struct losses *l = c->losses;
    int bottom = body->height - 2;
    area_print(body, 0, 0, STYLE_DIM, "%8.4f", c->most);
    if (bottom > 0)
        area_print(body, 0, bottom, STYLE_DIM, "%8.4f", c->least);
    area_print(body, AXIS, body->height - 1, STYLE_DIM,
               "steps %" PRIu64 " to %" PRIu64, l->first_step, l->last_step);
}

void draw_loss(const struct picture *p, const struct area *area)
{
    const struct losses *losses = &p->state->losses;
    unsigned used = losses_used(losses);
    if (used == 0) {
        struct area body = draw_title(p, area, "loss");
        area_text(&body, 1, 0, STYLE_DIM, "no loss reported yet");
        return;
    }
    struct area body = draw_title(p, area, "loss: %.6f at step %" PRIu64,
                                  losses->last, losses->last_step);
    struct area plot =
        area_part(&body, AXIS, 0, body.width - AXIS - 1, body.height - 1);
    struct curve curve = {.losses = losses, .columns = plot.width};
    if (curve.columns > 3 * (int)used) /* few points: not too wide bars */
        curve.columns = 3 * (int)used;
    if (curve.columns < 1 || !find_range(&curve))
        return;
    for (int x = 0; x < curve.columns; x++)
        draw_column(p, &plot, x, &curve);
    draw_axes(&body, &curve);
}
