/* SPDX-License-Identifier: MIT
 *
 * The link profile: the effect of a link on its messages. It belongs to the
 * ordered pair of nodes, not to the processes: a restarted node keeps it.
 */
#ifndef GW__LINK_PROFILE_H
#define GW__LINK_PROFILE_H

#include <gradwire/base.h>

struct gw__link_profile {
    uint32_t delay_us;
    uint32_t jitter_us;
    uint64_t rate; /* bytes per second; 0: no limit */
    uint32_t loss_ppm;
    bool down;
};

#endif
