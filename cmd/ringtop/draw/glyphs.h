/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The characters that pictures are made of, in UTF-8 and in ASCII.
 */
#ifndef RINGTOP_GLYPHS_H
#define RINGTOP_GLYPHS_H

struct glyphs {
    const char *levels[9]; /* a bar of 0 to 8 eighths */
    const char *across, *down;
    const char *corners[4]; /* clockwise from top left */
    const char *arrows[4];  /* right, down, left, up */
    const char *full;
    const char *passes[4]; /* by enum gw_pass_kind: F, B, I, W */
    const char *idle;
};

extern const struct glyphs glyphs_utf8, glyphs_ascii;

#endif
