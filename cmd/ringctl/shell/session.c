/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See session.h. A second Ctrl-C ends the process at once, so the data for the
 * signal handler is kept ready: a pidfd of each supervisor, which takes its run
 * down on SIGTERM. It names this process even after the pid was given away.
 */
#include "session.h"

#include "ringctl/request.h"
#include "run/supervisor/supervisor.h"
#include "script.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { OWNED_MAX = 64, TYPED_MAX = 512 };

bool session_quit;

static const char *wanted; /* --run */
static char current[RUN_NAME_MAX];
static char typed[TYPED_MAX];
static struct rpc_client *connection;
static bool lasting;

static struct {
    int count; /* 0: session_line has returned it */
    char *const *words;
} command;

static struct owned {
    char run[RUN_NAME_MAX];
    volatile int process; /* pidfd of the supervisor; -1: gone, or kept */
} owned[OWNED_MAX];
static volatile int owned_count;

const struct option_spec session_options[] = {
    {"run", 0, OPTION_TEXT, &wanted, "RUN",
     "Run to use. Default: $GRADWIRE_RUN, or the newest run.", NULL},
    {0},
};

/* False: the run has ended. */
static bool terminate(const struct owned *o)
{
    return syscall(SYS_pidfd_send_signal, o->process, SIGTERM, NULL, 0) == 0;
}

static void abandon(void)
{
    for (int i = 0; i < owned_count; i++)
        (void)terminate(&owned[i]);
}

static void disown(struct owned *o)
{
    int process = o->process;
    o->process = -1;
    if (process >= 0)
        close(process);
}

void session_begin(void)
{
    lasting = true;
    interrupted_twice = abandon;
    interrupt_by_terminal(); /* runs end with the terminal */
}

bool session_lasts(void)
{
    return lasting;
}

void session_type(int count, char *const *words)
{
    size_t used = 0;
    *typed = 0;
    command.count = count;
    command.words = words;
    for (int i = 0; i < count && used < sizeof typed; i++)
        used += (size_t)snprintf(typed + used, sizeof typed - used, "%s%s",
                                 i ? " " : "", words[i]);
}

const char *session_typed(void)
{
    return typed;
}

/* The word that is the command, by its full name: the first one that means
 * one, since options may precede it. *at: its index; the count if there is none.
 */
static const char *find_command(int *at)
{
    const struct command *found;
    struct gw_error why;
    for (*at = 0; *at < command.count; ++*at)
        if (!command_find(command.words[*at], &found, &why))
            return found->name;
    return NULL;
}

/* How many words are about this run, from this one on. */
static int count_local(const char *word)
{
    if (strcmp(word, "--run") == 0)
        return 2;
    return strncmp(word, "--run=", 6) == 0 || strcmp(word, "--keep") == 0;
}

char *session_line(void)
{
    size_t room = 64;
    int at, count = command.count;
    const char *verb = find_command(&at);
    command.count = 0;
    for (int i = 0; i < count; i++)
        room += 4 * strlen(command.words[i]) + 4;
    char *line = verb ? malloc(room) : NULL, *end = line;
    if (!line)
        return NULL;
    end = stpcpy(end, verb);
    for (int i = 0; i < count; i++) {
        int local = i == at ? 1 : count_local(command.words[i]);
        i += local ? local - 1 : 0;
        if (local)
            continue;
        *end++ = ' ';
        end = script_quote(command.words[i], end);
    }
    return line;
}

const char *session_run_named(void)
{
    const char *name = wanted ? wanted : getenv("GRADWIRE_RUN");
    return name && *name ? name : NULL;
}

const char *session_run(void)
{
    const char *name = session_run_named();
    return name ? name : *current ? current : NULL;
}

/* Without a name, the attached run remains the current one, even if a newer one
 * has begun elsewhere. */
enum gw_err session_connect(struct rpc_client **client, struct gw_error *why)
{
    const char *run = session_run();
    enum gw_err code = GW_OK;
    if (!connection || (run && strcmp(run, rpc_client_run(connection)) != 0)) {
        session_disconnect();
        code = rpc_client_open(run, &connection, why);
    }
    *client = connection;
    return code;
}

void session_disconnect(void)
{
    rpc_client_close(&connection);
}

/* Sends no request: after Ctrl-C its answer would be ignored, and the run would
 * be forgotten. */
void session_started(const char *run, pid_t supervisor, bool keep)
{
    snprintf(current, sizeof current, "%s", run);
    session_disconnect();
    if (!lasting || keep || owned_count == OWNED_MAX)
        return;
    struct owned *o = &owned[owned_count];
    snprintf(o->run, sizeof o->run, "%s", run);
    o->process = (int)syscall(SYS_pidfd_open, supervisor, 0);
    owned_count++;
}

void session_stopped(const char *run)
{
    for (int i = 0; i < owned_count; i++)
        if (strcmp(owned[i].run, run) == 0)
            disown(&owned[i]);
    if (strcmp(current, run) == 0)
        *current = 0;
    session_disconnect();
}

static enum gw_err request_end(const char *run, struct gw_error *why)
{
    struct rpc_client *client;
    json_t *answer = NULL;
    if (rpc_client_open(run, &client, why))
        return why->code;
    enum gw_err code = rpc_client_do(client, json_pack("{ss}", "verb", "down"),
                                     answer_timeout_ns(), &answer, why);
    rpc_client_close(&client);
    json_decref(answer);
    return code == GW_EUNREACH ? GW_OK : code; /* it ended without an answer */
}

/* When the request fails, as after a signal, SIGTERM ends the run. */
static void take_down(const struct owned *o)
{
    struct gw_error why;
    if (!request_end(o->run, &why))
        fprintf(stderr, "ringctl: run %s has been ended (up --keep keeps it)\n",
                o->run);
    else if (terminate(o))
        complain(&why);
}

void session_end(void)
{
    int was_interrupted = interrupted;
    progress("%s", "");
    fflush(stdout);
    session_disconnect();
    interrupted = 0; /* else the wait for an answer would end at once */
    for (int i = owned_count; i-- > 0; disown(&owned[i]))
        if (owned[i].process >= 0)
            take_down(&owned[i]);
    owned_count = 0;
    lasting = false;
    interrupted = was_interrupted;
}
