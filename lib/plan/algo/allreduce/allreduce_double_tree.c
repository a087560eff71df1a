/* SPDX-License-Identifier: MIT
 *
 * All-reduce along two complementary binary trees, each with one half of the
 * vector in k segments: sums go up to the root, results come down, segment
 * after segment. A rank that has children in one tree is a leaf in the other,
 * so the links of all ranks are used and no rank sends more than 2n bytes.
 *
 *     2 ceil(log2 p) + k - 1 rounds, at most 2n bytes per rank,
 *     2(p-1) n in all
 *
 * The tree (position 0 the root, odd positions leaves), with 12 ranks:
 *
 *     0 ------------- 8              the parent of a position: its lowest set
 *              /-----/ \---\         bit moves up by one place, or away where
 *             4            10        that is outside
 *           /   \         /  \
 *          2     6       9    11
 *         / \   / \
 *        1   3 5   7
 *
 * The second tree is the first one mirrored (p even) or shifted by one (p odd),
 * which turns odd positions into even ones. A rank talks to up to four others
 * in a round; the paper colours the edges so that one at a time is enough, in
 * twice as many rounds.
 */
#include "plan/algo/shape.h"

enum { SEGMENTS_DEFAULT = 4 };

static unsigned segments(const struct gw_algo_args *args)
{
    unsigned k = args->segments ? args->segments : SEGMENTS_DEFAULT;
    return k < GW_CHUNKS_MAX ? k : GW_CHUNKS_MAX;
}

static unsigned chunks(const struct gw_algo_args *args)
{
    return 2 * segments(args);
}

static unsigned parent(unsigned position, unsigned p)
{
    unsigned bit = position & -position;
    unsigned up = (position ^ bit) | 2 * bit;
    return up < p ? up : position ^ bit;
}

static unsigned depth(unsigned position, unsigned p)
{
    unsigned d = 0;
    for (; position > 0; position = parent(position, p))
        d++;
    return d;
}

static unsigned rank_at(unsigned tree, unsigned position, unsigned p)
{
    if (tree == 0)
        return position;
    return p % 2 == 0 ? p - 1 - position : (position + 1) % p;
}

/* The forest of a plan: both trees have the same shape. */
struct forest {
    unsigned ranks, segments, height;
};

/* Adds the transfers of round t along the edge above `position`. Up: all
 * positions of one depth pass on the same segment, and the deepest ones begin
 * in round 0, so that a parent receives from both children at once. Down: a
 * segment is complete at the root after round `height` - 1 + segment, and each
 * level takes one more round. Before the first and after the last segment these
 * differences, taken modulo 2^32, are not below k. */
static void edge(struct gw_builder *b, const struct forest *forest,
                 unsigned tree, unsigned position, unsigned t)
{
    unsigned p = forest->ranks, k = forest->segments;
    unsigned level = depth(position, p);
    unsigned child = rank_at(tree, position, p);
    unsigned above = rank_at(tree, parent(position, p), p);
    unsigned up = t - (forest->height - level);
    unsigned down = t - (forest->height + level - 1);
    if (up < k)
        gw_builder_add(b, child, above, tree * k + up, GW_ADD);
    if (down < k)
        gw_builder_add(b, above, child, tree * k + down, GW_REPLACE);
}

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    struct forest forest = {args->ranks, segments(args), 0};
    while (1U << forest.height < args->ranks)
        forest.height++;
    unsigned rounds = 2 * forest.height + forest.segments - 1;
    for (unsigned t = 0; t < rounds; t++) {
        gw_builder_step(b);
        for (unsigned tree = 0; tree < 2; tree++)
            for (unsigned position = 1; position < args->ranks; position++)
                edge(b, &forest, tree, position, t);
    }
}

const struct gw_algo gw__algo_allreduce_double_tree = {
    .name = "double_tree",
    .collective = GW_ALLREDUCE,
    .summary = "two complementary binary trees, half of the vector each",
    .formula = "2 ceil(log2 p) + k - 1 rounds, at most 2n bytes per rank",
    .source = "Sanders, Speck, Träff 2009 (Parallel Computing 35); NCCL 2.4",
    .valid = gw__any_ranks,
    .emit = emit,
    .chunks = chunks,
};
