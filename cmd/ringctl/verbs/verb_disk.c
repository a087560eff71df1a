/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Full disks and wrong clocks on request: disk lets every write of a controller
 * to its log fail; drift makes the clock of a node run fast or slow.
 */
#include "answer_output.h"
#include "ringctl/ringctl.h"
#include "target_request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int run_disk(int operand_count, char **operands)
{
    struct target target;
    struct gw_error why;
    const char *how = operands[operand_count - 1];
    bool full = strcmp(how, "full") == 0;
    if (!full && strcmp(how, "free") != 0)
        return complain_with(GW_EINVAL,
                             "disk must be full or free, not \"%.40s\"", how);
    if (target_parse_words(operand_count - 1, operands, &target, &why))
        return complain(&why);
    json_t *request = target_request("disk", target);
    json_object_set_new(request, "full", json_boolean(full));
    return request_and_report(request);
}

const struct command command_disk = {
    .name = "disk",
    .operands = "[controller] NODE|leader full|free",
    .help = "fill the disk of a controller: its next write fails",
    .examples = "ringctl disk c1 full\n"
                "ringctl restart controller 1     with space on its disk\n",
    .operands_min = 2,
    .operands_max = 3,
    .run = run_disk,
};

static int run_drift(int operand_count, char **operands)
{
    struct target target;
    struct gw_error why;
    const char *text = operands[operand_count - 1];
    bool off = strcmp(text, "off") == 0;
    char *end = NULL;
    double rate = off ? 1 : strtod(text, &end);
    if (!off && (end == text || *end || !isfinite(rate)))
        return complain_with(GW_EINVAL,
                             "the rate must be a number such as 0.9, or off, "
                             "not \"%.40s\"",
                             text);
    if (target_parse_words(operand_count - 1, operands, &target, &why))
        return complain(&why);
    json_t *request = target_request("drift", target);
    json_object_set_new(request, "rate", json_real(rate));
    return request_and_report(request);
}

const struct command command_drift = {
    .name = "drift",
    .operands = "[worker|server|controller] NODE RATE|off",
    .help = "set the rate of a node's clock, in seconds per second",
    .examples = "ringctl drift 2 0.5          half a second per second\n"
                "ringctl drift leader 1.2\n"
                "ringctl drift 2 off\n",
    .operands_min = 2,
    .operands_max = 3,
    .run = run_drift,
};
