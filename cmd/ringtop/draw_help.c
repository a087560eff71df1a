/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The keys, and what the signs of the chunks mean. In two columns when there is
 * room, so that all of it fits a small terminal.
 */
#include "draw.h"

#include <string.h>

static const struct {
    const char *key, *does;
} lines[] = {
    {"Space", "freeze"},       {".", "one event"},     {"< >", "slow, fast"},
    {"Tab", "next page"},      {"arrows", "scroll"},   {"F3 /", "find"},
    {"F6 s", "sort ranks"},    {"k", "kill a node"},   {"p", "pause/go on"},
    {"a", "add a node"},       {"Ctrl-L", "redraw"},   {"F10 q", "quit"},
    {"2+ 4=", "of 2, of all"}, {"2!", "of one twice"},
};
enum { LINES_COUNT = sizeof lines / sizeof *lines, KEY_WIDTH = 7 };

void draw_help(const struct picture *p, const struct area *area)
{
    struct area body = draw_title(p, area, "help: any key closes it");
    int columns = body.height >= LINES_COUNT ? 1 : 2;
    int rows = (LINES_COUNT + columns - 1) / columns;
    int width = body.width / columns;
    for (int i = 0; i < LINES_COUNT; i++) {
        struct area line =
            area_part(&body, i / rows * width, i % rows, width, 1);
        area_text(&line, 1, 0, STYLE_STRONG, lines[i].key);
        area_text(&line, 1 + KEY_WIDTH, 0, STYLE_PLAIN, lines[i].does);
    }
}
