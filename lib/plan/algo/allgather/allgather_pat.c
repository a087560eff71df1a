/* SPDX-License-Identifier: MIT
 *
 * All-gather by parallel aggregated trees (PAT). Every block spreads along a
 * binomial tree whose root is its owner: place x, which is x ranks after the
 * root, receives from place x - (lowest set bit of x). All p trees grow at
 * once, far to near: ranks p/2 apart exchange one block, direct neighbours half
 * of all, so that the longest links carry the least.
 *
 * A message aggregates blocks of at most A trees. Let A be a power of two and P
 * be p rounded up to one. In the first log2 A rounds every tree reaches its
 * places at multiples of P/A; then the places between them, one x after the
 * other, each together with x + P/A, x + 2P/A, ..., depth first.
 *
 *     log2 A + P/A - 1 rounds (p-1 for A = 1), (p-1)/p n bytes per rank; any p
 *
 * `segments` sets A; the default aggregates all, in ceil(log2 p) rounds. NCCL
 * limits A by the size of its staging buffers; here blocks arrive in place.
 */
#include "plan/algo/shape.h"
#include "plan/algo/shift.h"

/* A round in which the places x, x + gap, x + 2 gap, ... of every tree receive,
 * each from the place without its lowest bit, which is that of x. */
static void receive_round(struct gw_builder *b, unsigned p, unsigned x,
                          unsigned gap)
{
    if (x >= p)
        return;
    unsigned distance = x & -x;
    unsigned count = (p - x - 1) / gap + 1;
    unsigned farthest = x - distance + (count - 1) * gap;
    gw_builder_step(b);
    gw__shift_add(b, &(struct gw__shift){
                         .ranks = p,
                         .distance = distance,
                         .first = p - farthest,
                         .stride = gap,
                         .count = count,
                         .action = GW_REPLACE,
                     });
}

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    unsigned p = args->ranks, places = 1, aggregated = 1;
    while (places < p)
        places *= 2;
    unsigned most = args->segments ? args->segments : places;
    while (aggregated < places && aggregated <= most / 2)
        aggregated *= 2;
    unsigned gap = places / aggregated;
    gw_builder_ports(b, 1);
    for (unsigned x = places / 2; x >= gap && x > 0; x /= 2)
        receive_round(b, p, x, 2 * x);
    for (unsigned half = gap / 2; half > 0; half /= 2)
        for (unsigned x = half; x < 2 * half; x++)
            receive_round(b, p, x, gap);
}

const struct gw_algo gw__algo_allgather_pat = {
    .name = "pat",
    .collective = GW_ALLGATHER,
    .summary = "parallel aggregated trees: the far ranks first, any p",
    .formula = "ceil(log2 p) rounds, (p-1)/p n bytes per rank",
    .source = "Jeaugey, arXiv 2506.20252; NCCL 2.23",
    .valid = gw__any_ranks,
    .emit = emit,
    .chunks = gw__chunk_a_rank,
};
