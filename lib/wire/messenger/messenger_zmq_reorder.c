/* SPDX-License-Identifier: MIT
 *
 * The reorder queue: one order out of two paths, ZeroMQ and the local path. A
 * node's messages to another one are numbered, over both paths. Each path keeps
 * its order, and a datagram has arrived as soon as it is sent. Let `next` be
 * the number after the last message that has come. A message
 *
 *   by ZeroMQ   is given out once the local path was empty after it was read:
 *               datagrams sent before it have arrived by that time
 *   near        is given out if its number is at most `next`; else messages
 *               by ZeroMQ are missing, and it waits in the reorder queue
 *
 * A message by ZeroMQ also shows that no earlier one will come that way: a gap
 * of lost or dropped messages ends there. The local path is used only after
 * ZeroMQ has carried a message to a peer that knew the sender, so every gap is
 * closed sometime. A new session starts at 0, with a message by ZeroMQ; it
 * drops the queue of the session before.
 *
 *     near:  3 4   6      ZeroMQ:  5 (large)      given out: 3 4 5 6
 */
#include "messenger_zmq.h"

static bool is_before(const struct gw__messenger_zmq_message *a,
                      const struct gw__messenger_zmq_message *b)
{
    return a->session != b->session ? a->session < b->session
                                    : a->sequence < b->sequence;
}

static struct gw__messenger_zmq_message *first_of(struct gw__messenger_zmq *zmq,
                                                  unsigned node)
{
    return (struct gw__messenger_zmq_message *)zmq->peers[node].reorder_queue;
}

static struct gw__messenger_message *shift(struct gw__messenger_zmq *zmq,
                                           unsigned node)
{
    struct gw__messenger_zmq_peer *peer = &zmq->peers[node];
    struct gw__messenger_message *first = peer->reorder_queue;
    peer->reorder_queue = first->next;
    zmq->reorder_count--;
    if (!peer->reorder_queue)
        zmq->reorder_nodes &= ~((uint64_t)1 << node);
    return first;
}

static void insert(struct gw__messenger_zmq *zmq,
                   struct gw__messenger_zmq_message *message)
{
    unsigned node = message->base.in.from;
    struct gw__messenger_message **at = &zmq->peers[node].reorder_queue;
    while (*at && !is_before(message, (struct gw__messenger_zmq_message *)*at))
        at = &(*at)->next;
    message->base.next = *at;
    *at = &message->base;
    zmq->reorder_count++;
    zmq->reorder_nodes |= (uint64_t)1 << node;
}

static void advance_next(struct gw__messenger_zmq_peer *peer, uint64_t next)
{
    if (peer->next < next)
        peer->next = next;
}

static void begin_session(struct gw__messenger_zmq *zmq, unsigned node,
                          uint32_t session)
{
    struct gw__messenger_zmq_peer *peer = &zmq->peers[node];
    while (peer->reorder_queue && first_of(zmq, node)->session < session)
        gw__messenger_zmq_drop(zmq, shift(zmq, node));
    peer->session_seen = session;
    peer->next = 0;
}

/* Messages by ZeroMQ are missing before this one. */
static bool is_ahead(const struct gw__messenger_zmq_peer *peer,
                     const struct gw__messenger_zmq_message *message)
{
    return message->local && (message->session > peer->session_seen ||
                              (message->session == peer->session_seen &&
                               message->sequence > peer->next));
}

/* Counts a dropped message, so that no other message waits for it. */
static void count_as_come(struct gw__messenger_zmq *zmq,
                          const struct gw__messenger_zmq_message *message)
{
    unsigned node = message->base.in.from;
    struct gw__messenger_zmq_peer *peer = &zmq->peers[node];
    if (message->session > peer->session_seen)
        begin_session(zmq, node, message->session);
    if (message->session == peer->session_seen)
        advance_next(peer, message->sequence + 1);
}

/* A message that is ahead keeps its place even so: if the peer is known again,
 * the messages before it may still come, and those after it wait for them. */
static void skip(struct gw__messenger_zmq *zmq,
                 struct gw__messenger_zmq_message *message)
{
    message->is_void = is_ahead(&zmq->peers[message->base.in.from], message);
    if (message->is_void) {
        insert(zmq, message);
        return;
    }
    count_as_come(zmq, message);
    gw__messenger_zmq_drop(zmq, &message->base);
}

