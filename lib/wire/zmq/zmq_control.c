/* SPDX-License-Identifier: MIT
 *
 * Messages between ranks other than data, and the detection of losses.
 *
 *            goodbye                      all slices taken
 *   UP ----------------> CLOSED --------------------------> (GW_ECLOSED)
 *    |                      |  too few came in time
 *    |  lost                v
 *    +-------------------> LOST
 *
 * A peer is lost when the connection for notes ends without a goodbye before
 * the end. All its messages are read first, so a rank that closed and ended at
 * once is not lost. The kernel ends the connection of a dead process,
 * heartbeats that of a dead host. Where a forked child keeps a dead peer's
 * connection open, the peer's pidfd shows the death.
 */
#include "zmq_wire.h"

#include <string.h>
#include <sys/eventfd.h>

/* How long a dead process's connection may stay open before the peer is lost.
 */
static const uint64_t held_open_ns = 100 * 1000000U;

bool gw__zmq_notify(struct gw__zmq *zmq, unsigned peer,
                    struct gw__zmq_lane *lane,
                    struct gw__control_message *control)
{
    control->from = zmq->wire.rank;
    control->to = peer;
    size_t bytes = gw__control_seal(control);
    lane->touched = true;
    return zmq_send(lane->socket, control, bytes, ZMQ_DONTWAIT) >= 0;
}

enum gw_err gw__zmq_lose(struct gw__zmq *zmq, unsigned peer, const char *fact)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    if (link->state != GW__LINK_LOST) {
        link->state = GW__LINK_LOST;
        link->quiet_ns = gw_now_ns();
    }
    if (!zmq->error.code)
        gw_fail(&zmq->error, GW_ELOST, "rank %u lost: %s", peer, fact);
    return GW_ELOST;
}

static bool all_returned(const struct gw__zmq *zmq)
{
    for (unsigned r = 0; r < zmq->wire.size; r++)
        for (unsigned l = 0; r != zmq->wire.rank && l < zmq->lanes; l++) {
            const struct gw__zmq_lane *lane = &zmq->links[r].lanes[l];
            if (atomic_load(&lane->returned) != lane->borrowed)
                return false;
        }
    return true;
}

/* Buffers are returned when libzmq's own threads have dropped the messages,
 * which needs no peer and takes well under a millisecond. */
static void await_returned(struct gw__zmq *zmq)
{
    enum { TRIES = 100, TRY_MS = 10 };
    struct pollfd bell = {.fd = zmq->bell, .events = POLLIN};
    atomic_store(&zmq->sleeping, true);
    for (int i = 0; i < TRIES && !all_returned(zmq); i++) {
        eventfd_t rings;
        if (poll(&bell, 1, TRY_MS) > 0)
            (void)eventfd_read(zmq->bell, &rings);
    }
    atomic_store(&zmq->sleeping, false);
}

/* Slices that arrive later or are not handed over yet are void. So the lanes
 * are closed, and when this returns, lent buffers are no longer read: the user
 * of the failed call may free them. */
static void end_all(struct gw__zmq *zmq)
{
    zmq->over = true;
    for (unsigned r = 0; r < zmq->wire.size; r++)
        for (unsigned l = 0; r != zmq->wire.rank && l < zmq->lanes; l++) {
            zmq_close(zmq->links[r].lanes[l].socket);
            zmq->links[r].lanes[l].socket = NULL;
        }
    await_returned(zmq);
}

/* A rank that learns of an abort passes it on before it closes, so that no peer
 * takes the closing for the cause. */
static void notify_abort(struct gw__zmq *zmq)
{
    struct gw__control_message control = {.kind = GW__ABORT,
                                          .code = (int32_t)zmq->error.code};
    memcpy(control.text, zmq->error.text, sizeof control.text);
    for (unsigned r = 0; r < zmq->wire.size; r++)
        if (r != zmq->wire.rank)
            gw__zmq_notify(zmq, r, zmq->links[r].control, &control);
}

