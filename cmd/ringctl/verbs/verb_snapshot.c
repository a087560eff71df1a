/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * snapshot and mode: tasks that one worker executes between two of its items,
 * while all others continue: a snapshot of the parameter servers, and a change
 * of the workers' synchronisation mode.
 */
#include "answer_output.h"
#include "ringctl/ringctl.h"
#include "task.h"

#include <gradwire/ps.h>

/* Sends the request with the timeout of the command line. */
static int request_with_timeout(json_t *request)
{
    if (request && common.timeout_ns)
        json_object_set_new(request, "timeout_ns",
                            json_integer((json_int_t)common.timeout_ns));
    return request_and_report(request);
}

static int run_snapshot(int operand_count, char **operands)
{
    char path[PATH_MAX];
    (void)operand_count;
    return request_with_timeout(json_pack("{ssss}", "verb", "snapshot",
                                          "directory",
                                          task_path(operands[0], path)));
}

const struct command command_snapshot = {
    .name = "snapshot",
    .operands = "DIR",
    .help = "write a snapshot of the parameter servers, for up --restore DIR",
    .examples = "ringctl snapshot here\n"
                "ringctl up --servers 2 --restore here train lr heart_scale\n",
    .operands_min = 1,
    .operands_max = 1,
    .run = run_snapshot,
};

static int run_mode(int operand_count, char **operands)
{
    struct gw_ps_mode mode;
    struct gw_error why;
    (void)operand_count;
    if (gw_ps_mode_parse(operands[0], &mode, &why))
        return complain(&why);
    return request_with_timeout(
        json_pack("{ssss}", "verb", "mode", "mode", operands[0]));
}

const struct command command_mode = {
    .name = "mode",
    .operands = "bsp|ssp:S|asp|kofn:K[+drop]",
    .help = "set the mode of the parameter servers from the next work item on",
    .examples = "ringctl mode ssp:2\n",
    .operands_min = 1,
    .operands_max = 1,
    .run = run_mode,
};
