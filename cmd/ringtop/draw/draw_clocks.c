/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The workers' clocks: how many items each has finished, how far it is ahead of
 * the slowest, and its current item. Below them, the staleness of pulled data:
 * items by the number of clocks that their worker was ahead.
 *
 *     worker state   clock         ahead item         phase   waited items/s
 *         w0 alive      41 ███        2  e1 b10 p3/4  compute    12%    24.6
 *         w1 alive      39 █          0  e1 b10 p1/4  wait       60%     9.8
 *     -- staleness of 123 items: bsp, closed 40, redone 1 ------------
 *       0 ██████████████████ 100
 *       1 ████ 23
 */
#include "table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { BAR = 7 };

static const struct ps_worker_state *worker_of(const struct picture *p,
                                               unsigned w)
{
    return &p->state->ps.workers[w];
}

/* ---- columns ---- */

static void write_worker(const struct picture *p, unsigned w, char *out,
                         size_t size)
{
    (void)p;
    table_name('w', w, 6, out, size);
}

static void write_state(const struct picture *p, unsigned w, char *out,
                        size_t size)
{
    snprintf(out, size, "%s", ps_state_name(worker_of(p, w)->state));
}

static enum style state_style(const struct picture *p, unsigned w)
{
    return ps_state_style(worker_of(p, w)->state);
}

static void write_clock(const struct picture *p, unsigned w, char *out,
                        size_t size)
{
    const struct ps_worker_state *worker = worker_of(p, w);
    table_number(worker->clocked, worker->clock, 6, out, size);
}

/* Clocks ahead of the slowest; false: it does not count, as its clock is
 * unknown or it is gone. */
static bool ahead_of(const struct picture *p, unsigned w, uint64_t *ahead,
                     uint64_t *span)
{
    const struct ps_worker_state *worker = worker_of(p, w);
    uint64_t least, most;
    if (!worker->clocked || worker->gone_ns > 0 ||
        !ps_span(&p->state->ps, &least, &most))
        return false;
    *ahead = worker->clock - least;
    *span = most - least;
    return true;
}

static void write_ahead(const struct picture *p, unsigned w, char *out,
                        size_t size)
{
    uint64_t ahead = 0, span;
    bool counts = ahead_of(p, w, &ahead, &span);
    table_number(counts, ahead, 5, out, size);
}

/* One character per clock, and one for the slowest; fewer, if they do not fit.
 */