static void apply_control(struct gw__zmq *zmq, unsigned peer,
                          const struct gw__control_message *control)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    switch ((enum gw__control_kind)control->kind) {
    case GW__CREDIT:
        if (control->count < link->released_by_peer ||
            control->count > link->sent)
            gw__zmq_lose(zmq, peer, "credit for slices that were not sent");
        else
            link->released_by_peer = control->count;
        break;
    case GW__GOODBYE:
        if (link->state == GW__LINK_UP) {
            link->state = GW__LINK_CLOSED;
            link->due = control->count;
            link->quiet_ns = gw_now_ns();
        }
        break;
    case GW__ABORT:
        if (zmq->over)
            break;
        gw_fail(&zmq->error, (enum gw_err)control->code, "%s", control->text);
        zmq->wire.aborted_by_peer = true;
        notify_abort(zmq);
        end_all(zmq);
        break;
    case GW__HELLO:
        gw__zmq_lose(zmq, peer, "a second HELLO");
        break;
    }
}

/* Always reads until it is empty, so that `fd` reports the next note. */
static void read_control(struct gw__zmq *zmq, unsigned peer)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    void *socket = link->control->socket;
    unsigned char message[GW__CONTROL_BYTES_MAX];
    struct gw__control_message control;
    struct gw_error fault;
    int bytes;
    link->control->touched = false;
    while ((bytes = zmq_recv(socket, message, sizeof message, ZMQ_DONTWAIT)) >=
           0) {
        if (link->state == GW__LINK_LOST)
            continue;
        if (gw__control_read(message, (size_t)bytes, peer, zmq->wire.rank,
                             &control, &fault))
            gw__zmq_lose(zmq, peer, fault.text);
        else
            apply_control(zmq, peer, &control);
    }
}

/* The monitor only has events for the end of a connection: an event's number
 * and descriptor, then a longer part with an address. The end of another
 * connection to the same port, a stranger's, does not count. */
static bool is_disconnected(struct gw__zmq_link *link)
{
    enum { EVENT_BYTES = 6 };
    unsigned char part[256];
    int bytes, fd;
    while (!link->disconnected &&
           (bytes = zmq_recv(link->monitor, part, sizeof part, ZMQ_DONTWAIT)) >=
               0) {
        if (bytes != EVENT_BYTES)
            continue;
        memcpy(&fd, part + EVENT_BYTES - sizeof fd, sizeof fd);
        link->disconnected = link->control_fd < 0 || fd == link->control_fd;
    }
    return link->disconnected;
}

void gw__zmq_receive(struct gw__zmq *zmq, unsigned peer)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    bool ended = is_disconnected(link);
    read_control(zmq, peer);
    if (link->state != GW__LINK_UP)
        return;
    if (ended)
        gw__zmq_lose(zmq, peer, "its connection ended");
    else if (link->ended_ns && gw_now_ns() - link->ended_ns > held_open_ns)
        gw__zmq_lose(zmq, peer, "its process ended");
}

void gw__zmq_receive_ends(struct gw__zmq *zmq)
{
    int rank;
    while ((rank = gw__process_watch_poll(&zmq->process_watch)) >= 0)
        zmq->links[rank].ended_ns = gw_now_ns();
}

enum gw_err gw__zmq_check(struct gw__wire *wire, struct gw_error *why)
{
    struct gw__zmq *zmq = gw__zmq_of(wire);
    gw__zmq_receive_ends(zmq);
    for (unsigned r = 0; r < wire->size; r++)
        if (r != wire->rank)
            gw__zmq_receive(zmq, r);
    if (!zmq->error.code)
        return GW_OK;
    return gw_fail(why, zmq->error.code, "%s", zmq->error.text);
}

bool gw__zmq_lost(struct gw__wire *wire, unsigned peer)
{
    return gw__zmq_of(wire)->links[peer].state == GW__LINK_LOST;
}

