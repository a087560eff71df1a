/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The overview of a run of parameter servers:
 *
 *     +-------------------------+
 *     | servers                 |
 *     | slots                   |
 *     | clocks     | events     |     40 columns: clocks only
 *     +-------------------------+     10 rows: servers and slots
 */
#include "draw.h"

enum { SIDE_BY_SIDE = 66, CLOCKS_WIDTH = 43, ROWS_MIN = 4 };

static int least_of(int a, int b)
{
    return a < b ? a : b;
}

static void draw_rest(const struct picture *p, const struct area *area)
{
    if (area->width < SIDE_BY_SIDE) {
        draw_clocks(p, area);
        return;
    }
    int half = area->width / 2;
    int left = half > CLOCKS_WIDTH ? half : CLOCKS_WIDTH;
    struct area clocks = area_part(area, 0, 0, left, area->height);
    struct area events =
        area_part(area, left + 1, 0, area->width - left - 1, area->height);
    draw_clocks(p, &clocks);
    draw_events(p, &events);
}

void draw_ps(const struct picture *p, const struct area *area)
{
    int height = area->height;
    int servers = least_of(draw_servers_height(p), height / 2);
    int slots = least_of(draw_slots_height(p, area->width), height - servers);
    if (height - servers - slots < ROWS_MIN)
        slots = height - servers;
    struct area top = area_part(area, 0, 0, area->width, servers);
    struct area middle = area_part(area, 0, servers, area->width, slots);
    struct area rest = area_part(area, 0, servers + slots, area->width,
                                 height - servers - slots);
    draw_servers(p, &top);
    draw_slots(p, &middle);
    if (rest.height > 0)
        draw_rest(p, &rest);
}
