/* SPDX-License-Identifier: MIT
 *
 * All-to-all, pairwise: one partner per round. If p is a power of two, the
 * partner of rank r is r XOR round; otherwise rank r sends to r + round and
 * receives from r - round.
 *
 *     p-1 rounds, (p-1)/p n bytes per rank (n: all blocks of a rank)
 *
 * The least possible bytes with one port. Thakur, Rabenseifner, Gropp, IJHPCA
 * 19(1), 2005, on all-to-all of long messages.
 */
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    unsigned p = args->ranks;
    bool power_of_two = (p & (p - 1)) == 0;
    gw_builder_ports(b, 1);
    for (unsigned round = 1; round < p; round++) {
        gw_builder_step(b);
        for (unsigned i = 0; i < p; i++) {
            unsigned j = power_of_two ? i ^ round : (i + round) % p;
            gw_builder_add(b, i, j, i * p + j, GW_REPLACE);
        }
    }
}

const struct gw_algo gw__algo_alltoall_pairwise = {
    .name = "pairwise",
    .collective = GW_ALLTOALL,
    .summary = "one partner per round",
    .formula = "p-1 rounds, (p-1)/p n bytes per rank",
    .source = "Thakur et al. 2005",
    .valid = gw__any_ranks,
    .chunks = gw__chunk_a_pair,
    .emit = emit,
};
