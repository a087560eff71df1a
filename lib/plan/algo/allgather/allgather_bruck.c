/* SPDX-License-Identifier: MIT
 *
 * All-gather after Bruck: a rank that holds the blocks of the next 2^i ranks,
 * itself included, receives as many from the rank 2^i further on; the last
 * round takes what is missing.
 *
 *     ceil(log2 p) rounds, (p-1)/p n bytes per rank; any p
 *
 * Optimal in both. In the paper blocks gather at the front of a buffer and are
 * rotated into place at the end; here each arrives where it belongs, and a
 * message is one or two contiguous pieces.
 */
#include "plan/algo/shape.h"
#include "plan/algo/shift.h"

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    unsigned p = args->ranks;
    gw_builder_ports(b, 1);
    for (unsigned held = 1; held < p; held *= 2)
        gw__shift_gather(b, p, held, 2 * held < p ? 2 * held : p);
}

const struct gw_algo gw__algo_allgather_bruck = {
    .name = "bruck",
    .collective = GW_ALLGATHER,
    .summary = "receive from 1, 2, 4, ... ranks further on, any p",
    .formula = "ceil(log2 p) rounds, (p-1)/p n bytes per rank",
    .source = "Bruck, Ho, Kipnis, Upfal, Weathersby 1997, section 4",
    .valid = gw__any_ranks,
    .emit = emit,
    .chunks = gw__chunk_a_rank,
};
