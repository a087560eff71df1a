/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Foreign text for a person: typed words, a file's name, a line of a script. It
 * may contain any bytes, and a terminal obeys some of them, so bytes that are
 * not visible characters are shown as "\x1b[31m".
 */
#ifndef VISIBLE_H
#define VISIBLE_H

#include <stddef.h>

/* How many bytes the UTF-8 character at `s` has; 0 when it is invalid: a stray
 * or missing continuation, an overlong form, a surrogate, or above U+10FFFF. */
unsigned utf8_bytes(const char *s);
/* Writes and returns `out`: control characters and bytes that are not UTF-8 as
 * \xNN, the rest unchanged, truncated to `room`. */
const char *visible(const char *text, char *out, size_t room);

#endif
