/* SPDX-License-Identifier: MIT
 *
 * Connecting the peers: the higher rank of a pair connects, then both send
 * HELLO on every connection between them. A HELLO carries the token from the
 * receiver's address, so only a member can have sent it, and only the one that
 * the connection was made for. A rank is connected when it has received HELLO
 * on all connections from all peers.
 */
#include "zmq_wire.h"

#include "wire/rank_list.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static enum gw_err connect_link(struct gw__zmq *zmq, unsigned peer,
                                const struct gw__zmq_endpoint_address *address,
                                struct gw_error *why)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    char endpoint[128];
    for (unsigned l = 0; l <= zmq->lanes; l++) {
        gw__zmq_endpoint(address, peer, zmq->wire.rank, l, endpoint);
        if (zmq_connect(link->lanes[l].socket, endpoint) != 0)
            return gw_fail(why, GW_EUNREACH, "rank %u at %s: %s", peer,
                           endpoint, zmq_strerror(errno));
    }
    return GW_OK;
}

static enum gw_err join_peer(struct gw__zmq *zmq, unsigned peer,
                             const struct gw__address *address,
                             struct gw_error *why)
{
    struct gw__zmq_endpoint_address endpoint;
    enum gw_err err = gw__zmq_endpoint_address_read(
        address, peer, zmq->wire.size, &zmq->address, &endpoint, why);
    if (err)
        return err;
    memcpy(zmq->links[peer].token, endpoint.token, sizeof endpoint.token);
    /* For other hosts, only the end of the connection shows a death. */
    struct gw_error far;
    err = gw__process_watch_add(&zmq->process_watch, peer, &endpoint.process,
                                &far);
    if (err && err != GW_ENOTSUP)
        return gw_fail(why, err, "%s", far.text);
    return peer < zmq->wire.rank ? connect_link(zmq, peer, &endpoint, why)
                                 : GW_OK;
}

static void greet(struct gw__zmq *zmq, unsigned peer, unsigned l)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    struct gw__zmq_lane *lane = &link->lanes[l];
    struct gw__control_message hello = {.kind = GW__HELLO, .lane = l};
    memcpy(hello.token, link->token, sizeof hello.token);
    lane->greeted = gw__zmq_notify(zmq, peer, lane, &hello);
}

/* A Unix socket buffers a fixed amount of unread data, 208 KiB by default, and
 * wakes its writer when three quarters of it are free: after three messages of
 * 64 KiB both ends wait for each other. libzmq does not set the buffer sizes of
 * ipc, but gives access to the descriptor of a message. (2 ranks, a bare PAIR,
 * messages of 64 KiB: 44 % of a raw socket without this, 82 to 87 with 400 KB,
 * the same with 4 MB. Under the executor it gains less: collectives of 128 KiB
 * take the same time either way. TCP sizes its buffers itself.) */
