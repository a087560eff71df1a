/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A verb about a node that was typed without one asks for it: "kill which node?
 * [2]". Enter alone means the node in brackets: the last worker for which the
 * verb makes sense.
 */
#include "shell.h"

#include "common/command.h"
#include "ringctl/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const verbs[] = {"kill",   "stop",    "pause",
                                    "resume", "restart", "drain"};

static bool makes_sense(const char *verb, const char *state)
{
    bool paused = strcmp(state, "paused") == 0;
    bool gone = strcmp(state, "dead") == 0 || strcmp(state, "left") == 0;
    if (strcmp(verb, "resume") == 0)
        return paused;
    if (strcmp(verb, "restart") == 0)
        return gone;
    return !gone && !paused;
}

/* "": none. */
static enum gw_err find_usual(const char *verb, char out[SHELL_NODE],
                              struct gw_error *why)
{
    json_t *status, *node;
    size_t i;
    *out = 0;
    if (request_status(&status, why))
        return why->code;
    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        if (strcmp(text_of(node, "role", "worker"), "worker") == 0 &&
            makes_sense(verb, text_of(node, "state", "")))
            snprintf(out, SHELL_NODE, "%" PRId64, integer_of(node, "node", 0));
    }
    json_decref(status);
    return GW_OK;
}

bool shell_question(const struct script_command *typed,
                    char question[SHELL_QUESTION], char usual[SHELL_NODE],
                    struct gw_error *why)
{
    const struct command *command = NULL;
    struct gw_error unknown;
    *why = (struct gw_error){.code = GW_OK};
    if (typed->count != 1 || command_find(typed->words[0], &command, &unknown))
        return false;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(command->name, verbs[i]) != 0)
            continue;
        if (find_usual(command->name, usual, why))
            return true;
        snprintf(question, SHELL_QUESTION, "%s which node? %s%s%s",
                 command->name, *usual ? "[" : "", usual, *usual ? "] " : "");
        return true;
    }
    return false;
}
