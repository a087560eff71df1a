/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See paint.h. Without colour styles keep bold, faint and reverse.
 */
#include "paint.h"

static const char *const colored[STYLES] = {
    [STYLE_PLAIN] = "",
    [STYLE_BAR] = "30;46",
    [STYLE_STRONG] = "1",
    [STYLE_DIM] = "2",
    [STYLE_GOOD] = "32",
    [STYLE_WARN] = "33",
    [STYLE_BAD] = "1;37;41",
    [STYLE_CHUNK] = "1;36",
    [STYLE_FORWARD] = "37;44",
    [STYLE_BACKWARD] = "30;42",
    [STYLE_BACKWARD_INPUT] = "30;43",
    [STYLE_BACKWARD_WEIGHT] = "30;46",
};
static const char *const plain[STYLES] = {
    [STYLE_PLAIN] = "",
    [STYLE_BAR] = "7",
    [STYLE_STRONG] = "1",
    [STYLE_DIM] = "2",
    [STYLE_GOOD] = "",
    [STYLE_WARN] = "1",
    [STYLE_BAD] = "1;7",
    [STYLE_CHUNK] = "1",
    [STYLE_FORWARD] = "",
    [STYLE_BACKWARD] = "7",
    [STYLE_BACKWARD_INPUT] = "1",
    [STYLE_BACKWARD_WEIGHT] = "2",
};

static bool same_row(const struct grid *a, const struct grid *b, int y)
{
    for (int x = 0; x < a->width; x++)
        if (grid_at(a, x, y)->glyph != grid_at(b, x, y)->glyph ||
            grid_at(a, x, y)->style != grid_at(b, x, y)->style)
            return false;
    return true;
}

static void paint_row(FILE *file, const struct grid *grid, int y, bool color)
{
    enum style style = STYLE_PLAIN;
    fprintf(file, "\033[%d;1H", y + 1);
    for (int x = 0; x < grid->width; x++) {
        const struct cell *cell = grid_at(grid, x, y);
        char text[5];
        if (cell->style != style)
            fprintf(file, "\033[0;%sm", (color ? colored : plain)[cell->style]);
        style = cell->style;
        utf8_of(cell->glyph, text);
        fputs(text, file);
    }
    if (style != STYLE_PLAIN)
        fputs("\033[0m", file);
}

bool paint(FILE *file, const struct grid *grid, const struct grid *before,
           bool color)
{
    bool painted = false;
    if (!before)
        fputs("\033[2J", file);
    for (int y = 0; y < grid->height; y++) {
        if (before && same_row(grid, before, y))
            continue;
        paint_row(file, grid, y, color);
        painted = true;
    }
    return painted;
}