static void enlarge_send_buffer(int fd)
{
    int room = 512 << 10;
    if (fd >= 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
}

static enum gw_err welcome(struct gw__zmq *zmq, unsigned peer, unsigned l,
                           struct gw_error *why)
{
    struct gw__zmq_lane *lane = &zmq->links[peer].lanes[l];
    zmq_msg_t message;
    zmq_msg_init(&message);
    if (zmq_msg_recv(&message, lane->socket, ZMQ_DONTWAIT) < 0)
        return GW_OK;
    struct gw__control_message hello;
    enum gw_err err =
        gw__control_read(zmq_msg_data(&message), zmq_msg_size(&message), peer,
                         zmq->wire.rank, &hello, why);
    if (!err && zmq->address.transport == GW__ZMQ_IPC)
        enlarge_send_buffer(zmq_msg_get(&message, ZMQ_SRCFD));
    if (!err && lane == zmq->links[peer].control)
        zmq->links[peer].control_fd = zmq_msg_get(&message, ZMQ_SRCFD);
    zmq_msg_close(&message);
    if (err)
        return gw_wrap(why, err, "at the address of rank %u", peer);
    if (hello.kind != GW__HELLO || hello.lane != l ||
        memcmp(hello.token, zmq->address.token, sizeof hello.token) != 0)
        return gw_fail(why, GW_EMISMATCH,
                       "another process connected in place of rank %u", peer);
    lane->welcomed = true;
    return GW_OK;
}

/* GW_OK: all connections to `peer` are complete. GW_PENDING: not yet. */
static enum gw_err shake_hands(struct gw__zmq *zmq, unsigned peer,
                               struct gw_error *why)
{
    enum gw_err result = GW_OK;
    for (unsigned l = 0; l <= zmq->lanes; l++) {
        struct gw__zmq_lane *lane = &zmq->links[peer].lanes[l];
        if (!lane->greeted)
            greet(zmq, peer, l);
        enum gw_err err = lane->welcomed ? GW_OK : welcome(zmq, peer, l, why);
        if (err)
            return err;
        if (!lane->greeted || !lane->welcomed)
            result = GW_PENDING;
    }
    return result;
}

/* A rank that has ended without meeting this one, or -1. A rank that met all
 * others and had little to do may have ended before its greeting is read here:
 * messages that it has sent arrive within a while. */
static int find_missed(const struct gw__zmq *zmq, const bool *joined)
{
    static const uint64_t last_words_ns = 100 * 1000000U;
    uint64_t now = gw_now_ns();
    for (unsigned r = 0; r < zmq->wire.size; r++) {
        uint64_t ended_ns = zmq->links[r].ended_ns;
        if (!joined[r] && ended_ns && now - ended_ns > last_words_ns)
            return (int)r;
    }
    return -1;
}

static enum gw_err join_all(struct gw__zmq *zmq, uint64_t deadline_ns,
                            struct gw_error *why)
{
    static const uint64_t pause_ns = 10 * 1000000U;
    bool joined[GW__WIRE_PEERS_MAX] = {false};
    unsigned left = zmq->wire.size - 1;
    assert(zmq->wire.size <= GW__WIRE_PEERS_MAX);
    joined[zmq->wire.rank] = true;
    for (;;) {
        for (unsigned r = 0; r < zmq->wire.size; r++) {
            if (joined[r])
                continue;
            enum gw_err err = shake_hands(zmq, r, why);
            if (err != GW_OK && err != GW_PENDING)
                return err;
            joined[r] = err == GW_OK;
            left -= joined[r];
        }
        if (left == 0)
            return GW_OK;
        gw__zmq_receive_ends(zmq);
        int missed = find_missed(zmq, joined);
        if (missed >= 0)
            return gw_fail(why, GW_ELOST, "rank %d ended before it connected",
                           missed);
        if (gw__wire_interrupted(&zmq->wire))
            return gw_fail(why, GW_EINTR, "interrupted while connecting");
        if (gw_now_ns() >= deadline_ns) {
            char missing[GW__RANK_LIST_BYTES];
            gw__rank_list(joined, zmq->wire.size, missing);
            return gw_fail(why, GW_ETIMEOUT, "%s did not connect in time%s",
                           missing,
                           zmq->address.secured
                               ? " (check that all have the same key file)"
                               : "");
        }
        gw__zmq_doze(zmq, gw__wire_nap_ns(&zmq->wire, pause_ns));
    }
}

enum gw_err gw__zmq_connect(struct gw__wire *wire,
                            const struct gw__address *table,
                            uint64_t deadline_ns, struct gw_error *why)
{
    struct gw__zmq *zmq = gw__zmq_of(wire);
    enum gw_err err = GW_OK;
    for (unsigned r = 0; r < wire->size && !err; r++)
        if (r != wire->rank)
            err = join_peer(zmq, r, &table[r], why);
    if (!err && zmq->process_watch.fd >= 0 &&
        !gw__zmq_listen(zmq, zmq->process_watch.fd, false, NULL))
        err = gw_fail_errno(why, "listening for the end of peers");
    if (!err)
        err = join_all(zmq, deadline_ns, why);
    return err ? gw_wrap(why, err, "%s wire", wire->ops->name) : GW_OK;
}