void gw__reorder_queue_drop(struct gw__messenger_zmq *zmq, unsigned node)
{
    struct gw__messenger_message *queue = zmq->peers[node].reorder_queue;
    while (zmq->peers[node].reorder_queue)
        (void)shift(zmq, node);
    while (queue) {
        struct gw__messenger_message *next = queue->next;
        skip(zmq, (struct gw__messenger_zmq_message *)queue);
        queue = next;
    }
}

void gw__reorder_queue_empty(struct gw__messenger_zmq *zmq, unsigned node)
{
    while (zmq->peers[node].reorder_queue)
        gw__messenger_zmq_drop(zmq, shift(zmq, node));
}

static bool is_followed(const struct gw__messenger_zmq_peer *peer,
                        const struct gw__message_in *shown)
{
    return peer->seen_high == shown->incarnation_high &&
           peer->seen_low == shown->incarnation_low;
}

static void follow_incarnation(struct gw__messenger_zmq *zmq,
                               const struct gw__message_in *shown)
{
    struct gw__messenger_zmq_peer *peer = &zmq->peers[shown->from];
    if (is_followed(peer, shown))
        return;
    gw__reorder_queue_empty(zmq, shown->from);
    peer->seen_high = shown->incarnation_high;
    peer->seen_low = shown->incarnation_low;
    peer->session_seen = 0;
    peer->next = 0;
}

void gw__reorder_queue_add(struct gw__messenger_zmq *zmq,
                           struct gw__messenger_zmq_message *message)
{
    unsigned node = message->base.in.from;
    struct gw__messenger_zmq_peer *peer = &zmq->peers[node];
    follow_incarnation(zmq, &message->base.in);
    if (message->session < peer->session_seen) {
        gw__messenger_zmq_drop(zmq, &message->base);
        return;
    }
    if (!message->local && message->session > peer->session_seen)
        begin_session(zmq, node, message->session);
    if (!message->local)
        advance_next(peer, message->sequence);
    insert(zmq, message);
}

/* The peer is not known now, and may be known again. */
void gw__reorder_queue_skip(struct gw__messenger_zmq *zmq,
                            struct gw__messenger_zmq_message *message)
{
    const struct gw__message_in *shown = &message->base.in;
    if (!zmq->messenger.peers[shown->from].known)
        follow_incarnation(zmq, shown);
    if (is_followed(&zmq->peers[shown->from], shown))
        skip(zmq, message);
    else
        gw__messenger_zmq_drop(zmq, &message->base);
}

static bool is_due(const struct gw__messenger_zmq *zmq,
                   const struct gw__messenger_zmq_message *message)
{
    const struct gw__messenger_zmq_peer *peer =
        &zmq->peers[message->base.in.from];
    if (message->session != peer->session_seen)
        return false;
    return message->local ? message->sequence <= peer->next
                          : zmq->local_drained;
}

/* The first message of a queue if it is due, passing over void places. */
static struct gw__messenger_message *pop_from(struct gw__messenger_zmq *zmq,
                                              unsigned node)
{
    struct gw__messenger_zmq_message *first;
    while ((first = first_of(zmq, node)) && is_due(zmq, first)) {
        advance_next(&zmq->peers[node], first->sequence + 1);
        (void)shift(zmq, node);
        if (!first->is_void)
            return &first->base;
        gw__messenger_zmq_drop(zmq, &first->base);
    }
    return NULL;
}

struct gw__messenger_message *
gw__reorder_queue_pop(struct gw__messenger_zmq *zmq)
{
    struct gw__messenger_message *popped = NULL;
    for (uint64_t left = zmq->reorder_nodes; left && !popped; left &= left - 1)
        popped = pop_from(zmq, (unsigned)__builtin_ctzll(left));
    return popped;
}

bool gw__reorder_queue_ready(struct gw__messenger_zmq *zmq)
{
    for (uint64_t left = zmq->reorder_nodes; left; left &= left - 1)
        if (is_due(zmq, first_of(zmq, (unsigned)__builtin_ctzll(left))))
            return true;
    return zmq->reorder_nodes && !zmq->local_drained;
}
