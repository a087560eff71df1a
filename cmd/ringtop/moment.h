/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The moment of a recording that the user asks for: a time, the end of an op,
 * or the beginning of an epoch, when its recovery is planned and no data has
 * moved yet.
 */
#ifndef RINGTOP_MOMENT_H
#define RINGTOP_MOMENT_H

#include "ringtop/source/player.h"

enum moment_kind { MOMENT_NONE, MOMENT_TIME, MOMENT_OP, MOMENT_EPOCH };

struct moment {
    enum moment_kind kind;
    uint64_t number; /* ns after the first event; of the op or epoch */
};

/* The events that lead to it: [first, end). Without a moment, all. */
struct events_until {
    size_t first, end;
    uint32_t op; /* it is about this one; GW_NONE: any */
};

/* GW_EINVAL: it is not in the recording. */
GW_MUST_CHECK enum gw_err moment_find(const struct moment *moment,
                                      const struct player *player,
                                      struct events_until *found,
                                      struct gw_error *why);

#endif
