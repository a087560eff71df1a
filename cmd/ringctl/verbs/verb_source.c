/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The verbs of the shell, which do not concern a run: source, quit, exit.
 */
#include "ringctl/ringctl.h"
#include "ringctl/shell/script_run.h"
#include "ringctl/shell/session.h"

#include <stdlib.h>
#include <string.h>

static bool keep_going;

static const struct option_spec options[] = {
    {"keep-going", 'k', OPTION_FLAG, &keep_going, NULL,
     "Continue after a command that fails.", NULL},
    {0},
};

/* The options get their defaults back while the script's commands run. */
static int run_source(int operand_count, char **operands)
{
    (void)operand_count;
    char *path = strdup(operands[0]);
    if (!path)
        return complain_with(GW_ENOMEM, "source");
    bool alone = !session_lasts();
    if (alone)
        session_begin();
    int status = script_run_file(path, keep_going);
    if (alone)
        session_end();
    free(path);
    return status;
}

const struct command command_source = {
    .name = "source",
    .operands = "FILE",
    .help = "run the commands of a file, up to the first that fails",
    .examples = "ringctl source demo.ring\n",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .run = run_source,
};

static int run_quit(int operand_count, char **operands)
{
    (void)operand_count;
    (void)operands;
    session_quit = true;
    return 0;
}

const struct command command_quit = {
    .name = "quit",
    .help = "exit the shell or end the script, like Ctrl-D",
    .run = run_quit,
};

const struct command command_exit = {
    .name = "exit",
    .help = "same as quit",
    .run = run_quit,
};
