/* SPDX-License-Identifier: MIT
 *
 * Describes a process in text for people: for each driver that it runs, the
 * state of the machine, written by the driver's own thread. If something takes
 * too long, the texts of all processes, taken at one time, show which ones wait
 * for which.
 */
#ifndef GW__CLUSTER_DESCRIBE_H
#define GW__CLUSTER_DESCRIBE_H

#include "base/bytes.h"

#include <gradwire/base.h>

enum { GW__DESCRIBED_MAX = 8192 };

struct gw__description {
    size_t used;
    char text[GW__DESCRIBED_MAX]; /* 0-terminated; truncated if too long */
};

void gw__describe(struct gw__description *description, const char *format, ...)
    GW_PRINTF(2, 3);
/* Writes the age of a time into `out`: "120 ms ago", or "never" for 0. */
const char *gw__describe_since(uint64_t time_ns, uint64_t now_ns, char out[32]);
/* Adds the first digits of the id, enough to distinguish ids. */
void gw__describe_id(struct gw__description *description, struct gw__id id);

/* Describes all drivers of this process, from any thread but theirs. A driver
 * that does not answer within the patience is reported as such. Returns the
 * length of the text. */
size_t gw__drivers_describe(char *out, size_t room, uint64_t patience_ns);

#endif
