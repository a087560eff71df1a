/* SPDX-License-Identifier: MIT
 *
 * The function of cut.c.
 */
#ifndef PLATE_H
#define PLATE_H

/* Returns the rows of a rank, of n in all. Every rank must have one at least. */
int rows_of(int rank, int ranks, int n);

#endif