static void write_bar(const struct picture *p, unsigned w, char *out,
                      size_t size)
{
    uint64_t ahead, span;
    size_t at = 0;
    *out = 0;
    if (!ahead_of(p, w, &ahead, &span))
        return;
    uint64_t length = 1 + (span < BAR ? ahead : ahead * (BAR - 1) / span);
    for (uint64_t i = 0; i < length && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s", p->glyphs->full);
}

static enum style bar_style(const struct picture *p, unsigned w)
{
    (void)p;
    (void)w;
    return STYLE_CHUNK;
}

static void write_work_item(const struct picture *p, unsigned w, char *out,
                            size_t size)
{
    const struct ps_worker_state *worker = worker_of(p, w);
    int used = 0;
    if (!worker->in_hand) { /* a narrow table has no other column for it */
        bool there = ps_is_there(worker->state);
        snprintf(out, size, "%s", there ? "-" : ps_state_name(worker->state));
        return;
    }
    used = snprintf(out, size, "e%" PRIu64 " b%" PRIu64 " p%u", worker->epoch,
                    worker->batch, worker->part);
    if (worker->parts > 0 && used > 0 && (size_t)used < size)
        snprintf(out + used, size - (size_t)used, "/%u", worker->parts);
}

static void write_phase(const struct picture *p, unsigned w, char *out,
                        size_t size)
{
    const char *phase = worker_of(p, w)->phase;
    snprintf(out, size, "%s", *phase ? phase : "-");
}

static void write_waited(const struct picture *p, unsigned w, char *out,
                         size_t size)
{
    double share = worker_of(p, w)->waited;
    if (isfinite(share))
        snprintf(out, size, "%5.0f%%", share * 100);
    else
        snprintf(out, size, "%6s", "-");
}

static void write_rate(const struct picture *p, unsigned w, char *out,
                       size_t size)
{
    table_real(worker_of(p, w)->work_items_per_second, 1, 7, out, size);
}

static enum style work_item_style(const struct picture *p, unsigned w)
{
    return worker_of(p, w)->in_hand ? STYLE_PLAIN : state_style(p, w);
}

static const struct table_column columns[] = {
    {"worker", 6, 0, write_worker, NULL},
    {"state", 8, 5, write_state, state_style},
    {" clock", 6, 1, write_clock, NULL},
    {"", BAR, 4, write_bar, bar_style},
    {"ahead", 5, 2, write_ahead, NULL},
    {"item", 13, 3, write_work_item, work_item_style},
    {"phase", 8, 6, write_phase, NULL},
    {"waited", 6, 7, write_waited, NULL},
    {"items/s", 7, 8, write_rate, NULL},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* ---- the staleness ---- */

struct histogram {
    const uint64_t *counts;
    uint64_t all, most;
    unsigned used; /* buckets up to the last that is not empty */
};

static struct histogram histogram_of(const struct ps_members *ps)
{
    struct histogram h = {.counts = ps_staleness(ps)};
    for (unsigned i = 0; i <= GW_PS_STALENESS_MAX; i++) {
        h.all += h.counts[i];
        h.most = h.counts[i] > h.most ? h.counts[i] : h.most;
        h.used = h.counts[i] > 0 ? i + 1 : h.used;
    }
    return h;
}

static int histogram_height(const struct ps_members *ps)
{
    struct histogram h = histogram_of(ps);
    return 1 + (h.used ? (int)h.used : 1);
}

static void report_counts(const struct ps_clock *clock, char *out, size_t size)
{
    int used = snprintf(out, size, "; %s, closed %" PRIu64, clock->mode,
                        clock->closed);
    if (clock->dropped > 0 && used > 0 && (size_t)used < size)
        used += snprintf(out + used, size - (size_t)used, ", dropped %" PRIu64,
                         clock->dropped);
    if (clock->redone > 0 && used > 0 && (size_t)used < size)
        snprintf(out + used, size - (size_t)used, ", redone %" PRIu64,
                 clock->redone);
}

static void draw_bucket(const struct picture *p, const struct area *area, int y,
                        unsigned ahead, const struct histogram *h)
{
    enum { AT = 5, COUNT = 12, LONGEST = 50 };
    int room = area->width - AT - COUNT;
    int most = room < LONGEST ? room : LONGEST, x = AT;
    double share = h->most ? (double)h->counts[ahead] / (double)h->most : 0;
    int length = h->counts[ahead] ? 1 + (int)(share * (most - 1)) : 0;
    area_print(area, 1, y, STYLE_PLAIN, "%3u", ahead);
    for (; x < AT + length; x++)
        area_put(area, x, y, STYLE_CHUNK, glyph(p->glyphs->full));
    area_print(area, x + 1, y, STYLE_PLAIN, "%" PRIu64, h->counts[ahead]);
}

static void draw_staleness(const struct picture *p, const struct area *area)
{
    const struct ps_members *ps = &p->state->ps;
    struct histogram h = histogram_of(ps);
    enum { ROOM_FOR_COUNTS = 60 };
    char counts[96] = "";
    if (ps->clock.reported && area->width >= ROOM_FOR_COUNTS)
        report_counts(&ps->clock, counts, sizeof counts);
    struct area body =
        draw_title(p, area, "staleness of %" PRIu64 " items%s", h.all, counts);
    if (h.all == 0)
        area_text(&body, 1, 0, STYLE_DIM, "no work item granted yet");
    for (unsigned i = 0; i < h.used; i++)
        draw_bucket(p, &body, (int)i, i, &h);
}

/* ---- the panel ---- */

static uint64_t weight_of(const struct picture *p, unsigned w)
{
    const struct ps_worker_state *worker = worker_of(p, w);
    switch (p->view->sort) {
    case SORT_STATE:
        return ps_state_weight(state_style(p, w));
    case SORT_OP: /* the slowest first */
        return UINT64_MAX - (worker->clocked ? worker->clock : 0);
    case SORT_WAIT:
        return isfinite(worker->waited) ? (uint64_t)(worker->waited * 1e6) : 0;
    case SORT_SENT:
        return worker->clocked ? worker->clock : 0;
    default:
        return 0;
    }
}

static unsigned worker_order(const struct picture *p,
                             unsigned order[PS_WORKERS])
{
    const struct ps_members *ps = &p->state->ps;
    unsigned count = 0;
    for (unsigned w = 0; w < ps->worker_count; w++)
        if (ps->workers[w].known &&
            !ps_gone(ps->workers[w].gone_ns, p->state->now_ns))
            order[count++] = w;
    table_sort(p, order, count, weight_of);
    return count;
}

static void draw_workers(const struct picture *p, const struct area *area,
                         const unsigned *order, unsigned count)
{
    struct table table = table_fit(columns, COLUMNS, area->width - 1);
    table_list(&table, p, area, order, count, "worker");
}

/* The workers, and the histogram below them if there is room for both. If there
 * is not enough for all of both, the histogram gets a third. */
void draw_clocks(const struct picture *p, const struct area *area)
{
    enum { ROWS_MIN = 3 };
    unsigned order[PS_WORKERS];
    unsigned count = worker_order(p, order);
    struct area body = draw_title(p, area, "clocks");
    int rows = 1 + (count ? (int)count : 1);
    int below = histogram_height(&p->state->ps);
    if (rows + below > body.height) {
        int third = body.height / 3;
        below = below < third ? below : third;
        below = body.height - rows > below ? body.height - rows : below;
    }
    if (below < ROWS_MIN && rows + below > body.height)
        below = 0;
    int above = body.height - below < rows ? body.height - below : rows;
    struct area workers = area_part(&body, 0, 0, body.width, above);
    struct area rest =
        area_part(&body, 0, above, body.width, body.height - above);
    draw_workers(p, &workers, order, count);
    if (below > 0)
        draw_staleness(p, &rest);
}
