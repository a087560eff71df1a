/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the two drawings of a timeline (gantt.h): the style of each kind of
 * pass, the ticks of an axis, the text of a time.
 */
#ifndef GANTT_PARTS_H
#define GANTT_PARTS_H

#include "gantt.h"

#include <stdbool.h>

struct gantt_pass_style {
    const char *word;        /* "forward" */
    const char *utf8, ascii; /* after the label, without colour */
    const char *color[2];    /* SGR numbers: even pieces, odd ones */
    const char *fill, *ink;  /* of SVG */
};
extern const struct gantt_pass_style gantt_pass_styles[GW_PASS_KINDS];

/* Has the pass begun? */
bool gantt_drawn(const struct gw_pass_time *time);
/* The time that the lanes cover. */
double gantt_span_us(const struct gw_timeline *timeline);
/* The kinds of the schedule, as bits. */
unsigned gantt_kinds(const struct gw_schedule *schedule);

/* The distance of an axis's ticks: 1, 2 or 5 times a power of ten, with at most
 * `most` of them, besides 0, in `span_us`. */
double gantt_tick_us(double span_us, unsigned most);
/* "0", "2.5 ms": in the unit that suits `span_us`. */
void gantt_tick_label(double time_us, double span_us, char out[24]);
/* "33 ms", "1.25 s", "640 us": four digits. */
void gantt_time(double time_us, char out[24]);
/* "F3"; with several pieces in all, "F3.1" for the second, as in
 * gradwire-schedule(5). */
void gantt_pass_label(const struct gw_pass *pass, unsigned chunks,
                      char out[16]);

#endif
