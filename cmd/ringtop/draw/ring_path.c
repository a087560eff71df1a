/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See ring_path.h.
 */
#include "ring_path.h"

int ring_path_length(const struct ring_path *p)
{
    return 2 * (p->width - 1) + 2 * (p->height - 1);
}

static int wrap(const struct ring_path *p, int at)
{
    int length = ring_path_length(p);
    at %= length;
    return at < 0 ? at + length : at;
}

enum heading ring_path_cell(const struct ring_path *p, int at, int *x, int *y)
{
    int across = p->width - 1, down = p->height - 1;
    at = wrap(p, at);
    *x = p->x;
    *y = p->y;
    if (at < across) {
        *x += at;
        return HEAD_RIGHT;
    }
    at -= across;
    if (at < down) {
        *x += across;
        *y += at;
        return HEAD_DOWN;
    }
    at -= down;
    if (at < across) {
        *x += across - at;
        *y += down;
        return HEAD_LEFT;
    }
    *y += down - (at - across);
    return HEAD_UP;
}

/* Evenly from corner to corner; one alone in the middle. */
static int along(int across, unsigned i, unsigned count)
{
    return count == 1 ? across / 2 : across * (int)i / (int)(count - 1);
}

int ring_path_member(const struct ring_path *p, unsigned i, unsigned count)
{
    int across = p->width - 1, down = p->height - 1;
    unsigned top = (count + 1) / 2;
    if (i < top)
        return along(across, i, top);
    return across + down + along(across, i - top, count - top);
}

int ring_path_between(const struct ring_path *p, int from, int to,
                      int clockwise, double progress)
{
    int distance = wrap(p, clockwise ? to - from : from - to);
    if (distance == 0)
        distance = ring_path_length(p);
    int gone = (int)(progress * distance);
    return wrap(p, clockwise ? from + gone : from - gone);
}
