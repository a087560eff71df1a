/* SPDX-License-Identifier: MIT
 *
 * The persisted values of a node: the newest value of each key. It outlives the
 * node's crashes. A table with open addressing (linear probing, at most half
 * full). A value keeps its memory, which grows for a longer value.
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
/* False: too little memory; the older value stays. */
GW_MUST_CHECK bool gw__disk_write(struct gw__disk *disk, uint32_t key,
                                  const void *data, size_t bytes);
/* NULL: there is none. Otherwise valid until the next write. */
const void *gw__disk_read(const struct gw__disk *disk, uint32_t key,
                          size_t *bytes);

#endif
