/* SPDX-License-Identifier: MIT
 *
 * Invariants of a parameter server under any faults; worker.c has the checks of
 * the counters.
 */
#include "ps_simulation.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

uint64_t counter_key(unsigned worker, unsigned counter)
{
    const unsigned both[] = {worker, counter};
    return gw_hash(both, sizeof both, 1);
}

uint64_t item_key(unsigned item)
{
    return gw_hash(&item, sizeof item, 7);
}

/* Of sums in f32 of thirds. */
#define ROUNDING 1e-4

void oracle_fail(struct ps_simulation *w, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!w->lost && !w->over)
        gw__sim_fail(w->sim, "%s", text);
}

/* In bsp a worker sees all rounds before its own, and no others. In kofn some
 * parts may be missing; the scale makes the sum the same. */
void oracle_granted(struct ps_simulation *w, const struct gw_ps_work *work,
                    float shared)
{
    double rounds = (double)work->batch * PARTS;
    bool whole = w->mode.kind == GW_PS_BSP && !w->mode.drop;
    if (whole && (double)shared != rounds)
        oracle_fail(w, "round %llu sees %g items, not %g",
                    (unsigned long long)work->batch, (double)shared, rounds);
    if ((double)shared > WORK_ITEMS + ROUNDING)
        oracle_fail(w, "%g items were counted, of %d", (double)shared,
                    WORK_ITEMS);
    if (work->staleness > w->mode.bound && w->mode.kind == GW_PS_SSP)
        oracle_fail(w, "staleness %llu under ssp:%u",
                    (unsigned long long)work->staleness, w->mode.bound);
}

static bool is_close(double a, double b)
{
    return fabs(a - b) < ROUNDING;
}

/* Lost parts are left out: in bsp and kofn the items of a batch that came count
 * as all of its parts, in ssp and asp each counts as itself. Returns how much
 * the batch counts. */
static double oracle_left_out(struct ps_simulation *w,
                              const float values[PARTS])
{
    bool rounds = w->mode.kind == GW_PS_BSP || w->mode.kind == GW_PS_KOFN;
    unsigned came = 0;
    for (unsigned part = 0; part < PARTS; part++)
        came += values[part] > 0;
    double share = rounds && came ? (double)PARTS / came : 1;
    for (unsigned part = 0; part < PARTS; part++)
        if (values[part] > 0 && !is_close((double)values[part], share))
            oracle_fail(w, "a unit counted %g times, and %u of %d came",
                        (double)values[part], came, PARTS);
    return came * share;
}

static void oracle_drop(struct ps_simulation *w,
                        const float values[WORK_ITEMS + 1])
{
    double all = 0;
    for (unsigned batch = 0; batch < BATCHES; batch++)
        all += oracle_left_out(w, values + (size_t)batch * PARTS);
    if (!is_close((double)values[WORK_ITEMS], all))
        oracle_fail(w, "the sum of all items is %g, not %g",
                    (double)values[WORK_ITEMS], all);
}

static void oracle_once(struct ps_simulation *w,
                        const float values[WORK_ITEMS + 1])
{
    bool kofn = w->mode.kind == GW_PS_KOFN;
    float share = kofn ? (float)PARTS / (float)w->mode.bound : 1;
    for (unsigned item = 0; item < WORK_ITEMS; item++)
        if ((double)values[item] != (double)share &&
            !(kofn && (double)values[item] == 0))
            oracle_fail(w, "unit %u counted %g times", item,
                        (double)values[item]);
    if ((double)values[WORK_ITEMS] != WORK_ITEMS)
        oracle_fail(w, "the sum of all items is %g, not %d",
                    (double)values[WORK_ITEMS], WORK_ITEMS);
}

void oracle_items(struct ps_simulation *w, const float values[WORK_ITEMS + 1])
{
    if (w->mode.drop)
        oracle_drop(w, values);
    else
        oracle_once(w, values);
    w->items_read = true;
}

bool oracle_replicas_agree(struct ps_simulation *w)
{
    for (unsigned slot = 0; slot < w->routes.slot_count; slot++) {
        const struct gw__slot_route *route = &w->routes.slots[slot];
        uint64_t digest = 0;
        for (unsigned i = 0; i < route->count; i++) {
            unsigned node = route->replica[i];
            if (!gw__sim_up(w->sim, node))
                return false;
            uint64_t its = gw__server_digest(w->server_cores[node - 1], slot);
            if (its == 0 || (i > 0 && its != digest))
                return false;
            digest = its;
        }
    }
    return true;
}

bool oracle_is_done(struct ps_simulation *w)
{
    if (w->lost)
        return true;
    for (unsigned i = 0; i < w->workers; i++)
        if (!w->finished[i])
            return false;
    return w->items_read && consensus_is_whole(w) && oracle_replicas_agree(w);
}
