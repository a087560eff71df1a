/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See orders.h. The mutex guards everything but the attachment, which is the
 * thread's.
 */
#include "orders.h"

#include "common/rpc_client.h"
#include "common/text/json_get.h"

#include <base/thread.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct orders {
    struct rpc_client *client;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t change;
    struct order order; /* under way, or the next */
    bool quit;
    bool update;
    char answer[200];
};

static const uint64_t PATIENCE_NS = 3000000000;

/* One request; *code is its result. */
static void send_order(struct orders *o, json_t *request, enum gw_err *code,
                       char *reply, size_t size)
{
    struct gw_error why;
    json_t *answer;
    *code = rpc_client_do(o->client, request, PATIENCE_NS, &answer, &why);
    snprintf(reply, size, "%.190s",
             *code ? why.text : text_of(answer, "text", ""));
    json_decref(answer);
}

static json_t *request_of(const char *verb, const struct order *order)
{
    return json_pack("{s:s, s:i, s:s}", "verb", verb, "node", (int)order->node,
                     "role", order->server ? "server" : "worker");
}

static void carry_out(struct orders *o, const struct order *order, char *reply,
                      size_t size)
{
    enum gw_err code;
    switch (order->kind) {
    case ORDER_KILL:
        send_order(o, request_of("kill", order), &code, reply, size);
        break;
    case ORDER_PAUSE:
        send_order(o, request_of("pause", order), &code, reply, size);
        if (code && strstr(reply, "already paused"))
            send_order(o, request_of("resume", order), &code, reply, size);
        break;
    case ORDER_ADD:
        send_order(o,
                   json_pack("{s:s, s:i, s:s}", "verb", "add", "count", 1,
                             "role", order->server ? "server" : "worker"),
                   &code, reply, size);
        break;
    case ORDER_NONE:
        *reply = 0;
    }
}

static void *serve_orders(void *argument)
{
    struct orders *o = argument;
    char reply[sizeof o->answer];
    pthread_mutex_lock(&o->mutex);
    for (;;) {
        while (!o->quit && o->order.kind == ORDER_NONE)
            pthread_cond_wait(&o->change, &o->mutex);
        if (o->quit)
            break;
        struct order order = o->order;
        pthread_mutex_unlock(&o->mutex);
        carry_out(o, &order, reply, sizeof reply);
        pthread_mutex_lock(&o->mutex);
        memcpy(o->answer, reply, sizeof o->answer);
        o->update = true;
        o->order.kind = ORDER_NONE;
    }
    pthread_mutex_unlock(&o->mutex);
    return NULL;
}

enum gw_err orders_new(const char *run, struct orders **desired,
                       struct gw_error *why)
{
    *desired = NULL;
    struct orders *o = calloc(1, sizeof *o);
    if (!o)
        return gw_fail(why, GW_ENOMEM, "no memory for the commands");
    enum gw_err err = rpc_client_open(run, &o->client, why);
    if (err) {
        free(o);
        return err;
    }
    pthread_mutex_init(&o->mutex, NULL);
    pthread_cond_init(&o->change, NULL);
    err = gw__thread_start(&o->thread, serve_orders, o, "orders", why);
    if (err) {
        rpc_client_close(&o->client);
        free(o);
        return err;
    }
    *desired = o;
    return GW_OK;
}

void orders_destroy(struct orders **desired)
{
    struct orders *o = *desired;
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
    *desired = NULL;
}

bool orders_give(struct orders *o, const struct order *order)
{
    pthread_mutex_lock(&o->mutex);
    bool idle = o->order.kind == ORDER_NONE;
    if (idle)
        o->order = *order;
    pthread_cond_signal(&o->change);
    pthread_mutex_unlock(&o->mutex);
    return idle;
}

bool orders_answer(struct orders *o, char *out, size_t size)
{
    pthread_mutex_lock(&o->mutex);
    bool update = o->update;
    o->update = false;
    if (update)
        snprintf(out, size, "%s", o->answer);
    pthread_mutex_unlock(&o->mutex);
    return update;
}
