/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A grid of cells, which is all that drawing draws on; what shows it (a
 * terminal, a page of text, an asciicast) is another matter. A style is what is
 * meant, not a colour: with or without colour, letters carry the message.
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
    STYLE_CHUNK,   /* data on its way */
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

/* Makes it so large, and blank. Sides are cut to 1 and GRID_SIDE_MAX. */
GW_MUST_CHECK enum gw_err grid_size(struct grid *grid, int width, int height,
                                    struct gw_error *why);
void grid_clear(struct grid *grid);
void grid_fini(struct grid *grid);
const struct cell *grid_at(const struct grid *grid, int x, int y);

/* A part of a grid. What is drawn outside of it is cut off. */
struct area {
    struct grid *grid;
    int x, y, width, height;
};

struct area grid_area(struct grid *grid);
/* A part of an area, in its coordinates, cut to it. */
struct area area_part(const struct area *area, int x, int y, int width,
                      int height);
/* One character. */
void area_put(const struct area *area, int x, int y, enum style style,
              uint32_t glyph);
/* UTF-8 text of one line; returns its columns, seen or not. */
int area_text(const struct area *area, int x, int y, enum style style,
              const char *text);
int area_print(const struct area *area, int x, int y, enum style style,
               const char *format, ...) GW_PRINTF(5, 6);
/* A row in one style, blank. */
void area_fill(const struct area *area, int y, enum style style);

/* UTF-8 of one character, terminated. */
void utf8_of(uint32_t glyph, char out[5]);
/* Reads one character and steps over it; a byte that begins none is '?'. */
uint32_t utf8_next(const char **text);

#endif
