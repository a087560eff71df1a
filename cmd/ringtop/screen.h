/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The terminal, through ncurses. No other module uses it.
 */
#ifndef RINGTOP_SCREEN_H
#define RINGTOP_SCREEN_H

#include "ringtop/draw/grid.h"

/* Takes over the terminal. Keys come from standard input, or, when that is not
 * a terminal because it has the events, from /dev/tty. */
GW_MUST_CHECK enum gw_err screen_open(bool color, struct gw_error *why);
/* Restores the terminal. */
void screen_close(void);
void screen_size(int *width, int *height);
void screen_show(const struct grid *grid);
/* The next key: a character or an enum key; 0 when none waits. */
int screen_key(void);
/* Readable when a key waits. */
int screen_fd(void);

#endif
