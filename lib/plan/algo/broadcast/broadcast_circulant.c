/* SPDX-License-Identifier: MIT
 *
 * Broadcast of k segments on the circulant graph: as fast as a binomial tree
 * for one segment, as economical as a chain for many, and better than both in
 * between.
 *
 *     k-1+ceil(log2 p) rounds of n/k bytes
 *
 * This is optimal with one port, for any p; each rank receives each segment
 * once. The best k is sqrt((ceil(log2 p)-1) n beta / alpha). Träff, arXiv
 * 2407.18004; the schedule is in circulant_schedule.c.
 */
#include "plan/algo/circulant_schedule.h"
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    gw_builder_ports(b, 1);
    for (unsigned round = 0; round < gw__circulant_rounds(args); round++) {
        gw_builder_step(b);
        struct gw__hop hop;
        for (unsigned i = 1; i < args->ranks; i++)
            if (gw__circulant_hop(args, round, i, &hop))
                gw_builder_add(b, hop.src, hop.dst, hop.chunk, GW_REPLACE);
    }
}

const struct gw_algo gw__algo_broadcast_circulant = {
    .name = "circulant",
    .collective = GW_BROADCAST,
    .summary = "k segments on the circulant graph, round-optimal for any p",
    .formula = "k-1+ceil(log2 p) rounds of n/k bytes",
    .source = "Träff, arXiv 2407.18004",
    .valid = gw__any_ranks,
    .chunks = gw__chunk_a_segment,
    .emit = emit,
};
