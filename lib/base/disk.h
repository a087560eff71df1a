/* SPDX-License-Identifier: MIT
 *
 * What a node has persisted: the newest value of each key. It outlives the
 * node's crashes. A table with open addressing (linear probing, never more than
 * half full); a value keeps its memory and grows it when a longer one comes.
 */
#ifndef GW__BASE_DISK_H
#define GW__BASE_DISK_H

#include <gradwire/base.h>

struct gw__value {
    void *data; /* NULL: an empty place in the table */
    uint32_t key;
    uint32_t bytes;
    uint32_t capacity;
};

struct gw__disk {
    struct gw__value *table;
    size_t places; /* a power of two, or 0 */
    size_t used;
};

/* A zeroed disk is empty. */
void gw__disk_fini(struct gw__disk *disk);
/* False when memory is short; the older value stays then. */
GW_MUST_CHECK bool gw__disk_write(struct gw__disk *disk, uint32_t key,
                                  const void *data, size_t bytes);
/* NULL when there is none; else valid until the next write. */
const void *gw__disk_read(const struct gw__disk *disk, uint32_t key,
                          size_t *bytes);

#endif
