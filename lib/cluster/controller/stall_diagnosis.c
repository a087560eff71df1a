/* SPDX-License-Identifier: MIT
 *
 * Finds the root of the waits-for graph; see stall_diagnosis.h.
 */
#include "stall_diagnosis.h"

#include <stdio.h>

const char *gw__phase_name(enum gw__phase phase)
{
    static const char *const names[GW__PHASE_COUNT] = {
#define X(phase, name) name,
        GW__PHASES(X)
#undef X
    };
    return phase < GW__PHASE_COUNT ? names[phase] : "?";
}

void gw__put_progress_report(struct gw__writer *w,
                             const struct gw__progress_report *s)
{
    gw__put_u64(w, s->stamp);
    gw__put_u64(w, s->op);
    gw__put_u64(w, s->moved);
    gw__put_u8(w, s->phase);
    gw__put_u16(w, s->waits_for);
}

void gw__get_progress_report(struct gw__reader *r,
                             struct gw__progress_report *s)
{
    s->stamp = gw__get_u64(r);
    s->op = gw__get_u64(r);
    s->moved = gw__get_u64(r);
    s->phase = (enum gw__phase)gw__get_u8_below(r, GW__PHASE_COUNT);
    s->waits_for = gw__get_u16(r);
    gw__reader_demand(r, s->waits_for < GW__NODES_MAX ||
                             s->waits_for == GW__WAITS_FOR_NONE);
}

static bool waits(const struct gw__progress_report *s)
{
    return s->phase != GW__COMPUTE && s->waits_for != GW__WAITS_FOR_NONE;
}

/* Why the path ends at `to`, for which `from` waits; GW__LAG_NONE if it
 * continues, because `to` waits itself. */
static enum gw__lag classify_wait(const struct gw__progress_report *from,
                                  const struct gw__progress_report *to,
                                  bool dead)
{
    if (dead)
        return GW__LAG_DEAD;
    if (to->stamp == 0)
        return GW__LAG_UNKNOWN;
    if (to->phase == GW__COMPUTE)
        return to->op <= from->op ? GW__LAG_NOT_ENTERED : GW__LAG_BEHIND;
    return waits(to) && to->op <= from->op ? GW__LAG_NONE : GW__LAG_BEHIND;
}

/* The nodes of the cycle through `node`. */
static struct gw_nodes cycle_through(const struct gw__progress_report *reports,
                                     unsigned node)
{
    struct gw_nodes cycle = {{0}};
    while (!gw__nodes_has(&cycle, node)) {
        gw__nodes_add(&cycle, node);
        node = reports[node].waits_for;
    }
    return cycle;
}

struct gw__stall_diagnosis
gw__stall_diagnosis_find(const struct gw__progress_report *reports,
                         const struct gw_nodes *dead, unsigned node)
{
    struct gw__stall_diagnosis found = {
        .lag = GW__LAG_NONE, .node = node, .waiter = node};
    struct gw_nodes visited = {{0}};
    while (found.lag == GW__LAG_NONE && waits(&reports[node])) {
        const struct gw__progress_report *from = &reports[node];
        unsigned next = from->waits_for;
        gw__nodes_add(&visited, node);
        found.waiter = node;
        found.op = from->op;
        found.phase = from->phase;
        found.node = next;
        found.lag =
            classify_wait(from, &reports[next], gw__nodes_has(dead, next));
        if (found.lag == GW__LAG_BEHIND && reports[next].op > from->op)
            found.node = node; /* `next` has already completed this op */
        if (found.lag == GW__LAG_NONE && gw__nodes_has(&visited, next)) {
            found.lag = GW__LAG_CYCLE;
            found.cycle = cycle_through(reports, next);
        }
        node = next;
    }
    return found;
}

static void cycle_text(const struct gw__stall_diagnosis *l, char out[160])
{
    int used = snprintf(out, 160, "nodes");
    for (unsigned i = 0; i < GW__NODES_MAX && used < 120; i++)
        if (gw__nodes_has(&l->cycle, i))
            used += snprintf(out + used, 160 - (size_t)used, " %u", i);
    snprintf(out + used, 160 - (size_t)used, " wait for each other in op %llu",
             (unsigned long long)l->op);
}

void gw__stall_diagnosis_text(const struct gw__stall_diagnosis *l,
                              char out[160])
{
    static const char *const reasons[GW__LAGS] = {
        [GW__LAG_DEAD] = "is dead",
        [GW__LAG_UNKNOWN] = "has not reported",
        [GW__LAG_NOT_ENTERED] = "has not entered it",
        [GW__LAG_BEHIND] = "lags behind",
    };
    unsigned long long op = l->op;
    const char *phase = gw__phase_name(l->phase);
    if (l->lag == GW__LAG_CYCLE)
        cycle_text(l, out);
    else if (l->lag == GW__LAG_NONE || l->lag >= GW__LAGS)
        snprintf(out, 160, "node %u does not wait", l->node);
    else if (l->node == l->waiter)
        snprintf(out, 160, "op %llu, %s: node %u lags behind", op, phase,
                 l->node);
    else
        snprintf(out, 160, "op %llu, %s: node %u %s; node %u waits for it", op,
                 phase, l->node, reasons[l->lag], l->waiter);
}
