/* SPDX-License-Identifier: MIT
 *
 * All-reduce, Swing: halving and doubling whose partners lie close together on
 * a ring or torus. In step s an even rank r exchanges with r + rho(s), an odd
 * one with r - rho(s), modulo p:
 *
 *     rho(s) = (1 - (-2)^(s+1)) / 3 = 1, -1, 3, -5, 11, ...
 *
 * swinging from side to side, a third nearer than 2^s. The reduce-scatter takes
 * s upwards, the all-gather downwards.
 *
 *     2 ceil(log2 p) rounds, 2(p-1)/p n bytes a rank; p even
 *
 * Which blocks an exchange carries follows from how block 0 would spread in the
 * all-gather: rank r hears of it in one step, heard[r]. Block b spreads in the
 * same way, shifted by b, and mirrored for odd b because odd ranks swing the
 * other way. The reduce-scatter runs the all-gather backwards. If p is no power
 * of two, some ranks could hear of a block twice; they take it in the first of
 * the all-gather's steps, so that each sends exactly p-1 blocks either way.
 */
#include "ring.h"
#include "shape.h"

#include <plan/stream.h>

#include <string.h>

enum { UNHEARD = 0xff, OWNER = 0xfe };

static unsigned peer(unsigned p, unsigned rank, unsigned s)
{
    unsigned reach = ((2U << s) + (s % 2 == 0)) / 3 % p; /* |rho(s)| */
    bool ahead = (rank + s) % 2 == 0;
    return (rank + (ahead ? reach : p - reach)) % p;
}

/* heard[r]: the all-gather's step, counted downwards, in which rank r receives
 * block 0. */
static void spread(unsigned p, unsigned steps, uint8_t *heard)
{
    memset(heard, UNHEARD, p);
    heard[0] = OWNER;
    for (unsigned s = steps; s-- > 0;)
        for (unsigned r = 0; r < p; r++) {
            unsigned other = peer(p, r, s);
            bool held = heard[r] != UNHEARD && heard[r] > s;
            if (held && heard[other] == UNHEARD)
                heard[other] = (uint8_t)s;
        }
}

/* What a listener hears in step s lies this far beyond it, ascending; from an
 * odd listener one sees the blocks of the other parity. Returns how many. */
static unsigned beyond_it(unsigned p, unsigned s, const uint8_t *heard,
                          bool odd, unsigned *beyond)
{
    unsigned count = 0;
    for (unsigned x = 0; x < p; x++) {
        bool even_block = x % 2 == odd;
        if (heard[even_block ? (p - x) % p : x] == s)
            beyond[count++] = x;
    }
    return count;
}

/* The listener's blocks, ascending: first those that wrap around. */
static void add_blocks(struct gw_builder *b, const struct gw__run *run,
                       unsigned p, const unsigned *beyond, unsigned count,
                       unsigned listener)
{
    unsigned wraps = 0;
    while (wraps < count && listener + beyond[wraps] < p)
        wraps++;
    for (unsigned i = 0; i < count; i++) {
        unsigned k = wraps + i < count ? wraps + i : wraps + i - count;
        unsigned block = listener + beyond[k];
        gw_builder_add(b, run->src, run->dst, block < p ? block : block - p,
                       run->action);
    }
}

/* One step: what the receiver hears in an all-gather, or what the sender would
 * have heard, going back. */
static void exchange(struct gw_builder *b, unsigned p, unsigned s,
                     const uint8_t *heard, enum gw_action action)
{
    unsigned beyond[2][GW__STREAM_RANKS_MAX];
    unsigned count[2] = {beyond_it(p, s, heard, false, beyond[0]),
                         beyond_it(p, s, heard, true, beyond[1])};
    gw_builder_step(b);
    for (unsigned r = 0; r < p; r++) {
        struct gw__run run = {.src = r, .dst = peer(p, r, s), .action = action};
        unsigned listener = action == GW_ADD ? r : run.dst;
        unsigned odd = listener % 2;
        add_blocks(b, &run, p, beyond[odd], count[odd], listener);
    }
}

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    unsigned p = args->ranks, steps = 0;
    uint8_t heard[GW__STREAM_RANKS_MAX];
    while (1U << steps < p)
        steps++;
    spread(p, steps, heard);
    gw_builder_ports(b, 1);
    for (unsigned s = 0; s < steps; s++)
        exchange(b, p, s, heard, GW_ADD);
    for (unsigned s = steps; s-- > 0;)
        exchange(b, p, s, heard, GW_REPLACE);
}

const struct gw_algo gw__algo_allreduce_swing = {
    .name = "swing",
    .collective = GW_ALLREDUCE,
    .summary = "halving and doubling with near partners on a ring (p even)",
    .formula = "2 ceil(log2 p) rounds, 2(p-1)/p n bytes a rank",
    .source = "De Sensi, Bonato, Saam, Hoefler, NSDI 2024, arXiv 2401.09356",
    .valid = gw__ring_pairs_up,
    .emit = emit,
    .chunks = gw__chunk_a_rank,
};
