/* SPDX-License-Identifier: MIT
 *
 * A server's incoming and outgoing messages: single, in bundles
 * (ps/messages/bundle.h), or in envelopes of an aggregator
 * (ps/aggregate/aggregator.h), which are checked against the membership update.
 * Data thread only.
 */
#include "process_parts.h"

/* ---- sending ---- */

void gw__process_send_now(void *context, const struct gw__message_out *message)
{
    struct gw_ps_server *server = context;
    enum gw_err err =
        gw__messenger_send(gw__node_messenger(server->node), message);
    if (err && message->borrowed)
        message->back(message->context);
}

/* Replies to a worker take the same way as its last request. False: send it
 * directly. */
static bool answer_by_aggregator(struct gw_ps_server *server,
                                 const struct gw__message_out *message)
{
    if (message->node >= GW__MESSENGER_NODES ||
        !gw__nodes_has(&server->behind, message->node))
        return false;
    unsigned via = server->via[message->node];
    const struct gw__ps_member *worker =
        gw__node_member(server->node, message->node);
    if (!worker || !gw__node_reaches(server->node, via))
        return false;
    const struct gw__bundle_end end = {worker->node, worker->incarnation.high,
                                       worker->incarnation.low};
    struct gw__message_out through = *message;
    through.node = via;
    return gw__bundles_forward(&server->bundles, &through, &end);
}

void gw__process_send(void *context, const struct gw__message_out *message)
{
    struct gw_ps_server *server = context;
    if (!answer_by_aggregator(server, message))
        gw__bundles_send(&server->bundles, message);
}

/* ---- receiving ---- */

/* Takes the message as one from its worker, if the aggregator may
 * forward it. */
static void receive_forwarded(struct gw_ps_server *server,
                              const struct gw__message_in *envelope,
                              struct gw__message_in *forwarded)
{
    if (!gw__node_trusts(server->node, envelope, forwarded)) {
        server->refused++;
        gw__message_in_release(forwarded);
        return;
    }
    gw__nodes_add(&server->behind, forwarded->from);
    server->via[forwarded->from] = (uint16_t)envelope->from;
    gw__process_message_in(server, forwarded);
}

/* A message is single, a bundle of several, or an envelope. */
void gw__process_open(struct gw_ps_server *server,
                      struct gw__message_in *message)
{
    size_t at = 0;
    unsigned count;
    bool envelope = gw__is_envelope(message);
    gw__nodes_remove(&server->behind, message->from);
    if (!envelope && !gw__is_bundle(message)) {
        gw__process_message_in(server, message);
        return;
    }
    enum gw_err err = gw__bundle_check(message, &count, NULL);
    server->refused += envelope && err;
    for (unsigned i = 0; !err && i < count; i++) {
        struct gw__message_in *bundled = gw__bundle_next(message, &at);
        if (bundled && envelope)
            receive_forwarded(server, message, bundled);
        else if (bundled)
            gw__process_message_in(server, bundled);
    }
    gw__message_in_release(message);
}
