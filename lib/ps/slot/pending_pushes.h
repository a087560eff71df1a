/* SPDX-License-Identifier: MIT
 *
 * Pending pushes of a slot: their units are not closed yet. Keys and values are
 * copied, per unit, in the order of the log. They are part of the slot's state.
 */
#ifndef GW__PS_STAGE_H
#define GW__PS_STAGE_H

#include "ps/clock/clock.h"
#include "ps/messages/keys.h"

struct gw__staged_push {
    struct gw__staged_push *next;
    struct gw__keys *keys; /* referenced */
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
/* Appends room for a push of `keys`, which it references, to the unit. The
 * caller writes the values. NULL: out of memory. */
struct gw__staged_push *gw__stage_add(struct gw__stage *stage, unsigned group,
                                      struct gw__unit unit,
                                      struct gw__keys *keys, uint32_t width);
/* NULL: the unit has no pushes here. */
struct gw__staged *gw__stage_find(const struct gw__stage *stage, unsigned group,
                                  struct gw__unit unit);
/* Removes the unit from the list. NULL: the unit has no pushes here. */
struct gw__staged *gw__stage_take(struct gw__stage *stage, unsigned group,
                                  struct gw__unit unit);
/* Frees a removed unit; returns its number of pushes. */
unsigned gw__staged_free(struct gw__staged *staged);

void gw__put_stage(struct gw__writer *writer, const struct gw__stage *stage);
/* Reads into an empty one. `tables` translates the numbers of tables;
 * GW_PS_TABLES_MAX: no such table, and a push to it is invalid. */
void gw__get_stage(struct gw__reader *reader, struct gw__stage *stage,
                   unsigned slot, const uint8_t tables[GW_PS_TABLES_MAX]);

#endif
