/* SPDX-License-Identifier: MIT
 *
 * Opening and closing a control channel, the options of its sockets, and the
 * endpoints of its peers.
 */
#include "control_channel_parts.h"
#include "wire/process_inspect.h"

#include "wire/zmq/zmq_context.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    RECONNECT_MS = 10,
    RECONNECT_MOST_MS = 100,
    HANDSHAKE_MS = 2000, /* for connections that stay silent */
    /* Hosts fail silently only across a network. */
    HEARTBEAT_MS = 200,
    HEARTBEAT_TIMEOUT_MS = 800,
};

/* ---- sockets ---- */

static bool set_option(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

static bool set_common(void *socket, const char *endpoint, bool bulk)
{
    int64_t most =
        bulk ? GW__CONTROL_CHANNEL_FRAME_BULK : GW__CONTROL_CHANNEL_FRAME_MAX;
    bool ok = set_option(socket, ZMQ_SNDHWM, GW__CONTROL_CHANNEL_MARK) &&
              set_option(socket, ZMQ_RCVHWM, GW__CONTROL_CHANNEL_MARK) &&
              set_option(socket, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS) &&
              set_option(socket, ZMQ_IPV6, strchr(endpoint, '[') != NULL) &&
              zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &most, sizeof most) == 0;
    if (gw__control_channel_is_remote(endpoint))
        ok = ok && set_option(socket, ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS) &&
             set_option(socket, ZMQ_HEARTBEAT_TIMEOUT, HEARTBEAT_TIMEOUT_MS);
    return ok;
}

/* Messages sent before the peer listens are queued for it, except in bulk. A
 * DEALER only sends: no message ever comes back on it. */
static bool set_dealer(void *socket, bool bulk)
{
    return set_option(socket, ZMQ_LINGER, GW__CONTROL_CHANNEL_LINGER_MS) &&
           set_option(socket, ZMQ_IMMEDIATE, bulk) &&
           set_option(socket, ZMQ_RECONNECT_IVL, RECONNECT_MS) &&
           set_option(socket, ZMQ_RECONNECT_IVL_MAX, RECONNECT_MOST_MS) &&
           set_option(socket, ZMQ_RCVHWM, 1);
}

static bool set_router(void *socket, const char *endpoint)
{
    return gw__zmq_own_user_only(socket, endpoint) &&
           set_option(socket, ZMQ_LINGER, 0);
}

enum gw_err gw__control_channel_make_socket(struct gw__control_channel *channel,
                                            int type, const char *endpoint,
                                            void **socket, struct gw_error *why)
{
    bool listens = type == ZMQ_ROUTER;
    *socket = zmq_socket(channel->context, type);
    if (!*socket || !set_common(*socket, endpoint, channel->bulk) ||
        !(listens ? set_router(*socket, endpoint)
                  : set_dealer(*socket, channel->bulk)))
        return gw_fail_errno(why, "a socket for %s", endpoint);
    if (!channel->secured)
        return GW_OK;
    return gw__zmq_key_set(*socket, &channel->key, listens, why);
}

/* ---- opening and closing ---- */

static enum gw_err listen_at(struct gw__control_channel *channel,
                             const char *endpoint, struct gw_error *why)
{
    size_t size = sizeof channel->endpoint, fd_size = sizeof channel->router_fd;
    enum gw_err err = gw__control_channel_make_socket(
        channel, ZMQ_ROUTER, endpoint, &channel->router, why);
    if (!err)
        err =
            gw__accept_filter_open(channel->context, channel->router, endpoint,
                                   channel->secured, &channel->filter, why);
    if (err)
        return err;
    if (zmq_bind(channel->router, endpoint) != 0)
        return gw_fail(why, GW_EUNREACH, "cannot listen at %s: %s", endpoint,
                       zmq_strerror(errno));
    if (zmq_getsockopt(channel->router, ZMQ_LAST_ENDPOINT, channel->endpoint,
                       &size) != 0 ||
        zmq_getsockopt(channel->router, ZMQ_FD, &channel->router_fd,
                       &fd_size) != 0)
        return gw_fail_errno(why, "reading the address of %s", endpoint);
    return GW_OK;
}

static enum gw_err reserve_files(struct gw__control_channel *channel,
                                 unsigned count, struct gw_error *why)
{
    enum gw_err err = gw__files_reserve(count, why);
    channel->files += err ? 0 : count;
    return err;
}

