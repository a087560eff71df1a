/* SPDX-License-Identifier: MIT
 *
 * Notes between ranks, and the detection of losses.
 *
 *            goodbye                      all slices taken
 *   UP ----------------> CLOSED --------------------------> (GW_ECLOSED)
 *    |                      |  too few came in time
 *    |  lost                v
 *    +-------------------> LOST
 *
 * A peer is lost when the connection for notes ends without a goodbye before
 * the end. All its notes are read first, so a rank that closed and ended at
 * once is not lost. The kernel ends the connection of a dead process, and its
 * probes that of a dead host. Where a forked child keeps a dead peer's
 * connection open, the peer's pidfd shows the death.
 */
#include "socket_wire.h"

#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* How long a dead process's connection may stay open before the peer is lost,
 * and how long a lane may have ended before a note explains it. */
static const uint64_t held_open_ns = 100 * 1000000U;
static const uint64_t unexplained_ns = 5000 * 1000000ULL;

/* The notes of a link are sealed as if they were a lane of their own. */
static size_t seal_note(struct gw__socket *s, unsigned peer,
                        const struct gw__control_message *control, size_t bytes,
                        unsigned char frame[GW__CONTROL_FRAME_MAX])
{
    struct gw__socket_link *link = &s->links[peer];
    unsigned char *payload = frame + GW__SOCKET_LENGTH_BYTES;
    uint64_t length = bytes;
    memcpy(frame, &length, sizeof length);
    memcpy(payload, control, bytes);
    if (!link->seal)
        return GW__SOCKET_LENGTH_BYTES + bytes;
    struct gw__seal_pass pass;
    gw__seal_begin(link->seal, false, s->wire.rank,
                   gw__socket_number(s->lanes, link->control_sent++), &length,
                   sizeof length, &pass);
    gw__seal_go_on(&pass, payload, payload, bytes);
    gw__seal_end(&pass, payload + bytes);
    return GW__SOCKET_LENGTH_BYTES + bytes + GW__SEAL_TAG_BYTES;
}

/* Notes are few and small, so there is always room for one. */
bool gw__socket_notify(struct gw__socket *s, unsigned peer,
                       struct gw__control_message *control)
{
    unsigned char frame[GW__CONTROL_FRAME_MAX];
    int fd = s->links[peer].control_fd;
    control->from = s->wire.rank;
    control->to = peer;
    size_t bytes =
        seal_note(s, peer, control, gw__control_seal(control), frame);
    return fd >= 0 && send(fd, frame, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) ==
                          (ssize_t)bytes;
}

enum gw_err gw__socket_lose(struct gw__socket *s, unsigned peer,
                            const char *fact)
{
    struct gw__socket_link *link = &s->links[peer];
    if (link->state != GW__SOCKET_LOST) {
        link->state = GW__SOCKET_LOST;
        link->quiet_ns = gw_now_ns();
    }
    if (!s->error.code)
        gw_fail(&s->error, GW_ELOST, "rank %u lost: %s", peer, fact);
    return GW_ELOST;
}

/* Slices that arrive later or are not handed over yet are void. When this
 * returns, lent buffers are no longer read: the user of the failed call may
 * free them. */
static void end_all(struct gw__socket *s)
{
    s->over = true;
    for (unsigned r = 0; r < s->wire.size; r++)
        for (unsigned l = 0; r != s->wire.rank && l < s->lanes; l++) {
            struct gw__socket_lane *lane = &s->links[r].lanes[l];
            gw__socket_out_drop(&lane->out);
            if (lane->fd >= 0)
                close(lane->fd);
            lane->fd = -1;
        }
}

/* A rank that learns of an abort passes it on before it closes, so that no peer
 * takes the closing for the cause. */
static void notify_abort(struct gw__socket *s)
{
    struct gw__control_message control = {.kind = GW__ABORT,
                                          .code = (int32_t)s->error.code};
    memcpy(control.text, s->error.text, sizeof control.text);
    for (unsigned r = 0; r < s->wire.size; r++)
        if (r != s->wire.rank)
            gw__socket_notify(s, r, &control);
}

/* The peer receives nothing more, so slices that the kernel has not taken are
 * void, and their memory is the user's again. */
