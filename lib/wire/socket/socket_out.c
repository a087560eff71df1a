/* SPDX-License-Identifier: MIT
 *
 * Sending slices. Without a key the kernel reads header and data where they
 * are, in one call. With a key a block at a time is sealed into memory that
 * stays in the core's cache, and is sent from there.
 */
#include "socket_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { BLOCK_BYTES = 64 << 10, ALIGNED = 64 };

static const unsigned char zeros[8];

static struct gw__socket_slice *first_slice(struct gw__socket_out *out)
{
    return &out->slices[out->sent % GW__SOCKET_QUEUE];
}

static void finish_first(struct gw__socket_out *out)
{
    struct gw__socket_slice *slice = first_slice(out);
    free(slice->copy);
    slice->copy = NULL;
    out->sent++;
    out->written = out->sealed = 0;
}

void gw__socket_out_drop(struct gw__socket_out *out)
{
    while (out->sent < out->queued)
        finish_first(out);
    out->block_at = out->block_end = 0;
}

/* Bytes that the kernel took; 0: none. An error shows at the receiving end. */
static size_t send_parts(struct gw__socket_lane *lane, struct iovec *parts,
                         size_t count)
{
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
    ssize_t wrote = sendmsg(lane->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (wrote < 0 && errno == EINTR)
        return 0;
    lane->out.full = wrote < 0;
    return wrote > 0 ? (size_t)wrote : 0;
}

/* Adds the rest of a part after *skip bytes. */
static size_t add_part(struct iovec *parts, size_t count, const void *data,
                       size_t bytes, size_t *skip)
{
    size_t from = *skip < bytes ? *skip : bytes;
    *skip -= from;
    if (from == bytes)
        return count;
    parts[count] =
        (struct iovec){.iov_base = (unsigned char *)(uintptr_t)data + from,
                       .iov_len = bytes - from};
    return count + 1;
}

/* False: the kernel does not take all of the first slice. */
static bool write_plain(struct gw__socket_lane *lane)
{
    struct gw__socket_out *out = &lane->out;
    const struct gw__socket_slice *slice = first_slice(out);
    size_t bytes = slice->header.bytes, padding = gw__socket_padding(bytes);
    size_t whole = sizeof slice->header + bytes + padding;
    size_t skip = out->written;
    struct iovec parts[3];
    size_t count =
        add_part(parts, 0, &slice->header, sizeof slice->header, &skip);
    count = add_part(parts, count, slice->data, bytes, &skip);
    count = add_part(parts, count, zeros, padding, &skip);
    out->written += send_parts(lane, parts, count);
    if (out->written < whole)
        return false;
    finish_first(out);
    return true;
}

/* ---- with a key ---- */

static void seal_part(struct gw__socket_out *out, const void *data,
                      size_t bytes)
{
    gw__seal_go_on(&out->pass, data, out->block + out->block_end, bytes);
    out->block_end += bytes;
    out->sealed += bytes;
}

static void begin_frame(struct gw__socket *s, struct gw__socket_out *out,
                        unsigned lane, const struct gw__header *header)
{
    uint64_t length =
        sizeof *header + header->bytes + gw__socket_padding(header->bytes);
    gw__seal_begin(out->seal, false, s->wire.rank,
                   gw__socket_number(lane, out->sent), &length, sizeof length,
                   &out->pass);
    memcpy(out->block, &length, sizeof length);
    out->block_end = sizeof length;
    seal_part(out, header, sizeof *header);
}

/* The next block of the first slice's frame; the last one has the tag. */
static void seal_block(struct gw__socket *s, struct gw__socket_out *out,
                       unsigned lane)
{
    const struct gw__socket_slice *slice = first_slice(out);
    size_t bytes = slice->header.bytes;
    out->block_at = out->block_end = 0;
    if (out->sealed == 0)
        begin_frame(s, out, lane, &slice->header);
    size_t at = out->sealed - sizeof slice->header, left = bytes - at;
    seal_part(out, slice->data + at, left < BLOCK_BYTES ? left : BLOCK_BYTES);
    if (left > BLOCK_BYTES)
        return;
    seal_part(out, zeros, gw__socket_padding(bytes));
    gw__seal_end(&out->pass, out->block + out->block_end);
    out->block_end += GW__SEAL_TAG_BYTES;
}

/* False: the kernel does not take all of the first slice. */
static bool write_sealed(struct gw__socket *s, struct gw__socket_lane *lane,
                         unsigned number)
{
    struct gw__socket_out *out = &lane->out;
    size_t bytes = first_slice(out)->header.bytes;
    size_t whole =
        sizeof(struct gw__header) + bytes + gw__socket_padding(bytes);
    for (;;) {
        if (out->block_at == out->block_end)
            seal_block(s, out, number);
        struct iovec part = {.iov_base = out->block + out->block_at,
                             .iov_len = out->block_end - out->block_at};
        out->block_at += send_parts(lane, &part, 1);
        if (out->block_at < out->block_end)
            return false;
        if (out->sealed == whole) {
            finish_first(out);
            return true;
        }
    }
}

/* ---- */

bool gw__socket_out_push(struct gw__socket *s, unsigned peer, unsigned number,
                         bool again)
{
    struct gw__socket_lane *lane = &s->links[peer].lanes[number];
    struct gw__socket_out *out = &lane->out;
    uint64_t sent = out->sent;
    out->full &= !again;
    while (out->sent < out->queued && !out->full)
        if (!(out->seal ? write_sealed(s, lane, number) : write_plain(lane)))
            break;
    return out->sent > sent;
}

/* The memory of the rest of a slice that the caller will overwrite. */
static enum gw_err keep_copy(struct gw__socket_out *out)
{
    struct gw__socket_slice *slice =
        &out->slices[(out->queued - 1) % GW__SOCKET_QUEUE];
    slice->copy = malloc(slice->header.bytes);
    if (!slice->copy)
        return GW_ENOMEM;
    memcpy(slice->copy, slice->data, slice->header.bytes);
    slice->data = slice->copy;
    return GW_OK;
}

enum gw_err gw__socket_out_add(struct gw__socket *s, unsigned peer,
                               unsigned number, const struct gw__header *header,
                               const void *data, bool copy)
{
    struct gw__socket_out *out = &s->links[peer].lanes[number].out;
    if (out->queued - out->sent == GW__SOCKET_QUEUE)
        gw__socket_out_push(s, peer, number, true);
    if (out->queued - out->sent == GW__SOCKET_QUEUE)
        return GW_PENDING;
    if (out->seal && !out->block)
        out->block =
            aligned_alloc(ALIGNED, BLOCK_BYTES + 2 * ALIGNED + sizeof *header);
    if (out->seal && !out->block)
        return GW_ENOMEM;
    out->slices[out->queued++ % GW__SOCKET_QUEUE] =
        (struct gw__socket_slice){.header = *header, .data = data};
    gw__socket_out_push(s, peer, number, false);
    return copy && out->sent < out->queued && header->bytes > 0 ? keep_copy(out)
                                                                : GW_OK;
}
