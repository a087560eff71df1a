/* SPDX-License-Identifier: MIT
 *
 * Receiving slices. Small ones are used in the buffer that several of them
 * arrive in. The data of a large one go to their place by one call of the
 * kernel: to the memory where the executor wants them, or to memory that stays
 * in the cache until they are reduced. The executor says which slice it expects
 * next, so the header and the data of a large one are read together.
 */
#include "socket_wire.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { ALIGNED = 64, STAGING_BYTES = 1 << 20 };

static size_t buffered(const struct gw__socket_in *in)
{
    return in->end - in->begin;
}

/* Bytes that contain the length of a frame. */
static size_t head_bytes(const struct gw__socket_in *in)
{
    return in->seal ? GW__SOCKET_LENGTH_BYTES : sizeof(struct gw__header);
}

/* Bytes of a frame after its head. */
static size_t rest_bytes(const struct gw__socket_in *in, size_t data_bytes)
{
    size_t padded = data_bytes + gw__socket_padding(data_bytes);
    return in->seal ? sizeof(struct gw__header) + padded + GW__SEAL_TAG_BYTES
                    : padded;
}

static bool is_large(const struct gw__socket_in *in, size_t rest)
{
    return rest > rest_bytes(in, GW__SOCKET_SMALL_BYTES);
}

/* ---- reading ---- */

/* Puts bytes back, to be received again. */
static enum gw_err put_back(struct gw__socket_in *in, const void *data,
                            size_t bytes, struct gw_error *why)
{
    if (bytes == 0)
        return GW_OK;
    assert(!in->back);
    in->back = malloc(bytes);
    if (!in->back)
        return gw_fail(why, GW_ENOMEM, "no memory for a slice");
    memcpy(in->back, data, bytes);
    in->back_at = 0;
    in->back_end = bytes;
    in->readable = true;
    return GW_OK;
}

static size_t receive_back(struct gw__socket_in *in, const struct iovec *parts,
                           size_t count)
{
    size_t came = 0;
    for (size_t i = 0; i < count; i++) {
        size_t left = in->back_end - in->back_at;
        size_t bytes = parts[i].iov_len < left ? parts[i].iov_len : left;
        memcpy(parts[i].iov_base, in->back + in->back_at, bytes);
        in->back_at += bytes;
        came += bytes;
    }
    if (in->back_at == in->back_end) {
        free(in->back);
        in->back = NULL;
    }
    return came;
}

/* Returns the bytes that came. */
static size_t receive(struct gw__socket_lane *lane, struct iovec *parts,
                      size_t count)
{
    struct gw__socket_in *in = &lane->in;
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
    size_t room = 0;
    if (in->back)
        return receive_back(in, parts, count);
    for (size_t i = 0; i < count; i++)
        room += parts[i].iov_len;
    ssize_t came = recvmsg(lane->fd, &message, MSG_DONTWAIT);
    if (came < 0 && errno == EINTR)
        return 0;
    if (came == 0 || (came < 0 && errno != EAGAIN))
        in->ended = true;
    /* Less than there was room for: the kernel has no more now. */
    if (came <= 0 || (size_t)came < room)
        in->readable = false;
    return came > 0 ? (size_t)came : 0;
}

static void compact(struct gw__socket_in *in)
{
    memmove(in->buffer, in->buffer + in->begin, buffered(in));
    in->end -= in->begin;
    in->begin = 0;
}

static void fill_buffer(struct gw__socket_lane *lane)
{
    struct gw__socket_in *in = &lane->in;
    if (buffered(in) == 0)
        in->begin = in->end = 0;
    if (GW__SOCKET_BUFFER_BYTES - in->begin < 2 * GW__SOCKET_SMALL_BYTES)
        compact(in);
    struct iovec part = {.iov_base = in->buffer + in->end,
                         .iov_len = GW__SOCKET_BUFFER_BYTES - in->end};
    in->end += receive(lane, &part, 1);
}

/* ---- large slices ---- */

