/* SPDX-License-Identifier: MIT
 *
 * Schedules and their simulated steps for tests; a failure to make one fails
 * the test.
 */
#ifndef SCHEDULES_H
#define SCHEDULES_H

#include <gradwire/pipe.h>

/* By gw_schedule_make. */
struct gw_schedule *schedule_made(const char *name, unsigned stages,
                                  unsigned micros, unsigned chunks);
/* By gw_schedule_parse, from a text with the name "t". */
struct gw_schedule *schedule_read(const char *text);
/* By gw_pipe_simulate. */
struct gw_timeline *schedule_simulate(const struct gw_schedule *schedule,
                                      const struct gw_pipe_costs *costs);

#endif
