/* SPDX-License-Identifier: MIT
 *
 * Slices: sending them through libzmq, and using received ones in place.
 *
 * A large slice is sent as two parts, the header and the bytes in place; libzmq
 * calls back from its own thread when the kernel has them. A small one is
 * copied after its header into one part. At the receiver a message over 8 KiB
 * has memory of its own. Smaller ones are in a common read buffer at any
 * address and are moved to an aligned one.
 *
 * A copied slice is done at once: the caller goes on to its next call while
 * libzmq's thread writes, and no wake-up is needed to return the buffer. Up to
 * 128 KiB that outweighs the copy (2 ranks, each pinned to a core, microseconds
 * per call of 128 KiB over tcp, lent and copied: broadcast 57 and 15, scatter
 * 19 and 8, gather 24 and 8; messages of 64 KiB reach 51 and 64 % of a raw
 * socket, over ipc 44 and 59). From 512 KiB on the copy leaves the cache and
 * costs half of the rate.
 *
 * The loss within libzmq at 64 KiB cannot be avoided here. A bare PAIR of
 * sockets with one sending thread, and one thread that receives and copies,
 * reaches 72 to 78 % of the raw socket over tcp (88 % without the copy: a
 * received part is always in libzmq's memory) and 75 to 87 % over ipc. libzmq
 * reads and writes the first 8 KiB of each message through a buffer of its own
 * and polls before each of the two calls, so the receiver's core, which reads,
 * wakes and copies, is the bottleneck. From 1 MiB on that no longer matters.
 */
#include "zmq_wire.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

enum { CREDIT_SLICES = GW__ZMQ_WINDOW_SLICES / 4 };
/* How long slices of a lost peer may take from the kernel to this rank. */
static const uint64_t drain_ns = 50 * 1000000U;
static const uint64_t drain_closed_ns = 500 * 1000000U;

/* GW_OK, or the reason why nothing can be sent. */
static enum gw_err gone(const struct gw__zmq *zmq,
                        const struct gw__zmq_link *link)
{
    if (zmq->over || link->state == GW__LINK_CLOSED)
        return GW_ECLOSED;
    return link->state == GW__LINK_LOST ? GW_ELOST : GW_OK;
}

static size_t credit_bytes(const struct gw__zmq *zmq)
{
    return zmq->window_bytes / 4;
}

static struct gw__zmq_lane *next_lane(const struct gw__zmq *zmq,
                                      const struct gw__zmq_link *link,
                                      uint64_t slice)
{
    return &link->lanes[slice % zmq->lanes];
}

/* ---- sending ---- */

/* The receiver reports its releases only from CREDIT_SLICES or credit_bytes on.
 * So a link with less than that in flight is never full, however large the next
 * slice is: a credit might never come. */
static bool window_is_full(struct gw__zmq *zmq, const struct gw__zmq_link *link,
                           size_t bytes)
{
    uint64_t inflight = link->sent - link->released_by_peer;
    const struct gw__zmq_lane *lane = next_lane(zmq, link, link->sent);
    if (lane->borrowed - atomic_load(&lane->returned) >=
        GW__ZMQ_WINDOW_SLICES) {
        zmq->wants_returned = true;
        return true;
    }
    if (inflight < 2 || inflight >= GW__ZMQ_WINDOW_SLICES)
        return inflight >= 2;
    uint64_t released_bytes =
        link->bytes_before[link->released_by_peer % GW__ZMQ_WINDOW_SLICES];
    uint64_t inflight_bytes = link->sent_bytes - released_bytes;
    return inflight_bytes >= credit_bytes(zmq) &&
           inflight_bytes + bytes > zmq->window_bytes;
}

/* Called by libzmq's thread, which increments `returned` before it reads
 * `sleeping`. The user's thread sets `sleeping` before it reads `returned`, so
 * one of them sees the change. */
void gw__zmq_return_buffer(void *data, void *hint)
{
    (void)data;
    struct gw__zmq_lane *lane = hint;
    struct gw__zmq *zmq = lane->zmq;
    atomic_fetch_add(&lane->returned, 1);
    atomic_fetch_add(&zmq->returned, 1);
    if (atomic_load(&zmq->sleeping))
        (void)eventfd_write(zmq->bell, 1);
}

/* The pipe has no mark, so EAGAIN means that it is gone. The peer's notes, on a
 * connection of their own, report the reason: there may be an abort in flight
 * that names another rank. So the slice waits for the notes. */
static enum gw_err refused(struct gw__zmq *zmq, unsigned peer)
{
    if (errno == EAGAIN)
        return GW_PENDING;
    return gw__zmq_lose(zmq, peer, zmq_strerror(errno));
}

