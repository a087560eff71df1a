/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ringctl without a verb: commands from -c, from a file, from standard input
 * or, when that is a terminal, from a person.
 */
#include "shell.h"

#include "ringctl/ringctl.h"
#include "script_run.h"
#include "session.h"

#include <unistd.h>

static const char *text;
static bool keep_going;

static const struct option_spec options[] = {
    {"command", 'c', OPTION_TEXT, &text, "COMMANDS",
     "Run these commands, separated by \";\".", NULL},
    {"keep-going", 'k', OPTION_FLAG, &keep_going, NULL,
     "In a script, continue after a command that fails.", NULL},
    {0},
};

static int run_text(void)
{
    const struct script_options how = {
        .name = "-c", .by_command = true, .keep_going = keep_going};
    return script_run_text(text, &how);
}

static int run_shell(int operand_count, char **operands)
{
    int status;
    if (text && operand_count)
        return complain_with(GW_EINVAL, "use either -c or a file, not both");
    session_begin();
    if (text)
        status = run_text();
    else if (operand_count)
        status = script_run_file(operands[0], keep_going);
    else if (isatty(STDIN_FILENO))
        status = shell_interact();
    else
        status = script_run_input(keep_going);
    session_end();
    return status;
}

const struct command command_shell = {
    .name = "shell",
    .operands = "[FILE]",
    .help = "run commands from FILE, standard input or the terminal",
    .options = options,
    .operands_max = 1,
    .run = run_shell,
};
