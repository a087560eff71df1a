/* SPDX-License-Identifier: MIT
 *
 * The bytes of a message to the kernel. Without a key the kernel reads head and
 * parts where they are, in one call. With a key a block at a time is sealed into
 * memory that stays in the core's cache, and is sent from there.
 */
#include "messenger_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static const unsigned char zeros[8];

/* The bytes that the kernel took, 0: none now. GW_ELOST: never again. */
static enum gw_err send_vectors(struct gw__messenger_stream *out,
                                struct iovec *vectors, size_t count,
                                size_t *took)
{
    struct msghdr message = {.msg_iov = vectors, .msg_iovlen = count};
    ssize_t wrote = sendmsg(out->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    *took = wrote > 0 ? (size_t)wrote : 0;
    if (wrote >= 0 || errno == EINTR)
        return GW_OK;
    out->full = errno == EAGAIN || errno == ENOTCONN;
    return out->full ? GW_OK : GW_ELOST;
}

/* Adds the rest of some bytes after *skip of them. */
static size_t add_vector(struct iovec *vectors, size_t count, const void *data,
                         size_t bytes, size_t *skip)
{
    size_t from = *skip < bytes ? *skip : bytes;
    *skip -= from;
    if (from == bytes)
        return count;
    vectors[count] =
        (struct iovec){.iov_base = (unsigned char *)(uintptr_t)data + from,
                       .iov_len = bytes - from};
    return count + 1;
}

enum gw_err gw__messenger_write_hello(struct gw__messenger_stream *out)
{
    size_t took;
    while (out->written < sizeof out->hello) {
        struct iovec rest = {.iov_base = out->hello + out->written,
                             .iov_len = sizeof out->hello - out->written};
        enum gw_err err = send_vectors(out, &rest, 1, &took);
        out->written += took;
        if (err || out->full)
            return err ? err : GW_PENDING;
    }
    return GW_OK;
}

static size_t padding_of(size_t bytes)
{
    return gw__messenger_padded(bytes) - bytes;
}

/* ---- without a key ---- */

static enum gw_err write_plain(struct gw__messenger_stream *out,
                               const struct gw__outgoing *entry)
{
    struct iovec vectors[1 + 2 * GW__MESSENGER_PARTS];
    const struct gw__messenger_head *head = &entry->head;
    size_t whole = sizeof *head + gw__messenger_head_room(head), took;
    for (;;) {
        size_t skip = out->written - sizeof out->hello;
        size_t count = add_vector(vectors, 0, head, sizeof *head, &skip);
        for (unsigned i = 0; i < head->part_count; i++) {
            const struct gw__messenger_part *part = &entry->parts[i];
            count = add_vector(vectors, count, part->data, part->bytes, &skip);
            count = add_vector(vectors, count, zeros, padding_of(part->bytes),
                               &skip);
        }
        enum gw_err err = send_vectors(out, vectors, count, &took);
        out->written += took;
        if (err)
            return err;
        if (out->written == sizeof out->hello + whole)
            return GW_OK;
        if (out->full)
            return GW_PENDING;
    }
}

/* ---- with a key ---- */

static void seal_bytes(struct gw__messenger_stream *out, const void *data,
                       size_t bytes)
{
    if (bytes > 0)
        gw__seal_go_on(&out->pass, data, out->block + out->block_end, bytes);
    out->block_end += bytes;
}

static void end_frame(struct gw__messenger_stream *out)
{
    gw__seal_end(&out->pass, out->block + out->block_end);
    out->block_end += GW__SEAL_TAG_BYTES;
}

static void begin_frame(struct gw__messenger_stream *out)
{
    gw__seal_begin(out->seal, false, 0, out->frame++, NULL, 0, &out->pass);
}

/* The head, and the beginning of the parts' frame. */
static void seal_head(struct gw__messenger_stream *out,
                      const struct gw__outgoing *entry)
{
    begin_frame(out);
    seal_bytes(out, &entry->head, sizeof entry->head);
    end_frame(out);
    begin_frame(out);
}

/* The parts from out->sealed on, as much as fits in the block. */
static void seal_parts(struct gw__messenger_stream *out,
                       const struct gw__outgoing *entry)
{
    size_t begin = 0, room = GW__MESSENGER_BLOCK_BYTES;
    for (unsigned i = 0; i < entry->head.part_count && room > 0; i++) {
        const struct gw__messenger_part *part = &entry->parts[i];
        size_t end = begin + gw__messenger_padded(part->bytes);
        if (out->sealed < begin + part->bytes) {
            size_t at = out->sealed - begin, left = part->bytes - at;
            size_t bytes = left < room ? left : room;
            seal_bytes(out, (const unsigned char *)part->data + at, bytes);
            out->sealed += bytes;
            room -= bytes;
        }
        if (out->sealed >= begin + part->bytes && out->sealed < end) {
            seal_bytes(out, zeros, end - out->sealed);
            out->sealed = end;
            room -= room < sizeof zeros ? room : sizeof zeros;
        }
        begin = end;
    }
}

static enum gw_err write_sealed(struct gw__messenger_stream *out,
                                const struct gw__outgoing *entry)
{
    size_t whole = gw__messenger_head_room(&entry->head), took;
    for (;;) {
        if (out->block_at == out->block_end) {
            bool begins = out->block_end == 0;
            if (!begins && out->sealed == whole)
                break;
            out->block_at = out->block_end = 0;
            if (begins)
                seal_head(out, entry);
            seal_parts(out, entry);
            if (out->sealed == whole)
                end_frame(out);
        }
        struct iovec rest = {.iov_base = out->block + out->block_at,
                             .iov_len = out->block_end - out->block_at};
        enum gw_err err = send_vectors(out, &rest, 1, &took);
        out->block_at += took;
        if (err || out->full)
            return err ? err : GW_PENDING;
    }
    out->block_at = out->block_end = out->sealed = 0;
    return GW_OK;
}

enum gw_err gw__messenger_write(struct gw__messenger_stream *out,
                                const struct gw__outgoing *entry)
{
    return out->seal ? write_sealed(out, entry) : write_plain(out, entry);
}
