/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Requests and answers (common/rpc_client.h). Every message is answered; one
 * that is not a JSON object, or has no known verb, is refused.
 */
#include "supervisor_experiment.h"
#include "supervisor_verbs.h"

#include <stdarg.h>
#include <string.h>

enum { A_TURN = 64 }; /* requests, before other inputs are served */

/* ---- answers ---- */

void serve_answer(struct run *run, const struct requester *requester,
                  enum gw_err code, json_t *data, const char *format, ...)
{
    char text[2 * SENTENCE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    /* Names of files may be invalid UTF-8. */
    json_t *answer = json_pack("{s:i, s:o, s:I}", "code", (int)code, "text",
                               json_string_nocheck(text), "epoch",
                               (json_int_t)run->update.view.epoch);
    if (data)
        json_object_set_new(answer, "data", data);
    rpc_server_answer(&run->rpc, requester, answer);
}

/* ---- requests ---- */

bool request_ns(const struct request *request, uint64_t *ns)
{
    const json_t *value = json_object_get(request->json, "ns");
    bool reported = json_is_integer(value) && json_integer_value(value) >= 0;
    if (reported)
        *ns = (uint64_t)json_integer_value(value);
    else
        refuse(request, GW_EINVAL, "\"ns\" must be a time in nanoseconds");
    return reported;
}

uint64_t request_timeout_ns(const struct request *request)
{
    json_int_t ns =
        json_integer_value(json_object_get(request->json, "timeout_ns"));
    return ns > 0 ? (uint64_t)ns : 0;
}

/* Is {"role": "controller", "node": -1} in it? */
static bool names_leader(const json_t *json)
{
    static const char *const places[] = {"from", "to", "left", "right"};
    const char *role = json_string_value(json_object_get(json, "role"));
    if (!json)
        return false;
    bool named = role && strcmp(role, "controller") == 0 &&
                 json_integer_value(json_object_get(json, "node")) == -1;
    for (size_t i = 0; i < sizeof places / sizeof *places && !named; i++)
        named = names_leader(json_object_get(json, places[i]));
    for (size_t i = 0; i < json_array_size(json) && !named; i++)
        named = names_leader(json_array_get(json, i));
    return named;
}

/* Is it about the leader while there is none, but will be one? */
static bool awaits_leader(const struct run *run, const json_t *json)
{
    return names_leader(json) && control_leader(run) < 0 &&
           2 * controllers_alive(run) > controllers_all(run);
}

void serve_request(struct run *run, const struct requester *requester,
                   const json_t *json)
{
    struct request request = {
        .run = run, .json = json, .requester = *requester};
    request.verb = json_string_value(json_object_get(json, "verb"));
    if (!request.verb) {
        refuse(&request, GW_EINVAL,
               "a request must be a JSON object with a verb");
        return;
    }
    verb_function *verb = verb_find(request.verb);
    if (run->ending)
        refuse(&request, GW_ECLOSED, "run %s is ending", run->folder.name);
    else if (!verb)
        refuse(
            &request, GW_EINVAL,
            "unknown verb \"%.40s\"; the supervisor may be of an older version",
            request.verb);
    else if (awaits_leader(run, json))
        later_lead(&request);
    else
        verb(&request);
}

void serve_requests(struct run *run)
{
    struct requester requester;
    json_t *json;
    for (unsigned i = 0;
         i < A_TURN && rpc_server_next(&run->rpc, &requester, &json); i++) {
        if (!run->ending)
            commands_add(run, json);
        serve_request(run, &requester, json);
        json_decref(json);
    }
}
