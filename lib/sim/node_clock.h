/* SPDX-License-Identifier: MIT
 *
 * A node's own clock: it starts anywhere and runs fast or slow by some parts
 * per million against the simulation's time. Changing the rate never makes it
 * jump; a node that was paused sees it jump, because it went on without it.
 */
#ifndef GW__SIM_NODE_CLOCK_H
#define GW__SIM_NODE_CLOCK_H

#include <stdint.h>

enum { GW__CLOCK_PPM_MAX = 500000 };

struct gw__node_clock {
    uint64_t since_ns; /* the simulation's time, when ... */
    uint64_t shown_ns; /* ... the clock showed this, */
    int32_t ppm;       /* and how it has run since */
};

uint64_t gw__clock_at(const struct gw__node_clock *clock, uint64_t time_ns);
/* The first time at which the clock shows `shown_ns` or more; not before
 * `since_ns`. UINT64_MAX: in no time that we live to see. */
uint64_t gw__clock_when(const struct gw__node_clock *clock, uint64_t shown_ns);
/* Runs with `ppm` from `time_ns` on. */
void gw__clock_rate(struct gw__node_clock *clock, uint64_t time_ns,
                    int32_t ppm);

#endif
