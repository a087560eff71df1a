/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Events that a supervisor makes from its knowledge about parameter servers.
 * None of these does anything when the run is a ring.
 */
#ifndef SUPERVISOR_REPORT_H
#define SUPERVISOR_REPORT_H

#include "supervisor.h"

#include <gradwire/control.h>

struct run;
struct child;
struct gw__membership_update;

/* The last reported values. */
struct reported_state {
    unsigned char roles[RUN_SLOTS_MAX][RUN_SERVERS_MAX]; /* gw_ps_role */
    struct reported_clock {
        bool known;
        uint64_t clock;
        uint32_t epoch, batch, part; /* GW_NONE: no item */
    } clocks[RUN_WORKERS_MAX];
};

/* The view has changed from `before` to the run's newest update. */
void report_update(struct run *run, const struct gw__membership_update *before);
/* The child has sent a note. */
void report_status(struct run *run, const struct child *child);
/* All values again, for a recording that begins. */
void report_all(struct run *run);

#endif
