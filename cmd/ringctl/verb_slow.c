/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Slowness to order: slow makes one node compute longer (a straggler), pace
 * makes every chunk of all travel longer (slow motion, for the eye).
 */
#include "ringctl.h"
#include "target_request.h"
#include "tell.h"

#include <string.h>

static bool parse_time(const char *text, uint64_t *ns, struct gw_error *why)
{
    *ns = 0;
    if (strcmp(text, "off") == 0)
        return true;
    if (gw_parse_duration(text, ns, why) == GW_OK)
        return true;
    gw_wrap(why, why->code, "a time or off");
    return false;
}

static int run_slow(int operand_count, char **operands)
{
    struct target target;
    struct gw_error why;
    uint64_t ns;
    if (target_parse_words(operand_count - 1, operands, &target, &why) ||
        !parse_time(operands[operand_count - 1], &ns, &why))
        return complain(&why);
    json_t *request = target_request("slow", target);
    json_object_set_new(request, "ns", json_integer((json_int_t)ns));
    return ask_and_tell(request);
}

const struct command command_slow = {
    .name = "slow",
    .operands = "[worker|server] NODE TIME|off",
    .help = "make a node compute so much longer in each step",
    .examples = "ringctl slow 2 20ms\n"
                "ringctl slow 2 off\n",
    .operands_min = 2,
    .operands_max = 3,
    .run = run_slow,
};

static int run_pace(int operand_count, char **operands)
{
    struct gw_error why;
    uint64_t ns;
    (void)operand_count;
    if (!parse_time(operands[0], &ns, &why))
        return complain(&why);
    return ask_and_tell(
        json_pack("{sssI}", "verb", "pace", "ns", (json_int_t)ns));
}

const struct command command_pace = {
    .name = "pace",
    .operands = "TIME|off",
    .help = "slow motion: every chunk takes so long",
    .examples = "ringctl pace 200ms\n"
                "ringctl pace off\n",
    .operands_min = 1,
    .operands_max = 1,
    .run = run_pace,
};
