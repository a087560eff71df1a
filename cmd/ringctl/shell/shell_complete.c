/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Completion at the prompt: verbs, options and their values, and the words of
 * the usage text, all from the command table; and, from the run, the nodes
 * whose state suits the verb.
 */
#include "shell.h"

#include "common/completion/completion.h"
#include "ringctl/request.h"
#include "ringctl/runs.h"
#include "run/condition.h"
#include "script.h"
#include "session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <readline/readline.h>

enum { OFFERED_MAX = 512 };
#define STATUS_NS UINT64_C(300000000)

/* The candidates at the cursor. */
static char *offered[OFFERED_MAX];
static unsigned offered_count;
static bool files_fit;

static void offer(const char *word)
{
    if (offered_count < OFFERED_MAX && (offered[offered_count] = strdup(word)))
        offered_count++;
}

static void offer_none(void)
{
    while (offered_count)
        free(offered[--offered_count]);
    files_fit = false;
}

/* ---- from the run ---- */

/* resume is for paused nodes, restart for all; the others are for nodes that
 * have not ended. */
static bool state_fits(const char *verb, const char *state)
{
    if (strcmp(verb, "resume") == 0)
        return strcmp(state, "paused") == 0;
    return strcmp(verb, "restart") == 0 ||
           (strcmp(state, "dead") != 0 && strcmp(state, "left") != 0);
}

static void offer_node(const char *verb, const json_t *node)
{
    char word[24];
    const char *role = text_of(node, "role", "worker");
    bool worker = strcmp(role, "worker") == 0;
    if (!state_fits(verb, text_of(node, "state", "")))
        return;
    snprintf(word, sizeof word, "%.*s%" PRId64, worker ? 0 : 1, role,
             integer_of(node, "node", 0));
    offer(word);
}

static void offer_nodes(const char *verb)
{
    struct rpc_client *client;
    struct gw_error why;
    json_t *status, *node;
    size_t i;
    if (session_connect(&client, &why) ||
        rpc_client_status(client, STATUS_NS, &status, &why)) {
        session_disconnect();
        return;
    }
    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        offer_node(verb, node);
    }
    json_decref(status);
}

static void offer_runs(void)
{
    struct runs runs;
    runs_list(&runs);
    for (unsigned i = 0; i < runs.count; i++)
        offer(runs.names[i]);
    runs_fini(&runs);
}

/* ---- from the table ---- */

static void offer_commands(void)
{
    const struct command *command;
    for (unsigned i = 0; (command = command_at(i)); i++)
        offer(command->name);
}

static void offer_options(const struct command *command)
{
    const struct option_spec *spec;
    for (unsigned group = 0; (spec = command_options(command, group)); group++)
        for (; spec->name; spec++) {
            char dashed[64];
            snprintf(dashed, sizeof dashed, "--%s", spec->name);
            offer(dashed);
        }
}

static void offer_values(const struct option_spec *spec)
{
    char word[64];
    for (const char *rest = spec->choices; choice_next(&rest, word);)
        offer(word);
    if (strcmp(spec->value, "RUN") == 0)
        offer_runs();
    files_fit = strstr(spec->value, "FILE") != NULL;
}

static void offer_operands(const struct command *command)
{
    const char *operands = command->operands ? command->operands : "";
    complete_operands(command, offer);
    if (strstr(operands, "NODE") || strstr(operands, "FROM"))
        offer_nodes(command->name);
    if (strstr(operands, "COND"))
        for (unsigned i = 0; i < COND_NAMES; i++)
            offer(condition_name((enum condition_name)i));
    if (strstr(operands, "RUN"))
        offer_runs();
    files_fit = complete_files(command);
}

/* The option whose value comes after `word`; `with_equals`: after "--name=". */
static const struct option_spec *
option_before(const struct command *command, const char *word, bool with_equals)
{
    const struct option_spec *spec;
    size_t length = strlen(word);
    if (length < 2 || word[0] != '-')
        return NULL;
    for (unsigned group = 0; (spec = command_options(command, group)); group++)
        for (; spec->name; spec++) {
            bool by_name =
                strncmp(word, "--", 2) == 0 &&
                strlen(spec->name) == length - 2 - with_equals &&
                strncmp(word + 2, spec->name, length - 2 - with_equals) == 0;
            bool by_letter =
                length == 2 && spec->letter && word[1] == spec->letter;
            if ((by_name || by_letter) && spec->kind != OPTION_FLAG)
                return spec;
        }
    return NULL;
}

/* ---- the word at the cursor ---- */

/* The words of the last command of `before`, up to the cursor; false: none, a
 * command begins here. */
static bool find_command(const char *before, struct script_command *last)
{
    struct script script = {.text = before, .line = 1};
    struct script_command next;
    *last = (struct script_command){.ended = true};
    while (script_next(&script, &next) == SCRIPT_COMMAND) {
        script_command_fini(last);
        *last = next;
    }
    return last->count > 0 && !last->ended;
}

static void offer_for(const struct script_command *typed, const char *before,
                      const char *text)
{
    struct gw_error why;
    const struct command *command;
    if (command_find(typed->words[0], &command, &why))
        return;
    const char *last = typed->words[typed->count - 1];
    bool with_equals = before[strlen(before) - 1] == '=';
    const struct option_spec *spec = option_before(command, last, with_equals);
    if (spec)
        offer_values(spec);
    else if (*text == '-')
        offer_options(command);
    else
        offer_operands(command);
}

static char *next_match(const char *text, int state)
{
    static unsigned next;
    if (!state)
        next = 0;
    while (next < offered_count) {
        const char *word = offered[next++];
        if (strncmp(word, text, strlen(text)) == 0)
            return strdup(word);
    }
    return NULL;
}

static char **complete(const char *text, int start, int end)
{
    struct script_command typed;
    (void)end;
    char *before = strndup(rl_line_buffer, (size_t)start);
    if (!before)
        return NULL;
    if (start && strchr("'\"", before[start - 1]))
        before[start - 1] = ' '; /* the quote around `text` */
    offer_none();
    if (find_command(before, &typed))
        offer_for(&typed, before, text);
    else
        offer_commands();
    script_command_fini(&typed);
    free(before);
    char **matches = rl_completion_matches(text, next_match);
    rl_attempted_completion_over = !files_fit;
    return matches;
}

void shell_complete_begin(void)
{
    static const char breaks[] = " \t\n;\"'=!&|(,";
    rl_attempted_completion_function = complete;
    rl_completer_word_break_characters = breaks;
    rl_completer_quote_characters = "\"'";
}
