/* SPDX-License-Identifier: MIT
 *
 * The n-block broadcast schedule on the circulant graph (Träff, arXiv
 * 2312.11236 and 2407.18004).
 *
 * Count places from the root, which is 0, and let q = ceil(log2 p). In round i
 * every place r receives from r - skip[i mod q] and sends to r + skip[i mod q].
 * A phase is q rounds. Within a phase, blocks are numbered so that the root
 * introduces block k in its round k; those of the phase before are then -q to
 * -1. In each phase every place except the root receives q different blocks: a
 * new one, its base block b, and the old ones of all others (old block b - q is
 * the base block that it received one phase ago).
 *
 *   The base block of r: write r as a sum of different skips, greedily from
 *   the largest; it is the index of the smallest one used. The skips are the
 *   path from the root along which a new block first comes to r.
 *
 * The search below finds the order in which r receives the old blocks, such
 * that each sender already has the block. In round k the block should come
 * along a path that ends at or before r - skip[k]. So we look for places r_0 >
 * r_1 > ... > r_(q-1), in the lap before r. r_k is the nearest place at or
 * before r - skip[k] on a path of unused skips. In round k, r receives the base
 * block of r_k, which uses up that skip. The depth-first search tries the
 * largest skip first, so it meets the candidates in descending order and never
 * backtracks: a schedule costs O(log p) steps.
 *
 * k blocks need k - 1 + q rounds, in general not a whole number of phases. So
 * the first phase begins in its round `late`. A negative block number means no
 * transfer, and a number beyond the last block means the last block. Each place
 * receives each block exactly once.
 *
 * The paper computes the blocks that r sends separately. A plan names both ends
 * of a transfer, and r sends the block that r + skip[k] receives.
 */
#include "circulant_schedule.h"

#include "shape.h"

struct search {
    unsigned q;
    unsigned skips[GW__CIRCULANT_MAX];
    unsigned place;      /* one lap on: p + r */
    unsigned last;       /* r_(found-1): the next one is before it */
    unsigned used_skips; /* bit k: skip k may not be used any more */
    unsigned found;
    unsigned wanted;                  /* at most q */
    unsigned base[GW__CIRCULANT_MAX]; /* the base block of r_k */
};

static unsigned base_block(const struct search *s, unsigned place)
{
    unsigned k = s->q;
    while (place > 0)
        if (s->skips[--k] <= place)
            place -= s->skips[k];
    return k;
}

/* The last place from which round k may still take a block. */
static unsigned limit(const struct search *s, unsigned k)
{
    return s->place - s->skips[k];
}

/* Extends the path that has come to `place` by skips below index `end`. */
static void extend(struct search *s, unsigned place, unsigned end)
{
    for (unsigned k = end; k-- > 0 && s->found < s->wanted;) {
        unsigned next = place + s->skips[k];
        bool is_used = s->used_skips >> k & 1;
        if (is_used || next > limit(s, s->found) || next >= s->last)
            continue;
        if (next <= limit(s, s->found + 1))
            extend(s, next, k);
        /* If round found + 1 is too early for `place`, this round takes
         * `place`: the caller does. */
        if (s->found == s->wanted || place > limit(s, s->found + 1))
            return;
        s->base[s->found++] = k;
        s->used_skips |= 1U << k;
        s->last = next;
    }
}

/* The block, numbered within the phase, that `place` receives in round k. */
static int block_in_phase(unsigned ranks, unsigned place, unsigned k)
{
    struct search s = {
        .place = ranks + place, .last = 2 * ranks, .wanted = k + 1};
    s.q = gw__circulant_skips(ranks, s.skips);
    unsigned own = base_block(&s, place);
    s.used_skips = 1U << own;
    extend(&s, 0, s.q + 1);
    /* skip[q] = p leads to the root of this lap, whose block is new. */
    return s.base[k] == s.q ? (int)own : (int)s.base[k] - (int)s.q;
}

unsigned gw__circulant_rounds(const struct gw_algo_args *args)
{
    unsigned skips[GW__CIRCULANT_MAX];
    unsigned q = gw__circulant_skips(args->ranks, skips);
    return q == 0 ? 0 : gw__chunk_a_segment(args) - 1 + q;
}

bool gw__circulant_hop(const struct gw_algo_args *args, unsigned round,
                       unsigned place, struct gw__hop *hop)
{
    if (place == 0)
        return false;
    unsigned skips[GW__CIRCULANT_MAX];
    unsigned q = gw__circulant_skips(args->ranks, skips);
    unsigned last = gw__chunk_a_segment(args) - 1;
    unsigned late = (q - last % q) % q;
    unsigned phase = (late + round) / q, k = (late + round) % q;
    int64_t block =
        block_in_phase(args->ranks, place, k) + (int64_t)phase * q - late;
    if (block < 0)
        return false;
    unsigned from = (place + args->ranks - skips[k]) % args->ranks;
    unsigned chunk = block < last ? (unsigned)block : last;
    *hop = (struct gw__hop){
        .src = gw__from_root(args, from),
        .dst = gw__from_root(args, place),
        .chunk = chunk,
    };
    return true;
}
