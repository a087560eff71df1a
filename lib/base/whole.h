/* SPDX-License-Identifier: MIT
 *
 * Whole numbers in texts. strtoul would take a sign and blanks for a number,
 * and the largest number for what is beyond it.
 */
#ifndef GW__BASE_WHOLE_H
#define GW__BASE_WHOLE_H

#include <stdbool.h>
#include <stdint.h>

/* Reads the decimal digits at *text and goes on behind them. false, and nothing
 * changed: there is none, or the number is above `most`. */
bool gw__whole_read(const char **text, uint64_t most, uint64_t *number);

#endif
