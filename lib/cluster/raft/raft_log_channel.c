/* SPDX-License-Identifier: MIT
 *
 * The transport between controllers with a key. Without a key libraft's back
 * end sends by its own streams (raft_uv_tcp). With one, that back end only
 * handles disk and clock, and has a transport that never connects. A single
 * controller has that transport, too. The messages go over a control channel
 * (wire/control_channel/control_channel.h) of the controllers alone, at the
 * same addresses, where node i is controller i. This channel has CURVE
 * encryption, bounded frames, refusal and notices of strangers, loopback only
 * without a key, and reconnection.
 *
 * Raft needs no more: messages may be lost, late or reordered. But it must
 * learn at once that a peer is away, because otherwise it keeps sending entries
 * to it. So the channel runs in bulk mode.
 *
 * The channel is emptied once per turn of the loop, just before the loop
 * sleeps, as its descriptor requires (gw__control_channel_fd).
 */
#include "raft_log_parts.h"

#include "raft_message.h"

#include <stdio.h>
#include <stdlib.h>

enum { MESSAGES_A_TURN = 256 };

/* ---- a transport without peers ---- */

static int init(struct raft_uv_transport *transport, raft_id id,
                const char *address)
{
    (void)transport, (void)id, (void)address;
    return 0;
}

static int skip_listening(struct raft_uv_transport *transport,
                          raft_uv_accept_cb accepted)
{
    (void)transport, (void)accepted;
    return 0;
}

static int refuse_connection(struct raft_uv_transport *transport,
                             struct raft_uv_connect *request, raft_id id,
                             const char *address, raft_uv_connect_cb done)
{
    (void)transport, (void)request, (void)id, (void)address, (void)done;
    return RAFT_NOCONNECTION;
}

static void close_transport(struct raft_uv_transport *transport,
                            raft_uv_transport_close_cb closed)
{
    closed(transport);
}

void gw__raft_channel_none(struct gw__raft_log *log)
{
    log->transport = (struct raft_uv_transport){.init = init,
                                                .listen = skip_listening,
                                                .connect = refuse_connection,
                                                .close = close_transport};
}

/* ---- the control channel ---- */

static void endpoint_of(const char *address,
                        char endpoint[GW__CONTROL_CHANNEL_ENDPOINT_MAX])
{
    snprintf(endpoint, GW__CONTROL_CHANNEL_ENDPOINT_MAX, "tcp://%s", address);
}

enum gw_err gw__raft_channel_check(const struct gw__raft_log_config *config,
                                   struct gw_error *why)
{
    char endpoint[GW__CONTROL_CHANNEL_ENDPOINT_MAX];
    endpoint_of(config->addresses[config->index], endpoint);
    return gw__control_channel_check_listen(
        endpoint, config->security.key_file || config->security.insecure, why);
}

/* The loop is awake now; its turn does the rest. */
static void wake(uv_poll_t *poll, int status, int events)
{
    (void)poll, (void)status, (void)events;
}

static enum gw_err know_all(struct gw__raft_log *log, struct gw_error *why)
{
    const struct gw__raft_log_config *c = &log->config;
    char endpoint[GW__CONTROL_CHANNEL_ENDPOINT_MAX];
    enum gw_err err = GW_OK;
    for (unsigned i = 0; i < c->count && !err; i++) {
        endpoint_of(c->addresses[i], endpoint);
        if (i != c->index)
            err = gw__control_channel_know(log->channel, i, endpoint, why);
    }
    return err;
}

enum gw_err gw__raft_channel_open(struct gw__raft_log *log,
                                  struct gw_error *why)
{
    const struct gw__raft_log_config *c = &log->config;
    char endpoint[GW__CONTROL_CHANNEL_ENDPOINT_MAX];
    endpoint_of(c->addresses[c->index], endpoint);
    const struct gw__control_channel_config config = {.node = c->index,
                                                      .endpoint = endpoint,
                                                      .security = c->security,
                                                      .bulk = true};
    log->frame = malloc(GW__CONTROL_CHANNEL_BULK_MAX);
    if (!log->frame)
        return gw_fail(why, GW_ENOMEM, "a frame");
    enum gw_err err = gw__control_channel_open(&config, &log->channel, why);
    if (!err)
        err = know_all(log, why);
    if (err)
        return err;
    int failed = uv_poll_init(&log->loop, &log->poll,
                              gw__control_channel_fd(log->channel));
    if (failed)
        return gw_fail(why, GW_ESYS, "polling for messages: %s",
                       uv_strerror(failed));
    uv_poll_start(&log->poll, UV_READABLE, wake);
    log->has_poll = true;
    gw__raft_channel_none(log);
    return GW_OK;
}

void gw__raft_channel_close(struct gw__raft_log *log)
{
    gw__control_channel_close(&log->channel);
    free(log->frame);
    log->frame = NULL;
}

/* ---- messages ---- */

int gw__raft_channel_send(struct raft_io *io, struct raft_io_send *request,
                          const struct raft_message *message,
                          raft_io_send_cb done)
{
    struct gw__raft_log *log = gw__raft_log_of(io);
    int status = RAFT_NOCONNECTION;
    bool whole;
    size_t bytes = gw__raft_message_encode(
        message, log->frame, GW__CONTROL_CHANNEL_BULK_MAX, &whole);
    if (bytes == 0)
        return RAFT_TOOBIG;
    if (!gw__control_channel_send(
            log->channel, (unsigned)message->server_id - 1, log->frame, bytes))
        status = whole ? 0 : RAFT_TOOBIG; /* libraft will send the rest */
    return gw__raft_io_report_later(log, request, done, status);
}

static void receive_message(struct gw__raft_log *log,
                            const struct gw__control_channel_message *from)
{
    struct raft_message message;
    if (from->from >= log->config.count ||
        gw__raft_message_decode(from->data, from->bytes, &message, NULL))
        return;
    message.server_id = from->from + 1;
    message.server_address = log->addresses[from->from];
    gw__raft_io_receive(&log->io, &message);
}

void gw__raft_channel_turn(struct gw__raft_log *log)
{
    struct gw__control_channel_message message;
    for (unsigned i = 0; i < MESSAGES_A_TURN; i++) {
        if (gw__control_channel_receive(log->channel, &message))
            break;
        receive_message(log, &message);
    }
    if (gw__control_channel_has_some(log->channel))
        uv_async_send(&log->bell);
}
