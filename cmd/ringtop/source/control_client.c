/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See control_client.h. The mutex guards everything but the attachment, which
 * is the thread's.
 */
#include "control_client.h"

#include "common/rpc_client.h"
#include "common/text/json_get.h"

#include <base/thread.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct control_client {
    struct rpc_client *client;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t change;
    struct control_request request; /* under way, or the next */
    bool quit;
    bool update;
    char answer[200];
};

static const uint64_t PATIENCE_NS = 3000000000;

/* One request; *code is its result. */
static void send_request(struct control_client *o, json_t *request,
                         enum gw_err *code, char *reply, size_t size)
{
    struct gw_error why;
    json_t *answer;
    *code = rpc_client_do(o->client, request, PATIENCE_NS, &answer, &why);
    snprintf(reply, size, "%.190s",
             *code ? why.text : text_of(answer, "text", ""));
    json_decref(answer);
}

static json_t *request_of(const char *verb,
                          const struct control_request *request)
{
    return json_pack("{s:s, s:i, s:s}", "verb", verb, "node",
                     (int)request->node, "role",
                     request->server ? "server" : "worker");
}

static void execute_request(struct control_client *o,
                            const struct control_request *request, char *reply,
                            size_t size)
{
    enum gw_err code;
    switch (request->kind) {
    case CONTROL_KILL:
        send_request(o, request_of("kill", request), &code, reply, size);
        break;
    case CONTROL_PAUSE:
        send_request(o, request_of("pause", request), &code, reply, size);
        if (code && strstr(reply, "already paused"))
            send_request(o, request_of("resume", request), &code, reply, size);
        break;
    case CONTROL_ADD:
        send_request(o,
                     json_pack("{s:s, s:i, s:s}", "verb", "add", "count", 1,
                               "role", request->server ? "server" : "worker"),
                     &code, reply, size);
        break;
    case CONTROL_NONE:
        *reply = 0;
    }
}

static void *process_requests(void *argument)
{
    struct control_client *o = argument;
    char reply[sizeof o->answer];
    pthread_mutex_lock(&o->mutex);
    for (;;) {
        while (!o->quit && o->request.kind == CONTROL_NONE)
            pthread_cond_wait(&o->change, &o->mutex);
        if (o->quit)
            break;
        struct control_request request = o->request;
        pthread_mutex_unlock(&o->mutex);
        execute_request(o, &request, reply, sizeof reply);
        pthread_mutex_lock(&o->mutex);
        memcpy(o->answer, reply, sizeof o->answer);
        o->update = true;
        o->request.kind = CONTROL_NONE;
    }
    pthread_mutex_unlock(&o->mutex);
    return NULL;
}

enum gw_err control_client_new(const char *run, struct control_client **control,
                               struct gw_error *why)
{
    *control = NULL;
    struct control_client *o = calloc(1, sizeof *o);
    if (!o)
        return gw_fail(why, GW_ENOMEM, "no memory for the commands");
    enum gw_err err = rpc_client_open(run, &o->client, why);
    if (err) {
        free(o);
        return err;
    }
    pthread_mutex_init(&o->mutex, NULL);
    pthread_cond_init(&o->change, NULL);
    err = gw__thread_start(&o->thread, process_requests, o, "orders", why);
    if (err) {
        rpc_client_close(&o->client);
        free(o);
        return err;
    }
    *control = o;
    return GW_OK;
}

void control_client_destroy(struct control_client **control)
{
    struct control_client *o = *control;
    if (!o)
        return;
    pthread_mutex_lock(&o->mutex);
    o->quit = true;
    pthread_cond_signal(&o->change);
    pthread_mutex_unlock(&o->mutex);
    pthread_join(o->thread, NULL);
    rpc_client_close(&o->client);
    pthread_cond_destroy(&o->change);
    pthread_mutex_destroy(&o->mutex);
    free(o);
    *control = NULL;
}

bool control_client_send(struct control_client *o,
                         const struct control_request *request)
{
    pthread_mutex_lock(&o->mutex);
    bool idle = o->request.kind == CONTROL_NONE;
    if (idle)
        o->request = *request;
    pthread_cond_signal(&o->change);
    pthread_mutex_unlock(&o->mutex);
    return idle;
}

bool control_client_answer(struct control_client *o, char *out, size_t size)
{
    pthread_mutex_lock(&o->mutex);
    bool update = o->update;
    o->update = false;
    if (update)
        snprintf(out, size, "%s", o->answer);
    pthread_mutex_unlock(&o->mutex);
    return update;
}
