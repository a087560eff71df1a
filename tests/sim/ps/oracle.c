/* SPDX-License-Identifier: MIT
 *
 * What must always hold of a parameter server, whatever happens to it; the
 * counters' own check stands with them in worker.c.
 */
#include "world.h"

#include <stdarg.h>
#include <stdio.h>

uint64_t counter_key(unsigned worker, unsigned counter)
{
    const unsigned both[] = {worker, counter};
    return gw_hash(both, sizeof both, 1);
}

uint64_t unit_key(unsigned unit)
{
    return gw_hash(&unit, sizeof unit, 7);
}

void oracle_fail(struct world *w, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!w->lost && !w->over)
        gw__sim_fail(w->sim, "%s", text);
}

/* In bsp a worker sees all rounds before its own, and nothing else. In kofn
 * as well, but for its share; the scale makes the sum the same. */
void oracle_granted(struct world *w, const struct gw_ps_work *work,
                    float shared)
{
    double rounds = (double)work->batch * PARTS;
    if (w->mode.kind == GW_PS_BSP && (double)shared != rounds)
        oracle_fail(w, "round %llu sees %g units, not %g",
                    (unsigned long long)work->batch, (double)shared, rounds);
    if ((double)shared > UNITS)
        oracle_fail(w, "%g units were counted, of %d", (double)shared, UNITS);
    if (work->staleness > w->mode.bound && w->mode.kind == GW_PS_SSP)
        oracle_fail(w, "staleness %llu under ssp:%u",
                    (unsigned long long)work->staleness, w->mode.bound);
}

void oracle_units(struct world *w, const float values[UNITS + 1])
{
    bool kofn = w->mode.kind == GW_PS_KOFN;
    float share = kofn ? (float)PARTS / (float)w->mode.bound : 1;
    for (unsigned unit = 0; unit < UNITS; unit++)
        if ((double)values[unit] != (double)share &&
            !(kofn && (double)values[unit] == 0))
            oracle_fail(w, "unit %u counted %g times", unit,
                        (double)values[unit]);
    if ((double)values[UNITS] != UNITS)
        oracle_fail(w, "the sum of all units is %g, not %d",
                    (double)values[UNITS], UNITS);
    w->units_read = true;
}

bool oracle_replicas_agree(struct world *w)
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

bool oracle_is_done(struct world *w)
{
    if (w->lost)
        return true;
    for (unsigned i = 0; i < w->workers; i++)
        if (!w->finished[i])
            return false;
    return w->units_read && warden_is_whole(w) && oracle_replicas_agree(w);
}
