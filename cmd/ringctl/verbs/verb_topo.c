/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * topo: applies a topology to the links of a run: each link gets the delay and
 * the rate of the path between its two nodes. Jitter, loss and cuts do not
 * change. `up --topo` does the same from the beginning.
 */
#include "answer_output.h"
#include "ringctl/ringctl.h"
#include "task.h"

static int run_topo(int operand_count, char **operands)
{
    char whole[PATH_MAX];
    (void)operand_count;
    return request_and_report(json_pack("{ssss}", "verb", "topo", "file",
                                        task_path(operands[0], whole)));
}

const struct command command_topo = {
    .name = "topo",
    .operands = "FILE",
    .help = "set the delays and rates of the links from a topology",
    .examples = "ringctl topo racks.topo\n"
                "ringctl up 8 --topo racks.topo\n",
    .operands_min = 1,
    .operands_max = 1,
    .run = run_topo,
};
