/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The keys. In two columns when there is no room for one, so that all of it
 * fits a small terminal.
 */
#include "draw.h"

struct help_line {
    const char *key, *does;
};

static const struct help_line of_ring[] = {
    {"Space", "freeze"},    {".", "one event"},   {"< >", "slow, fast"},
    {"Tab", "next page"},   {"arrows", "scroll"}, {"F3 /", "find"},
    {"F6 s", "sort ranks"}, {"k", "kill a node"}, {"p", "pause/resume"},
    {"a", "add a node"},    {"Ctrl-L", "redraw"}, {"F10 q", "quit"},
    {"?", "explain"},       {"d", "show gone"},
};
static const struct help_line of_ps[] = {
    {"Space", "freeze"},  {".", "one event"},         {"< >", "slow, fast"},
    {"Tab", "next page"}, {"arrows", "scroll"},       {"F3 /", "find"},
    {"F6 s", "sort"},     {"k", "kill 2, s0"},        {"p", "pause/resume"},
    {"a", "add 1, or s"}, {"Ctrl-L", "redraw"},       {"F10 q", "quit"},
    {"?", "explain"},     {"0-9 s", "names of k, p"},
};
static const struct help_line of_pipe[] = {
    {"Space", "freeze"},   {".", "one event"},   {"< >", "slow, fast"},
    {"Tab", "next page"},  {"arrows", "scroll"}, {"F3 /", "find"},
    {"F", "forward pass"}, {"B", "backward"},    {"I", "of the input"},
    {"W", "of weights"},   {"f b", "2nd chunk"}, {"Ctrl-L", "redraw"},
    {"F10 q", "quit"},     {"?", "explain"},
};
enum { LINES_COUNT = sizeof of_ring / sizeof *of_ring, KEY_WIDTH = 7 };
_Static_assert(sizeof of_ps == sizeof of_ring &&
                   sizeof of_pipe == sizeof of_ring,
               "helps are equally long");

void draw_help(const struct picture *p, const struct area *area)
{
    const struct help_line *lines = p->state->ps.here     ? of_ps
                                    : p->state->pipe.here ? of_pipe
                                                          : of_ring;
    struct area body = draw_title(p, area, "keys: any key closes it");
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
