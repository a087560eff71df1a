/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Slowness on request: slow makes one node compute longer (a straggler), pace
 * makes the transfer of every chunk longer (slow motion, for the eye).
 */
#include "answer_output.h"
#include "ringctl/ringctl.h"
#include "target_request.h"

#include <string.h>

/* Sends the request with the time in `text`, "20ms" or "off", as "ns". Steals
 * `request`. */
static int request_with_duration(json_t *request, const char *text)
{
    struct gw_error why;
    uint64_t ns = 0;
    if (strcmp(text, "off") != 0 && gw_parse_duration(text, &ns, &why)) {
        json_decref(request);
        gw_wrap(&why, why.code, "the value must be a time or off");
        return complain(&why);
    }
    json_object_set_new(request, "ns", json_integer((json_int_t)ns));
    return request_and_report(request);
}

static int run_slow(int operand_count, char **operands)
{
    struct target target;
    struct gw_error why;
    if (target_parse_words(operand_count - 1, operands, &target, &why))
        return complain(&why);
    return request_with_duration(target_request("slow", target),
                                 operands[operand_count - 1]);
}

const struct command command_slow = {
    .name = "slow",
    .operands = "[worker|server] NODE TIME|off",
    .help = "slow a node down by TIME per step; a server, per message",
    .examples = "ringctl slow 2 20ms\n"
                "ringctl slow 2 off\n",
    .operands_min = 2,
    .operands_max = 3,
    .run = run_slow,
};

static int run_pace(int operand_count, char **operands)
{
    (void)operand_count;
    return request_with_duration(json_pack("{ss}", "verb", "pace"),
                                 operands[0]);
}

const struct command command_pace = {
    .name = "pace",
    .operands = "TIME|off",
    .help = "slow motion: delay each chunk by TIME",
    .examples = "ringctl pace 200ms\n"
                "ringctl pace off\n",
    .operands_min = 1,
    .operands_max = 1,
    .run = run_pace,
};