static void apply_goodbye(struct gw__socket *s, struct gw__socket_link *link,
                          uint64_t due)
{
    if (link->state != GW__SOCKET_UP)
        return;
    link->state = GW__SOCKET_CLOSED;
    link->due = due;
    link->quiet_ns = gw_now_ns();
    for (unsigned l = 0; l < s->lanes; l++)
        gw__socket_out_drop(&link->lanes[l].out);
}

static void apply_control(struct gw__socket *s, unsigned peer,
                          const struct gw__control_message *control)
{
    struct gw__socket_link *link = &s->links[peer];
    switch ((enum gw__control_kind)control->kind) {
    case GW__GOODBYE:
        apply_goodbye(s, link, control->count);
        break;
    case GW__ABORT:
        if (s->over)
            break;
        gw_fail(&s->error, (enum gw_err)control->code, "%s", control->text);
        s->wire.aborted_by_peer = true;
        notify_abort(s);
        end_all(s);
        break;
    case GW__HELLO:
    case GW__CREDIT:
        gw__socket_lose(s, peer, "a note of another wire");
        break;
    }
}

/* ---- reading ---- */

/* Applies the first note that has come. Returns its bytes; 0: it
 * is not complete, or the link is lost. */
static size_t read_note(struct gw__socket *s, unsigned peer)
{
    struct gw__socket_link *link = &s->links[peer];
    struct gw__control_message control;
    unsigned char *payload = link->control + GW__SOCKET_LENGTH_BYTES;
    struct gw__seal_pass pass;
    struct gw_error fault;
    uint64_t length;
    if (link->control_got < sizeof length)
        return 0;
    memcpy(&length, link->control, sizeof length);
    size_t tag = s->seal ? GW__SEAL_TAG_BYTES : 0;
    if (length > GW__CONTROL_BYTES_MAX) {
        gw__socket_lose(s, peer, "malformed note");
        return 0;
    }
    if (link->control_got < sizeof length + length + tag)
        return 0;
    if (s->seal) {
        gw__seal_begin(s->seal, true, peer,
                       gw__socket_number(s->lanes, link->control_opened++),
                       &length, sizeof length, &pass);
        gw__seal_go_on(&pass, payload, payload, length);
    }
    if (s->seal && !gw__seal_fits(&pass, payload + length))
        gw__socket_lose(s, peer, "a note that its key does not open");
    else if (gw__control_read(payload, length, peer, s->wire.rank, &control,
                              &fault))
        gw__socket_lose(s, peer, fault.text);
    else
        apply_control(s, peer, &control);
    return sizeof length + length + tag;
}

static void read_notes(struct gw__socket *s, unsigned peer)
{
    struct gw__socket_link *link = &s->links[peer];
    size_t taken;
    while (link->state != GW__SOCKET_LOST && (taken = read_note(s, peer)) > 0) {
        link->control_got -= (unsigned)taken;
        memmove(link->control, link->control + taken, link->control_got);
    }
}

/* Always reads until it is empty, so that the epoll set reports the next note.
 * False: the connection has ended. */
static bool read_control(struct gw__socket *s, unsigned peer)
{
    struct gw__socket_link *link = &s->links[peer];
    link->control_touched = false;
    for (;;) {
        ssize_t came =
            recv(link->control_fd, link->control + link->control_got,
                 sizeof link->control - link->control_got, MSG_DONTWAIT);
        if (came <= 0)
            return came < 0 && (errno == EAGAIN || errno == EINTR);
        link->control_got += (unsigned)came;
        read_notes(s, peer);
        if (link->state == GW__SOCKET_LOST)
            link->control_got = 0;
    }
}

void gw__socket_receive(struct gw__socket *s, unsigned peer)
{
    struct gw__socket_link *link = &s->links[peer];
    if (link->control_fd < 0)
        return;
    bool open = read_control(s, peer);
    if (link->state != GW__SOCKET_UP)
        return;
    if (!open)
        gw__socket_lose(s, peer, "its connection ended");
    else if (link->ended_ns && gw_now_ns() - link->ended_ns > held_open_ns)
        gw__socket_lose(s, peer, "its process ended");
    else if (link->broken_ns && gw_now_ns() - link->broken_ns > unexplained_ns)
        gw__socket_lose(s, peer, "its connection for data ended");
}

