/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See session.h. A second Ctrl-C ends the process at once, so the data for the
 * signal handler is kept ready: the pids of the supervisors, each of which
 * takes its run down on SIGTERM.
 */
#include "session.h"

#include "ringctl/request.h"
#include "run/supervisor/supervisor.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OWNED_MAX = 64, TYPED_MAX = 512 };

bool session_quit;

static const char *wanted; /* --run */
static char current[RUN_NAME_MAX];
static char typed[TYPED_MAX];
static struct rpc_client *connection;
static bool lasting;

static struct owned {
    char run[RUN_NAME_MAX];
    volatile pid_t supervisor; /* 0: gone, or kept */
} owned[OWNED_MAX];
static volatile int owned_count;

const struct option_spec session_options[] = {
    {"run", 0, OPTION_TEXT, &wanted, "RUN",
     "Run to use. Default: $GRADWIRE_RUN, or the newest run.", NULL},
    {0},
};

static void abandon(void)
{
    for (int i = 0; i < owned_count; i++)
        if (owned[i].supervisor)
            kill(owned[i].supervisor, SIGTERM);
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
    for (int i = 0; i < count && used < sizeof typed; i++)
        used += (size_t)snprintf(typed + used, sizeof typed - used, "%s%s",
                                 i ? " " : "", words[i]);
}

const char *session_typed(void)
{
    return typed;
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
    o->supervisor = supervisor;
    owned_count++;
}

void session_stopped(const char *run)
{
    for (int i = 0; i < owned_count; i++)
        if (strcmp(owned[i].run, run) == 0)
            owned[i].supervisor = 0;
    if (strcmp(current, run) == 0)
        *current = 0;
    session_disconnect();
}

/* A run that has already ended needs no request. */
static void take_down(struct owned *o)
{
    struct rpc_client *client;
    struct gw_error why;
    json_t *answer;
    if (rpc_client_open(o->run, &client, &why))
        return;
    enum gw_err code = rpc_client_do(client, json_pack("{ss}", "verb", "down"),
                                     answer_timeout_ns(), &answer, &why);
    rpc_client_close(&client);
    if (code && code != GW_EUNREACH) {
        kill(o->supervisor, SIGTERM);
        complain(&why);
        return;
    }
    json_decref(answer);
    fprintf(stderr, "ringctl: run %s has been ended (up --keep keeps it)\n",
            o->run);
}

void session_end(void)
{
    int was_interrupted = interrupted;
    progress("%s", "");
    fflush(stdout);
    session_disconnect();
    interrupted = 0; /* else the wait for an answer would end at once */
    for (int i = owned_count; i-- > 0;)
        if (owned[i].supervisor)
            take_down(&owned[i]);
    owned_count = 0;
    lasting = false;
    interrupted = was_interrupted;
}
