/* SPDX-License-Identifier: MIT
 *
 * Receiving. A message passes these stages, or ends at one of them:
 *
 *   ROUTER -> frame (refused) -> profile (lost, link down) -> due now? -> user
 *                                           queue (overflow) <-- no         ^
 *                                             `---- when it is due ---------'
 *
 * When the link profiles change, they are applied again to the queued messages:
 * a cut drops them, and a slow link that is restored releases them.
 *
 * Messages to the own node go to the same queue, due at once. Queue and socket
 * take turns, so that neither starves the other.
 *
 * A node whose messages begin to carry another incarnation has been restarted.
 * Its DEALER may be waiting to reconnect, with a queue for the dead process, so
 * the connection is made again at the next send. (Not in bulk: nothing is
 * queued there and a new connection may already be on its way.) The last two
 * incarnations are remembered, so that late messages of a process declared dead
 * do not renew the connection again and again.
 */
#include "control_channel_parts.h"

#include <poll.h>
#include <string.h>
#include <time.h>

/* An older time stamp, or one in the future, is of another host's clock, or of
 * a message that waited for its receiver to start. */
static const uint64_t oldest_stamp_ns = 1000000000U;

/* While messages are held back, another thread may change the link profiles. */
static const uint64_t poll_ns = 20 * 1000000U;

enum { TRIES = 256 }; /* per receive: a flood of refusals must not hold us */

enum arrival { NOTHING, REFUSED, KEPT_BACK, DUE };

static bool is_same(struct gw__control_channel_process a,
                    struct gw__control_channel_process b)
{
    return a.high == b.high && a.low == b.low;
}

static void record_incarnation(struct gw__control_channel *channel,
                               const struct gw__control_channel_head *head)
{
    struct gw__control_channel_peer *peer = &channel->peers[head->from];
    struct gw__control_channel_process process = {
        head->incarnation_high, head->incarnation_low, head->process};
    if ((peer->process_count > 0 && is_same(process, peer->now)) ||
        (peer->process_count > 1 && is_same(process, peer->before)))
        return;
    if (peer->process_count > 0 && !channel->bulk)
        gw__control_channel_disconnect(peer);
    peer->process_count = peer->process_count > 0 ? 2 : 1;
    peer->before = peer->now;
    peer->now = process;
}

const struct gw__process_watch_id *
gw__control_channel_process(const struct gw__control_channel *channel,
                            unsigned node, uint64_t incarnation_low)
{
    const struct gw__control_channel_peer *peer =
        &channel->peers[node % GW__CONTROL_CHANNEL_NODES];
    if (peer->process_count > 0 && peer->now.low == incarnation_low)
        return &peer->now.id;
    return peer->process_count > 1 && peer->before.low == incarnation_low
               ? &peer->before.id
               : NULL;
}

/* ROUTER puts a part with the connection's id before the message. */
static enum arrival read_frame(struct gw__control_channel *channel,
                               struct gw__control_channel_head *head)
{
    zmq_msg_t *frame = &channel->received;
    unsigned parts = 0;
    do {
        if (zmq_msg_recv(frame, channel->router, ZMQ_DONTWAIT) < 0)
            return NOTHING;
        parts++;
    } while (zmq_msg_more(frame));
    return parts != 2 || gw__control_channel_frame_read(
                             zmq_msg_data(frame), zmq_msg_size(frame),
                             channel->node, channel->token, head, NULL)
               ? REFUSED
               : DUE;
}

/* UINT64_MAX: lost. */
static uint64_t apply_profile(struct gw__control_channel *channel,
                              const struct gw__control_channel_head *head,
                              size_t bytes)
{
    struct gw__due *due = &channel->peers[head->from].due;
    uint64_t now_ns = gw_now_ns(), sent_ns = head->sent_ns;
    if (gw__link_profiles_down(channel->profiles, head->from))
        return UINT64_MAX;
    if (sent_ns > now_ns || now_ns - sent_ns > oldest_stamp_ns)
        sent_ns = 0;
    return gw__link_profiles_due(channel->profiles, head->from, due, sent_ns,
                                 bytes, true, false);
}

static enum arrival keep_back(struct gw__control_channel *channel,
                              const struct gw__control_channel_head *head)
{
    struct gw__due before = channel->peers[head->from].due;
    size_t bytes = zmq_msg_size(&channel->received);
    uint64_t due_ns = apply_profile(channel, head, bytes);
    if (due_ns <= gw_now_ns())
        return DUE;
    if (due_ns == UINT64_MAX) {
        channel->counts.dropped_by_profile++;
    } else if (!gw__later_put(&channel->later, due_ns, &channel->received)) {
        channel->peers[head->from].due =
            before; /* it takes no time on the link */
        channel->counts.overflowed++;
    }
    return KEPT_BACK;
}

