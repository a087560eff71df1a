/* SPDX-License-Identifier: MIT
 *
 * Pictures of the live view, compared with files of tests/view. GOLDEN_WRITE=1
 * in the environment writes the files instead: check the difference afterwards.
 */
#ifndef GOLDEN_H
#define GOLDEN_H

#include "ringtop/draw/grid.h"

/* The grid as lines without blanks at their ends; the caller frees it. */
char *grid_lines(const struct grid *grid);
/* Fails unless the grid equals tests/view/NAME.txt. */
void assert_golden(const struct grid *grid, const char *name);
/* Fails unless the text equals that of the file at `path`. */
void assert_golden_text(const char *text, const char *path);

#endif
