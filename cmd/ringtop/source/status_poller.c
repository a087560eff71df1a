/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See status_poller.h. The mutex protects all members but the attachment, which
 * belongs to the thread. After the end of the run, the last answer remains.
 */
#include "status_poller.h"

#include "common/rpc_client.h"

#include <base/clock.h>
#include <base/thread.h>

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static const uint64_t EVERY_NS = 200000000, PATIENCE_NS = 2000000000;

struct status_poller {
    struct rpc_client *client;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t change;
    bool quit;
    json_t *newest;
};

/* Steals `status`. */
static void keep_status(struct status_poller *w, json_t *status)
{
    pthread_mutex_lock(&w->mutex);
    json_decref(w->newest);
    w->newest = status;
    pthread_mutex_unlock(&w->mutex);
}

static enum gw_err request_status(struct status_poller *w)
{
    struct gw_error why;
    json_t *status;
    enum gw_err code = rpc_client_status(w->client, PATIENCE_NS, &status, &why);
    if (!code)
        keep_status(w, status);
    return code;
}

/* False: it is time to quit. */
static bool nap(struct status_poller *w)
{
    uint64_t until_ns = gw_now_ns() + EVERY_NS;
    const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000),
                                   .tv_nsec = (long)(until_ns % 1000000000)};
    pthread_mutex_lock(&w->mutex);
    while (!w->quit && gw_now_ns() < until_ns)
        pthread_cond_timedwait(&w->change, &w->mutex, &until);
    bool goes_on = !w->quit;
    pthread_mutex_unlock(&w->mutex);
    return goes_on;
}

static void *poll_status(void *argument)
{
    struct status_poller *w = argument;
    enum gw_err code = GW_OK;
    while (nap(w) && (code == GW_OK || code == GW_ETIMEOUT))
        code = request_status(w);
    return NULL;
}

enum gw_err status_poller_new(const char *run, struct status_poller **poller,
                              struct gw_error *why)
{
    *poller = NULL;
    struct status_poller *w = calloc(1, sizeof *w);
    if (!w)
        return gw_fail(why, GW_ENOMEM, "no memory for a status");
    enum gw_err err = rpc_client_open(run, &w->client, why);
    if (err) {
        free(w);
        return err;
    }
    pthread_mutex_init(&w->mutex, NULL);
    gw__clock_cond_init(&w->change);
    err = gw__thread_start(&w->thread, poll_status, w, "the status", why);
    if (err) {
        rpc_client_close(&w->client);
        free(w);
        return err;
    }
    *poller = w;
    return GW_OK;
}

void status_poller_destroy(struct status_poller **poller)
{
    struct status_poller *w = *poller;
    if (!w)
        return;
    pthread_mutex_lock(&w->mutex);
    w->quit = true;
    pthread_cond_signal(&w->change);
    pthread_mutex_unlock(&w->mutex);
    pthread_join(w->thread, NULL);
    rpc_client_close(&w->client);
    json_decref(w->newest);
    pthread_cond_destroy(&w->change);
    pthread_mutex_destroy(&w->mutex);
    free(w);
    *poller = NULL;
}

json_t *status_poller_pop(struct status_poller *w)
{
    pthread_mutex_lock(&w->mutex);
    json_t *status = w->newest;
    w->newest = NULL;
    pthread_mutex_unlock(&w->mutex);
    return status;
}

void status_poller_set(struct status_poller *w, const json_t *status)
{
    keep_status(w, json_deep_copy(status));
}
