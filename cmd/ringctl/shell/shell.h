/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The interactive shell: shell.c chooses between it and scripts, shell_line.c
 * reads and runs lines, the other files add completion and history.
 */
#ifndef SHELL_H
#define SHELL_H

#include "script.h"

/* Reads commands from the terminal until Ctrl-D or `quit`. */
int shell_interact(void);

/* Does the command lack the node that it is about? If so, the question to ask,
 * and the node that an empty answer means, or ""; without a run, why->code and
 * the reason. (shell_question.c) */
enum { SHELL_QUESTION = 64, SHELL_NODE = 24 };
bool shell_question(const struct script_command *typed,
                    char question[SHELL_QUESTION], char usual[SHELL_NODE],
                    struct gw_error *why);

/* Sets readline's completion (shell_complete.c). */
void shell_complete_begin(void);

/* $XDG_STATE_HOME/gradwire/ringctl_history (shell_history.c). */
void shell_history_begin(void);
void shell_history_add(const char *line);
void shell_history_end(void);

#endif
