/* SPDX-License-Identifier: MIT
 *
 * An observer's own health (Dadgar, Phillips, Currey, "Lifeguard: local health
 * awareness for more accurate failure detection", 2018). A timer that fires
 * late shows that this process did not run. Silence during that time is excused
 * (gw__phi_shift), and thresholds are multiplied by 1 + level, which grows with
 * each late timer and falls again with punctual ones.
 */
#ifndef GW__CLUSTER_HEALTH_H
#define GW__CLUSTER_HEALTH_H

#include <gradwire/base.h>

enum { GW__HEALTH_MAX = 8 };

struct gw__health {
    unsigned level;    /* 0: healthy */
    unsigned punctual; /* punctual timers in a row */
};

/* A timer fired `late_ns` late. True if that is `period_ns` or more, which
 * counts as late. */
bool gw__health_late(struct gw__health *health, uint64_t late_ns,
                     uint64_t period_ns);
unsigned gw__health_factor(const struct gw__health *health);

#endif
