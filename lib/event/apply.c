/* SPDX-License-Identifier: MIT
 *
 * The value of an APPLY event: action + 4 (source's scratch + 1024 receiver's).
 * Without scratch it is the action alone.
 */
#include "apply.h"

enum { ACTIONS = 4, SCRATCH = 1024, TOKEN = 2 };

int64_t gw__apply_value(const struct gw__apply *apply)
{
    int64_t scratch =
        apply->src_scratch + SCRATCH * (int64_t)apply->dst_scratch;
    return apply->action + ACTIONS * scratch;
}

bool gw__apply_parse(int64_t value, struct gw__apply *apply)
{
    if (value < 0 || value % ACTIONS > TOKEN ||
        value / ACTIONS >= (int64_t)SCRATCH * SCRATCH)
        return false;
    *apply = (struct gw__apply){
        .action = (unsigned)(value % ACTIONS),
        .src_scratch = (unsigned)(value / ACTIONS % SCRATCH),
        .dst_scratch = (unsigned)(value / ACTIONS / SCRATCH),
    };
    return true;
}
