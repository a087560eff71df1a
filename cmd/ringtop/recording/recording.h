/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A show as an animation: pictures at equal intervals, which a back end writes to a
 * file. A recording plays on an artificial clock, without waiting.
 *
 *   recording_cast.c   an asciicast, for asciinema's players
 *   recording_svg.c    a moving SVG page, for a browser or a README
 */
#ifndef RINGTOP_RECORDING_H
#define RINGTOP_RECORDING_H

#include "ringtop/show.h"

#include <stdio.h>

/* Takes the picture in show->grid, at `time_ns` after the beginning. */
typedef enum gw_err recording_picture(void *developer, const struct grid *grid,
                                      uint64_t time_ns, struct gw_error *why);

/* Plays the show to its end, with a picture every `frame_ns`; *end_ns receives
 * the time of the end. */
GW_MUST_CHECK enum gw_err recording_play(struct show *show, uint64_t frame_ns,
                                         recording_picture *picture,
                                         void *developer, uint64_t *end_ns,
                                         struct gw_error *why);

/* Each plays the show and writes all of the file. The grid has its size. */
GW_MUST_CHECK enum gw_err recording_cast(struct show *show, FILE *file,
                                         bool color, struct gw_error *why);
GW_MUST_CHECK enum gw_err recording_svg(struct show *show, FILE *file,
                                        bool color, struct gw_error *why);

#endif
