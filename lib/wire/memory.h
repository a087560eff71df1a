/* SPDX-License-Identifier: MIT
 *
 * Regions: pieces of anonymous shared memory that a process can show to others
 * by naming its pid and file descriptor. No name ever exists in a file system,
 * so nothing can be left behind.
 */
#ifndef GW__MEMORY_H
#define GW__MEMORY_H

#include <gradwire/base.h>

/* A region of this process. */
struct gw__region {
    int fd;
    uint32_t id; /* never used again in this process */
    int pid;     /* of the process that made it */
    void *base;
    size_t bytes;
};

GW_MUST_CHECK enum gw_err
gw__region_new(size_t bytes, struct gw__region *region, struct gw_error *why);
void gw__region_free(struct gw__region *region);

/* Finds the gw_alloc region that holds [memory, memory + bytes). */
bool gw__region_find(const void *memory, size_t bytes,
                     struct gw__region *region);
/* Grows whenever a region is freed: cached answers of gw__region_find are
 * valid while it stays the same. */
uint64_t gw__region_generation(void);

/* Maps a region that process `pid` holds as `fd`, for reading and writing. */
GW_MUST_CHECK enum gw_err gw__region_map(int pid, int fd, size_t bytes,
                                         void **base, struct gw_error *why);
void gw__region_unmap(void *base, size_t bytes);

#endif