static enum gw_err send_copied(struct gw__zmq *zmq, unsigned peer,
                               struct gw__zmq_lane *lane,
                               const struct gw__header *header,
                               const void *data)
{
    zmq_msg_t message;
    if (zmq_msg_init_size(&message, GW__SLICE_HEAD_BYTES + header->bytes) != 0)
        return GW_ENOMEM;
    unsigned char *bytes = zmq_msg_data(&message);
    gw__frame_seal(zmq->links[peer].token, header, bytes);
    if (header->bytes)
        memcpy(bytes + GW__SLICE_HEAD_BYTES, data, header->bytes);
    if (zmq_msg_send(&message, lane->socket, ZMQ_DONTWAIT) >= 0)
        return GW_OK;
    enum gw_err err = refused(zmq, peer);
    zmq_msg_close(&message);
    return err;
}

static enum gw_err send_borrowed(struct gw__zmq *zmq, unsigned peer,
                                 struct gw__zmq_lane *lane,
                                 const struct gw__header *header, void *data)
{
    unsigned char head[GW__SLICE_HEAD_BYTES];
    zmq_msg_t body;
    if (zmq_msg_init_data(&body, data, header->bytes, gw__zmq_return_buffer,
                          lane) != 0)
        return GW_ENOMEM;
    gw__frame_seal(zmq->links[peer].token, header, head);
    if (zmq_send(lane->socket, head, sizeof head, ZMQ_SNDMORE | ZMQ_DONTWAIT) >=
            0 &&
        zmq_msg_send(&body, lane->socket, ZMQ_DONTWAIT) >= 0) {
        uint64_t number = zmq->links[peer].sent;
        lane->borrowed_as[lane->borrowed++ % GW__ZMQ_WINDOW_SLICES] = number;
        return GW_OK;
    }
    enum gw_err err = refused(zmq, peer);
    zmq_msg_close(&body);
    atomic_fetch_sub(&lane->returned, 1); /* it was never lent */
    return err;
}

static enum gw_err send_somehow(struct gw__zmq *zmq, unsigned peer,
                                struct gw__zmq_lane *lane,
                                const struct gw__header *header,
                                const void *data, bool copy)
{
    if (copy || header->bytes <= GW__ZMQ_COPIED_BYTES)
        return send_copied(zmq, peer, lane, header, data);
    return send_borrowed(zmq, peer, lane, header, (void *)(uintptr_t)data);
}

enum gw_err gw__zmq_send(struct gw__wire *wire, unsigned peer,
                         const struct gw__header *header, const void *data,
                         bool copy)
{
    struct gw__zmq *zmq = gw__zmq_of(wire);
    struct gw__zmq_link *link = &zmq->links[peer];
    assert(peer < wire->size && peer != wire->rank);
    bool full = window_is_full(zmq, link, header->bytes);
    if (full)
        gw__zmq_receive(zmq, peer);
    enum gw_err err = gone(zmq, link);
    if (err)
        return err;
    if (full && window_is_full(zmq, link, header->bytes))
        return GW_PENDING;
    struct gw__zmq_lane *lane = next_lane(zmq, link, link->sent);
    lane->touched = true;
    err = send_somehow(zmq, peer, lane, header, data, copy);
    if (err)
        return err;
    link->bytes_before[link->sent % GW__ZMQ_WINDOW_SLICES] = link->sent_bytes;
    link->sent_bytes += header->bytes;
    link->sent++;
    return GW_OK;
}

/* All sends before the oldest that is still lent on any lane. A link that has
 * ended returns its buffers in no fixed order, so `done` grows only when all of
 * them are back. */
uint64_t gw__zmq_sends_done(struct gw__wire *wire, unsigned peer)
{
    struct gw__zmq *zmq = gw__zmq_of(wire);
    struct gw__zmq_link *link = &zmq->links[peer];
    bool in_order = link->state == GW__LINK_UP && !zmq->over;
    uint64_t done = link->sent;
    for (unsigned l = 0; l < zmq->lanes; l++) {
        struct gw__zmq_lane *lane = &link->lanes[l];
        uint64_t returned = atomic_load(&lane->returned);
        if (returned == lane->borrowed)
            continue;
        uint64_t oldest =
            in_order ? lane->borrowed_as[returned % GW__ZMQ_WINDOW_SLICES]
                     : link->done;
        done = oldest < done ? oldest : done;
    }
    if (done < link->sent)
        zmq->wants_returned = true;
    link->done = done;
    return done;
}

/* ---- receiving ---- */

/* There is no slice: will there be one? A peer that has closed has reported its
 * number of slices. Slices of a dead peer are accepted for a while. */
