/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The commands of pipebench, one file each. main.c lists them; where several of
 * them get their schedule from is in schedule_source.h.
 */
#ifndef PIPEBENCH_H
#define PIPEBENCH_H

#include "common/command.h"

extern const struct command command_plan, command_sim, command_compare,
    command_run, command_sweep, command_fit, command_layout;

#endif
