/* SPDX-License-Identifier: MIT
 *
 * Lists missing ranks, as many as fit: see rank_list.h.
 */
#include "rank_list.h"

#include <stdio.h>
#include <string.h>

void gw__rank_list(const bool *here, unsigned size,
                   char text[GW__RANK_LIST_BYTES])
{
    enum { ROOM_FOR_THE_REST = 24 };
    char names[GW__RANK_LIST_BYTES - ROOM_FOR_THE_REST] = "";
    size_t length = 0;
    unsigned missing = 0, named = 0;
    for (unsigned r = 0; r < size; r++) {
        if (here[r])
            continue;
        missing++;
        int more = snprintf(names + length, sizeof names - length, "%s%u",
                            named ? ", " : "", r);
        if (named + 1 < missing || length + (size_t)more >= sizeof names)
            names[length] = 0; /* no room: none after it is named */
        else {
            length += (size_t)more;
            named++;
        }
    }
    snprintf(text, GW__RANK_LIST_BYTES, "rank%s %s%s of %u",
             missing == 1 ? "" : "s", names, named < missing ? ", ..." : "",
             size);
}
