/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Requests and answers (common/attach.h). Whatever comes gets an answer: what
 * is no JSON object, has no verb, or names none that there is, a refusal. Only
 * processes of the same user get in: an abstract name has no permissions, so
 * libzmq asks the kernel who connects.
 */
#include "supervisor_parts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    A_TURN = 64, /* requests, before something else has its turn */
    REQUEST_MAX = 1 << 16,
    LINGER_MS = 300,
    EVENTS_MARK = 1 << 14
};

static bool set(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

static enum gw_err open_one(struct run *run, int type, const char *who,
                            void **socket, struct gw_error *why)
{
    char endpoint[ENDPOINT_MAX];
    uid_t user = geteuid();
    int64_t most = REQUEST_MAX;
    post_endpoint(run->token, who, endpoint);
    *socket = zmq_socket(run->context, type);
    if (!*socket || !set(*socket, ZMQ_LINGER, LINGER_MS) ||
        !set(*socket, ZMQ_SNDHWM, EVENTS_MARK) ||
        zmq_setsockopt(*socket, ZMQ_MAXMSGSIZE, &most, sizeof most) != 0 ||
        zmq_setsockopt(*socket, ZMQ_IPC_FILTER_UID, &user, sizeof user) != 0 ||
        zmq_bind(*socket, endpoint) != 0)
        return gw_fail(why, GW_EUNREACH, "%s: %s", endpoint,
                       zmq_strerror(errno));
    return GW_OK;
}

enum gw_err serve_open(struct run *run, struct gw_error *why)
{
    run->context = zmq_ctx_new();
    if (!run->context)
        return gw_fail_errno(why, "ZeroMQ");
    enum gw_err code = open_one(run, ZMQ_ROUTER, "run", &run->requests, why);
    if (code)
        return code;
    return open_one(run, ZMQ_XPUB, "events", &run->events, why);
}

void serve_close(struct run *run)
{
    if (run->requests)
        zmq_close(run->requests);
    if (run->events)
        zmq_close(run->events);
    if (run->context)
        zmq_ctx_term(run->context);
    run->requests = run->events = run->context = NULL;
}

/* ---- answers ---- */

void serve_answer(struct run *run, const struct asker *asker, enum gw_err code,
                  json_t *data, const char *format, ...)
{
    char text[2 * SENTENCE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    /* Names of files may be in no UTF-8. */
    json_t *answer =
        json_pack("{s:i, s:o, s:I, s:I}", "code", (int)code, "text",
                  json_string_nocheck(text), "epoch",
                  (json_int_t)run->news.view.epoch, "id", asker->id);
    if (data)
        json_object_set_new(answer, "data", data);
    char *bytes = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
    if (bytes && zmq_send(run->requests, asker->identity, asker->bytes,
                          ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
        zmq_send(run->requests, bytes, strlen(bytes), ZMQ_DONTWAIT);
    free(bytes);
    json_decref(answer);
}

/* ---- requests ---- */

bool request_ns(const struct request *request, uint64_t *ns)
{
    const json_t *value = json_object_get(request->json, "ns");
    bool told = json_is_integer(value) && json_integer_value(value) >= 0;
    if (told)
        *ns = (uint64_t)json_integer_value(value);
    else
        refuse(request, GW_EINVAL, "\"ns\" is a time in nanoseconds");
    return told;
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

/* It is about the leader, and there is none now, but will be. */
static bool awaits_leader(const struct run *run, const json_t *json)
{
    return names_leader(json) && control_leader(run) < 0 &&
           2 * controllers_alive(run) > controllers_all(run);
}

void serve_request(struct run *run, const struct asker *asker,
                   const json_t *json)
{
    struct request request = {.run = run, .json = json, .asker = *asker};
    request.verb = json_string_value(json_object_get(json, "verb"));
    if (!request.verb) {
        refuse(&request, GW_EINVAL, "a request is a JSON object with a verb");
        return;
    }
    verb_function *verb = verb_find(request.verb);
    if (run->ending)
        refuse(&request, GW_ECLOSED, "run %s is ending", run->name);
    else if (!verb)
        refuse(&request, GW_EINVAL, "the supervisor knows no verb \"%.40s\"",
               request.verb);
    else if (awaits_leader(run, json))
        later_lead(&request);
    else
        verb(&request);
}

/* One request; false: there is none. */
static bool serve(struct run *run)
{
    struct asker asker = {.id = 0};
    zmq_msg_t part;
    size_t size = sizeof asker.identity;
    int got = zmq_recv(run->requests, asker.identity, size, ZMQ_DONTWAIT);
    if (got < 0)
        return false;
    asker.bytes = (size_t)got < size ? (size_t)got : size;
    json_t *json = NULL;
    zmq_msg_init(&part);
    bool whole = zmq_msg_recv(&part, run->requests, ZMQ_DONTWAIT) >= 0 &&
                 !zmq_msg_more(&part);
    if (whole)
        json = json_loadb(zmq_msg_data(&part), zmq_msg_size(&part), 0, NULL);
    while (zmq_msg_more(&part) &&
           zmq_msg_recv(&part, run->requests, ZMQ_DONTWAIT) >= 0)
        ; /* the rest of something that we do not understand */
    zmq_msg_close(&part);
    asker.id = json_integer_value(json_object_get(json, "id"));
    serve_request(run, &asker, json);
    json_decref(json);
    return true;
}

void serve_requests(struct run *run)
{
    for (unsigned i = 0; i < A_TURN && serve(run); i++)
        ;
}
