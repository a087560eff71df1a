/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The verbs about one node's life: kill, stop, pause, resume, restart, drain.
 * They differ only in the supervisor; here they share one function.
 */
#include "answer_output.h"
#include "common/command.h"
#include "ringctl/ringctl.h"
#include "target_request.h"

json_t *target_json(struct target target)
{
    return json_pack("{sssi}", "role", role_name(target.role), "node",
                     target.node);
}

/* For the leader, the supervisor waits if necessary. */
json_t *target_request(const char *verb, struct target target)
{
    json_t *request = json_pack("{sssssi}", "verb", verb, "role",
                                role_name(target.role), "node", target.node);
    if (target.node == TARGET_LEADER && common.timeout_ns)
        json_object_set_new(request, "timeout_ns",
                            json_integer((json_int_t)common.timeout_ns));
    return request;
}

static int run_on_target(const char *verb, int operand_count, char **operands)
{
    struct target target;
    struct gw_error why;
    if (target_parse_words(operand_count, operands, &target, &why))
        return complain(&why);
    return request_and_report(target_request(verb, target));
}

static int run_kill(int operand_count, char **operands)
{
    return run_on_target("kill", operand_count, operands);
}

static int run_stop(int operand_count, char **operands)
{
    return run_on_target("stop", operand_count, operands);
}

static int run_pause(int operand_count, char **operands)
{
    return run_on_target("pause", operand_count, operands);
}

static int run_resume(int operand_count, char **operands)
{
    return run_on_target("resume", operand_count, operands);
}

static int run_restart(int operand_count, char **operands)
{
    return run_on_target("restart", operand_count, operands);
}

static int run_drain(int operand_count, char **operands)
{
    return run_on_target("drain", operand_count, operands);
}

#define NODE_COMMAND(word, does, tries)                                        \
    const struct command command_##word = {                                    \
        .name = #word,                                                         \
        .operands = "[worker|server|controller] NODE|leader",                  \
        .help = does,                                                          \
        .examples = tries,                                                     \
        .operands_min = 1,                                                     \
        .operands_max = 2,                                                     \
        .run = run_##word,                                                     \
    }

NODE_COMMAND(kill, "kill a node's process (SIGKILL)",
             "ringctl kill 2\n"
             "ringctl kill leader         the controller that leads\n"
             "ringctl kill controller 1   or c1\n"
             "ringctl kill server 0       or s0\n");
NODE_COMMAND(stop, "stop a node in order: after the current op",
             "ringctl stop 2\n");
NODE_COMMAND(pause,
             "freeze a node's process (SIGSTOP), a hang for the other nodes",
             "ringctl pause 2\n"
             "ringctl resume 2\n");
NODE_COMMAND(resume, "continue a paused node (SIGCONT)", "ringctl resume 2\n");
NODE_COMMAND(restart, "start a node that has ended; end it first if it runs",
             "ringctl restart 2\n");
NODE_COMMAND(drain, "let a node hand over its slots, then leave",
             "ringctl drain 2\n");