static uint64_t recompute_due(void *context, zmq_msg_t *message)
{
    struct gw__control_channel *channel = context;
    struct gw__control_channel_head head;
    memcpy(&head, zmq_msg_data(message), sizeof head);
    if (head.from == channel->node)
        return head.sent_ns;
    return apply_profile(channel, &head, zmq_msg_size(message));
}

/* Otherwise messages held back by a slow link would wait after the profile is
 * gone. */
static void heed_changes(struct gw__control_channel *channel)
{
    uint64_t changes =
        channel->profiles ? gw__link_profiles_changes(channel->profiles) : 0;
    if (changes == channel->changes)
        return;
    channel->changes = changes;
    for (unsigned node = 0; node < GW__CONTROL_CHANNEL_NODES; node++)
        channel->peers[node].due = (struct gw__due){0};
    channel->counts.dropped_by_profile +=
        gw__later_revise(&channel->later, recompute_due, channel);
}

static enum arrival receive_from_socket(struct gw__control_channel *channel)
{
    struct gw__control_channel_head head;
    enum arrival arrival = read_frame(channel, &head);
    if (arrival == REFUSED)
        channel->counts.refused++;
    if (arrival != DUE)
        return arrival;
    record_incarnation(channel, &head);
    if (!channel->profiles || gw__link_profiles_quiet(channel->profiles))
        return DUE;
    return keep_back(channel, &head);
}

static enum arrival receive_from_queue(struct gw__control_channel *channel)
{
    uint64_t due_ns = gw__later_due(&channel->later);
    if (due_ns == UINT64_MAX || due_ns > gw_now_ns())
        return NOTHING;
    gw__later_pop(&channel->later, &channel->received);
    return DUE;
}

static void show_message(struct gw__control_channel *channel,
                         struct gw__control_channel_message *message)
{
    struct gw__control_channel_head head;
    const char *frame = zmq_msg_data(&channel->received);
    memcpy(&head, frame, sizeof head);
    *message = (struct gw__control_channel_message){
        .from = head.from,
        .incarnation_high = head.incarnation_high,
        .incarnation_low = head.incarnation_low,
        .data = frame + sizeof head,
        .bytes = zmq_msg_size(&channel->received) - sizeof head,
    };
    channel->counts.received++;
}

enum gw_err
gw__control_channel_receive(struct gw__control_channel *channel,
                            struct gw__control_channel_message *message)
{
    bool queue = channel->later_first;
    heed_changes(channel);
    channel->later_first = !channel->later_first;
    for (unsigned nothing = 0, i = 0; nothing < 2 && i < TRIES; i++) {
        enum arrival arrival =
            queue ? receive_from_queue(channel) : receive_from_socket(channel);
        if (arrival == DUE) {
            show_message(channel, message);
            return GW_OK;
        }
        queue ^= arrival == NOTHING;
        nothing = arrival == NOTHING ? nothing + 1 : 0;
    }
    return GW_PENDING;
}

/* ZMQ_FD signals commands to the socket, not messages, and each only once. So
 * ZMQ_EVENTS, which processes the commands, is read before every sleep. */
bool gw__control_channel_has_some(const struct gw__control_channel *channel)
{
    int events = 0;
    size_t size = sizeof events;
    return zmq_getsockopt(channel->router, ZMQ_EVENTS, &events, &size) != 0 ||
           (events & ZMQ_POLLIN);
}

int gw__control_channel_fd(const struct gw__control_channel *channel)
{
    return channel->router_fd;
}

void gw__control_channel_wait(struct gw__control_channel *channel, int extra_fd,
                              uint64_t deadline_ns)
{
    struct pollfd polled[] = {{.fd = channel->router_fd, .events = POLLIN},
                              {.fd = extra_fd, .events = POLLIN}};
    uint64_t due_ns = gw__later_due(&channel->later), now_ns = gw_now_ns();
    if (deadline_ns > due_ns)
        deadline_ns = due_ns;
    if (due_ns != UINT64_MAX && deadline_ns > now_ns + poll_ns)
        deadline_ns = now_ns + poll_ns;
    while (!gw__control_channel_has_some(channel) && !polled[1].revents &&
           (now_ns = gw_now_ns()) < deadline_ns) {
        uint64_t left = deadline_ns - now_ns;
        struct timespec limit = {.tv_sec = (time_t)(left / 1000000000U),
                                 .tv_nsec = (long)(left % 1000000000U)};
        if (ppoll(polled, 2, &limit, NULL) < 0)
            polled[1].revents = 0; /* undefined after a signal */
    }
}
