/* SPDX-License-Identifier: MIT
 *
 * Racks, their columns, rings and trees; see racks.h.
 */
#include "racks.h"

#include <assert.h>

struct gw__racks gw__racks_split(const struct gw_algo_args *args)
{
    unsigned p = args->ranks, g = args->group;
    if (g == 0) {
        for (unsigned d = 1; d * d <= p; d++)
            g = p % d == 0 ? d : g;
        if (g == 1)
            g = p;
    }
    g = g < p ? g : p;
    assert(g > 0);
    return (struct gw__racks){.group = g, .full = p / g, .rest = p % g};
}

unsigned gw__racks_count(const struct gw__racks *racks)
{
    return racks->full + (racks->rest > 0);
}

unsigned gw__racks_size(const struct gw__racks *racks, unsigned rack)
{
    return rack < racks->full ? racks->group : racks->rest;
}

/* ---- columns ---- */

void gw__racks_columns(struct gw_builder *b, const struct gw__racks *racks,
                       const struct gw__run *run, unsigned base,
                       unsigned member, unsigned members)
{
    struct gw__run part = *run;
    unsigned count = gw__racks_count(racks);
    if (members == racks->group) { /* one column */
        part.chunk = base + member;
        part.stride = racks->group;
        part.count = racks->full + (member < racks->rest);
        gw__builder_run(b, &part);
        return;
    }
    for (unsigned rack = 0; rack < count; rack++) {
        unsigned size = gw__racks_size(racks, rack);
        part.chunk = base + rack * racks->group + member;
        part.stride = members;
        part.count =
            member < size ? (size - member + members - 1) / members : 0;
        gw__builder_run(b, &part);
    }
}

/* Member j passes the columns of member j - lag on to member j + 1. */
static void round_inside(struct gw_builder *b, const struct gw__racks *racks,
                         unsigned lag, enum gw_action action)
{
    unsigned count = gw__racks_count(racks);
    for (unsigned rack = 0; rack < count && !gw__builder_failed(b); rack++) {
        unsigned first = rack * racks->group;
        unsigned m = gw__racks_size(racks, rack);
        unsigned last_lag = action == GW_ADD ? m - 1 : m - 2;
        for (unsigned j = 0; m > 1 && lag <= last_lag && j < m; j++)
            gw__racks_columns(b, racks,
                              &(struct gw__run){.src = first + j,
                                                .dst = first + (j + 1) % m,
                                                .action = action},
                              0, (j + m - lag) % m, m);
    }
}

static void round_across(struct gw_builder *b, const struct gw__racks *racks,
                         unsigned lag, enum gw_action action)
{
    for (unsigned column = 0; column < racks->group && !gw__builder_failed(b);
         column++) {
        unsigned m = racks->full + (column < racks->rest);
        unsigned last_lag = action == GW_ADD ? m - 1 : m - 2;
        for (unsigned t = 0; m > 1 && lag <= last_lag && t < m; t++)
            gw_builder_add(b, t * racks->group + column,
                           (t + 1) % m * racks->group + column,
                           (t + m - lag) % m * racks->group + column, action);
    }
}

void gw__racks_inside(struct gw_builder *b, const struct gw__racks *racks,
                      enum gw_action action)
{
    for (unsigned round = 0; round + 1 < racks->group; round++) {
        gw_builder_step(b);
        round_inside(b, racks, round + (action == GW_ADD), action);
    }
}

void gw__racks_across(struct gw_builder *b, const struct gw__racks *racks,
                      enum gw_action action)
{
    for (unsigned round = 0; round + 1 < gw__racks_count(racks); round++) {
        gw_builder_step(b);
        round_across(b, racks, round + (action == GW_ADD), action);
    }
}

void gw__racks_lacking(struct gw_builder *b, const struct gw__racks *racks,
                       enum gw_action action)
{
    if (racks->rest == 0)
        return;
    gw_builder_step(b);
    for (unsigned column = racks->rest; column < racks->group; column++) {
        unsigned member = racks->full * racks->group + column % racks->rest;
        bool in = action == GW_ADD;
        gw__builder_run(b, &(struct gw__run){.src = in ? member : column,
                                             .dst = in ? column : member,
                                             .chunk = column,
                                             .stride = racks->group,
                                             .count = racks->full,
                                             .action = action});
    }
}

/* ---- trees ---- */

/* The rank at `place` of rack `rack`, counted from the rack's root: the root in
 * its own rack, the first rank in others. */
static unsigned at_place(const struct gw__racks *racks, unsigned rack,
                         unsigned root, unsigned place)
{
    unsigned speaker = rack == root / racks->group ? root % racks->group : 0;
    unsigned size = gw__racks_size(racks, rack);
    assert(size > 0); /* a rack has at least one rank */
    return rack * racks->group + (speaker + place) % size;
}

static void add_edge(struct gw_builder *b, unsigned parent, unsigned child,
                     enum gw_action action)
{
    bool away = action == GW_REPLACE;
    gw_builder_add(b, away ? parent : child, away ? child : parent, 0, action);
}

void gw__racks_tree_across(struct gw_builder *b, const struct gw__racks *racks,
                           unsigned root, unsigned span, enum gw_action action)
{
    unsigned count = gw__racks_count(racks), home = root / racks->group;
    for (unsigned child = span; child < count; child += 2 * span)
        add_edge(b, at_place(racks, (home + child - span) % count, root, 0),
                 at_place(racks, (home + child) % count, root, 0), action);
}

void gw__racks_tree_inside(struct gw_builder *b, const struct gw__racks *racks,
                           unsigned root, unsigned span, enum gw_action action)
{
    unsigned count = gw__racks_count(racks);
    for (unsigned rack = 0; rack < count; rack++)
        for (unsigned child = span; child < gw__racks_size(racks, rack);
             child += 2 * span)
            add_edge(b, at_place(racks, rack, root, child - span),
                     at_place(racks, rack, root, child), action);
}
