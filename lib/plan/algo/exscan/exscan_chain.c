/* SPDX-License-Identifier: MIT
 *
 * Exclusive scan along a pipelined chain: a shift by one rank, then the chain of
 * scan_chain.c from rank 1 on.
 *
 *     1 round of n bytes, k+p-3 rounds of n/k bytes
 */
#include "plan/algo/prefix.h"
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    unsigned segments = gw__chunk_a_segment(args);
    gw_builder_ports(b, 1);
    gw__prefix_shift(b, args->ranks, segments);
    gw__prefix_chain(b, 1, args->ranks, segments);
}

const struct gw_algo gw__algo_exscan_chain = {
    .name = "chain",
    .collective = GW_EXSCAN,
    .summary = "a shift by one rank, then segments flow down a chain",
    .formula = "1 round of n bytes, then k+p-3 of n/k",
    .source = "pipelined linear scan: MPI Forum, MPI 4.0, section 6.11",
    .valid = gw__any_ranks,
    .emit = emit,
    .chunks = gw__chunk_a_segment,
};
