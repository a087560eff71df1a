/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun: lists, prints, verifies, prices, runs, measures and trains with
 * every collective, and starts programs as ranks. This file lists the commands;
 * each has a file of its name.
 */
#include "collrun.h"

#include "common/launched.h"

#include <stddef.h>

static const struct command *const commands[] = {
    &command_list,   &command_plan,      &command_verify,
    &command_price,  &command_sim,       &command_bound,
    &command_synth,  &command_topo,      &command_import,
    &command_export, &command_run,       &command_bench,
    &command_train,  &command_calibrate, &command_tune,
    &command_plot,   &command_exec,      NULL,
};

static const struct tool collrun = {
    .name = "collrun",
    .summary =
        "collective communication as plans: show, verify, price and run them",
    .commands = commands,
    .question = &launch_options.explain,
    .answer = &command_exec,
    .examples = "collrun list allreduce                 the algorithms\n"
                "collrun plan allreduce --algo ring     the transfers of each "
                "step\n"
                "collrun price allreduce -n 8 -b 1M     the cost of each "
                "algorithm\n"
                "collrun run allreduce --algo ring --watch\n"
                "collrun bench allreduce -n 4 -b 1K -e 64M -f 4\n"
                "collrun exec -n 4 ./program            ranks of a program of "
                "your own\n",
};

int main(int argc, char **argv)
{
    return tool_main(&collrun, argc, argv);
}
