/* SPDX-License-Identifier: MIT
 *
 * The silence of one member, as observed: its length, its excuses, and when it
 * is too long. One of these belongs to each observed member, in the detector of
 * a member and in the service of a controller.
 *
 * Four things explain a silence:
 *
 *     the member is dead or cut off   no excuse: phi.h decides
 *     the observer did not run        gw__silence_shift excludes that time
 *     the member, or the observer's   a look shows that it waits for a CPU:
 *     other threads, did not run      that time is excluded, too
 *     the member is stopped           a look shows it: no excuse
 *
 * The last two are known only for members on the observer's own host. The
 * driver looks at their process when the machine requests it (base/machine.h).
 * So a busy machine makes the observer patient with members that wait for a
 * CPU, while a stop is found as fast as on an idle machine. For a member on
 * another host the observer has only the intervals between beats, whose spread
 * raises the threshold, and its own lateness.
 *
 * Excuses are limited: after GW__EXCUSED_MOST_NS a member that waits for a CPU
 * delays the others as much as a dead one.
 */
#ifndef GW__CLUSTER_SILENCE_H
#define GW__CLUSTER_SILENCE_H

#include "phi.h"

#include <base/machine.h>

#define GW__EXCUSED_MOST_NS 10000000000ULL

struct gw__silence {
    struct gw__phi phi;
    uint64_t contact_ns; /* the last sign of life, without exclusions */
    uint64_t stopped_ns; /* when it was first seen stopped; 0: it is not */
    uint64_t excused_ns; /* excluded from this silence by looks */
};

/* Begins as if a sign of life had arrived at `now_ns`, which may be in the
 * future. */
void gw__silence_begin(struct gw__silence *silence,
                       const struct gw__phi_config *config, uint64_t now_ns);
/* A beat has arrived. */
void gw__silence_end(struct gw__silence *silence, uint64_t now_ns);
/* The observer did not run for `ns` before `now_ns`. */
void gw__silence_shift(struct gw__silence *silence, uint64_t ns,
                       uint64_t now_ns);
/* Is it long enough for a look at the process? */
bool gw__silence_needs_inspection(const struct gw__silence *silence,
                                  uint64_t now_ns);
/* The result of a look; a shift has already excluded `late_ns` of it. */
void gw__silence_sight(struct gw__silence *silence,
                       const struct gw__sight *sight, uint64_t late_ns,
                       uint64_t now_ns);
/* Is it too long? `threshold` is phi's, `factor` the observer's own health,
 * which is ignored if the member is seen stopped. */
bool gw__silence_is_long(const struct gw__silence *silence, double threshold,
                         unsigned factor, uint64_t now_ns);

#endif
