/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * pipebench: pipeline schedules and parallel layouts, drawn, simulated, run and
 * measured. This file lists the commands; each has a file of its name.
 */
#include "pipebench.h"

#include <stddef.h>

static const struct command *const commands[] = {
    &command_plan,  &command_sim, &command_compare, &command_run,
    &command_sweep, &command_fit, &command_layout,  NULL,
};

static const struct tool pipebench = {
    .name = "pipebench",
    .summary = "pipelines: draw a schedule, predict its bubble, and measure it",
    .commands = commands,
    .examples =
        "pipebench plan --schedule 1f1b --stages 4 --micro 8  a schedule\n"
        "pipebench sim --schedule zb-h1 --svg bubble.svg      its bubble\n"
        "pipebench compare --stages 4 --micro 16              all schedules\n",
};

int main(int argc, char **argv)
{
    return tool_main(&pipebench, argc, argv);
}
