/* SPDX-License-Identifier: MIT
 *
 * Pushes of units that are not closed yet, as one slot holds them: copies of
 * their keys and values, unit by unit, in the order of the log. Part of the
 * slot's state.
 */
#ifndef GW__PS_STAGE_H
#define GW__PS_STAGE_H

#include "ps/clock/clock.h"
#include "ps/messages/keys.h"

struct gw__staged_push {
    struct gw__staged_push *next;
    struct gw__keys *keys; /* held */
    uint32_t width;
    float values[];
};

struct gw__staged {
    struct gw__staged *next;
    struct gw__unit unit;
    unsigned group;
    struct gw__staged_push *first, *last;
};

struct gw__stage {
    struct gw__staged *first, *last;
    size_t units, bytes;
};

void gw__stage_fini(struct gw__stage *stage);
/* Room for a push of `keys` (which it holds) at the end of the unit; the caller
 * writes the values. NULL: no memory. */
struct gw__staged_push *gw__stage_add(struct gw__stage *stage, unsigned group,
                                      struct gw__unit unit,
                                      struct gw__keys *keys, uint32_t width);
/* NULL: nothing was pushed of it here. */
struct gw__staged *gw__stage_find(const struct gw__stage *stage, unsigned group,
                                  struct gw__unit unit);
/* The unit, no longer staged; NULL: nothing was pushed of it here. */
struct gw__staged *gw__stage_take(struct gw__stage *stage, unsigned group,
                                  struct gw__unit unit);
/* Ends what was taken; returns how many pushes it had. */
unsigned gw__staged_free(struct gw__staged *staged);

void gw__put_stage(struct gw__writer *writer, const struct gw__stage *stage);
/* Into an empty one; tables as `tables` translates them (GW_PS_TABLES_MAX:
 * there is none: such pushes are not possible). */
void gw__get_stage(struct gw__reader *reader, struct gw__stage *stage,
                   unsigned slot, const uint8_t tables[GW_PS_TABLES_MAX]);

#endif
