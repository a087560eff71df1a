/* SPDX-License-Identifier: MIT
 *
 * What the shm wire offers beyond slices: a card a rank that all
 * peers can read at once, and memory of the peers to load from and store into,
 * so that one pass reads every source of a chunk and writes every result.
 * lib/coll/window/window.c is the user.
 */
#ifndef GW__WINDOWS_H
#define GW__WINDOWS_H

#include "wire.h"

enum { GW__CONTROL_BLOCK_BYTES = 272 << 10 };

/* A piece of memory as its owner names it to others. */
struct gw__place {
    int32_t fd; /* negative: nowhere, the memory is private */
    uint32_t region;
    uint64_t region_bytes;
    uint64_t offset;
};

struct gw__windows {
    /* The card of `rank`: its owner writes, all read. Zeroed at the start, and
     * in one place as long as the wire is open. */
    void *(*card)(struct gw__wire *, unsigned rank);
    /* Names [memory, memory + bytes) for others. */
    struct gw__place (*show)(struct gw__wire *, const void *memory,
                             size_t bytes);
    /* Where `place` of `rank` lies here; NULL when it cannot be mapped (the
     * wire's `check` then says why). */
    void *(*reach)(struct gw__wire *, unsigned rank,
                   const struct gw__place *place);
    /* True when `rank` has failed, said goodbye or died: it reads and writes
     * nobody's memory any more, and its own may be anything. */
    bool (*gone)(struct gw__wire *, unsigned rank);
    /* Call after changing the card: wakes all that sleep in `wait`. */
    void (*wake_all)(struct gw__wire *);
    /* A moment of waiting: a pause, or a yield to another rank. False: it has
     * lasted, `wait` is due. */
    bool (*relax)(struct gw__wire *);
    /* Something moved: the next wait begins with a pause again. */
    void (*moved)(struct gw__wire *);
};

#endif
