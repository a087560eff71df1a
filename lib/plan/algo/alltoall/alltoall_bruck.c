/* SPDX-License-Identifier: MIT
 *
 * All-to-all by Bruck: a block that has to go `distance` ranks to the right
 * travels by the bits of that number. In the round of 2^k every rank forwards,
 * 2^k ranks on and as one message, all blocks whose distance has bit k.
 *
 *     ceil(log2 p) rounds, about (n/2) log2 p bytes per rank (n: all blocks of a
 *     rank; exactly n/p times the number of one bits in 0 .. p-1)
 *
 * The fewest rounds, at the price of more bytes: for short blocks. Bruck et
 * al., IEEE TPDS 8(11), 1997 (the index operation, radix 2).
 *
 * The paper rotates the blocks before and after, so that a message is
 * contiguous. Here chunks have names, so nothing is rotated.
 */
#include "plan/algo/shape.h"

/* Each rank's block for the rank `distance` to its right has already travelled
 * as far as the bits of `distance` below `hop`. */
static void forward(struct gw_builder *b, unsigned p, unsigned distance,
                    unsigned hop)
{
    unsigned come = distance & (hop - 1);
    for (unsigned i = 0; i < p; i++)
        gw_builder_add(b, (i + come) % p, (i + come + hop) % p,
                       i * p + (i + distance) % p, GW_REPLACE);
}

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    unsigned p = args->ranks;
    gw_builder_ports(b, 1);
    for (unsigned hop = 1; hop < p; hop *= 2) {
        gw_builder_step(b);
        for (unsigned distance = hop; distance < p; distance++)
            if (distance & hop)
                forward(b, p, distance, hop);
    }
}

const struct gw_algo gw__algo_alltoall_bruck = {
    .name = "bruck",
    .collective = GW_ALLTOALL,
    .summary = "blocks travel by the bits of their distance",
    .formula = "ceil(log2 p) rounds, about (n/2) log2 p bytes per rank",
    .source = "Bruck et al. 1997",
    .valid = gw__any_ranks,
    .chunks = gw__chunk_a_pair,
    .emit = emit,
};
