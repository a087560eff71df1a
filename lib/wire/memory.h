/* SPDX-License-Identifier: MIT
 *
 * Regions: anonymous shared memory that a process shows to others by its pid
 * and file descriptor. It never has a name in a file system, so nothing is left
 * behind when a process is killed.
 */
#ifndef GW__MEMORY_H
#define GW__MEMORY_H

#include <gradwire/base.h>

/* A region of this process. */
struct gw__region {
    int fd;
    uint32_t id; /* never reused in this process */
    int pid;     /* of the process that created it */
    void *base;
    size_t bytes;
};

GW_MUST_CHECK enum gw_err
gw__region_new(size_t bytes, struct gw__region *region, struct gw_error *why);
void gw__region_free(struct gw__region *region);

/* Finds the gw_alloc region that contains [memory, memory + bytes). */
bool gw__region_find(const void *memory, size_t bytes,
                     struct gw__region *region);
/* Grows whenever a region is freed: cached results of gw__region_find are valid
 * while it is unchanged. */
uint64_t gw__region_generation(void);

/* Maps a region that process `pid` holds as `fd`, for reading and writing; all
 * its pages at once, or each at its first use. */
GW_MUST_CHECK enum gw_err gw__region_map(int pid, int fd, size_t bytes,
                                         bool at_once, void **base,
                                         struct gw_error *why);
void gw__region_unmap(void *base, size_t bytes);

#endif
