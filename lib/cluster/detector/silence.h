/* SPDX-License-Identifier: MIT
 *
 * The silence of one member, as an observer sees it: how long it is, what
 * excuses it, and when it is too long. One of these belongs to each observed
 * member, in the detector of a member and in the service of a controller.
 *
 * Four things explain a silence:
 *
 *     the member is dead or cut off   nothing excuses it: phi.h judges
 *     the observer did not run        gw__silence_shift takes that time out
 *     the member, or the observer's   it is seen to wait for a CPU: that time
 *     other threads, did not run      is taken out, too
 *     the member is stopped           it is seen to be: nothing excuses it
 *
 * The last two are known of members on the observer's own host only. The
 * driver looks at their process when the machine asks it to (GW__DEDUP,
 * base/machine.h). So a busy machine makes the observer patient with those that
 * wait for a CPU, while a stop is found as fast as on an idle one. Of a member
 * elsewhere the observer has only the intervals between beats, whose spread
 * raises the threshold, and its own lateness.
 *
 * No excuse lasts for ever: after GW__EXCUSED_MOST_NS a member that waits for a
 * CPU holds up the others as much as a dead one.
 */
#ifndef GW__CLUSTER_SILENCE_H
#define GW__CLUSTER_SILENCE_H

#include "phi.h"

#include <base/machine.h>

#define GW__EXCUSED_MOST_NS 10000000000ULL

struct gw__silence {
    struct gw__phi phi;
    uint64_t heard_ns;   /* the last sign of life, with nothing taken out */
    uint64_t stopped_ns; /* since when it has been seen stopped; 0: it is not */
    uint64_t excused_ns; /* taken out of this silence by looks */
};

/* As if a sign of life had come at `now_ns`, which may be ahead. */
void gw__silence_begin(struct gw__silence *silence,
                       const struct gw__phi_rule *rule, uint64_t now_ns);
/* A beat. */
void gw__silence_heard(struct gw__silence *silence, uint64_t now_ns);
/* The observer did not run for `ns` before `now_ns`. */
void gw__silence_shift(struct gw__silence *silence, uint64_t ns,
                       uint64_t now_ns);
/* Is it long enough for a look at the process? */
bool gw__silence_wants_look(const struct gw__silence *silence, uint64_t now_ns);
/* What a look saw; `late_ns` of it were taken out before, by a shift. */
void gw__silence_seen(struct gw__silence *silence,
                      const struct gw__sight *sight, uint64_t late_ns,
                      uint64_t now_ns);
/* Is it too long? `threshold` is phi's, `factor` the observer's own health,
 * which does not count where the member is seen to be stopped. */
bool gw__silence_is_long(const struct gw__silence *silence, double threshold,
                         unsigned factor, uint64_t now_ns);
/* Has it been seen stopped for long enough? */
bool gw__silence_is_stop(const struct gw__silence *silence, double threshold,
                         uint64_t now_ns);

#endif
