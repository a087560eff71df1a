/* SPDX-License-Identifier: MIT
 *
 * The plan of a large ring, clean or after a death: trees instead of one trip
 * around the ring, which would take 2(p-1) steps. Each chunk is added along a
 * binomial tree and its sum is spread along another one:
 *
 *     list    r0  r1  r2  r3  r4  r5          ranks that have something to add
 *     step 1  r0<-r1  r2<-r3  r4<-r5
 *     step 2  r0<-----r2      r4
 *     step 3  r0<-------------r4              r0 has the sum
 *     then each copy makes one other copy per step
 *
 * The lists of the chunks begin at ranks that are equally far from each other,
 * so each rank is in the middle of some trees and a leaf of most.
 *
 * A partial sum may be anywhere in the tree. The largest ones that have no node
 * in common are kept, and so are the inputs that are in none of them; their
 * ranks are the list. In a clean run all ranks are. If final copies survive,
 * they are where the spreading begins.
 *
 * Order: one rank computes each sum and all others copy it, so all members have
 * the same bits. But after a death the additions have another order than in a
 * clean run of the survivors.
 *
 * Cost: at most 2 ceil(log2 p) steps and 2(p-1) transfers per chunk.
 */
#include "recover_maker.h"

#include <stdlib.h>
#include <string.h>

struct gw__recovery_tree {
    unsigned adders; /* in `add`; 0: there are final copies */
    unsigned copies; /* the first ranks of `spread`, which have the result */
    unsigned add_steps;
    uint16_t *add;    /* ranks whose values are added, the root first */
    uint16_t *spread; /* all ranks */
    /* Scratch: ranks by the size of their sets, as lists of ranks plus 1. */
    uint16_t *by_size, *next;
};

struct gw__recovery_tree *gw__recovery_trees_new(unsigned chunks,
                                                 unsigned ranks)
{
    size_t lists = (size_t)chunks * 2 * ranks + 2 * ((size_t)ranks + 1);
    struct gw__recovery_tree *trees =
        calloc(1, chunks * sizeof *trees + lists * sizeof(uint16_t));
    if (!trees)
        return NULL;
    uint16_t *at = (uint16_t *)(trees + chunks), *scratch = at;
    at += 2 * ((size_t)ranks + 1);
    for (unsigned c = 0; c < chunks; c++, at += 2 * (size_t)ranks)
        trees[c] = (struct gw__recovery_tree){.add = at,
                                              .spread = at + ranks,
                                              .by_size = scratch,
                                              .next = scratch + ranks + 1};
    return trees;
}

/* The first rank of the chunk's lists. */
static unsigned first_rank(const struct gw__recovery_case *c, unsigned chunk)
{
    return (unsigned)((uint64_t)chunk * c->ranks / c->chunks) % c->ranks;
}

/* Sorts the ranks that hold usable partial sums by the size of these. */
static void sort_partials(const struct gw__recovery_maker *m, unsigned chunk)
{
    const struct gw__recovery_case *c = m->c;
    const struct gw__recovery_tree *tree = &m->trees[chunk];
    memset(tree->by_size, 0, (c->ranks + 1) * sizeof *tree->by_size);
    for (unsigned i = c->ranks; i-- > 0;) {
        unsigned rank = (first_rank(c, chunk) + i) % c->ranks;
        struct gw_nodes set = gw__held(m, rank, chunk);
        unsigned size = gw__nodes_count(set);
        if (size < 2 || size > c->ranks || !gw__nodes_within(set, c->target))
            continue;
        tree->next[rank] = tree->by_size[size];
        tree->by_size[size] = (uint16_t)(rank + 1);
    }
}

/* Keeps partial sums, the largest first, that have no node in common. Returns
 * the nodes in them. */
static struct gw_nodes keep_partials(const struct gw__recovery_maker *m,
                                     unsigned chunk, unsigned *sums)
{
    const struct gw__recovery_tree *tree = &m->trees[chunk];
    struct gw_nodes kept = {{0}};
    *sums = 0;
    sort_partials(m, chunk);
    for (unsigned size = m->c->ranks; size > 1; size--)
        for (unsigned i = tree->by_size[size]; i; i = tree->next[i - 1]) {
            struct gw_nodes set = gw__held(m, i - 1, chunk);
            if (!gw__nodes_is_empty(gw__nodes_and(set, kept)))
                continue;
            kept = gw__nodes_or(kept, set);
            *gw__start_of(m, i - 1, chunk) = set;
            *sums += gw__sums_in(set);
        }
    return kept;
}

