/* SPDX-License-Identifier: MIT
 *
 * Whole numbers in texts. strtoul would accept a sign and blanks, and would
 * return the largest number for larger ones.
 */
#ifndef GW__BASE_WHOLE_H
#define GW__BASE_WHOLE_H

#include <stdbool.h>
#include <stdint.h>

/* Reads the decimal digits at *text and moves *text after them. False, and
 * nothing changed: there is no digit, or the number is above `most`. */
bool gw__whole_read(const char **text, uint64_t most, uint64_t *number);

#endif
