/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The recoveries of servers and workers, as the supervisor reports them. The
 * times start with the cause of the failure if the supervisor knows it.
 *
 *     server 0 (exit)
 *       detected   +0.40 ms  #
 *       confirmed  +12.0 ms  ###########
 *       served     +21.0 ms  ####################
 *       epoch 7
 */
#include "draw.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static uint64_t ns_of(double ms)
{
    return isfinite(ms) && ms > 0 && ms < 1e12 ? (uint64_t)(ms * 1e6) : 0;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static int draw_recovery(const struct picture *p, const struct area *area,
                         int y, const struct ps_recovery *r)
{
    const struct {
        const char *name;
        double ms;
    } stages[] = {{"detected", r->detected_ms},
                  {"confirmed", r->decided_ms},
                  {"served", r->resumed_ms}};
    uint64_t longest = later(ns_of(r->detected_ms),
                             later(ns_of(r->decided_ms), ns_of(r->resumed_ms)));
    int x = 1 + area_text(area, 1, y, STYLE_BAD, r->names);
    area_print(area, x + 1, y++, STYLE_PLAIN, "(%s)", r->how);
    for (unsigned i = 0; i < sizeof stages / sizeof *stages; i++)
        if (isfinite(stages[i].ms))
            draw_stage(p, area, y++, stages[i].name, ns_of(stages[i].ms),
                       longest);
    if (!isfinite(r->resumed_ms) && strstr(r->names, "server"))
        area_text(area, 3, y++, STYLE_WARN, "not all its slots are served yet");
    area_print(area, 3, y++, STYLE_PLAIN, "epoch %" PRIu64, r->epoch);
    return y + 1;
}

void draw_recoveries(const struct picture *p, const struct area *area)
{
    const struct ps_members *ps = &p->state->ps;
    int y = 0;
    for (unsigned i = ps->recovery_count; i-- > 0 && y < area->height;)
        y = draw_recovery(p, area, y, &ps->recoveries[i]);
}
