/* SPDX-License-Identifier: MIT
 *
 * Streams for large bodies over tcp with a key. CURVE protects the lanes and
 * the notes, and its cipher takes ten times as long as the kernel's copies:
 * messages of 1 MiB reach 9 to 16 % of their rate without encryption. So a
 * slice's header uses its lane, and a body of more than BESIDE_BYTES uses a
 * stream (stream.h), which this rank's own thread moves: 45 to 65 %. (A limit
 * of 16 or 32 KiB makes no difference; with 128 KiB a broadcast of that size
 * takes twice as long.)
 *
 * A stream stops while its ranks compute, so only bodies that the caller waits
 * for use it. Copied ones, which the caller does not wait for, go with their
 * headers by libzmq's thread. A caller that never waits here, because it polls
 * or waits on another wire, calls `check` every millisecond, which moves the
 * stream, too.
 *
 * The end of a stream is not an error by itself: the peer's notes report the
 * reason.
 */
#include "zmq_wire.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* ---- connecting ---- */

enum gw_err gw__zmq_bulk_open(struct gw__zmq *zmq, const char *interface,
                              struct gw_error *why)
{
    struct gw__zmq_endpoint_address *address = &zmq->address;
    if (!gw__seal_is_built() || !address->secured ||
        address->transport != GW__ZMQ_TCP)
        return GW_OK;
    if (getrandom(address->seal_key, sizeof address->seal_key, 0) !=
        sizeof address->seal_key)
        return gw_fail_errno(why, "getrandom");
    zmq->seal = gw__seal_new(address->seal_key);
    if (!zmq->seal)
        return gw_fail(why, GW_ENOMEM, "a key for large bodies");
    address->sealing = 1;
    if (zmq->wire.rank + 1 >= zmq->wire.size)
        return GW_OK;
    enum gw_err err = gw__door_open(&zmq->door, interface, &address->door, why);
    if (!err && !gw__zmq_listen(zmq, zmq->door.fd, false, &zmq->door.touched))
        err = gw_fail_errno(why, "listening for large bodies");
    return err;
}

static enum gw_err listen_to(struct gw__zmq *zmq, struct gw__stream *stream,
                             struct gw_error *why)
{
    stream->touched = true;
    return gw__zmq_listen(zmq, stream->fd, true, &stream->touched)
               ? GW_OK
               : gw_fail_errno(why, "listening to rank %u", stream->peer);
}

enum gw_err gw__zmq_bulk_join(struct gw__zmq *zmq, unsigned peer,
                              const struct gw__zmq_endpoint_address *address,
                              struct gw_error *why)
{
    if (!zmq->seal || !address->sealing)
        return GW_OK;
    struct gw__stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return gw_fail(why, GW_ENOMEM, "a stream to rank %u", peer);
    zmq->links[peer].stream = stream;
    stream->fd = -1;
    stream->rank = zmq->wire.rank;
    stream->peer = peer;
    stream->own = zmq->seal;
    stream->theirs = gw__seal_new(address->seal_key);
    memcpy(stream->token, zmq->address.token, sizeof stream->token);
    memcpy(stream->their_token, address->token, sizeof address->token);
    if (!stream->theirs)
        return gw_fail(why, GW_ENOMEM, "the key of rank %u", peer);
    if (peer > zmq->wire.rank)
        return GW_OK;
    enum gw_err err =
        gw__stream_call(stream, address->host, address->door, why);
    return err ? err : listen_to(zmq, stream, why);
}

/* Assigns new connections to the links of their ranks. */
static enum gw_err admit_streams(struct gw__zmq *zmq, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    uint32_t rank;
    int fd;
    while (!err && (fd = gw__door_admit(&zmq->door, zmq->seal,
                                        zmq->address.token, &rank)) >= 0) {
        struct gw__stream *stream =
            rank > zmq->wire.rank && rank < zmq->wire.size
                ? zmq->links[rank].stream
                : NULL;
        if (!stream || stream->fd >= 0) {
            close(fd);
            continue;
        }
        stream->fd = fd;
        stream->has_called = true;
        err = listen_to(zmq, stream, why);
    }
    return err;
}

enum gw_err gw__zmq_bulk_greet(struct gw__zmq *zmq, unsigned peer,
                               struct gw_error *why)
{
    struct gw__stream *stream = zmq->links[peer].stream;
    if (!stream)
        return GW_OK;
    enum gw_err err = stream->fd < 0 ? admit_streams(zmq, why) : GW_OK;
    if (err)
        return err;
    return stream->fd < 0 ? GW_PENDING : gw__stream_greet(stream, why);
}

