/* SPDX-License-Identifier: MIT
 *
 * Operations of the shm wire beyond slices: one control block per rank that all
 * peers can read at once, and peers' memory to load from and store into. So one
 * pass reads every source of a chunk and writes every result.
 * lib/coll/window/window.c is the user.
 */
#ifndef GW__WINDOWS_H
#define GW__WINDOWS_H

#include "wire.h"

enum { GW__CONTROL_BLOCK_BYTES = 272 << 10 };

/* Values of gw__memory_range.fd for memory without a descriptor. */
enum {
    GW__MEMORY_NONE = -1,    /* nothing is named */
    GW__MEMORY_PRIVATE = -2, /* memory of malloc; `offset` is its address */
};

/* A range of memory as its owner names it to others. */
struct gw__memory_range {
    int32_t fd;
    uint32_t region;
    uint64_t region_bytes;
    uint64_t offset;
};

struct gw__windows {
    /* The control block of `rank`: its owner writes it, all ranks read it. It
     * is zeroed at the start and does not move while the wire is open. */
    void *(*control_block)(struct gw__wire *, unsigned rank);
    /* Names [memory, memory + bytes) for others to map. GW__MEMORY_NONE: it
     * cannot be mapped. */
    struct gw__memory_range (*show)(struct gw__wire *, const void *memory,
                                    size_t bytes);
    /* The local address of `place` of `rank`; NULL if it cannot be mapped (the
     * wire's `check` then returns the reason). */
    void *(*reach)(struct gw__wire *, unsigned rank,
                   const struct gw__memory_range *range);
    /* May the ranks copy each other's private memory? All ranks get the same
     * answer, and a false one with the reason. */
    bool (*can_copy)(struct gw__wire *, struct gw_error *why);
    /* Copies `bytes` bytes from or to the private memory of `rank` at the
     * address `from` or `to` there. False: they are not all copied (the wire's
     * `check` then returns the reason). */
    bool (*load)(struct gw__wire *, unsigned rank, uint64_t from, void *to,
                 size_t bytes);
    bool (*store)(struct gw__wire *, unsigned rank, uint64_t to,
                  const void *from, size_t bytes);
    /* True when `rank` has failed, closed or died: it no longer reads or writes
     * other ranks' memory, and its own memory may hold anything. */
    bool (*gone)(struct gw__wire *, unsigned rank);
    /* Call it after a change of the control block: wakes all that sleep in
     * `wait`. */
    void (*wake_all)(struct gw__wire *);
    /* A moment of waiting: a pause, or a yield to another rank. False: the wait
     * has been long, call `wait`. */
    bool (*relax)(struct gw__wire *);
    /* Something moved: the next wait starts with a pause again. */
    void (*moved)(struct gw__wire *);
};

#endif
