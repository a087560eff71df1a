/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The accumulation matrix: rank x chunk, how many ranks' data each value
 * contains. Pure: it draws what a trace of the plan holds.
 */
#ifndef MATRIX_H
#define MATRIX_H

#include <gradwire/plan.h>

/* Draws the matrix of `trace`, which has just made step `step` of `plan`
 * (counted from 1; 0: before the first). "2+" is a partial value with 2
 * contributors, "3=" a complete one, "." none; in brackets, what the step has
 * written. What does not fit `width` columns is left out, and said. */
void matrix_draw(FILE *file, const struct gw_plan *plan,
                 const struct gw_plan_trace *trace, unsigned step,
                 unsigned width);

#endif
