/* SPDX-License-Identifier: MIT
 *
 * A server's status for other threads: the data thread copies it at each change
 * of the control plane and every 50 ms.
 */
#include "process_parts.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define STATUS_NS UINT64_C(50000000)
#define LEAVE_NS  UINT64_C(30000000000)

void gw__process_update_status(struct gw_ps_server *server, uint64_t now_ns,
                               bool now)
{
    const char *parked = NULL;
    if (!now && now_ns - server->status_ns < STATUS_NS)
        return;
    server->status_ns = now_ns;
    pthread_mutex_lock(&server->lock);
    struct gw_ps_server_status *status = &server->status;
    gw__server_get_status(server->core, status);
    status->messages_sent =
        gw__messenger_counts(gw__node_messenger(server->node))->sent;
    status->messages_saved = server->bundles.saved;
    status->envelopes_refused = server->refused;
    status->member = !server->gone;
    status->epoch = gw__node_update(server->node)->view.epoch;
    status->lease = gw__node_lease(server->node) > now_ns;
    status->parked = gw__node_parked(server->node, &parked);
    if (status->parked && parked)
        snprintf(status->text, sizeof status->text, "%s", parked);
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    if (server->config.on_status)
        server->config.on_status(server->config.context);
}

void gw__process_gone(struct gw_ps_server *server, const struct gw_error *why)
{
    pthread_mutex_lock(&server->lock);
    server->gone = true;
    server->error = *why;
    server->status.member = server->status.lease = false;
    snprintf(server->status.text, sizeof server->status.text, "%.199s",
             why->text);
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    if (server->config.on_status)
        server->config.on_status(server->config.context);
}

void gw_ps_server_get_status(struct gw_ps_server *server,
                             struct gw_ps_server_status *status)
{
    pthread_mutex_lock(&server->lock);
    *status = server->status;
    pthread_mutex_unlock(&server->lock);
}

enum gw_err gw_ps_server_error(struct gw_ps_server *server,
                               struct gw_error *why)
{
    pthread_mutex_lock(&server->lock);
    struct gw_error error = server->error;
    bool gone = server->gone;
    pthread_mutex_unlock(&server->lock);
    if (!gone)
        return GW_OK;
    *why = error;
    return GW_ECLOSED;
}

/* ---- leaving ---- */

/* The server is drained first: it leaves when it has no slots (process.c). */
enum gw_err gw_ps_server_leave(struct gw_ps_server *server,
                               struct gw_error *why)
{
    const struct timespec until = gw__clock_until(gw_now_ns() + LEAVE_NS);
    pthread_mutex_lock(&server->lock);
    server->stays = false;
    atomic_store(&server->leaves, true);
    gw__node_wake(server->node);
    int waited = 0;
    while (!server->gone && !server->stays && waited != ETIMEDOUT)
        waited =
            pthread_cond_timedwait(&server->changed, &server->lock, &until);
    bool left = server->left;
    if (server->gone && !left)
        *why = server->error;
    else if (!left && server->stays)
        gw_fail(why, GW_EINVAL, "server %u cannot leave: it is the last server",
                gw__node_number(server->node));
    else if (!left)
        gw_fail(why, GW_EINVAL,
                "server %u cannot leave: no other server took over its slots",
                gw__node_number(server->node));
    pthread_mutex_unlock(&server->lock);
    return left ? GW_OK : why->code;
}
