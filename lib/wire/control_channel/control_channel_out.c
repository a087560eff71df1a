/* SPDX-License-Identifier: MIT
 *
 * Sending. Each destination node has a DEALER of its own, so that a node that
 * does not read holds up no other. libzmq queues messages sent before the peer
 * listens, up to the mark; further ones are lost and counted. In bulk it queues
 * nothing and connects before the first message.
 */
#include "control_channel_parts.h"

#include <string.h>

enum gw_err gw__control_channel_connect(struct gw__control_channel *channel,
                                        struct gw__control_channel_peer *peer)
{
    enum gw_err err = gw__control_channel_make_socket(
        channel, ZMQ_DEALER, peer->endpoint, &peer->dealer, NULL);
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
static bool hand_over(struct gw__control_channel *channel, unsigned node,
                      zmq_msg_t *message, uint64_t now_ns)
{
    if (node == channel->node)
        return gw__later_put(&channel->later, now_ns, message);
    void *dealer = channel->peers[node].dealer;
    return zmq_msg_send(message, dealer, ZMQ_DONTWAIT) >= 0;
}

enum gw_err gw__control_channel_send(struct gw__control_channel *channel,
                                     unsigned node, const void *data,
                                     size_t bytes)
{
    zmq_msg_t message;
    struct gw__control_channel_peer *peer =
        &channel->peers[node % GW__CONTROL_CHANNEL_NODES];
    size_t most = channel->bulk ? GW__CONTROL_CHANNEL_BULK_MAX
                                : GW__CONTROL_CHANNEL_BYTES_MAX;
    if (node >= GW__CONTROL_CHANNEL_NODES || bytes > most)
        return GW_EINVAL;
    if (node != channel->node && !peer->dealer &&
        (!peer->endpoint[0] || gw__control_channel_connect(channel, peer)))
        return GW_EUNREACH;
    struct gw__control_channel_head head = {
        .from = (uint16_t)channel->node,
        .to = (uint16_t)node,
        .token = channel->token,
        .incarnation_high = channel->self.high,
        .incarnation_low = channel->self.low,
        .sent_ns = gw_now_ns(),
        .process = channel->self.id,
    };
    if (zmq_msg_init_size(&message, sizeof head + bytes) != 0) {
        channel->counts.overflowed++;
        return GW_OK;
    }
    gw__control_channel_frame_seal(&head, data, bytes, zmq_msg_data(&message));
    bool accepted = hand_over(channel, node, &message, head.sent_ns);
    channel->counts.sent += accepted;
    channel->counts.overflowed += !accepted;
    zmq_msg_close(&message);
    return accepted || !channel->bulk ? GW_OK : GW_EUNREACH;
}
