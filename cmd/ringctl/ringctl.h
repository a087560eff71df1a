/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The verbs of ringctl, and the shell that runs them.
 */
#ifndef RINGCTL_H
#define RINGCTL_H

#include "common/command.h"

extern const struct command command_shell;

extern const struct command command_up, command_down, command_train;
extern const struct command command_ls, command_status, command_ring;
extern const struct command command_ps, command_slots, command_clocks,
    command_controllers;
extern const struct command command_snapshot, command_mode;
extern const struct command command_events, command_watch;
extern const struct command command_kill, command_stop, command_pause,
    command_resume, command_restart, command_drain, command_add;
extern const struct command command_slow, command_pace, command_disk,
    command_drift;
extern const struct command command_link, command_cut, command_heal,
    command_topo, command_order;
extern const struct command command_wait, command_expect;
extern const struct command command_record, command_replay;
extern const struct command command_export, command_rerun;
extern const struct command command_chaos, command_sim, command_keygen;
extern const struct command command_source, command_quit, command_exit;

/* Gives the options of `up` and `train` their defaults; before tool_main. */
void task_options_begin(void);

#endif
