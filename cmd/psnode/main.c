/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * psnode, the parameter server: trains on a temporary cluster, measures one,
 * and is each part of a cluster across hosts. This file lists the commands;
 * each has a file of its name.
 *
 *     a whole cluster here      train.c (a run: cmd/run), bench.c
 *     a simulation              sim.c
 *     its parts, anywhere       controller.c server.c worker.c, joined by
 *                               join.h
 *     actors and a learner      actors.c, in virtual time
 *     trained models            snapshot.c restore.c
 */
#include "psnode.h"

#include "run/supervisor/supervisor.h"

#include <stddef.h>

static const struct command *const commands[] = {
    &command_train,
    &command_bench,
    &command_controller,
    &command_server,
    &command_worker,
    &command_snapshot,
    &command_restore,
    &command_key,
    &command_sim,
    &command_actors,
    NULL,
};

static const struct tool psnode = {
    .name = "psnode",
    .summary =
        "parameter servers: train with them, measure them, run the nodes of a "
        "cluster",
    .commands = commands,
    .examples = "psnode train lr a9a --servers 3 --workers 4 --mode ssp:2\n"
                "psnode train word2vec text8 --baseline\n"
                "psnode bench push --keys 1M --wire ipc\n"
                "psnode server --join tcp://10.0.0.1:7100 --key lab.key\n",
};

int main(int argc, char **argv)
{
    int status;
    if (internal_main(argc, argv, &status))
        return status;
    return tool_main(&psnode, argc, argv);
}
