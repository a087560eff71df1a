/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See chaos_faults.h.
 */
#include "chaos_faults.h"

#include <stdlib.h>
#include <string.h>

static int compare_edges(const void *left, const void *right)
{
    const struct fault_edge *a = left, *b = right;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    if (a->ends != b->ends)
        return a->ends ? -1 : 1;
    return a->fault < b->fault ? -1 : a->fault > b->fault;
}

void fault_edges(const struct gw__faults *faults, struct fault_edges *out)
{
    out->count = 0;
    for (size_t i = 0; i < faults->count; i++) {
        const struct gw__fault *f = &faults->items[i];
        out->edges[out->count++] = (struct fault_edge){f->at_ns, f, false};
        if (f->for_ns)
            out->edges[out->count++] =
                (struct fault_edge){f->at_ns + f->for_ns, f, true};
    }
    qsort(out->edges, out->count, sizeof *out->edges, compare_edges);
}

bool fault_is_of_links(const struct gw__fault *fault)
{
    return gw__fault_verbs[fault->kind].operand == GW__OF_LINK;
}

bool fault_hits(const struct gw__fault *f, unsigned from, unsigned to)
{
    bool there = gw__nodes_has(&f->nodes, from) && gw__nodes_has(&f->to, to);
    bool back = f->both_ways && gw__nodes_has(&f->nodes, to) &&
                gw__nodes_has(&f->to, from);
    return from != to && fault_is_of_links(f) && (there || back);
}

static void add_fault(struct gw_link_profile *link, const struct gw__fault *f)
{
    enum { MILLION = 1000000, US = 1000 };
    uint64_t loss = (uint64_t)link->loss_ppm + f->chance;
    switch (f->kind) {
    case GW__CUT:
        link->down = true;
        break;
    case GW__DROP:
        link->loss_ppm = (uint32_t)(loss < MILLION ? loss : MILLION);
        break;
    case GW__DELAY:
        link->delay_us += (uint32_t)(f->least_ns / US);
        link->jitter_us += (uint32_t)((f->most_ns - f->least_ns) / US);
        break;
    default:
        break;
    }
}

/* Has the fault ended by then, by itself or by a heal? */
static bool fault_has_ended(const struct fault_edges *e, size_t begin,
                            size_t done)
{
    for (size_t i = begin + 1; i < done; i++)
        if (e->edges[i].fault->kind == GW__HEAL ||
            (e->edges[i].fault == e->edges[begin].fault && e->edges[i].ends))
            return true;
    return false;
}

struct gw_link_profile fault_link(const struct fault_edges *e, size_t done,
                                  unsigned from, unsigned to)
{
    struct gw_link_profile link = {0};
    for (size_t i = 0; i < done; i++)
        if (!e->edges[i].ends && fault_hits(e->edges[i].fault, from, to) &&
            !fault_has_ended(e, i, done))
            add_fault(&link, e->edges[i].fault);
    return link;
}
