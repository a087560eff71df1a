/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The accumulation matrix: rank x chunk, the number of ranks whose data each
 * value contains. Pure: it draws the contents of a plan's trace.
 */
#ifndef MATRIX_H
#define MATRIX_H

#include <gradwire/plan.h>

/* Draws the matrix of `trace`, which has just made step `step` of `plan`
 * (counted from 1; 0: before the first). "2+" is a partial value with 2
 * contributors, "3=" a complete one, "." none; brackets mark the values written
 * by the step. Columns beyond `width` are omitted, with a note. */
void matrix_draw(FILE *file, const struct gw_plan *plan,
                 const struct gw_plan_trace *trace, unsigned step,
                 unsigned width);

#endif
