/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A grid of cells, the only target of drawing. Its output (a terminal, a page
 * of text, an asciicast) is separate. A style is a meaning, not a colour:
 * letters carry the message with or without colour.
 */
#ifndef RINGTOP_GRID_H
#define RINGTOP_GRID_H

#include <gradwire/base.h>

enum style {
    STYLE_PLAIN,
    STYLE_BAR,    /* header and keys: reverse */
    STYLE_STRONG, /* bold */
    STYLE_DIM,
    STYLE_GOOD,
    STYLE_WARN,
    STYLE_BAD,
    STYLE_CHUNK,   /* data in transfer */
    STYLE_FORWARD, /* the passes of a pipeline, by enum gw_pass_kind */
    STYLE_BACKWARD,
    STYLE_BACKWARD_INPUT,
    STYLE_BACKWARD_WEIGHT,
    STYLES
};

struct cell {
    uint32_t glyph; /* a Unicode character, one column wide */
    enum style style;
};

struct grid {
    int width, height;
    struct cell *cells; /* row by row */
};

enum { GRID_SIDE_MAX = 1000 };

/* Sets its size and clears it. Sides are limited to 1 to GRID_SIDE_MAX. */
GW_MUST_CHECK enum gw_err grid_size(struct grid *grid, int width, int height,
                                    struct gw_error *why);
void grid_clear(struct grid *grid);
void grid_fini(struct grid *grid);
const struct cell *grid_at(const struct grid *grid, int x, int y);

/* A part of a grid. Drawing is clipped to it. */
struct area {
    struct grid *grid;
    int x, y, width, height;
};

struct area grid_area(struct grid *grid);
/* A part of an area, in its coordinates, clipped to it. */
struct area area_part(const struct area *area, int x, int y, int width,
                      int height);
/* One character. */
void area_put(const struct area *area, int x, int y, enum style style,
              uint32_t glyph);
/* UTF-8 text of one line; returns its columns, visible or not. */
int area_text(const struct area *area, int x, int y, enum style style,
              const char *text);
int area_print(const struct area *area, int x, int y, enum style style,
               const char *format, ...) GW_PRINTF(5, 6);
/* A row in one style, blank. */
void area_fill(const struct area *area, int y, enum style style);

/* UTF-8 of one character, terminated. */
void utf8_of(uint32_t glyph, char out[5]);
/* Reads one character and steps over it; an invalid byte is '?'. */
uint32_t utf8_next(const char **text);

#endif
