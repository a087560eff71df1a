/* SPDX-License-Identifier: MIT
 *
 * All-reduce, Swing: halving and doubling whose partners are close together on
 * a ring or torus. In step s an even rank r exchanges with r + rho(s), an odd
 * one with r - rho(s), modulo p:
 *
 *     rho(s) = (1 - (-2)^(s+1)) / 3 = 1, -1, 3, -5, 11, ...
 *
 * swinging from side to side, a third nearer than 2^s. The reduce-scatter takes
 * s upwards, the all-gather downwards.
 *
 *     2 ceil(log2 p) rounds, 2(p-1)/p n bytes per rank; p even
 *
 * Which blocks an exchange carries follows from how block 0 would spread in the
 * all-gather: rank r receives it in one step, heard[r]. Block b spreads in the
 * same way, shifted by b, and mirrored for odd b because odd ranks swing the
 * other way. The reduce-scatter runs the all-gather backwards. If p is not a
 * power of two, some ranks could receive a block twice; they receive it only in
 * the first of these all-gather steps, so that each sends exactly p-1 blocks
 * either way.
 */
#include "plan/algo/ring.h"
#include "plan/algo/shape.h"

#include <plan/stream.h>

#include <string.h>

enum { UNRECEIVED = 0xff, OWNER = 0xfe, RUNS_MAX = 32 };

static unsigned peer(unsigned p, unsigned rank, unsigned s)
{
    unsigned reach = ((2U << s) + (s % 2 == 0)) / 3 % p; /* |rho(s)| */
    bool ahead = (rank + s) % 2 == 0;
    return (rank + (ahead ? reach : p - reach)) % p;
}

/* heard[r]: the all-gather's step, counted downwards, in which rank r receives
 * block 0. */
static void spread_block(unsigned p, unsigned steps, uint8_t *recv_step)
{
    memset(recv_step, UNRECEIVED, p);
    recv_step[0] = OWNER;
    for (unsigned s = steps; s-- > 0;)
        for (unsigned r = 0; r < p; r++) {
            unsigned other = peer(p, r, s);
            bool held = recv_step[r] != UNRECEIVED && recv_step[r] > s;
            if (held && recv_step[other] == UNRECEIVED)
                recv_step[other] = (uint8_t)s;
        }
}

/* The distances from a receiver to the blocks that it receives in step s,
 * ascending, and the same distances as runs. */
struct beyond {
    unsigned at[GW__STREAM_RANKS_MAX], count;
    struct gw__run runs[RUNS_MAX];
    unsigned run_count; /* 0: too many */
};

/* An odd receiver sees the blocks of the other parity. */
static void beyond_it(unsigned p, unsigned s, const uint8_t *recv_step,
                      bool odd, struct beyond *beyond)
{
    beyond->count = 0;
    for (unsigned x = 0; x < p; x++) {
        bool even_block = x % 2 == odd;
        if (recv_step[even_block ? (p - x) % p : x] == s)
            beyond->at[beyond->count++] = x;
    }
}

/* Steps after s add later values of rho, whose signs alternate. Two such steps
 * together add a sum of powers of -2, from 2^(s+2) on, and such sums are
 * consecutive multiples of 2^(s+2). So the distances form two runs of that
 * stride, one for an even and one for an odd number of steps, and a few more if
 * p is not a power of two. */
static void find_runs(unsigned s, struct beyond *beyond)
{
    unsigned stride = 4U << s;
    beyond->run_count = 0;
    for (unsigned i = 0; i < beyond->count; i++) {
        unsigned k = beyond->run_count;
        for (; k > 0; k--) {
            struct gw__run *run = &beyond->runs[k - 1];
            if (run->chunk + run->count * stride == beyond->at[i]) {
                run->count++;
                break;
            }
        }
        if (k > 0)
            continue;
        if (beyond->run_count == RUNS_MAX) {
            beyond->run_count = 0;
            return;
        }
        beyond->runs[beyond->run_count++] = (struct gw__run){
            .chunk = beyond->at[i], .stride = stride, .count = 1};
    }
}

/* The receiver's blocks, ascending: first those that wrap around. */
static void add_blocks(struct gw_builder *b, const struct gw__run *run,
                       unsigned p, const struct beyond *beyond,
                       unsigned listener)
{
    unsigned wraps = 0, count = beyond->count;
    while (wraps < count && listener + beyond->at[wraps] < p)
        wraps++;
    for (unsigned i = 0; i < count; i++) {
        unsigned k = wraps + i < count ? wraps + i : wraps + i - count;
        unsigned block = listener + beyond->at[k];
        gw_builder_add(b, run->src, run->dst, block < p ? block : block - p,
                       run->action);
    }
}

/* The same for a sink, which ignores their order: as runs, each of which may
 * wrap around once. */
static void add_runs(struct gw_builder *b, const struct gw__run *run,
                     unsigned p, const struct beyond *beyond, unsigned listener)
{
    for (unsigned i = 0; i < beyond->run_count; i++) {
        struct gw__run part = *run;
        const struct gw__run *all = &beyond->runs[i];
        unsigned first = listener + all->chunk;
        unsigned below =
            first < p ? (p - first + all->stride - 1) / all->stride : 0;
        below = below < all->count ? below : all->count;
        part.stride = all->stride;
        part.chunk = first;
        part.count = below;
        gw__builder_run(b, &part);
        part.chunk = first + below * all->stride - p;
        part.count = all->count - below;
        gw__builder_run(b, &part);
    }
}

/* One step: the blocks that the receiver gets in an all-gather, or the blocks
 * that the sender would have received, when run backwards. */
static void exchange(struct gw_builder *b, unsigned p, unsigned s,
                     const uint8_t *recv_step, enum gw_action action)
{
    struct beyond beyond[2];
    bool streams = gw__builder_streams(b);
    for (unsigned odd = 0; odd < 2; odd++) {
        beyond_it(p, s, recv_step, odd, &beyond[odd]);
        if (streams)
            find_runs(s, &beyond[odd]);
    }
    gw_builder_step(b);
    for (unsigned r = 0; r < p; r++) {
        struct gw__run run = {.src = r, .dst = peer(p, r, s), .action = action};
        unsigned listener = action == GW_ADD ? r : run.dst;
        const struct beyond *there = &beyond[listener % 2];
        (streams && there->run_count > 0 ? add_runs : add_blocks)(
            b, &run, p, there, listener);
    }
}

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    unsigned p = args->ranks, steps = 0;
    uint8_t recv_step[GW__STREAM_RANKS_MAX];
    while (1U << steps < p)
        steps++;
    spread_block(p, steps, recv_step);
    gw_builder_ports(b, 1);
    for (unsigned s = 0; s < steps; s++)
        exchange(b, p, s, recv_step, GW_ADD);
    for (unsigned s = steps; s-- > 0;)
        exchange(b, p, s, recv_step, GW_REPLACE);
}

const struct gw_algo gw__algo_allreduce_swing = {
    .name = "swing",
    .collective = GW_ALLREDUCE,
    .summary = "halving and doubling with near partners on a ring (p even)",
    .formula = "2 ceil(log2 p) rounds, 2(p-1)/p n bytes per rank",
    .source = "De Sensi, Bonato, Saam, Hoefler, NSDI 2024, arXiv 2401.09356",
    .valid = gw__ring_pairs_up,
    .emit = emit,
    .chunks = gw__chunk_a_rank,
};
