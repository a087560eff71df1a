/* SPDX-License-Identifier: MIT
 *
 * The local clock of a node. It starts at any value and runs fast or slow by
 * some ppm relative to simulation time. A change of the rate never makes it
 * jump. A node that was paused sees a jump, since the clock did not stop.
 */
#ifndef GW__SIM_NODE_CLOCK_H
#define GW__SIM_NODE_CLOCK_H

#include <stdint.h>

enum { GW__CLOCK_PPM_MAX = 500000 };

struct gw__node_clock {
    uint64_t since_ns; /* a simulation time ... */
    uint64_t shown_ns; /* ... the clock's value then */
    int32_t ppm;       /* and its rate since then */
};

uint64_t gw__clock_at(const struct gw__node_clock *clock, uint64_t time_ns);
/* The first simulation time at which the clock shows at least `shown_ns`; not
 * before `since_ns`. UINT64_MAX: later than any representable time. */
uint64_t gw__clock_when(const struct gw__node_clock *clock, uint64_t shown_ns);
/* Sets the rate from `time_ns` on. */
void gw__clock_rate(struct gw__node_clock *clock, uint64_t time_ns,
                    int32_t ppm);

#endif
