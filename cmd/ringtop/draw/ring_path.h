/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The way around a rectangle, clockwise from its top left corner, as one line
 * of cells, and the places of a ring's members on it. The first half of them is
 * on the top side, from left to right, the others on the bottom side, from
 * right to left, so that the ring runs clockwise:
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

/* The direction of an arrow on the path. */
enum heading { HEAD_RIGHT, HEAD_DOWN, HEAD_LEFT, HEAD_UP };

int ring_path_length(const struct ring_path *path);
/* The position of the cell `at`, which is taken modulo the length. */
enum heading ring_path_cell(const struct ring_path *path, int at, int *x,
                            int *y);
/* The place of member `i` of `count`. */
int ring_path_member(const struct ring_path *path, unsigned i, unsigned count);
/* The cell at `progress` (0 to 1) of the way from `from` to `to`, clockwise or
 * the other way around. */
int ring_path_between(const struct ring_path *path, int from, int to,
                      int clockwise, double progress);

#endif
