/* SPDX-License-Identifier: MIT
 *
 * All-gather, recursive doubling (hypercube): in round i ranks 2^i apart
 * exchange all blocks that they hold, which doubles their number.
 *
 *     log2 p rounds, (p-1)/p n bytes per rank; p a power of two
 *
 * Optimal in both, and every message is one contiguous piece; Bruck serves any
 * p with the same counts. The exchange itself is in butterfly.c.
 */
#include "plan/algo/butterfly.h"
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    struct gw__rank_fold all = gw__rank_fold_of(args->ranks);
    gw_builder_ports(b, 1);
    gw__butterfly_allgather(b, &all, &all);
}

const struct gw_algo gw__algo_allgather_recursive_doubling = {
    .name = "recursive_doubling",
    .collective = GW_ALLGATHER,
    .summary = "ranks 1, 2, 4, ... apart exchange all their blocks (p = 2^k)",
    .formula = "log2 p rounds, (p-1)/p n bytes per rank",
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.1",
    .valid = gw__power_of_two,
    .emit = emit,
    .chunks = gw__chunk_a_rank,
};
