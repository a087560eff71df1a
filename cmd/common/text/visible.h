/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Text of others on the way to a person: what was typed, a file's name, a line
 * of a script. It may hold any bytes, and a terminal obeys some of them; so
 * what is no character to look at is shown as what it is: "\x1b[31m".
 */
#ifndef VISIBLE_H
#define VISIBLE_H

#include <stddef.h>

/* How many bytes the UTF-8 character at `s` has; 0 when it is none: a stray or
 * missing continuation, an overlong form, a surrogate, or above U+10FFFF. */
unsigned utf8_bytes(const char *s);
/* Writes and returns `out`: control characters and bytes that are no UTF-8 as
 * \xNN, the rest as it is; as much as there is room for. */
const char *visible(const char *text, char *out, size_t room);

#endif
