/* SPDX-License-Identifier: MIT
 *
 * Moving bodies through a stream. A piece is sealed into memory that stays in
 * the core's cache and is sent from there. The receiver opens it in place. So
 * both ends access main memory no more often than without encryption.
 */
#include "stream.h"

#include "wire/epoll_wait.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STREAM_BLOCK_BYTES = 64 << 10, ALIGNED = 64 };

static void end_stream(struct gw__stream *s)
{
    if (!s->ended_ns)
        s->ended_ns = gw_now_ns();
}

static bool is_later(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

/* ---- out ---- */

bool gw__stream_queue(struct gw__stream *s, const void *data,
                      const struct gw__header *header, uint64_t number)
{
    if (!s->block)
        s->block = aligned_alloc(ALIGNED, STREAM_BLOCK_BYTES + ALIGNED);
    if (!s->block)
        return false;
    s->bodies[s->queued++ % GW__STREAM_BODIES_MAX] = (struct gw__stream_body){
        .data = data, .header = *header, .number = number};
    return true;
}

/* Seals the next piece of the first body; the last one has the tag. */
static void seal_block(struct gw__stream *s)
{
    const struct gw__stream_body *body =
        &s->bodies[s->sent % GW__STREAM_BODIES_MAX];
    size_t left = body->header.bytes - s->sealed;
    size_t bytes = left < STREAM_BLOCK_BYTES ? left : STREAM_BLOCK_BYTES;
    if (s->sealed == 0)
        gw__seal_begin(s->theirs, false, s->rank, s->sent, &body->header,
                       sizeof body->header, &s->sealing);
    gw__seal_go_on(&s->sealing, body->data + s->sealed, s->block, bytes);
    s->sealed += bytes;
    s->block_at = 0;
    s->block_end = bytes;
    if (s->sealed == body->header.bytes) {
        gw__seal_end(&s->sealing, s->block + bytes);
        s->block_end += GW__SEAL_TAG_BYTES;
    }
}

/* False: the kernel takes no more. */
static bool write_block(struct gw__stream *s)
{
    ssize_t wrote =
        send(s->fd, s->block + s->block_at, s->block_end - s->block_at,
             MSG_DONTWAIT | MSG_NOSIGNAL);
    if (wrote < 0 && !is_later(errno))
        end_stream(s);
    if (wrote > 0)
        s->block_at += (size_t)wrote;
    return s->block_at == s->block_end;
}

bool gw__stream_push(struct gw__stream *s)
{
    uint64_t sent = s->sent;
    while (s->sent < s->queued && !s->ended_ns) {
        if (s->block_at == s->block_end)
            seal_block(s);
        if (!write_block(s))
            break;
        if (s->sealed < s->bodies[s->sent % GW__STREAM_BODIES_MAX].header.bytes)
            continue;
        s->sent++;
        s->sealed = 0;
    }
    return s->sent > sent;
}

void gw__stream_drop(struct gw__stream *s)
{
    s->sent = s->queued;
    end_stream(s);
}

/* ---- in ---- */

bool gw__stream_expect(struct gw__stream *s, const struct gw__header *header)
{
    size_t need = (size_t)header->bytes + GW__SEAL_TAG_BYTES;
    if (need > s->room) {
        free(s->body);
        s->room = (need + ALIGNED - 1) / ALIGNED * ALIGNED;
        s->body = aligned_alloc(ALIGNED, s->room);
        if (!s->body) {
            s->room = 0;
            return false;
        }
    }
    s->header = *header;
    s->due = true;
    s->got = 0;
    gw__seal_begin(s->own, true, s->peer, s->opened, &s->header,
                   sizeof s->header, &s->opening);
    return true;
}

/* The next bytes, at most a piece; 0: none now, or none any more. */
static size_t read_block(struct gw__stream *s, size_t left)
{
    ssize_t came = recv(s->fd, s->body + s->got,
                        left < STREAM_BLOCK_BYTES ? left : STREAM_BLOCK_BYTES,
                        MSG_DONTWAIT);
    if (came == 0 || (came < 0 && !is_later(errno)))
        end_stream(s);
    return came > 0 ? (size_t)came : 0;
}

/* Within a body the next piece is about to come: the sender seals one in 3 us,
 * and waking a sleeper takes longer. */
static size_t await_block(struct gw__stream *s, size_t left)
{
    size_t came = read_block(s, left);
    if (came || s->got == 0)
        return came;
    uint64_t until_ns = gw_now_ns() + s->spin_ns;
    while (!came && !s->ended_ns && gw_now_ns() < until_ns)
        came = read_block(s, left);
    s->spin_ns = gw__epoll_next_spin(s->spin_ns, came > 0);
    return came;
}

enum gw_err gw__stream_pull(struct gw__stream *s)
{
    size_t bytes = s->header.bytes, whole = bytes + GW__SEAL_TAG_BYTES;
    if (!s->due)
        return s->fits ? GW_OK : GW_EDATA;
    while (s->got < whole) {
        size_t came = await_block(s, whole - s->got);
        if (!came)
            return GW_PENDING;
        size_t until = s->got + came;
        if (s->got < bytes)
            gw__seal_go_on(&s->opening, s->body + s->got, s->body + s->got,
                           (until < bytes ? until : bytes) - s->got);
        s->got = until;
    }
    s->due = false;
    s->opened++;
    s->fits = gw__seal_fits(&s->opening, s->body + bytes);
    return s->fits ? GW_OK : GW_EDATA;
}

bool gw__stream_clear(struct gw__stream *s)
{
    int left = 0;
    while (recv(s->fd, NULL, STREAM_BLOCK_BYTES, MSG_DONTWAIT | MSG_TRUNC) > 0)
        s->cleared = true;
    return s->cleared && ioctl(s->fd, SIOCOUTQ, &left) == 0 && left > 0;
}

void gw__stream_close(struct gw__stream *s)
{
    gw__stream_drop(s);
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    gw__seal_free(&s->theirs);
    free(s->block);
    free(s->body);
    s->block = s->body = NULL;
}
