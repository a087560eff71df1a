/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The commands of collrun, one file each. main.c lists them; plan_source.h has
 * their shared options.
 */
#ifndef COLLRUN_H
#define COLLRUN_H

#include "common/command.h"

extern const struct command command_list, command_plan, command_verify,
    command_price, command_sim, command_run, command_bench, command_calibrate,
    command_train, command_tune, command_exec, command_plot, command_import,
    command_export, command_bound, command_synth, command_topo;

#endif