void gw__zmq_abort(struct gw__wire *wire, const struct gw_error *error)
{
    struct gw__zmq *zmq = gw__zmq_of(wire);
    if (zmq->over)
        return;
    zmq->error = *error;
    notify_abort(zmq);
    end_all(zmq);
}

/* Lent, so that libzmq reports when the note is on its way. */
static void send_goodbye(struct gw__zmq *zmq, unsigned peer)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    zmq_msg_t message;
    link->goodbye = (struct gw__control_message){.kind = GW__GOODBYE,
                                                 .from = zmq->wire.rank,
                                                 .to = peer,
                                                 .count = link->sent};
    size_t bytes = gw__control_seal(&link->goodbye);
    if (zmq_msg_init_data(&message, &link->goodbye, bytes,
                          gw__zmq_return_buffer, link->control) != 0)
        return;
    link->control->borrowed++;
    if (zmq_msg_send(&message, link->control->socket, ZMQ_DONTWAIT) < 0)
        zmq_msg_close(&message);
}

static bool is_leaving(const struct gw__zmq_link *link)
{
    return link->state == GW__LINK_UP &&
           atomic_load(&link->control->returned) != link->control->borrowed;
}

static int linger_ms(const struct gw__zmq *zmq, unsigned peer)
{
    uint64_t ms = zmq->wire.linger_ns / 1000000U;
    if (ms <= GW__ZMQ_LINGER_MS_MIN || gw__wire_interrupted(&zmq->wire) ||
        gw__process_watch_stopped(&zmq->process_watch, peer))
        return GW__ZMQ_LINGER_MS_MIN;
    return ms < GW__ZMQ_LINGER_MS_MAX ? (int)ms : GW__ZMQ_LINGER_MS_MAX;
}

/* When all ranks close at the same time, some goodbyes cannot be delivered any
 * more. Lingering would wait for them in vain, so this checks the peers
 * meanwhile. */
static void await_goodbyes(struct gw__zmq *zmq)
{
    enum { TRY_MS = 5 };
    struct pollfd bell = {.fd = zmq->bell, .events = POLLIN};
    atomic_store(&zmq->sleeping, true);
    for (int i = 0; i < GW__ZMQ_LINGER_MS_MIN / TRY_MS; i++) {
        bool leaving = false;
        for (unsigned r = 0; r < zmq->wire.size; r++) {
            if (r == zmq->wire.rank || !is_leaving(&zmq->links[r]))
                continue;
            gw__zmq_receive(zmq, r);
            leaving |= is_leaving(&zmq->links[r]);
        }
        eventfd_t rings;
        if (!leaving)
            break;
        if (poll(&bell, 1, TRY_MS) > 0)
            (void)eventfd_read(zmq->bell, &rings);
    }
    atomic_store(&zmq->sleeping, false);
}

static void linger(struct gw__zmq *zmq, unsigned peer)
{
    struct gw__zmq_link *link = &zmq->links[peer];
    int ms = linger_ms(zmq, peer);
    for (unsigned l = 0; l <= zmq->lanes; l++)
        if (link->lanes[l].socket)
            zmq_setsockopt(link->lanes[l].socket, ZMQ_LINGER, &ms, sizeof ms);
}

/* Sockets linger only for live peers that may still need data. */
void gw__zmq_close(struct gw__wire *wire)
{
    struct gw__zmq *zmq = gw__zmq_of(wire);
    for (unsigned r = 0; r < wire->size; r++) {
        struct gw__zmq_link *link = &zmq->links[r];
        if (r == wire->rank || !link->control->welcomed)
            continue;
        gw__zmq_receive(zmq, r);
        if (link->state == GW__LINK_UP)
            send_goodbye(zmq, r);
    }
    await_goodbyes(zmq);
    for (unsigned r = 0; r < wire->size; r++) {
        struct gw__zmq_link *link = &zmq->links[r];
        if (r != wire->rank && link->control->welcomed &&
            link->state == GW__LINK_UP)
            linger(zmq, r);
    }
    gw__zmq_free(zmq);
}
