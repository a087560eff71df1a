/* SPDX-License-Identifier: MIT
 *
 * All-to-all in two levels, for racks: inside its rack a rank hands each member
 * all blocks for that member's column; then the ranks of a column exchange what
 * they have collected, one message for all blocks between two racks.
 *
 *     (g-1) + (h-1) rounds and messages a rank, (h(g-1) + g(h-1))/p n bytes, of
 *     which g(h-1)/p n leave the rack, as in any all-to-all
 *
 * With h racks of g ranks: most blocks travel twice, once over fast links, so
 * that a rank sends h-1 messages to other racks instead of p-g. If g does not
 * divide p, a member of the short rack has several columns, and sends their
 * messages in one round.
 */
#include "plan/algo/racks.h"
#include "plan/algo/shape.h"

/* Each member sends the member `distance` to its right the blocks for that
 * member's columns. */
static void collect(struct gw_builder *b, const struct gw__racks *racks,
                    unsigned p, unsigned distance)
{
    for (unsigned rack = 0; rack < gw__racks_count(racks); rack++) {
        unsigned first = rack * racks->group;
        unsigned m = gw__racks_size(racks, rack);
        for (unsigned i = 0; distance < m && i < m; i++) {
            unsigned member = (i + distance) % m;
            gw__racks_columns(b, racks,
                              &(struct gw__run){.src = first + i,
                                                .dst = first + member,
                                                .action = GW_REPLACE},
                              (first + i) * p, member, m);
        }
    }
}

/* The rank that has collected blocks for a rank `distance` racks to the right
 * sends it all blocks of its own rack. */
static void exchange(struct gw_builder *b, const struct gw__racks *racks,
                     unsigned p, unsigned distance)
{
    unsigned count = gw__racks_count(racks);
    for (unsigned rack = 0; rack < count; rack++) {
        unsigned first = rack * racks->group;
        unsigned m = gw__racks_size(racks, rack);
        unsigned other = (rack + distance) % count;
        for (unsigned j = 0; j < gw__racks_size(racks, other); j++) {
            unsigned dst = other * racks->group + j;
            gw__builder_run(b, &(struct gw__run){.src = first + j % m,
                                                 .dst = dst,
                                                 .chunk = first * p + dst,
                                                 .stride = p,
                                                 .count = m,
                                                 .action = GW_REPLACE});
        }
    }
}

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    struct gw__racks racks = gw__racks_split(args);
    if (racks.rest == 0)
        gw_builder_ports(b, 1);
    for (unsigned distance = 1; distance < racks.group; distance++) {
        gw_builder_step(b);
        collect(b, &racks, args->ranks, distance);
    }
    for (unsigned distance = 1; distance < gw__racks_count(&racks);
         distance++) {
        gw_builder_step(b);
        exchange(b, &racks, args->ranks, distance);
    }
}

const struct gw_algo gw__algo_alltoall_hierarchical = {
    .name = "hierarchical",
    .collective = GW_ALLTOALL,
    .summary = "collected inside the racks, then exchanged across them",
    .formula =
        "(g-1) + (h-1) rounds, less than 2n bytes per rank, g(h-1)/p n to "
        "other racks",
    .source = "Tutel: Hwang et al., MLSys 2023 (two-dimensional hierarchical)",
    .valid = gw__any_ranks,
    .chunks = gw__chunk_a_pair,
    .emit = emit,
};
