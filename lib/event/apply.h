/* SPDX-License-Identifier: MIT
 *
 * The value of an APPLY event: the receiver's action and, for a transfer from
 * or into scratch, the numbers of the scratch.
 */
#ifndef GW__EVENT_APPLY_H
#define GW__EVENT_APPLY_H

#include <stdbool.h>
#include <stdint.h>

struct gw__apply {
    unsigned action; /* 0 replace, 1 add, 2 token */
    unsigned src_scratch, dst_scratch;
};

int64_t gw__apply_value(const struct gw__apply *apply);
/* False: no such value. */
bool gw__apply_parse(int64_t value, struct gw__apply *apply);

#endif
