/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * wait and expect: scripts wait for what can be observed, so they never sleep.
 * The condition is read here first, so that a slip is told with its column even
 * when no run is there; the supervisor judges it, at every change.
 */
#include "ask.h"
#include "condition.h"
#include "ringctl.h"
#include "tell.h"

#include <stdio.h>

enum { TEXT_MAX = 512 };

/* The operands with blanks between them. */
static enum gw_err join(int count, char **words, char out[TEXT_MAX],
                        struct gw_error *why)
{
    struct condition *condition;
    size_t used = 0;
    for (int i = 0; i < count && used < TEXT_MAX; i++)
        used += (size_t)snprintf(out + used, TEXT_MAX - used, "%s%s",
                                 i ? " " : "", words[i]);
    if (used >= TEXT_MAX)
        return gw_fail(why, GW_EINVAL, "the condition is too long");
    enum gw_err code = condition_parse(out, &condition, why);
    condition_destroy(&condition);
    return code;
}

static int run_wait(int operand_count, char **operands)
{
    char text[TEXT_MAX];
    struct gw_error why;
    json_t *answer;
    if (join(operand_count, operands, text, &why))
        return complain(&why);
    progress("waiting until %s (Ctrl-C ends the wait, not the run)", text);
    /* It is the supervisor's part to give up, and to say what is there. */
    enum gw_err code =
        ask(json_pack("{sssssI}", "verb", "wait", "condition", text,
                      "timeout_ns", (json_int_t)common.timeout_ns),
            0, &answer, &why);
    if (code == GW_EINTR)
        return complain_with(GW_EINTR, "wait: interrupted before %s", text);
    if (code)
        return complain(&why);
    int status = tell_answer("wait", answer);
    json_decref(answer);
    return status;
}

const struct command command_wait = {
    .name = "wait",
    .operands = "COND",
    .help = "wait until a condition holds; --timeout TIME gives up with 124",
    .examples = "ringctl wait 'epoch>=2 && alive==4' --timeout 30s\n"
                "ringctl wait done\n",
    .operands_min = 1,
    .operands_max = 64,
    .run = run_wait,
};

static int run_expect(int operand_count, char **operands)
{
    char text[TEXT_MAX];
    struct gw_error why;
    if (join(operand_count, operands, text, &why))
        return complain(&why);
    return ask_and_tell(
        json_pack("{ssss}", "verb", "expect", "condition", text));
}

const struct command command_expect = {
    .name = "expect",
    .operands = "COND",
    .help = "fail with status 1 unless a condition holds now",
    .examples = "ringctl expect 'lost==0 && doubled==0'\n",
    .operands_min = 1,
    .operands_max = 64,
    .run = run_expect,
};
