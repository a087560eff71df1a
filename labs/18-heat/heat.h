/* SPDX-License-Identifier: MIT
 *
 * A heat equation on a torus of n x n points, cut into py x px blocks, one per
 * rank. heat.c has everything except the two functions below; yours are in
 * halo.c.
 *
 *     memory of a block:      halo row (from above)
 *                        halo |  rows x cols of this rank  | halo
 *                             halo row (from below)
 */
#ifndef HEAT_H
#define HEAT_H

#include <gradwire/gradwire.h>

struct block {
    unsigned rows, cols; /* of this rank */
    unsigned up, down, left,
        right; /* neighbour ranks; may be the rank itself */
};

/* The point in row i and column j of the block; -1 and rows (cols) are its
 * halo. */
static inline double *at(const struct block *b, double *u, int i, int j)
{
    return u + (size_t)(i + 1) * (b->cols + 2) + (size_t)(j + 1);
}

/* Fills the halo of u: the row above, the row below, the columns at both sides;
 * the corners are not used. */
enum gw_err exchange(struct gw_comm *comm, const struct block *b, double *u);

/* Returns whether to compute the residual after this step (1, 2, ...). All
 * ranks must return the same. `every` is the argument EVERY; 0: never. */
bool is_check_due(unsigned step, unsigned every);

#endif
