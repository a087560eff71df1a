/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A grid as bytes for a terminal (ECMA-48): the changes since an earlier grid,
 * or all of it.
 */
#ifndef RINGTOP_PAINT_H
#define RINGTOP_PAINT_H

#include "ringtop/draw/grid.h"

#include <stdio.h>

/* Writes the rows of `grid` that differ from `before`, which is of the same
 * size; NULL: all of them, after clearing the screen. Returns whether anything
 * was written. */
bool paint(FILE *file, const struct grid *grid, const struct grid *before,
           bool color);

#endif
