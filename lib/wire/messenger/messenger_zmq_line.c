/* SPDX-License-Identifier: MIT
 *
 * One order out of two roads. A node's letters to another are numbered, over
 * both roads; each road keeps its order, and a datagram is there the moment it
 * is sent. So, with `next` the number after the last letter that has come:
 *
 *   by ZeroMQ   goes at once, when the near road has been looked at since it
 *               was read: what was sent before it was there by then
 *   near        goes when its number is `next`, or less; else letters are
 *               missing that come by ZeroMQ, and it waits in the peer's line
 *
 * A letter by ZeroMQ also says that none before it comes that way any more: a
 * gap of what was lost or dropped ends there. The near road is taken only from
 * a letter on that ZeroMQ has carried to somebody who knew the sender, so no
 * gap is left behind that nothing would close. A new session starts at 0, and
 * with a letter by ZeroMQ; lines of the one before are dropped then.
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
    return (struct gw__messenger_zmq_message *)zmq->peers[node].line;
}

static struct gw__messenger_message *shift(struct gw__messenger_zmq *zmq,
                                           unsigned node)
{
    struct gw__messenger_zmq_peer *peer = &zmq->peers[node];
    struct gw__messenger_message *first = peer->line;
    peer->line = first->next;
    zmq->line_count--;
    if (!peer->line)
        zmq->lines &= ~((uint64_t)1 << node);
    return first;
}

static void insert(struct gw__messenger_zmq *zmq,
                   struct gw__messenger_zmq_message *parcel)
{
    unsigned node = parcel->base.parcel.from;
    struct gw__messenger_message **at = &zmq->peers[node].line;
    while (*at && !is_before(parcel, (struct gw__messenger_zmq_message *)*at))
        at = &(*at)->next;
    parcel->base.next = *at;
    *at = &parcel->base;
    zmq->line_count++;
    zmq->lines |= (uint64_t)1 << node;
}

static void note_next(struct gw__messenger_zmq_peer *peer, uint64_t next)
{
    if (peer->next < next)
        peer->next = next;
}

static void begin_session(struct gw__messenger_zmq *zmq, unsigned node,
                          uint32_t session)
{
    struct gw__messenger_zmq_peer *peer = &zmq->peers[node];
    while (peer->line && first_of(zmq, node)->session < session)
        gw__messenger_zmq_drop(zmq, shift(zmq, node));
    peer->session_seen = session;
    peer->next = 0;
}

/* Letters are missing before it, which come by ZeroMQ. */
static bool is_ahead(const struct gw__messenger_zmq_peer *peer,
                     const struct gw__messenger_zmq_message *parcel)
{
    return parcel->near && (parcel->session > peer->session_seen ||
                            (parcel->session == peer->session_seen &&
                             parcel->sequence > peer->next));
}

/* Nobody gets it, and nothing is to wait for it. */
static void count_as_come(struct gw__messenger_zmq *zmq,
                          const struct gw__messenger_zmq_message *parcel)
{
    unsigned node = parcel->base.parcel.from;
    struct gw__messenger_zmq_peer *peer = &zmq->peers[node];
    if (parcel->session > peer->session_seen)
        begin_session(zmq, node, parcel->session);
    if (parcel->session == peer->session_seen)
        note_next(peer, parcel->sequence + 1);
}

/* One that is ahead keeps its place all the same: those before it may come yet,
 * when the peer is known again, and those behind it wait for them. */
static void skip(struct gw__messenger_zmq *zmq,
                 struct gw__messenger_zmq_message *parcel)
{
    parcel->is_void = is_ahead(&zmq->peers[parcel->base.parcel.from], parcel);
    if (parcel->is_void) {
        insert(zmq, parcel);
        return;
    }
    count_as_come(zmq, parcel);
    gw__messenger_zmq_drop(zmq, &parcel->base);
}

void gw__reorder_queue_drop(struct gw__messenger_zmq *zmq, unsigned node)
{
    struct gw__messenger_message *line = zmq->peers[node].line;
    while (zmq->peers[node].line)
        (void)shift(zmq, node);
    while (line) {
        struct gw__messenger_message *next = line->next;
        skip(zmq, (struct gw__messenger_zmq_message *)line);
        line = next;
    }
}

void gw__reorder_queue_empty(struct gw__messenger_zmq *zmq, unsigned node)
{
    while (zmq->peers[node].line)
        gw__messenger_zmq_drop(zmq, shift(zmq, node));
}

static bool is_followed(const struct gw__messenger_zmq_peer *peer,
                        const struct gw__message_in *shown)
{
    return peer->seen_high == shown->incarnation_high &&
           peer->seen_low == shown->incarnation_low;
}

static void follow(struct gw__messenger_zmq *zmq,
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
                           struct gw__messenger_zmq_message *parcel)
{
    unsigned node = parcel->base.parcel.from;
    struct gw__messenger_zmq_peer *peer = &zmq->peers[node];
    follow(zmq, &parcel->base.parcel);
    if (parcel->session < peer->session_seen) {
        gw__messenger_zmq_drop(zmq, &parcel->base);
        return;
    }
    if (!parcel->near && parcel->session > peer->session_seen)
        begin_session(zmq, node, parcel->session);
    if (!parcel->near)
        note_next(peer, parcel->sequence);
    insert(zmq, parcel);
}

/* Of a peer that is forgotten, and may be known again. */
void gw__reorder_queue_skip(struct gw__messenger_zmq *zmq,
                            struct gw__messenger_zmq_message *parcel)
{
    const struct gw__message_in *shown = &parcel->base.parcel;
    if (!zmq->post.peers[shown->from].known)
        follow(zmq, shown);
    if (is_followed(&zmq->peers[shown->from], shown))
        skip(zmq, parcel);
    else
        gw__messenger_zmq_drop(zmq, &parcel->base);
}

static bool is_due(const struct gw__messenger_zmq *zmq,
                   const struct gw__messenger_zmq_message *parcel)
{
    const struct gw__messenger_zmq_peer *peer =
        &zmq->peers[parcel->base.parcel.from];
    if (parcel->session != peer->session_seen)
        return false;
    return parcel->near ? parcel->sequence <= peer->next : zmq->near_looked;
}

/* The first of a line, if it is due; places that are void are passed over. */
static struct gw__messenger_message *take_from(struct gw__messenger_zmq *zmq,
                                               unsigned node)
{
    struct gw__messenger_zmq_message *first;
    while ((first = first_of(zmq, node)) && is_due(zmq, first)) {
        note_next(&zmq->peers[node], first->sequence + 1);
        (void)shift(zmq, node);
        if (!first->is_void)
            return &first->base;
        gw__messenger_zmq_drop(zmq, &first->base);
    }
    return NULL;
}

struct gw__messenger_message *
gw__reorder_queue_take(struct gw__messenger_zmq *zmq)
{
    struct gw__messenger_message *taken = NULL;
    for (uint64_t left = zmq->lines; left && !taken; left &= left - 1)
        taken = take_from(zmq, (unsigned)__builtin_ctzll(left));
    return taken;
}

bool gw__reorder_queue_ready(struct gw__messenger_zmq *zmq)
{
    for (uint64_t left = zmq->lines; left; left &= left - 1)
        if (is_due(zmq, first_of(zmq, (unsigned)__builtin_ctzll(left))))
            return true;
    return zmq->lines && !zmq->near_looked;
}
