/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See grid.h.
 */
#include "grid.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int clamp(int value, int least, int most)
{
    return value < least ? least : value > most ? most : value;
}

enum gw_err grid_size(struct grid *grid, int width, int height,
                      struct gw_error *why)
{
    width = clamp(width, 1, GRID_SIDE_MAX);
    height = clamp(height, 1, GRID_SIDE_MAX);
    size_t count = (size_t)width * (size_t)height;
    struct cell *cells = realloc(grid->cells, count * sizeof *cells);
    if (!cells)
        return gw_fail(why, GW_ENOMEM, "a grid of %dx%d", width, height);
    grid->cells = cells;
    grid->width = width;
    grid->height = height;
    grid_clear(grid);
    return GW_OK;
}

void grid_clear(struct grid *grid)
{
    size_t count = (size_t)grid->width * (size_t)grid->height;
    for (size_t i = 0; i < count; i++)
        grid->cells[i] = (struct cell){.glyph = ' '};
}

void grid_fini(struct grid *grid)
{
    free(grid->cells);
    *grid = (struct grid){0};
}

const struct cell *grid_at(const struct grid *grid, int x, int y)
{
    return &grid->cells[(size_t)y * (size_t)grid->width + (size_t)x];
}

struct area grid_area(struct grid *grid)
{
    return (struct area){
        .grid = grid, .width = grid->width, .height = grid->height};
}

struct area area_part(const struct area *area, int x, int y, int width,
                      int height)
{
    x = clamp(x, 0, area->width);
    y = clamp(y, 0, area->height);
    return (struct area){
        .grid = area->grid,
        .x = area->x + x,
        .y = area->y + y,
        .width = clamp(width, 0, area->width - x),
        .height = clamp(height, 0, area->height - y),
    };
}

void area_put(const struct area *area, int x, int y, enum style style,
              uint32_t glyph)
{
    if (x < 0 || y < 0 || x >= area->width || y >= area->height)
        return;
    size_t row = (size_t)(area->y + y), column = (size_t)(area->x + x);
    area->grid->cells[row * (size_t)area->grid->width + column] =
        (struct cell){.glyph = glyph, .style = style};
}

int area_text(const struct area *area, int x, int y, enum style style,
              const char *text)
{
    int columns = 0;
    while (*text)
        area_put(area, x + columns++, y, style, utf8_next(&text));
    return columns;
}

int area_print(const struct area *area, int x, int y, enum style style,
               const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return area_text(area, x, y, style, text);
}

void area_fill(const struct area *area, int y, enum style style)
{
    for (int x = 0; x < area->width; x++)
        area_put(area, x, y, style, ' ');
}

void utf8_of(uint32_t glyph, char out[5])
{
    unsigned char *to = (unsigned char *)out;
    if (glyph < 0x80) {
        *to++ = (unsigned char)glyph;
    } else if (glyph < 0x800) {
        *to++ = (unsigned char)(0xc0 | glyph >> 6);
        *to++ = (unsigned char)(0x80 | (glyph & 0x3f));
    } else {
        *to++ = (unsigned char)(0xe0 | (glyph >> 12 & 0x0f));
        *to++ = (unsigned char)(0x80 | (glyph >> 6 & 0x3f));
        *to++ = (unsigned char)(0x80 | (glyph & 0x3f));
    }
    *to = 0;
}

/* Accepts characters of one to three bytes, enough for all pictures. Control
 * characters and invalid bytes are replaced. */
uint32_t utf8_next(const char **text)
{
    const unsigned char *s = (const unsigned char *)*text;
    unsigned more = *s >= 0xe0 && *s < 0xf0   ? 2
                    : *s >= 0xc2 && *s < 0xe0 ? 1
                                              : 0;
    uint32_t glyph = more == 2 ? *s & 0x0fU : more == 1 ? *s & 0x1fU : *s;
    ++*text;
    if (more == 0)
        return glyph >= 0x20 && glyph < 0x7f ? glyph : '?';
    for (unsigned i = 1; i <= more; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return '?';
        glyph = glyph << 6 | (s[i] & 0x3fU);
    }
    *text += more;
    return glyph < 0xa0 ? '?' : glyph;
}
