/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The commands of pipebench, one file each. main.c lists them;
 * schedule_source.h has the options for their schedules.
 */
#ifndef PIPEBENCH_H
#define PIPEBENCH_H

#include "common/command.h"

extern const struct command command_plan, command_sim, command_compare,
    command_run, command_sweep, command_fit, command_layout;

#endif