/* ---- sending ---- */

bool gw__zmq_goes_by_bulk(const struct gw__zmq_link *link, size_t bytes,
                          bool copy)
{
    return link->stream && !copy && bytes > GW__ZMQ_BULK_BYTES;
}

bool gw__zmq_bulk_queue(struct gw__zmq *zmq, unsigned peer,
                        const struct gw__header *header, const void *data)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    return gw__stream_queue(link->stream, data, header, link->sent);
}

void gw__zmq_bulk_unqueue(struct gw__zmq_link *link)
{
    link->stream->queued--;
}

void gw__zmq_bulk_push(struct gw__zmq *zmq, unsigned peer)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    if (link->stream && link->state == GW__LINK_UP &&
        gw__stream_push(link->stream))
        atomic_fetch_add(&zmq->returned, 1);
}

uint64_t gw__zmq_bulk_first(struct gw__zmq *zmq, unsigned peer)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    struct gw__stream *stream = link->stream;
    if (!stream || stream->sent == stream->queued)
        return link->sent;
    if (link->state == GW__LINK_UP && !zmq->over)
        gw__zmq_bulk_push(zmq, peer);
    else
        gw__stream_drop(stream);
    return stream->sent == stream->queued
               ? link->sent
               : stream->bodies[stream->sent % GW__STREAM_BODIES_MAX].number;
}

/* ---- receiving ---- */

enum gw_err gw__zmq_bulk_expect(struct gw__zmq *zmq, unsigned peer)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    link->coming = gw__stream_expect(link->stream, &link->header);
    return link->coming ? GW_OK
                        : gw__zmq_lose(zmq, peer, "no memory for a slice");
}

static enum gw_err pull(struct gw__zmq_link *link)
{
    size_t got = link->stream->got;
    enum gw_err err = gw__stream_pull(link->stream);
    if (link->state != GW__LINK_UP && link->stream->got > got)
        link->quiet_ns = gw_now_ns();
    return err;
}

enum gw_err gw__zmq_bulk_pull(struct gw__zmq *zmq, unsigned peer)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    enum gw_err err = pull(link);
    if (err == GW_PENDING)
        return err;
    link->coming = false;
    if (err)
        return gw__zmq_lose(zmq, peer, "a body that cannot be decrypted");
    link->view = (struct gw__slice_view){.header = &link->header,
                                         .data = link->stream->body};
    return GW_OK;
}

bool gw__zmq_bulk_move(struct gw__zmq *zmq, unsigned peer)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    struct gw__stream *stream = link->stream;
    if (!stream->touched)
        return false;
    stream->touched = false;
    gw__zmq_bulk_push(zmq, peer);
    return link->coming && pull(link) != GW_PENDING;
}

/* ---- the end ---- */

void gw__zmq_bulk_drop(struct gw__zmq *zmq)
{
    for (unsigned r = 0; r < zmq->wire.size; r++)
        if (zmq->links[r].stream)
            gw__stream_drop(zmq->links[r].stream);
}

static bool any_to_clear(struct gw__zmq *zmq)
{
    bool any = false;
    for (unsigned r = 0; r < zmq->wire.size; r++) {
        const struct gw__zmq_link *link = &zmq->links[r];
        if (link->stream && link->stream->fd >= 0 &&
            link->state == GW__LINK_UP && !zmq->over)
            any |= gw__stream_clear(link->stream);
    }
    return any;
}

void gw__zmq_bulk_clear(struct gw__zmq *zmq)
{
    enum { TRY_MS = 5 };
    for (int ms = 0; any_to_clear(zmq) && ms < GW__ZMQ_GOODBYE_MS; ms += TRY_MS)
        (void)poll(NULL, 0, TRY_MS);
}

void gw__zmq_bulk_close(struct gw__zmq *zmq)
{
    gw__door_close(&zmq->door);
    for (unsigned r = 0; zmq->links && r < zmq->wire.size; r++) {
        if (zmq->links[r].stream)
            gw__stream_close(zmq->links[r].stream);
        free(zmq->links[r].stream);
        zmq->links[r].stream = NULL;
    }
    gw__seal_free(&zmq->seal);
    explicit_bzero(zmq->address.seal_key, sizeof zmq->address.seal_key);
}
