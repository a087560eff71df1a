/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Frames: kind, length, bytes. A pipe is a stream, and a rank may die in the
 * middle of a write, so the reader trusts nothing. A length is checked before
 * room is made for it, and a torn frame never becomes whole.
 */
#include "launch_parts.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

struct head {
    uint32_t kind;
    uint32_t bytes;
};

_Static_assert(sizeof(struct head) == FRAME_HEAD_BYTES, "one head");

void frame_head(unsigned char out[FRAME_HEAD_BYTES], enum frame_kind kind,
                size_t bytes)
{
    const struct head head = {(uint32_t)kind, (uint32_t)bytes};
    assert(bytes <= FRAME_BYTES_MAX);
    memcpy(out, &head, sizeof head);
}

/* Drops the written bytes from the front of the parts. */
static void advance(struct iovec parts[2], size_t written)
{
    for (int i = 0; i < 2; i++) {
        size_t part = written < parts[i].iov_len ? written : parts[i].iov_len;
        parts[i].iov_base = (char *)parts[i].iov_base + part;
        parts[i].iov_len -= part;
        written -= part;
    }
}

bool frame_write(int fd, enum frame_kind kind, const void *data, size_t bytes)
{
    assert(bytes <= FRAME_BYTES_MAX);
    struct head head = {(uint32_t)kind, (uint32_t)bytes};
    struct iovec parts[2] = {{&head, sizeof head}, {NULL, bytes}};
    memcpy(&parts[1].iov_base, &data, sizeof data); /* iovec knows no const */
    while (parts[0].iov_len + parts[1].iov_len > 0) {
        ssize_t written = writev(fd, parts, 2);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        advance(parts, (size_t)written);
    }
    return true;
}

/* Moves the rest to the front and makes room for `need` bytes from there. */
static bool reserve_frame(struct frames *frames, size_t need)
{
    if (frames->begin > 0) {
        memmove(frames->buffer, frames->buffer + frames->begin,
                frames->end - frames->begin);
        frames->end -= frames->begin;
        frames->begin = 0;
    }
    if (need <= frames->capacity)
        return true;
    unsigned char *larger = realloc(frames->buffer, need);
    if (!larger)
        return false;
    frames->buffer = larger;
    frames->capacity = need;
    return true;
}

/* The length of the frame at the front, as far as that is known. */
static size_t wanted(const struct frames *frames)
{
    enum { FIRST_BYTES = 8192 };
    struct head head;
    size_t held = frames->end - frames->begin;
    if (held < sizeof head)
        return FIRST_BYTES;
    memcpy(&head, frames->buffer + frames->begin, sizeof head);
    size_t whole = sizeof head + head.bytes;
    return whole > FIRST_BYTES ? whole : FIRST_BYTES;
}

enum gw_err frames_pull(struct frames *frames, int fd, struct gw_error *why)
{
    if (!reserve_frame(frames, wanted(frames)))
        return gw_fail(why, GW_ENOMEM, "a report");
    assert(frames->end < frames->capacity);
    ssize_t got;
    do
        got = read(fd, frames->buffer + frames->end,
                   frames->capacity - frames->end);
    while (got < 0 && errno == EINTR);
    if (got == 0)
        return GW_ECLOSED;
    if (got < 0)
        return errno == EAGAIN ? GW_PENDING
                               : gw_fail_errno(why, "reading a report");
    frames->end += (size_t)got;
    return GW_OK;
}

static bool head_is_sane(const struct head *head)
{
    switch (head->kind) {
    case FRAME_REPORT:
        return head->bytes <= FRAME_BYTES_MAX;
    case FRAME_EVENTS:
        return head->bytes <= FRAME_BYTES_MAX &&
               head->bytes % sizeof(struct gw_event) == 0;
    case FRAME_RESULT:
        return head->bytes == sizeof(struct gw_error);
    case FRAME_LIFE:
        return head->bytes == 0;
    default:
        return false;
    }
}

enum gw_err frames_next(struct frames *frames, struct frame *frame,
                        struct gw_error *why)
{
    struct head head;
    size_t held = frames->end - frames->begin;
    if (held < sizeof head)
        return GW_PENDING;
    const unsigned char *at = frames->buffer + frames->begin;
    memcpy(&head, at, sizeof head);
    if (!head_is_sane(&head))
        return gw_fail(why, GW_EDATA, "invalid frame: kind %u, %u bytes",
                       head.kind, head.bytes);
    if (held < sizeof head + head.bytes)
        return GW_PENDING;
    frame->kind = head.kind;
    frame->bytes = head.bytes;
    frame->data = at + sizeof head;
    frames->begin += sizeof head + head.bytes;
    return GW_OK;
}

void frames_fini(struct frames *frames)
{
    free(frames->buffer);
    *frames = (struct frames){0};
}
