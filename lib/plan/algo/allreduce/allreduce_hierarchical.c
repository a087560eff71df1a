/* SPDX-License-Identifier: MIT
 *
 * All-reduce in two levels, for racks (or hosts) whose inner links are faster
 * than the links between them. With g ranks per rack and h racks, in rings:
 *
 *     1. reduce-scatter inside each rack: its member j holds part j of g
 *     2. all-reduce of part j across the racks, among the members j
 *     3. all-gather inside each rack
 *
 *     2(g-1) + 2(h-1) rounds, 2(p-1)/p n bytes per rank,
 *     of which 2(h-1)/h n/g leave the rack
 *
 * Those are the fewest bytes, in about 4 sqrt(p) rounds instead of 2(p-1).
 * racks.h defines which ranks form a rack.
 *
 * If g does not divide p, the last rack is short: its members share g parts
 * among them, hand their sums to the first rack before step 2, and receive the
 * results after it: 2 rounds more.
 */
#include "plan/algo/racks.h"
#include "plan/algo/ring.h"
#include "plan/algo/shape.h"

typedef void (*ring_round)(struct gw_builder *, const struct gw__ring *,
                           unsigned);

static unsigned chunks(const struct gw_algo_args *args)
{
    struct gw__racks racks = gw__racks_split(args);
    return racks.group * racks.full;
}

/* The rings of all racks advance together; part j is a block of `full`
 * chunks. */
static void inside(struct gw_builder *b, const struct gw__racks *racks,
                   ring_round turn)
{
    unsigned count = gw__racks_count(racks);
    for (unsigned round = 0; round + 1 < racks->group; round++) {
        gw_builder_step(b);
        for (unsigned t = 0; t < count; t++) {
            struct gw__ring ring = {.first = t * racks->group,
                                    .stride = 1,
                                    .members = gw__racks_size(racks, t),
                                    .width = racks->full,
                                    .parts = racks->group};
            turn(b, &ring, round);
        }
    }
}

/* The members j of all full racks form a ring for part j. */
static void across(struct gw_builder *b, const struct gw__racks *racks,
                   ring_round turn)
{
    for (unsigned round = 0; round + 1 < racks->full; round++) {
        gw_builder_step(b);
        for (unsigned part = 0; part < racks->group; part++) {
            struct gw__ring ring = {.first = part,
                                    .stride = racks->group,
                                    .members = racks->full,
                                    .chunk = part * racks->full,
                                    .width = 1,
                                    .parts = racks->full};
            turn(b, &ring, round);
        }
    }
}

/* The short rack hands its sums in to the first one, or receives results. */
static void fold_short_rack(struct gw_builder *b, const struct gw__racks *racks,
                            enum gw_action action)
{
    if (racks->rest == 0)
        return;
    gw_builder_step(b);
    for (unsigned part = 0; part < racks->group; part++) {
        unsigned keeper = part;
        unsigned member = racks->full * racks->group + part % racks->rest;
        gw__builder_run(
            b, &(struct gw__run){.src = action == GW_ADD ? member : keeper,
                                 .dst = action == GW_ADD ? keeper : member,
                                 .chunk = part * racks->full,
                                 .stride = 1,
                                 .count = racks->full,
                                 .action = action});
    }
}

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    struct gw__racks racks = gw__racks_split(args);
    if (racks.rest == 0)
        gw_builder_ports(b, 1);
    inside(b, &racks, gw__ring_reduce);
    fold_short_rack(b, &racks, GW_ADD);
    across(b, &racks, gw__ring_reduce);
    across(b, &racks, gw__ring_gather);
    fold_short_rack(b, &racks, GW_REPLACE);
    inside(b, &racks, gw__ring_gather);
}

const struct gw_algo gw__algo_allreduce_hierarchical = {
    .name = "hierarchical",
    .collective = GW_ALLREDUCE,
    .summary = "rings inside the racks and across them",
    .formula = "2(g-1) + 2(h-1) rounds, 2(p-1)/p n bytes per rank,"
               " 2(h-1)/h n/g of them between racks",
    .source = "BlueConnect: Cho, Finkler, Serrano, Kung, Hunter, MLSys 2019",
    .valid = gw__any_ranks,
    .emit = emit,
    .chunks = chunks,
};
