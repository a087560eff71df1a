/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * wait and expect: scripts wait for observable conditions, so they never sleep.
 * The condition is parsed here first, so that an error is reported with its
 * column even without a run; the supervisor evaluates it, at every change.
 */
#include "answer_output.h"
#include "ringctl/request.h"
#include "ringctl/ringctl.h"
#include "run/condition.h"

#include <stdio.h>

enum { TEXT_MAX = 512 };

/* The operands, joined by blanks, are the condition. */
static enum gw_err read_condition(int count, char **words, char text[TEXT_MAX],
                                  struct gw_error *why)
{
    struct condition *condition;
    size_t used = 0;
    for (int i = 0; i < count && used < TEXT_MAX; i++)
        used += (size_t)snprintf(text + used, TEXT_MAX - used, "%s%s",
                                 i ? " " : "", words[i]);
    if (used >= TEXT_MAX)
        return gw_fail(why, GW_EINVAL, "the condition is too long");
    enum gw_err code = condition_parse(text, &condition, why);
    condition_destroy(&condition);
    return code;
}

static enum gw_err check_condition(int count, char **words,
                                   struct gw_error *why)
{
    char text[TEXT_MAX];
    return read_condition(count, words, text, why);
}

/* NULL: it is invalid, which was reported; *status is the exit status. */
static json_t *condition_request(const char *verb, int count, char **words,
                                 int *status)
{
    char text[TEXT_MAX];
    struct gw_error why;
    if (read_condition(count, words, text, &why)) {
        *status = complain(&why);
        return NULL;
    }
    json_t *request = json_pack("{ssss}", "verb", verb, "condition", text);
    if (!request)
        *status = complain_with(GW_EINVAL, "the condition is not valid UTF-8");
    return request;
}

/* The supervisor applies the timeout and reports the reason. */
static int wait_for(json_t *request, const char *text)
{
    struct gw_error why;
    json_t *answer;
    enum gw_err code = send_request(json_incref(request), 0, &answer, &why);
    if (code == GW_EINTR)
        return complain_with(GW_EINTR, "wait: interrupted before %s", text);
    if (code)
        return complain(&why);
    int status = report_answer("wait", answer);
    json_decref(answer);
    return status;
}

static int run_wait(int operand_count, char **operands)
{
    int status;
    json_t *request =
        condition_request("wait", operand_count, operands, &status);
    if (!request)
        return status;
    const char *text = json_string_value(json_object_get(request, "condition"));
    progress("waiting for %s (Ctrl-C ends the wait, not the run)", text);
    json_object_set_new(request, "timeout_ns",
                        json_integer((json_int_t)common.timeout_ns));
    status = wait_for(request, text);
    json_decref(request);
    return status;
}

const struct command command_wait = {
    .name = "wait",
    .operands = "COND",
    .help = "wait until a condition holds; after --timeout TIME fail with "
            "status 124",
    .examples = "ringctl wait 'epoch>=2 && alive==4' --timeout 30s\n"
                "ringctl wait done\n",
    .operands_min = 1,
    .operands_max = 64,
    .check = check_condition,
    .run = run_wait,
};

static int run_expect(int operand_count, char **operands)
{
    int status;
    json_t *request =
        condition_request("expect", operand_count, operands, &status);
    return request ? request_and_report(request) : status;
}

const struct command command_expect = {
    .name = "expect",
    .operands = "COND",
    .help = "fail with status 1 unless a condition holds now",
    .examples = "ringctl expect 'lost==0 && doubled==0'\n",
    .operands_min = 1,
    .operands_max = 64,
    .check = check_condition,
    .run = run_expect,
};
