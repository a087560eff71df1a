/* SPDX-License-Identifier: MIT
 *
 * Pending pushes of a slot: their items are not closed yet. Keys and values are
 * copied, per item, in the order of the log. They are part of the slot's state.
 */
#ifndef GW__PS_PENDING_PUSHES_H
#define GW__PS_PENDING_PUSHES_H

#include "ps/clock/clock.h"
#include "ps/messages/keys.h"

struct gw__pending_push {
    struct gw__pending_push *next;
    struct gw__keys *keys; /* referenced */
    uint32_t width;
    float values[];
};

struct gw__pending_item {
    struct gw__pending_item *next;
    struct gw__work_item item;
    unsigned group;
    struct gw__pending_push *first, *last;
};

struct gw__pending {
    struct gw__pending_item *first, *last;
    size_t items, bytes;
};

void gw__pending_fini(struct gw__pending *pending);
/* Appends room for a push of `keys`, which it references, to the item. The
 * caller writes the values. NULL: out of memory. */
struct gw__pending_push *gw__pending_add(struct gw__pending *pending,
                                         unsigned group,
                                         struct gw__work_item item,
                                         struct gw__keys *keys, uint32_t width);
/* NULL: the item has no pushes here. */
struct gw__pending_item *gw__pending_find(const struct gw__pending *pending,
                                          unsigned group,
                                          struct gw__work_item item);
/* Removes the item from the list. NULL: the item has no pushes here. */
struct gw__pending_item *gw__pending_remove(struct gw__pending *pending,
                                            unsigned group,
                                            struct gw__work_item item);
/* Frees a removed item; returns its number of pushes. */
unsigned gw__pending_item_free(struct gw__pending_item *entry);

void gw__put_pending(struct gw__writer *writer,
                     const struct gw__pending *pending);
/* Reads into an empty one. `tables` translates the numbers of tables;
 * GW_PS_TABLES_MAX: no such table, and a push to it is invalid. */
void gw__get_pending(struct gw__reader *reader, struct gw__pending *pending,
                     unsigned slot, const uint8_t tables[GW_PS_TABLES_MAX]);

#endif
