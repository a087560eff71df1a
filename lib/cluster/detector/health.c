/* SPDX-License-Identifier: MIT
 *
 * The observer's own health; see health.h.
 */
#include "health.h"

/* The number of punctual timers in a row that make up for a late one. */
enum { PUNCTUAL_ENOUGH = 16 };

bool gw__health_late(struct gw__health *health, uint64_t late_ns,
                     uint64_t period_ns)
{
    if (late_ns >= period_ns) {
        health->punctual = 0;
        health->level += health->level < GW__HEALTH_MAX;
        return true;
    }
    health->punctual++;
    if (health->punctual >= PUNCTUAL_ENOUGH && health->level > 0) {
        health->level--;
        health->punctual = 0;
    }
    return false;
}

unsigned gw__health_factor(const struct gw__health *health)
{
    return 1 + health->level;
}
