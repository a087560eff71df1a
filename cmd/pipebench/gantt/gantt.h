/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A timeline as a picture: one lane per stage, time to the right. Pure: as text
 * for a terminal (gantt_text.c) and as SVG for a page (gantt_svg.c).
 */
#ifndef GANTT_H
#define GANTT_H

#include <gradwire/pipe.h>

#include <stdio.h>

/* The contents of a picture. A pass that did not happen yet has end_us <=
 * begin_us and is omitted; one that is under way is drawn up to its end_us. */
struct gantt {
    const struct gw_schedule *schedule;
    const struct gw_timeline *timeline;
    double span_us; /* the time that fits into the lanes; 0: all of it */
    /* of the shortest pass, to get whole cells; 0: use all columns */
    double shortest_pass_us;
};

struct gantt_style {
    unsigned width; /* columns of the terminal */
    bool color, utf8;
};

/* Draws lanes and the time axis: stages + 1 lines, the number that it returns.
 * Each pass has its letter and its micro-batch, as far as there is room. "F3.1"
 * is of piece 1, and pieces other than 0 have small letters. A cell that
 * several passes share shows the one that has most of it. */
unsigned gantt_draw(FILE *file, const struct gantt *gantt,
                    const struct gantt_style *style);
/* "F forward B backward . idle", for the kinds of the schedule. */
void gantt_legend(FILE *file, const struct gw_schedule *schedule,
                  const struct gantt_style *style);
/* Name and numbers of the schedule, its caption, the lanes, the legend. */
void gantt_figure(FILE *file, const struct gantt *gantt,
                  const struct gantt_style *style);
/* The style for stdout: its width and abilities. `file` is stdout or stderr. */
struct gantt_style gantt_style_of(FILE *file);

/* One of the pictures of a page, from top to bottom. */
struct gantt_panel {
    const char *title; /* "1f1b" */
    const struct gw_schedule *schedule;
    const struct gw_timeline *predicted;
    const struct gw_timeline *measured; /* NULL: none; drawn below it */
};

/* A whole SVG document: the panels on one axis of time, each with its time and
 * both bubbles; one tooltip per pass. GW_ESYS: it cannot be written. */
GW_MUST_CHECK enum gw_err gantt_svg(FILE *file, const char *title,
                                    const struct gantt_panel *panels,
                                    unsigned count, struct gw_error *why);
/* The same into the file at `path`. */
GW_MUST_CHECK enum gw_err gantt_svg_write(const char *path, const char *title,
                                          const struct gantt_panel *panels,
                                          unsigned count, struct gw_error *why);

/* "33.0 ms, bubble 37.5 % of ideal, 27.3 % of total, at most 4 activations a
 * stage"; with pieces, "8 activations of 1/2 a stage". */
void gantt_caption(const struct gw_schedule *schedule,
                   const struct gw_timeline *timeline, char out[160]);

#endif
