/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The interactive shell: shell.c chooses between it and scripts, shell_line.c
 * reads and runs lines, the other files add completion and history.
 */
#ifndef SHELL_H
#define SHELL_H

/* Reads commands from the terminal until Ctrl-D or `quit`. */
int shell_interact(void);

/* Sets readline's completion (shell_complete.c). */
void shell_complete_begin(void);

/* $XDG_STATE_HOME/gradwire/ringctl_history (shell_history.c). */
void shell_history_begin(void);
void shell_history_add(const char *line);
void shell_history_end(void);

#endif
