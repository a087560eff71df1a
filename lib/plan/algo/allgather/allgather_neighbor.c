/* SPDX-License-Identifier: MIT
 *
 * All-gather, neighbour exchange: ranks pair up with the neighbour on one side,
 * then on the other, and so on in turns. First they exchange their own blocks;
 * from then on each sends the two blocks (a pair's) that it received last.
 *
 *     p/2 rounds, (p-1)/p n bytes per rank; p even
 *
 * Half of the ring's rounds, and still only neighbours exchange data. Pairs of
 * blocks travel in both directions. A pair that goes right in round i has
 * already come i/2 pairs (rounded down) from the left, and vice versa.
 */
#include "plan/algo/ring.h"
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    unsigned p = args->ranks, pairs = p / 2;
    gw_builder_ports(b, 1);
    for (unsigned round = 0; round < pairs; round++) {
        gw_builder_step(b);
        for (unsigned r = 0; r < p; r++) {
            bool right = (r + round) % 2 == 0;
            unsigned peer = (right ? r + 1 : r + p - 1) % p;
            unsigned come = right ? pairs - round / 2 : round / 2;
            unsigned pair = (r / 2 + come) % pairs;
            if (round == 0) {
                gw_builder_add(b, r, peer, r, GW_REPLACE);
            } else {
                gw_builder_add(b, r, peer, 2 * pair, GW_REPLACE);
                gw_builder_add(b, r, peer, 2 * pair + 1, GW_REPLACE);
            }
        }
    }
}

const struct gw_algo gw__algo_allgather_neighbor = {
    .name = "neighbor",
    .collective = GW_ALLGATHER,
    .summary = "exchange with the left and the right neighbour in turns",
    .formula = "p/2 rounds, (p-1)/p n bytes per rank",
    .source = "Chen, Zhang, Zhang, Yuan 2005 (HPC Asia)",
    .valid = gw__ring_pairs_up,
    .emit = emit,
    .chunks = gw__chunk_a_rank,
};
