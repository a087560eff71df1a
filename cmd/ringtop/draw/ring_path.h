/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The way around a rectangle, clockwise from its top left corner, as one line
 * of cells; and where along it the members of a ring stand. The first half of
 * them stands on the top side, from left to right, the others on the bottom
 * side, from right to left, so that the ring runs clockwise:
 *
 *     (0)----->----(1)
 *      ^            v
 *     (3)-----<----(2)
 */
#ifndef RINGTOP_RING_PATH_H
#define RINGTOP_RING_PATH_H

struct ring_path {
    int x, y, width, height; /* at least 2 by 2 */
};

/* What an arrow along the path shows at a place. */
enum heading { HEAD_RIGHT, HEAD_DOWN, HEAD_LEFT, HEAD_UP };

int ring_path_length(const struct ring_path *path);
/* Where the cell `at` is; `at` is taken modulo the length. */
enum heading ring_path_cell(const struct ring_path *path, int at, int *x,
                            int *y);
/* Where member `i` of `count` stands. */
int ring_path_member(const struct ring_path *path, unsigned i, unsigned count);
/* The cell at `progress` (0 to 1) of the way from `from` to `to`, clockwise or
 * the other way around. */
int ring_path_between(const struct ring_path *path, int from, int to,
                      int clockwise, double progress);

#endif
