/* SPDX-License-Identifier: MIT
 *
 * Yielding the core to a peer, unless the machine is crowded. A rank that yields
 * to a process of other work gets the core back after a whole time slice. A rank
 * that sleeps and is woken runs before that process. So after a yield as long as
 * a slice, while more threads than our peers are runnable, the next waits begin
 * with their sleep. (10,180 steps of a ring of 4 beside 2 busy loops per core,
 * shm and tcp: 3.3 and 2.5 s, and 31 and 35 if each wait yields.)
 */
#ifndef GW__WIRE_CROWD_H
#define GW__WIRE_CROWD_H

#include <stdbool.h>
#include <stdint.h>

struct gw__crowd {
    unsigned waits; /* to come, that begin with their sleep */
};

/* The runnable threads of this machine, this one included; 0: unknown. */
unsigned gw__runnable_threads(void);

/* Yields the core to one of `peers` threads, this one included. Returns the
 * nanoseconds until this thread had the core again. */
uint64_t gw__crowd_yield(struct gw__crowd *crowd, unsigned peers);

/* True: sleep. */
static inline bool gw__is_crowded(const struct gw__crowd *crowd)
{
    return crowd->waits > 0;
}

static inline void gw__crowd_slept(struct gw__crowd *crowd)
{
    if (crowd->waits > 0)
        crowd->waits--;
}

#endif
