/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of verbs, and the verbs about the run as a whole.
 */
#include "supervisor_verbs.h"

#include <string.h>
#include <unistd.h>

/* ---- reading the state ---- */

static void verb_hello(const struct request *request)
{
    const struct run *run = request->run;
    char events[ENDPOINT_MAX];
    child_channel_endpoint(run->token, "events", events);
    serve_answer(request->run, &request->requester, GW_OK,
                 json_pack("{s:s, s:I, s:s, s:s}", "run", run->folder.name,
                           "pid", (json_int_t)getpid(), "version", GW_VERSION,
                           "events", events),
                 "run %s", run->folder.name);
}

static void verb_status(const struct request *request)
{
    struct run *run = request->run;
    json_t *status = status_json(run);
    serve_answer(run, &request->requester, GW_OK, status, "run %s: %s",
                 run->folder.name,
                 json_string_value(json_object_get(status, "state")));
}

/* The condition of a request; NULL: it is refused. */
static struct condition *read_condition(const struct request *request,
                                        const char **text)
{
    struct condition *condition = NULL;
    struct gw_error why;
    *text = json_string_value(json_object_get(request->json, "condition"));
    if (!*text)
        refuse(request, GW_EINVAL, "%s: missing condition", request->verb);
    else if (condition_parse(*text, &condition, &why))
        refuse(request, why.code, "%s", why.text);
    return condition;
}

static void verb_wait(const struct request *request)
{
    const char *text;
    struct condition *condition = read_condition(request, &text);
    if (condition)
        later_wait(request, condition, text, request_timeout_ns(request));
}

static void verb_expect(const struct request *request)
{
    const char *text;
    char explained[SENTENCE_MAX];
    struct condition_values values;
    struct condition *condition = read_condition(request, &text);
    if (!condition)
        return;
    status_values(request->run, &values);
    condition_explain(condition, &values, explained, sizeof explained);
    if (condition_holds(condition, &values))
        serve_answer(request->run, &request->requester, GW_OK, NULL, "%s",
                     explained);
    else
        refuse(request, GW_EWRONG, "expected %.200s: %s", text, explained);
    condition_destroy(&condition);
}

/* ---- the end ---- */

static void verb_down(const struct request *request)
{
    request->run->downer = request->requester;
    request->run->over = request->run->ending = true;
}

/* ---- the table ---- */

static const struct {
    const char *name;
    verb_function *run;
} verbs[] = {
    {"hello", verb_hello},       {"status", verb_status},
    {"add", verb_add},           {"kill", verb_kill},
    {"stop", verb_stop},         {"pause", verb_pause},
    {"resume", verb_resume},     {"drain", verb_drain},
    {"restart", verb_restart},   {"slow", verb_slow},
    {"link", verb_link},         {"cut", verb_cut},
    {"heal", verb_heal},         {"pace", verb_pace},
    {"disk", verb_disk},         {"drift", verb_drift},
    {"train", verb_train},       {"wait", verb_wait},
    {"expect", verb_expect},     {"record", verb_record},
    {"snapshot", verb_snapshot}, {"mode", verb_mode},
    {"topo", verb_topo},         {"order", verb_order},
    {"down", verb_down},
};

verb_function *verb_find(const char *name)
{
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return verbs[i].run;
    return NULL;
}
