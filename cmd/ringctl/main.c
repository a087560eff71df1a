/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ringctl, the operator's shell: starts runs, injects faults, observes and
 * waits. This file lists the verbs; each verb, or family of verbs, has a file.
 * A verb sends requests to the supervisor of the run (request.h,
 * common/rpc_client.h), which supervisor.h describes.
 *
 *     one-shot, script, shell     shell.c script_run.c shell_line.c
 *     the current run             session.h
 *     the meaning of words        target.h link_words.h condition.h task.h
 */
#include "ringctl.h"
#include "ringctl/shell/session.h"
#include "run/supervisor/supervisor.h"

#include <stddef.h>

/* clang-format off */
static const struct command *const commands[] = {
    &command_up,        &command_down,      &command_train,     &command_ls,
    &command_snapshot,  &command_mode,      &command_record,    &command_replay,
    &command_export,    &command_rerun,
    &command_status,    &command_watch,     &command_ring,      &command_events,
    &command_ps,        &command_slots,     &command_clocks,
    &command_controllers,
    &command_kill,      &command_stop,      &command_pause,     &command_resume,
    &command_restart,   &command_drain,     &command_add,
    &command_slow,      &command_link,      &command_cut,       &command_heal,
    &command_topo,      &command_order,     &command_pace,      &command_disk,
    &command_drift,     &command_chaos,
    &command_wait,      &command_expect,    &command_source,    &command_sim,
    &command_keygen,    &command_quit,      &command_exit,
    NULL,
};
/* clang-format on */

static const struct option_group groups[] = {
    {"up", "Runs"},     {"status", "Views"}, {"kill", "Nodes"},
    {"slow", "Faults"}, {"wait", "Scripts"}, {0},
};

static const struct absent absent[] = {
    {"sleep", "use wait COND, which returns as soon as the condition holds"},
    {"start", "use up to start a run, restart for a node, train for the work"},
    {"partition", "use cut 0,1|2,3"},
    {"list", "use ls for the runs, status for the nodes"},
    {0},
};

static const struct tool ringctl = {
    .name = "ringctl",
    .summary =
        "start a ring or parameter servers, inject faults, watch the recovery",
    .commands = commands,
    .groups = groups,
    .shell = &command_shell,
    .options = session_options,
    .absent = absent,
    .examples = "ringctl                       a shell, on a terminal\n"
                "ringctl up 4 train lr heart_scale\n"
                "ringctl kill 2; ringctl wait 'epoch>=2'; ringctl status\n"
                "ringctl -c 'up 3; kill 1; wait alive==2; ring'\n"
                "ringctl demo.ring             runs a script\n",
};

int main(int argc, char **argv)
{
    int status;
    if (internal_main(argc, argv, &status))
        return status;
    task_options_begin();
    session_type(argc - 1, argv + 1);
    return tool_main(&ringctl, argc, argv);
}
