/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The shell's loop. readline is driven by its callback interface, so that a
 * Ctrl-C at the prompt discards the line, as in other shells, and one during a
 * command ends that command and nothing else.
 */
#include "shell.h"

#include "common/command.h"
#include "ringctl/request.h"
#include "script_run.h"
#include "session.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <readline/readline.h>

enum { PROMPT_MAX = 128 };
#define PROMPT_NS UINT64_C(300000000) /* limit for the status in the prompt */

enum reading { READING, READ, READ_END, READ_CANCELLED };

static enum reading reading;
static char *typed;
static bool end_requested;

/* "tiger e3 4 alive> "; without a run "ringctl> ". */
static void make_prompt(char out[PROMPT_MAX])
{
    struct rpc_client *client;
    struct gw_error why;
    json_t *status;
    snprintf(out, PROMPT_MAX, "ringctl> ");
    if (session_connect(&client, &why) ||
        rpc_client_status(client, PROMPT_NS, &status, &why)) {
        session_disconnect();
        return;
    }
    snprintf(out, PROMPT_MAX, "%s e%" PRId64 " %" PRId64 " alive> ",
             text_of(status, "run", "?"), integer_of(status, "epoch", 0),
             integer_of(status, "alive", 0));
    json_decref(status);
}

static void on_line(char *line)
{
    typed = line;
    reading = line ? READ : READ_END;
    rl_callback_handler_remove();
}

/* SIGINT discards the line; other signals end the shell. */
static void on_interruption(void)
{
    reading = interrupted == SIGINT ? READ_CANCELLED : READ_END;
    end_requested |= reading == READ_END;
    interrupted = 0;
    rl_free_line_state();
    rl_callback_sigcleanup();
    rl_callback_handler_remove();
}

/* READ: `typed` is a line, for the caller to free. */
static enum reading read_line(const char *prompt)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    reading = READING;
    rl_callback_handler_install(prompt, on_line);
    while (reading == READING) {
        int ready = poll(&input, 1, -1);
        if (interrupted) /* first: later input belongs to the next line */
            on_interruption();
        else if (ready > 0)
            rl_callback_read_char();
    }
    if (reading != READ)
        putchar('\n');
    return reading;
}

/* Appends the line to *text; both are on the heap. */
static void join_line(char **text, char *line)
{
    char *joined = NULL;
    if (asprintf(&joined, "%s%s\n", *text ? *text : "", line) < 0)
        joined = NULL;
    free(*text);
    free(line);
    *text = joined;
}

static bool is_complete(const char *text)
{
    struct script_command command;
    struct script script = {.text = text, .line = 1};
    enum script_next next;
    while ((next = script_next(&script, &command)) == SCRIPT_COMMAND)
        script_command_fini(&command);
    return next != SCRIPT_OPEN;
}

/* Asks for the node that the command lacks, if any. Returns the exit status. */
static int run_after_question(const struct script_command *command)
{
    char question[SHELL_QUESTION], usual[SHELL_NODE];
    struct gw_error why;
    if (!shell_question(command, question, usual, &why))
        return script_run_command(command, NULL);
    if (why.code)
        return complain(&why);
    if (read_line(question) != READ)
        return 1;
    char *words[] = {command->words[0], *typed ? typed : usual, NULL};
    struct script_command whole = {.words = words, .count = *words[1] ? 2 : 1};
    int status = script_run_command(&whole, NULL);
    free(typed);
    return status;
}

/* Stops at the first failure, as a script does. */
static void run_text(const char *text)
{
    struct script_command command;
    struct script script = {.text = text, .line = 1};
    const struct script_options typed_here = {.name = NULL};
    int status = script_check(&script, &typed_here);
    while (!session_quit && !status && !interrupted &&
           script_next(&script, &command) == SCRIPT_COMMAND) {
        status = run_after_question(&command);
        script_command_fini(&command);
    }
    end_requested |= interrupted && interrupted != SIGINT;
    session_quit |= end_requested;
    interrupted = 0;
}

/* Stores it as one line, the only form in the history file. */
static void remember(char *text)
{
    char *out = text;
    for (const char *in = text; *in; in++) {
        if (in[0] == '\\' && in[1] == '\n')
            in++;
        else
            *out++ = *in == '\n' ? ' ' : *in;
    }
    while (out > text && out[-1] == ' ')
        out--;
    *out = 0;
    shell_history_add(text);
}

static void converse(void)
{
    char prompt[PROMPT_MAX];
    char *text = NULL;
    while (!session_quit) {
        if (!text)
            make_prompt(prompt);
        enum reading what = read_line(text ? "> " : prompt);
        if (what == READ)
            join_line(&text, typed);
        if (what == READ_END)
            break;
        if (what == READ && text && !is_complete(text))
            continue;
        if (what == READ && text) {
            char *line = strdup(text);
            if (line)
                remember(line);
            free(line);
            run_text(text);
        }
        free(text);
        text = NULL;
    }
    free(text);
}

int shell_interact(void)
{
    rl_readline_name = "ringctl";
    rl_catch_signals = 0;
    person_types = is_screen(STDOUT_FILENO);
    shell_complete_begin();
    shell_history_begin();
    printf("ringctl %s: \"up 4\" starts a ring, \"help\" lists the verbs, "
           "Ctrl-D exits.\n",
           GW_VERSION);
    converse();
    shell_history_end();
    return end_requested ? gw_err_exit(GW_EINTR) : 0;
}
