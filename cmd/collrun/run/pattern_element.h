/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Converts an int64_t to an element: for an integer type it is the value,
 * wrapped (for an unsigned one its bits); for a floating type it must be a
 * small integer, and is that number.
 */
#ifndef PATTERN_ELEMENT_H
#define PATTERN_ELEMENT_H

#include <gradwire/gradwire.h>

bool element_is_float(enum gw_dtype type);
bool element_is_unsigned(enum gw_dtype type);
/* The value of `v` in an element of an integer type, widened again. */
int64_t element_wrap(enum gw_dtype type, int64_t v);
/* The element's bits, in the low bytes. For a floating type |v| must be exact:
 * no more bits than its fraction has, except trailing zeros. */
uint64_t element_bits(enum gw_dtype type, int64_t v);

#endif
