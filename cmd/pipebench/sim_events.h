/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A simulated step as a recording of events.
 */
#ifndef SIM_EVENTS_H
#define SIM_EVENTS_H

#include <gradwire/pipe.h>

/* Writes the events of a run of the step, in virtual time, to the file at
 * `path`, in order of time. GW_ESYS names the file; GW_EINVAL: the step takes
 * centuries. */
GW_MUST_CHECK enum gw_err sim_events_write(const char *path,
                                           const struct gw_schedule *schedule,
                                           const struct gw_timeline *timeline,
                                           struct gw_error *why);

#endif
