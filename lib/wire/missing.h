/* SPDX-License-Identifier: MIT
 *
 * Who did not come, as a person would say it.
 */
#ifndef GW__MISSING_H
#define GW__MISSING_H

#include <stdbool.h>

enum { GW__MISSING_BYTES = 120 };

/* "rank 3 of 4", "ranks 1, 2 of 4", "ranks 1, 2, 3, ... of 900": those of
 * `size` ranks whose `here` is false. */
void gw__missing(const bool *here, unsigned size, char text[GW__MISSING_BYTES]);

#endif
