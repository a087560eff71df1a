/* SPDX-License-Identifier: MIT
 *
 * All-reduce, partitioned ("two-shot"): every rank is responsible for one part
 * of the vector. All send part j to rank j, which adds them up and sends the
 * sum to all.
 *
 *     2 rounds, 2(p-1) messages and 2(p-1)/p n bytes per rank
 *
 * The fewest bytes of any all-reduce, in two steps. One rank sums each part in
 * one pass, in an order that does not depend on the order of arrival.
 */
#include "plan/algo/shape.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    gw__algo_reduce_scatter_direct.emit(b, args);
    gw__algo_allgather_direct.emit(b, args);
}

const struct gw_algo gw__algo_allreduce_partitioned = {
    .name = "partitioned",
    .collective = GW_ALLREDUCE,
    .summary = "two-shot: rank j sums part j and sends it to all",
    .formula = "2 rounds, 2(p-1) messages, 2(p-1)/p n bytes per rank",
    .source = "two-shot kernels of NCCL 2.27 and MSCCL++ (arXiv 2504.09014)",
    .valid = gw__any_ranks,
    .emit = emit,
    .chunks = gw__chunk_a_rank,
    .direct = true,
};
