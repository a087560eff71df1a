/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The recoveries from failures: one block per failed member, the newest first,
 * with the stages on one time scale.
 *
 *     rank 2, missed by rank 1
 *       noticed    +0 ns     #
 *       confirmed  +12.0 ms  ###########
 *       view       +14.1 ms  #############
 *       decided    +14.2 ms  #############
 *       resumed    +21.0 ms  ####################
 *       op 12: exclude
 *       chunks 3 kept, 1 redone (copies 5 and 2)
 *       epoch 2 of 3 members
 *
 * The supervisor of parameter servers reports all this in its status
 * (draw_recoveries.c); a recording of them has only events.
 */
#include "draw.h"

#include <inttypes.h>
#include <stdio.h>

enum { BAR_AT = 25, BAR_MAX = 60 };

static uint64_t since(const struct failover *f, enum stage stage)
{
    uint64_t begin_ns = failover_begin_ns(f);
    return f->time_ns[stage] > begin_ns ? f->time_ns[stage] - begin_ns : 0;
}

static void draw_bar(const struct picture *p, const struct area *area, int y,
                     double share)
{
    int room = area->width - BAR_AT - 1;
    int most = room < BAR_MAX ? room : BAR_MAX;
    int length = 1 + (int)(share * (most - 1));
    for (int x = 0; x < length && most > 0; x++)
        area_put(area, BAR_AT + x, y, STYLE_CHUNK, glyph(p->glyphs->full));
}

void draw_stage(const struct picture *p, const struct area *area, int y,
                const char *name, uint64_t ns, uint64_t longest_ns)
{
    char took[16];
    format_ns(ns, took);
    area_print(area, 3, y, STYLE_PLAIN, "%-9s  +%s", name, took);
    draw_bar(p, area, y, (double)ns / (double)(longest_ns ? longest_ns : 1));
}

static int draw_stages(const struct picture *p, const struct area *area, int y,
                       const struct failover *f)
{
    uint64_t longest = 1;
    for (unsigned stage = 0; stage < STAGES; stage++)
        if (f->reached[stage] && since(f, (enum stage)stage) > longest)
            longest = since(f, (enum stage)stage);
    for (unsigned i = 0; i < STAGES; i++) {
        enum stage stage = (enum stage)i;
        if (f->reached[stage])
            draw_stage(p, area, y++, stage_name(stage), since(f, stage),
                       longest);
    }
    return y;
}

static int draw_outcome(const struct area *area, int y,
                        const struct failover *f)
{
    char counts[64];
    if (f->reached[DECIDED]) {
        area_print(area, 3, y++, STYLE_PLAIN, "op %" PRIu32 ": %s", f->op,
                   f->fate == 0 ? "forward" : "exclude");
        area_text(area, 3, y++, STYLE_PLAIN, failover_counts(f, counts));
    }
    if (f->reached[VIEWED])
        area_print(area, 3, y++, STYLE_PLAIN,
                   "epoch %" PRIu32 " of %" PRId64 " members", f->epoch,
                   f->members);
    return y;
}

static int draw_one_failover(const struct picture *p, const struct area *area,
                             int y, const struct failover *f)
{
    const struct failovers *fs = &p->state->failovers;
    char who[24];
    int x =
        1 + area_text(area, 1, y, STYLE_BAD, failovers_name(fs, f->who, who));
    if (f->noticed_by != GW_NONE)
        area_print(area, x, y, STYLE_PLAIN, ", noticed by %s",
                   failovers_name(fs, f->noticed_by, who));
    y = draw_stages(p, area, y + 1, f);
    return draw_outcome(area, y, f) + 1;
}

/* A view that was attached late has no events of the earlier failures. */
static void draw_none(const struct picture *p, const struct area *area)
{
    if (p->state->recoveries == 0)
        area_text(area, 1, 0, STYLE_DIM, "no failures yet");
    else
        area_print(area, 1, 0, STYLE_DIM,
                   "before this view was attached: %zu; see ringctl status",
                   p->state->recoveries);
}

void draw_failover(const struct picture *p, const struct area *area)
{
    const struct failovers *fs = &p->state->failovers;
    struct area body = draw_title(p, area, "failover");
    int y = 0;
    if (p->state->ps.recovery_count > 0) {
        draw_recoveries(p, &body);
        return;
    }
    for (unsigned i = fs->count; i-- > 0 && y < body.height;)
        y = draw_one_failover(p, &body, y, &fs->list[i]);
    if (fs->count == 0)
        draw_none(p, &body);
}