/* The ranks with a kept partial sum, or an input that is in none. */
static void list_adders(const struct gw__recovery_maker *m, unsigned chunk)
{
    const struct gw__recovery_case *c = m->c;
    struct gw__recovery_tree *tree = &m->trees[chunk];
    unsigned sums;
    struct gw_nodes kept = keep_partials(m, chunk, &sums);
    for (unsigned i = 0; i < c->ranks; i++) {
        unsigned rank = (first_rank(c, chunk) + i) % c->ranks;
        bool partial = gw__sums_in(*gw__start_of(m, rank, chunk)) > 0;
        if (partial || !gw__nodes_has(&kept, c->nodes[rank]))
            tree->add[tree->adders++] = (uint16_t)rank;
    }
    gw__count_chunk(m, chunk, sums);
}

/* Lists all ranks, those that have the result first. */
static void list_spread(const struct gw__recovery_maker *m, unsigned chunk)
{
    const struct gw__recovery_case *c = m->c;
    struct gw__recovery_tree *tree = &m->trees[chunk];
    unsigned listed = 0;
    for (int turn = 0; turn < 2; turn++) {
        for (unsigned i = 0; i < c->ranks; i++) {
            unsigned rank = (first_rank(c, chunk) + i) % c->ranks;
            bool has =
                tree->adders > 0
                    ? rank == tree->add[0]
                    : gw__nodes_equal(*gw__start_of(m, rank, chunk), c->target);
            if (has == (turn == 0))
                tree->spread[listed++] = (uint16_t)rank;
        }
        if (turn == 0)
            tree->copies = listed;
    }
}

static void choose_tree(const struct gw__recovery_maker *m, unsigned chunk)
{
    const struct gw__recovery_case *c = m->c;
    struct gw__recovery_tree *tree = &m->trees[chunk];
    bool final = false;
    for (unsigned rank = 0; rank < c->ranks; rank++) {
        bool complete = gw__nodes_equal(gw__held(m, rank, chunk), c->target);
        *gw__start_of(m, rank, chunk) =
            complete ? c->target : gw__nodes_only(c->nodes[rank]);
        final = final || complete;
    }
    if (final)
        gw__count_spread(m);
    else
        list_adders(m, chunk);
    while (tree->adders > 1U << tree->add_steps)
        tree->add_steps++;
    list_spread(m, chunk);
}

/* ---- emitting ---- */

static void emit_add(const struct gw__recovery_tree *tree, struct gw_builder *b,
                     unsigned chunk, unsigned step)
{
    unsigned away = 1U << step;
    for (unsigned i = 0; i + away < tree->adders; i += 2 * away)
        gw_builder_add(b, tree->add[i + away], tree->add[i], chunk, GW_ADD);
}

/* Each copy makes another one. */
static void emit_spread(const struct gw__recovery_tree *tree,
                        struct gw_builder *b, unsigned chunk, unsigned step,
                        unsigned ranks)
{
    uint64_t copies = (uint64_t)tree->copies << step;
    for (uint64_t i = 0; i < copies && copies + i < ranks; i++)
        gw_builder_add(b, tree->spread[i], tree->spread[copies + i], chunk,
                       GW_REPLACE);
}

/* Is any chunk after this step not done? */
static bool is_left(const struct gw__recovery_maker *m, unsigned step)
{
    for (unsigned c = 0; c < m->c->chunks; c++) {
        const struct gw__recovery_tree *tree = &m->trees[c];
        if (step < tree->add_steps ||
            (uint64_t)tree->copies << (step - tree->add_steps) < m->c->ranks)
            return true;
    }
    return false;
}

void gw__recovery_trees(const struct gw__recovery_maker *m,
                        struct gw_builder *b)
{
    gw_builder_name(b, "recovery");
    for (unsigned c = 0; c < m->c->chunks; c++)
        choose_tree(m, c);
    for (unsigned s = 0; is_left(m, s); s++) {
        gw_builder_step(b);
        for (unsigned c = 0; c < m->c->chunks; c++) {
            const struct gw__recovery_tree *tree = &m->trees[c];
            if (s < tree->add_steps)
                emit_add(tree, b, c, s);
            else
                emit_spread(tree, b, c, s - tree->add_steps, m->c->ranks);
        }
    }
}
