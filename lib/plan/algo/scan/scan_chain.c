/* SPDX-License-Identifier: MIT
 *
 * Scan along a pipelined chain: the buffer is cut into k segments, and each rank
 * adds its segment to the sum of the rank before it and passes the result on.
 *
 *     k+p-2 rounds of n/k bytes
 *
 * Each rank sends and adds n bytes, the least possible. With one segment it is
 * the linear scan.
 */
#include "plan/algo/prefix.h"
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    gw_builder_ports(b, 1);
    gw__prefix_chain(b, 0, args->ranks, gw__chunk_a_segment(args));
}

const struct gw_algo gw__algo_scan_chain = {
    .name = "chain",
    .collective = GW_SCAN,
    .summary = "segments of the sum flow down a chain of ranks",
    .formula = "k+p-2 rounds of n/k bytes",
    .source = "pipelined linear scan: MPI Forum, MPI 4.0, section 6.11",
    .valid = gw__any_ranks,
    .emit = emit,
    .chunks = gw__chunk_a_segment,
};
