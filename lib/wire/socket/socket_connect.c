/* SPDX-License-Identifier: MIT
 *
 * Connecting the peers: the higher rank of a pair dials, once for each lane and
 * once for notes, and both greet on every connection. A greeting proves that
 * its sender has the receiver's address and, with a key, the key (see
 * socket_frame.h). A replayed greeting is accepted at most in place of the
 * member's own, whose connection then fails; and with a key no frame of the
 * replaying process opens.
 */
#include "socket_wire.h"

#include "wire/rank_list.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static enum gw_err join_peer(struct gw__socket *s, unsigned peer,
                             const struct gw__address *address,
                             struct gw_error *why)
{
    struct gw__socket_link *link = &s->links[peer];
    struct gw_error far;
    enum gw_err err = gw__socket_address_read(address, peer, &s->address,
                                              &link->address, why);
    if (err)
        return err;
    if (s->seal) {
        link->seal = gw__socket_address_seal(&link->address, s->secret);
        if (!link->seal)
            return gw_fail(why, GW_ENOMEM, "the key of rank %u", peer);
        for (unsigned l = 0; l < s->lanes; l++)
            link->lanes[l].out.seal = link->seal;
    }
    /* For other hosts, only the end of the connection shows a death. */
    err = gw__process_watch_add(&s->process_watch, peer, &link->address.process,
                                &far);
    return err && err != GW_ENOTSUP ? gw_fail(why, err, "%s", far.text) : GW_OK;
}

static bool send_greeting(struct gw__socket *s, unsigned peer, unsigned lane)
{
    struct gw__socket_link *link = &s->links[peer];
    struct gw__socket_call *call = &link->calls[lane];
    unsigned char own[GW__SOCKET_GREETING_BYTES];
    if (call->written < sizeof own) {
        gw__socket_greeting(&link->address, link->seal, s->wire.rank, lane,
                            own);
        ssize_t wrote =
            send(call->fd, own + call->written, sizeof own - call->written,
                 MSG_DONTWAIT | MSG_NOSIGNAL);
        call->written += wrote > 0 ? (unsigned)wrote : 0;
    }
    return call->written == sizeof own;
}

/* Dials again if the last attempt failed. */
static void keep_dialling(struct gw__socket *s, unsigned peer,
                          struct gw__socket_call *call)
{
    if (call->fd >= 0)
        return;
    call->written = call->received = 0;
    call->fd = gw__socket_dial(&s->links[peer].address);
    if (call->fd >= 0 && !gw__socket_listen_any(s, call->fd)) {
        close(call->fd);
        call->fd = -1;
    }
}

/* The answer of the rank that we dialled. */
static enum gw_err read_answer(struct gw__socket *s, unsigned peer,
                               unsigned lane, struct gw_error *why)
{
    struct gw__socket_call *call = &s->links[peer].calls[lane];
    uint32_t from, number;
    bool open =
        gw__socket_greeting_read(call->fd, call->greeting, &call->received);
    if (call->received == sizeof call->greeting)
        return gw__socket_is_greeting(&s->address, s->seal, call->greeting,
                                      &from, &number) &&
                       from == peer && number == lane
                   ? GW_OK
                   : gw_fail(why, GW_EMISMATCH,
                             "another process answered in place of rank %u",
                             peer);
    if (!open && call->received == 0) { /* refused, or our greeting was */
        close(call->fd);
        call->fd = -1;
    }
    return GW_PENDING;
}

/* From now on the connection belongs to the lane, or to the notes. */
static enum gw_err hand_over(struct gw__socket *s, unsigned peer, unsigned lane,
                             struct gw_error *why)
{
    struct gw__socket_link *link = &s->links[peer];
    int fd = link->calls[lane].fd;
    link->calls[lane].up = true;
    if (lane == s->lanes)
        link->control_fd = fd;
    else
        link->lanes[lane].fd = fd;
    return gw__socket_listen(s, fd, peer, lane)
               ? GW_OK
               : gw_fail_errno(why, "listening to rank %u", peer);
}