static enum gw_err make_room(struct gw__socket_in *in, size_t bytes,
                             size_t used, struct gw_error *why)
{
    if (bytes <= in->room)
        return GW_OK;
    size_t room = (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
    unsigned char *staging = aligned_alloc(ALIGNED, room);
    if (!staging)
        return gw_fail(why, GW_ENOMEM, "no memory for a slice");
    if (used > 0)
        memcpy(staging, in->staging, used);
    free(in->staging);
    in->staging = staging;
    in->room = room;
    return GW_OK;
}

static bool is_staged(const struct gw__socket_in *in)
{
    return in->target == in->staging;
}

/* The staging memory grows with the data, so that a slice costs no more memory
 * than its sender sends. */
static enum gw_err grow(struct gw__socket_in *in, struct gw_error *why)
{
    if (!is_staged(in) || in->got < in->room)
        return GW_OK;
    enum gw_err err = make_room(
        in, in->due < 2 * in->room ? in->due : 2 * in->room, in->got, why);
    in->target = in->staging;
    return err;
}

/* At `place`, or in staging memory with room for `soon` bytes. */
static enum gw_err begin_large(struct gw__socket_in *in, size_t rest,
                               void *place, size_t soon, struct gw_error *why)
{
    enum gw_err err = place ? GW_OK : make_room(in, soon, 0, why);
    in->large = !err;
    in->got = 0;
    in->due = rest;
    in->target = place ? place : in->staging;
    return err;
}

static void begin_opening(struct gw__socket_in *in, unsigned peer,
                          unsigned lane, uint64_t length)
{
    gw__seal_begin(in->seal, true, peer, gw__socket_number(lane, in->opened++),
                   &length, sizeof length, &in->pass);
}

/* `bytes` more have come to the target. */
static void advance(struct gw__socket_in *in, size_t bytes)
{
    size_t sealed = in->seal ? in->due - GW__SEAL_TAG_BYTES : 0;
    size_t from = in->got, until = in->got + bytes;
    in->got = until;
    if (from < sealed)
        gw__seal_go_on(&in->pass, in->target + from, in->target + from,
                       (until < sealed ? until : sealed) - from);
}

static enum gw_err fill_target(struct gw__socket_lane *lane,
                               struct gw_error *why)
{
    enum { BLOCK_BYTES = 64 << 10 }; /* opened while it is in the cache */
    struct gw__socket_in *in = &lane->in;
    enum gw_err err = grow(in, why);
    if (err)
        return err;
    size_t end = is_staged(in) && in->room < in->due ? in->room : in->due;
    size_t left = end - in->got;
    struct iovec part = {.iov_base = in->target + in->got,
                         .iov_len = in->seal && left > BLOCK_BYTES ? BLOCK_BYTES
                                                                   : left};
    advance(in, receive(lane, &part, 1));
    return GW_OK;
}

/* The slice that is expected, if it is large and nothing has come of it. */
static bool can_read_ahead(const struct gw__socket_in *in)
{
    return in->expects && !in->seal && buffered(in) == 0 &&
           in->expected.bytes > GW__SOCKET_SMALL_BYTES;
}

/* Reads header and data of the slice that is expected, each to its place. If
 * another header comes, for example that of a probe, what follows it is put
 * back. */
static enum gw_err read_ahead(struct gw__socket_lane *lane,
                              struct gw_error *why)
{
    struct gw__socket_in *in = &lane->in;
    size_t head = sizeof in->header;
    size_t bytes = in->expected.bytes;
    enum gw_err err = begin_large(in, bytes, in->place, bytes, why);
    if (err)
        return err;
    struct iovec parts[2] = {{in->buffer, head}, {in->target, in->due}};
    size_t came = receive(lane, parts, 2);
    memcpy(&in->header, in->buffer, head);
    in->got = came > head ? came - head : 0;
    in->large = came >= head && gw__header_fits(&in->header, &in->expected);
    if (in->large)
        return GW_OK;
    in->begin = 0;
    in->end = came < head ? came : head;
    return put_back(in, in->target, in->got, why);
}

/* ---- frames ---- */

static enum gw_err show(struct gw__socket_in *in, const unsigned char *data,
                        size_t taken)
{
    in->view = (struct gw__slice_view){.header = &in->header, .data = data};
    in->taken = taken;
    in->held = true;
    in->expects = false;
    return GW_OK;
}

/* The payload at `at` has been opened, and its tag follows it. */
static enum gw_err read_opened(struct gw__socket_in *in,
                               const unsigned char *at, size_t rest,
                               struct gw_error *why)
{
    size_t payload = rest - GW__SEAL_TAG_BYTES;
    if (!gw__seal_fits(&in->pass, at + payload))
        return gw_fail(why, GW_EDATA, "a slice that its key does not open");
    memcpy(&in->header, at, sizeof in->header);
    if (rest_bytes(in, in->header.bytes) != rest)
        return gw_fail(why, GW_EDATA,
                       "malformed slice: %zu bytes, but %u announced", payload,
                       in->header.bytes);
    return GW_OK;
}

static enum gw_err finish_large(struct gw__socket_in *in, struct gw_error *why)
{
    size_t head = in->seal ? sizeof in->header : 0;
    enum gw_err err =
        in->seal ? read_opened(in, in->target, in->due, why) : GW_OK;
    in->large = false;
    return err ? err : show(in, in->target + head, 0);
}

/* A frame that is in the buffer as a whole. */
static enum gw_err take_small(struct gw__socket_in *in, size_t rest,
                              struct gw_error *why)
{
    unsigned char *at = in->buffer + in->begin + head_bytes(in);
    size_t taken = head_bytes(in) + rest, head = 0;
    if (in->seal) {
        gw__seal_go_on(&in->pass, at, at, rest - GW__SEAL_TAG_BYTES);
        enum gw_err err = read_opened(in, at, rest, why);
        if (err)
            return err;
        head = sizeof in->header;
    }
    return show(in, at + head, taken);
}

/* The length of the frame at the beginning of the buffer, after its head. */
static enum gw_err read_head(struct gw__socket_in *in, size_t *rest,
                             struct gw_error *why)
{
    const unsigned char *at = in->buffer + in->begin;
    uint64_t length;
    if (!in->seal) {
        memcpy(&in->header, at, sizeof in->header);
        *rest = rest_bytes(in, in->header.bytes);
        return GW_OK;
    }
    memcpy(&length, at, sizeof length);
    if (length < sizeof in->header ||
        length > sizeof in->header + (uint64_t)UINT32_MAX)
        return gw_fail(why, GW_EDATA, "malformed slice: %llu bytes",
                       (unsigned long long)length);
    *rest = length + GW__SEAL_TAG_BYTES;
    return GW_OK;
}

/* Moves the beginning of a large frame to its place. */
static enum gw_err move_to_target(struct gw__socket_in *in, size_t rest,
                                  struct gw_error *why)
{
    size_t head = head_bytes(in), here = buffered(in) - head;
    bool place = !in->seal && in->expects && in->place &&
                 gw__header_fits(&in->header, &in->expected);
    enum gw_err err =
        begin_large(in, rest, place ? in->place : NULL,
                    rest < STAGING_BYTES ? rest : STAGING_BYTES, why);
    if (err)
        return err;
    memcpy(in->target, in->buffer + in->begin + head, here);
    in->begin = in->end = 0;
    advance(in, here);
    return GW_OK;
}

/* GW_PENDING: more must come. GW_OK: the frame is at the head, or it is large.
 */
static enum gw_err read_frame(struct gw__socket_in *in, unsigned peer,
                              unsigned lane, struct gw_error *why)
{
    size_t head = head_bytes(in), rest = 0;
    in->needed = head;
    if (buffered(in) < head)
        return GW_PENDING;
    if (in->begin % 8)
        compact(in);
    enum gw_err err = read_head(in, &rest, why);
    if (err)
        return err;
    in->needed = head + rest;
    bool whole = buffered(in) >= in->needed;
    if (!whole && !is_large(in, rest))
        return GW_PENDING;
    if (in->seal)
        begin_opening(in, peer, lane, rest - GW__SEAL_TAG_BYTES);
    return whole ? take_small(in, rest, why) : move_to_target(in, rest, why);
}

static enum gw_err read_more(struct gw__socket_lane *lane, struct gw_error *why)
{
    if (lane->in.large)
        return fill_target(lane, why);
    if (can_read_ahead(&lane->in))
        return read_ahead(lane, why);
    fill_buffer(lane);
    return GW_OK;
}

enum gw_err gw__socket_in_pull(struct gw__socket *s, unsigned peer,
                               unsigned number, struct gw_error *why)
{
    struct gw__socket_lane *lane = &s->links[peer].lanes[number];
    struct gw__socket_in *in = &lane->in;
    for (;;) {
        enum gw_err err =
            in->large || in->held ? GW_OK : read_frame(in, peer, number, why);
        if (!err && in->large && in->got == in->due)
            err = finish_large(in, why);
        if ((err && err != GW_PENDING) || in->held)
            return err;
        if (!in->readable)
            return GW_PENDING;
        err = read_more(lane, why);
        if (err)
            return err;
    }
}

void gw__socket_in_release(struct gw__socket_in *in)
{
    in->begin += in->taken;
    in->taken = 0;
    in->held = false;
    in->needed = head_bytes(in);
}

bool gw__socket_in_ready(const struct gw__socket_in *in)
{
    return in->readable || (!in->large && buffered(in) >= in->needed);
}
