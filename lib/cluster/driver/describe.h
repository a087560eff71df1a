/* SPDX-License-Identifier: MIT
 *
 * What a process knows, as text for people: of every driver that it runs, the
 * state of the machine, told by the driver's own thread. For the day on which
 * something takes longer than it may: the texts of all parties, taken at one
 * time, show who waits for whom.
 */
#ifndef GW__CLUSTER_DESCRIBE_H
#define GW__CLUSTER_DESCRIBE_H

#include "base/bytes.h"

#include <gradwire/base.h>

enum { GW__DESCRIBED_MAX = 8192 };

struct gw__description {
    size_t used;
    char text[GW__DESCRIBED_MAX]; /* ends with a 0; what has no room is cut */
};

void gw__describe(struct gw__description *description, const char *format, ...)
    GW_PRINTF(2, 3);
/* How long ago that was: "120 ms ago", "never" for 0. Into `out`. */
const char *gw__describe_since(uint64_t time_ns, uint64_t now_ns, char out[32]);
/* The beginning of it, enough to tell two apart. */
void gw__describe_id(struct gw__description *description, struct gw__id id);

/* Of all drivers of this process, from any thread but theirs. One that does not
 * answer within the patience is said not to. Returns the length of the text. */
size_t gw__drivers_describe(char *out, size_t room, uint64_t patience_ns);

#endif
