/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * snapshot: parameter servers write what they hold while they go on.
 */
#include "ringctl.h"
#include "task.h"
#include "tell.h"

static int run(int operand_count, char **operands)
{
    char path[PATH_MAX];
    (void)operand_count;
    json_t *request = json_pack("{ssss}", "verb", "snapshot", "directory",
                                task_path(operands[0], path));
    if (request && common.timeout_ns)
        json_object_set_new(request, "timeout_ns",
                            json_integer((json_int_t)common.timeout_ns));
    return ask_and_tell(request);
}

const struct command command_snapshot = {
    .name = "snapshot",
    .operands = "DIR",
    .help = "parameter servers write what they hold; up --restore DIR reads it",
    .examples = "ringctl snapshot here\n"
                "ringctl up --servers 2 --restore here train lr heart_scale\n",
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
