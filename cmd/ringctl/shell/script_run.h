/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Running commands one after the other. A script stops at the first that fails,
 * with its exit status, after an error "FILE:LINE: sentence".
 */
#ifndef SCRIPT_RUN_H
#define SCRIPT_RUN_H

#include "script.h"

struct script_options {
    const char *name; /* in messages: "demo.ring"; NULL: none */
    bool by_command;  /* errors name the command's text, not FILE:LINE */
    bool keep_going;
};

/* Each returns an exit status: 0, or that of the first command that failed. */
int script_run_text(const char *text, const struct script_options *options);
/* "-" is standard input. */
int script_run_file(const char *path, bool keep_going);
/* Line by line, as they come. */
int script_run_input(bool keep_going);

/* Finds a command that would fail for its words alone, such as a wait with an
 * unknown name, before the commands in front of it have run. It runs that one
 * command, which reports the error; returns its status, or 0. */
int script_check(const struct script *script,
                 const struct script_options *options);

/* Runs one command, as typed at `place` ("FILE:3", or NULL). */
int script_run_command(const struct script_command *command,
                       const char *location);

#endif
