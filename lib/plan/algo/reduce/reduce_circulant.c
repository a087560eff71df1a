/* SPDX-License-Identifier: MIT
 *
 * Reduce on the circulant graph: the broadcast of broadcast_circulant.c run
 * backwards, rounds from the last to the first and every hop reversed. For each
 * segment the hops of the broadcast form a tree away from the root. So,
 * backwards, a rank receives all of its contributions to a segment before it
 * sends the sum, once.
 *
 *     k-1+ceil(log2 p) rounds of n/k bytes, sent and reduced
 *
 * This is optimal with one port, for any p. Träff, arXiv 2407.18004.
 */
#include "plan/algo/circulant_schedule.h"
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    gw_builder_ports(b, 1);
    for (unsigned round = gw__circulant_rounds(args); round-- > 0;) {
        gw_builder_step(b);
        struct gw__hop hop;
        for (unsigned i = 1; i < args->ranks; i++)
            if (gw__circulant_hop(args, round, i, &hop))
                gw_builder_add(b, hop.dst, hop.src, hop.chunk, GW_ADD);
    }
}

const struct gw_algo gw__algo_reduce_circulant = {
    .name = "circulant",
    .collective = GW_REDUCE,
    .summary = "the circulant broadcast backwards, round-optimal for any p",
    .formula = "k-1+ceil(log2 p) rounds of n/k bytes",
    .source = "Träff, arXiv 2407.18004",
    .valid = gw__any_ranks,
    .chunks = gw__chunk_a_segment,
    .emit = emit,
};
