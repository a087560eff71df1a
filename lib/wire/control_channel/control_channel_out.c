/* SPDX-License-Identifier: MIT
 *
 * Sending. Each destination node has a DEALER of its own, so that a node that
 * does not read holds up no other. libzmq queues messages sent before the peer
 * listens, up to the mark; further ones are lost and counted. In bulk it queues
 * nothing and connects before the first message.
 */
#include "control_channel_parts.h"

#include <string.h>

enum gw_err gw__control_channel_connect(struct gw__control_channel *mesh,
                                        struct gw__control_channel_peer *peer)
{
    enum gw_err err = gw__control_channel_make_socket(
        mesh, ZMQ_DEALER, peer->endpoint, &peer->dealer, NULL);
    if (!err && zmq_connect(peer->dealer, peer->endpoint) != 0)
        err = GW_EUNREACH;
    if (err)
        gw__control_channel_disconnect(peer);
    return err ? GW_EUNREACH : GW_OK;
}

/* Messages just sent may still leave. */
void gw__control_channel_disconnect(struct gw__control_channel_peer *peer)
{
    if (peer->dealer)
        zmq_close(peer->dealer);
    peer->dealer = NULL;
}

/* To the queue of messages to the own node, or to libzmq. False: it is full. */
static bool hand_over(struct gw__control_channel *mesh, unsigned node,
                      zmq_msg_t *message, uint64_t now_ns)
{
    if (node == mesh->node)
        return gw__later_put(&mesh->later, now_ns, message);
    void *dealer = mesh->peers[node].dealer;
    return zmq_msg_send(message, dealer, ZMQ_DONTWAIT) >= 0;
}

enum gw_err gw__control_channel_send(struct gw__control_channel *mesh,
                                     unsigned node, const void *data,
                                     size_t bytes)
{
    zmq_msg_t message;
    struct gw__control_channel_peer *peer =
        &mesh->peers[node % GW__CONTROL_CHANNEL_NODES];
    size_t most = mesh->bulk ? GW__CONTROL_CHANNEL_BULK_MAX
                             : GW__CONTROL_CHANNEL_BYTES_MAX;
    if (node >= GW__CONTROL_CHANNEL_NODES || bytes > most)
        return GW_EINVAL;
    if (node != mesh->node && !peer->dealer &&
        (!peer->endpoint[0] || gw__control_channel_connect(mesh, peer)))
        return GW_EUNREACH;
    struct gw__control_channel_head head = {
        .from = (uint16_t)mesh->node,
        .to = (uint16_t)node,
        .token = mesh->token,
        .incarnation_high = mesh->self.high,
        .incarnation_low = mesh->self.low,
        .sent_ns = gw_now_ns(),
        .process = mesh->self.id,
    };
    if (zmq_msg_init_size(&message, sizeof head + bytes) != 0) {
        mesh->counts.overflowed++;
        return GW_OK;
    }
    gw__control_channel_frame_seal(&head, data, bytes, zmq_msg_data(&message));
    bool taken = hand_over(mesh, node, &message, head.sent_ns);
    mesh->counts.sent += taken;
    mesh->counts.overflowed += !taken;
    zmq_msg_close(&message);
    return taken || !mesh->bulk ? GW_OK : GW_EUNREACH;
}
