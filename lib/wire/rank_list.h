/* SPDX-License-Identifier: MIT
 *
 * A readable list of the missing ranks.
 */
#ifndef GW__RANK_LIST_H
#define GW__RANK_LIST_H

#include <stdbool.h>

enum { GW__RANK_LIST_BYTES = 120 };

/* "rank 3 of 4", "ranks 1, 2 of 4", "ranks 1, 2, 3, ... of 900": those of
 * `size` ranks whose `here` is false. */
void gw__rank_list(const bool *here, unsigned size,
                   char text[GW__RANK_LIST_BYTES]);

#endif