static enum gw_err open_all(struct gw__control_channel *channel,
                            const struct gw__control_channel_config *config,
                            struct gw_error *why)
{
    if (config->node >= GW__CONTROL_CHANNEL_NODES)
        return gw_fail(why, GW_EINVAL, "node %u: nodes are numbered below %d",
                       config->node, GW__CONTROL_CHANNEL_NODES);
    enum gw_err err = gw__control_channel_check_listen(
        config->endpoint,
        config->security.key_file || config->security.insecure, why);
    if (!err && config->security.key_file) {
        channel->secured = true;
        err = gw__zmq_key_read(config->security.key_file, &channel->key, why);
    }
    if (!err)
        err = gw__later_init(&channel->later, why);
    if (!err)
        err = reserve_files(
            channel,
            GW__CONTROL_CHANNEL_FILES +
                gw__accept_filter_files(config->endpoint, channel->secured),
            why);
    if (err)
        return err;
    /* Liveness does not depend on bulk messages, so in bulk the threads have no
     * names for process_look.h. */
    err = gw__zmq_context_new(1, 0, channel->bulk ? 0 : GW__CONTROL_THREADS,
                              &channel->context, why);
    return err ? err : listen_at(channel, config->endpoint, why);
}

enum gw_err
gw__control_channel_open(const struct gw__control_channel_config *config,
                         struct gw__control_channel **opened,
                         struct gw_error *why)
{
    struct gw__control_channel *channel = calloc(1, sizeof *channel);
    *opened = NULL;
    if (!channel)
        return gw_fail(why, GW_ENOMEM, "control channel");
    channel->node = config->node;
    channel->self = (struct gw__control_channel_process){
        config->incarnation_high, config->incarnation_low, {0}};
    gw__process_watch_self(&channel->self.id);
    channel->token = config->security.token;
    channel->profiles = config->profiles;
    channel->bulk = config->bulk;
    zmq_msg_init(&channel->received);
    enum gw_err err = open_all(channel, config, why);
    if (err) {
        gw__control_channel_close(&channel);
        return gw_wrap(why, err, "control channel");
    }
    *opened = channel;
    return GW_OK;
}

/* Ending the context waits for lingering messages. */
void gw__control_channel_close(struct gw__control_channel **opened)
{
    struct gw__control_channel *channel = *opened;
    if (!channel)
        return;
    *opened = NULL;
    for (unsigned node = 0; node < GW__CONTROL_CHANNEL_NODES; node++)
        gw__control_channel_disconnect(&channel->peers[node]);
    gw__accept_filter_close(&channel->filter);
    if (channel->router)
        zmq_close(channel->router);
    zmq_msg_close(&channel->received);
    gw__later_fini(&channel->later);
    while (channel->context && zmq_ctx_term(channel->context) != 0)
        assert(errno == EINTR);
    gw__files_release(channel->files);
    free(channel);
}

/* ---- endpoints ---- */

const char *
gw__control_channel_endpoint(const struct gw__control_channel *channel)
{
    return channel->endpoint;
}

enum gw_err gw__control_channel_know(struct gw__control_channel *channel,
                                     unsigned node, const char *endpoint,
                                     struct gw_error *why)
{
    struct gw__control_channel_peer *peer =
        &channel->peers[node % GW__CONTROL_CHANNEL_NODES];
    if (node >= GW__CONTROL_CHANNEL_NODES)
        return gw_fail(why, GW_EINVAL, "node %u: nodes are numbered below %d",
                       node, GW__CONTROL_CHANNEL_NODES);
    enum gw_err err = GW_OK;
    if (endpoint[0])
        err = gw__control_channel_check_endpoint(endpoint, why);
    if (err)
        return gw_wrap(why, err, "the address of node %u", node);
    if (endpoint[0] && !peer->has_files) {
        err = reserve_files(channel, GW__CONTROL_CHANNEL_PEER_FILES, why);
        if (err)
            return gw_wrap(why, err, "node %u", node);
        peer->has_files = true;
    }
    if (strcmp(endpoint, peer->endpoint) == 0)
        return GW_OK;
    gw__control_channel_disconnect(peer);
    memset(peer->endpoint, 0, sizeof peer->endpoint);
    memcpy(peer->endpoint, endpoint, strlen(endpoint));
    if (channel->bulk && endpoint[0])
        err = gw__control_channel_connect(channel, peer);
    return err ? gw_fail(why, err, "a connection to node %u", node) : GW_OK;
}

const struct gw__control_channel_counts *
gw__control_channel_counts(const struct gw__control_channel *channel)
{
    return &channel->counts;
}