static enum gw_err nothing(struct gw__zmq *zmq, unsigned peer)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    if (link->state == GW__LINK_UP)
        return GW_PENDING;
    if (link->state == GW__LINK_CLOSED && link->received >= link->due)
        return GW_ECLOSED;
    bool closed = link->state == GW__LINK_CLOSED;
    uint64_t patience = closed ? drain_closed_ns : drain_ns;
    if (gw_now_ns() - link->quiet_ns < patience)
        return GW_PENDING;
    link->drained = true;
    return closed ? gw__zmq_lose(
                        zmq, peer,
                        "the connection was closed before all data was sent")
                  : GW_ELOST;
}

/* A view must be aligned for the executor's types. */
static const void *aligned(struct gw__zmq_link *link, const unsigned char *data)
{
    size_t bytes = link->header.bytes;
    if ((uintptr_t)data % sizeof(uint64_t) == 0)
        return data;
    if (bytes > link->aligned_bytes) {
        /* Only where libzmq was built with a larger read buffer. */
        void *larger = realloc(link->aligned, bytes);
        if (!larger)
            return NULL;
        link->aligned = larger;
        link->aligned_bytes = bytes;
    }
    return memcpy(link->aligned, data, bytes);
}

/* Reads the rest of the message whose first part is in link->head. */
static enum gw_err read_message(struct gw__zmq *zmq, unsigned peer,
                                struct gw__zmq_lane *lane)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    struct gw_error fault;
    bool more = zmq_msg_more(&link->head);
    unsigned char *head = zmq_msg_data(&link->head);
    enum gw_err err = gw__frame_head(head, zmq_msg_size(&link->head), more,
                                     zmq->address.token, &link->header, &fault);
    const unsigned char *data = head + GW__SLICE_HEAD_BYTES;
    if (!err && more) {
        if (zmq_msg_recv(&link->body, lane->socket, ZMQ_DONTWAIT) < 0)
            return gw__zmq_lose(zmq, peer, zmq_strerror(errno));
        err = gw__frame_body(&link->header, zmq_msg_size(&link->body),
                             zmq_msg_more(&link->body), &fault);
        data = zmq_msg_data(&link->body);
    }
    if (err)
        return gw__zmq_lose(zmq, peer, fault.text);
    link->view = (struct gw__slice_view){.header = &link->header,
                                         .data = aligned(link, data)};
    if (!link->view.data)
        return gw__zmq_lose(zmq, peer, "no memory for a slice");
    return GW_OK;
}

static enum gw_err read_slice(struct gw__zmq *zmq, unsigned peer)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    struct gw__zmq_lane *lane = next_lane(zmq, link, link->received);
    zmq_msg_init(&link->head);
    zmq_msg_init(&link->body);
    if (zmq_msg_recv(&link->head, lane->socket, ZMQ_DONTWAIT) < 0) {
        lane->touched = false;
        return GW_PENDING;
    }
    if (link->state != GW__LINK_UP)
        link->quiet_ns = gw_now_ns();
    enum gw_err err = read_message(zmq, peer, lane);
    if (err) {
        zmq_msg_close(&link->head);
        zmq_msg_close(&link->body);
        zmq_msg_init(&link->head);
        zmq_msg_init(&link->body);
    }
    return err;
}

enum gw_err gw__zmq_peek(struct gw__wire *wire, unsigned peer,
                         struct gw__slice_view *view)
{
    struct gw__zmq *zmq = gw__zmq_of(wire);
    struct gw__zmq_link *link = &zmq->links[peer];
    assert(peer < wire->size && peer != wire->rank);
    if (link->held) {
        *view = link->view;
        return GW_OK;
    }
    if (zmq->over)
        return GW_ECLOSED;
    if (link->drained)
        return GW_ELOST;
    enum gw_err err = read_slice(zmq, peer);
    if (err == GW_PENDING) {
        link->awaited = true;
        return nothing(zmq, peer);
    }
    if (err) {
        link->drained = true;
        return err;
    }
    link->held = true;
    link->awaited = false;
    *view = link->view;
    return GW_OK;
}

static void send_credit(struct gw__zmq *zmq, unsigned peer)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    struct gw__control_message credit = {.kind = GW__CREDIT,
                                         .count = link->received};
    if (link->state != GW__LINK_UP || zmq->over ||
        !gw__zmq_notify(zmq, peer, link->control, &credit))
        return;
    link->credited = link->received;
    link->uncredited_bytes = 0;
}

void gw__zmq_release(struct gw__wire *wire, unsigned peer)
{
    struct gw__zmq *zmq = gw__zmq_of(wire);
    struct gw__zmq_link *link = &zmq->links[peer];
    assert(link->held);
    zmq_msg_close(&link->head);
    zmq_msg_close(&link->body);
    link->held = false;
    link->awaited = true;
    link->received++;
    link->uncredited_bytes += link->header.bytes;
    if (link->received - link->credited >= CREDIT_SLICES ||
        link->uncredited_bytes >= credit_bytes(zmq))
        send_credit(zmq, peer);
}