/* GW_OK: the connection is complete. GW_PENDING: not yet. */
static enum gw_err shake_hands(struct gw__socket *s, unsigned peer,
                               unsigned lane, struct gw_error *why)
{
    struct gw__socket_call *call = &s->links[peer].calls[lane];
    if (call->up)
        return GW_OK;
    if (peer < s->wire.rank)
        keep_dialling(s, peer, call);
    if (call->fd < 0 || !send_greeting(s, peer, lane))
        return GW_PENDING;
    enum gw_err err =
        peer < s->wire.rank ? read_answer(s, peer, lane, why) : GW_OK;
    return err ? err : hand_over(s, peer, lane, why);
}

static void admit_all(struct gw__socket *s)
{
    uint32_t rank, lane;
    int fd;
    while ((fd = gw__socket_door_admit(s, &rank, &lane)) >= 0) {
        struct gw__socket_call *call = &s->links[rank].calls[lane];
        if (rank <= s->wire.rank || call->fd >= 0)
            close(fd);
        else
            call->fd = fd;
    }
}

/* GW_OK: all connections to `peer` are complete. */
static enum gw_err shake_all(struct gw__socket *s, unsigned peer,
                             struct gw_error *why)
{
    enum gw_err result = GW_OK;
    for (unsigned l = 0; l <= s->lanes; l++) {
        enum gw_err err = shake_hands(s, peer, l, why);
        if (err && err != GW_PENDING)
            return err;
        result = err ? err : result;
    }
    return result;
}

/* A rank that has ended without meeting this one, or -1. */
static int find_missed(const struct gw__socket *s, const bool *joined)
{
    static const uint64_t last_words_ns = 100 * 1000000U;
    uint64_t now = gw_now_ns();
    for (unsigned r = 0; r < s->wire.size; r++) {
        uint64_t ended_ns = s->links[r].ended_ns;
        if (!joined[r] && ended_ns && now - ended_ns > last_words_ns)
            return (int)r;
    }
    return -1;
}

static enum gw_err too_late(struct gw__socket *s, const bool *joined,
                            struct gw_error *why)
{
    char missing[GW__RANK_LIST_BYTES];
    gw__rank_list(joined, s->wire.size, missing);
    return gw_fail(why, GW_ETIMEOUT, "%s did not connect in time%s", missing,
                   s->seal ? " (check that all have the same key file)" : "");
}

/* GW_PENDING: not all are here. */
static enum gw_err join_some(struct gw__socket *s, bool *joined,
                             struct gw_error *why)
{
    enum gw_err result = GW_OK;
    admit_all(s);
    for (unsigned r = 0; r < s->wire.size; r++) {
        enum gw_err err = joined[r] ? GW_OK : shake_all(s, r, why);
        if (err && err != GW_PENDING)
            return err;
        joined[r] = !err;
        result = err ? err : result;
    }
    return result;
}

static enum gw_err join_all(struct gw__socket *s, uint64_t deadline_ns,
                            struct gw_error *why)
{
    static const uint64_t pause_ns = 5 * 1000000U;
    bool joined[GW__WIRE_PEERS_MAX] = {false};
    joined[s->wire.rank] = true;
    for (;;) {
        enum gw_err err = join_some(s, joined, why);
        if (err != GW_PENDING)
            return err;
        gw__socket_receive_ends(s);
        int missed = find_missed(s, joined);
        if (missed >= 0)
            return gw_fail(why, GW_ELOST, "rank %d ended before it connected",
                           missed);
        if (gw__wire_interrupted(&s->wire))
            return gw_fail(why, GW_EINTR, "interrupted while connecting");
        if (gw_now_ns() >= deadline_ns)
            return too_late(s, joined, why);
        gw__socket_doze(s, gw__wire_nap_ns(&s->wire, pause_ns));
    }
}

enum gw_err gw__socket_connect(struct gw__wire *wire,
                               const struct gw__address *table,
                               uint64_t deadline_ns, struct gw_error *why)
{
    struct gw__socket *s = gw__socket_of(wire);
    enum gw_err err = GW_OK;
    for (unsigned r = 0; r < wire->size && !err; r++)
        if (r != wire->rank)
            err = join_peer(s, r, &table[r], why);
    if (!err)
        gw__socket_find_hosts(s, table);
    if (!err && s->process_watch.fd >= 0 &&
        !gw__socket_listen_any(s, s->process_watch.fd))
        err = gw_fail_errno(why, "listening for the end of peers");
    if (!err)
        err = join_all(s, deadline_ns, why);
    gw__socket_door_close(&s->door);
    return err ? gw_wrap(why, err, "%s wire", wire->ops->name) : GW_OK;
}