void gw__socket_receive_ends(struct gw__socket *s)
{
    int rank;
    while ((rank = gw__process_watch_poll(&s->process_watch)) >= 0)
        s->links[rank].ended_ns = gw_now_ns();
}

enum gw_err gw__socket_check(struct gw__wire *wire, struct gw_error *why)
{
    struct gw__socket *s = gw__socket_of(wire);
    gw__socket_receive_ends(s);
    for (unsigned r = 0; r < wire->size; r++)
        if (r != wire->rank) {
            gw__socket_receive(s, r);
            gw__socket_push(s, r, true);
        }
    if (!s->error.code)
        return GW_OK;
    return gw_fail(why, s->error.code, "%s", s->error.text);
}

bool gw__socket_lost(struct gw__wire *wire, unsigned peer)
{
    return gw__socket_of(wire)->links[peer].state == GW__SOCKET_LOST;
}

void gw__socket_abort(struct gw__wire *wire, const struct gw_error *error)
{
    struct gw__socket *s = gw__socket_of(wire);
    if (s->over)
        return;
    s->error = *error;
    notify_abort(s);
    end_all(s);
}

/* ---- the end ---- */

/* Discards data that this rank will not read: a connection that is closed with
 * such data is reset, and the kernel drops what the peer has not received yet.
 * True: the peer needs more time. */
static bool is_needed(struct gw__socket *s, unsigned peer)
{
    enum { DISCARDED_BYTES = 1 << 20 };
    struct gw__socket_link *link = &s->links[peer];
    bool needed = false;
    gw__socket_receive(s, peer);
    gw__socket_push(s, peer, true);
    for (unsigned l = 0; l < s->lanes && link->state == GW__SOCKET_UP; l++) {
        struct gw__socket_lane *lane = &link->lanes[l];
        int left = 0;
        while (lane->fd >= 0 && recv(lane->fd, NULL, DISCARDED_BYTES,
                                     MSG_DONTWAIT | MSG_TRUNC) > 0)
            link->discarded = true;
        needed |= lane->out.sent < lane->out.queued;
        needed |= link->discarded &&
                  link->address.transport == GW__SOCKET_TCP &&
                  ioctl(lane->fd, SIOCOUTQ, &left) == 0 && left > 0;
    }
    return needed;
}

static bool is_awaited(struct gw__socket *s, unsigned peer, uint64_t waited_ns)
{
    const struct gw__socket_link *link = &s->links[peer];
    return peer != s->wire.rank && link->control_fd >= 0 &&
           link->state == GW__SOCKET_UP && is_needed(s, peer) &&
           (waited_ns < GW__STOPPED_LINGER_NS ||
            !gw__process_watch_stopped(&s->process_watch, peer));
}

static void linger(struct gw__socket *s)
{
    static const uint64_t nap_ns = 2 * 1000000U;
    uint64_t begin_ns = gw_now_ns(), waited_ns = 0;
    bool awaited = true;
    while (awaited && waited_ns < s->wire.linger_ns &&
           !gw__wire_interrupted(&s->wire)) {
        awaited = false;
        for (unsigned r = 0; r < s->wire.size; r++)
            awaited |= is_awaited(s, r, waited_ns);
        if (awaited)
            gw__socket_doze(s, nap_ns);
        waited_ns = gw_now_ns() - begin_ns;
    }
}

/* A slice of which the kernel has only a part does not count, and none does if
 * this rank did not wait until the peer's kernel has them. */
static void send_goodbye(struct gw__socket *s, unsigned peer)
{
    struct gw__control_message goodbye = {.kind = GW__GOODBYE};
    if (s->wire.linger_ns > 0)
        goodbye.count = gw__socket_sends_done(&s->wire, peer);
    gw__socket_receive(s, peer);
    if (s->links[peer].state == GW__SOCKET_UP)
        gw__socket_notify(s, peer, &goodbye);
}

void gw__socket_close(struct gw__wire *wire)
{
    struct gw__socket *s = gw__socket_of(wire);
    if (!s->over)
        linger(s);
    for (unsigned r = 0; r < wire->size && !s->over; r++)
        if (r != wire->rank && s->links[r].control_fd >= 0)
            send_goodbye(s, r);
    gw__socket_free(s);
}
