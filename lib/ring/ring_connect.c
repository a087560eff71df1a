/* SPDX-License-Identifier: MIT
 *
 * The communicator of the present view. It is made when the main thread has
 * work to do in that view, and destroyed when another view is adopted. In each
 * ring epoch a member has one end of the wire and sends its address once, so a
 * failed attempt is not repeated. Either a member was lost and another ring
 * epoch follows, or the ring has failed.
 *
 * After a death the control thread makes that end and sends its address as soon
 * as the flush is decided, if the main thread is about to do a task, and main
 * wakes when it has all addresses. So a recovery that main begins changes
 * threads twice: with the report of the loss, and with the addresses. One that
 * control begins while data moves changes once more: main has to stop first.
 */
#include "ring_parts.h"

#include "base/failpoint.h"

#include <string.h>

enum { NEVER_MS = 86400000 };

static const uint64_t connect_ns = 60000000000;
static const uint64_t update_wait_ns = 5000000000; /* a death is known sooner */

bool gw__ring_is_connected(const struct gw_ring *ring)
{
    return ring->comm_epoch && ring->comm_epoch == ring->ops.view.ring_epoch;
}

void gw__ring_disconnect(struct gw_ring *ring)
{
    ring->request = NULL;
    ring->comm_epoch = 0;
    gw__comm_leave(&ring->comm);
    gw__ring_forget_plans(ring);
}

/* ---- failing ---- */

/* With the lock. */
static void report_lost(struct gw_ring *ring, unsigned rank)
{
    const struct gw__view *view = &ring->ops.view;
    if (view->ring_epoch != ring->comm_epoch || rank >= view->ring_count)
        return; /* the epoch is over; its ranks mean other nodes */
    const char *wire = ring->config.wire;
    bool same_host = !wire || strcmp(wire, "shm") == 0;
    const struct gw__member_request request = {
        .kind = same_host ? GW__REQUEST_LOST : GW__REQUEST_RESET,
        .who = {view->ring[rank].node, view->ring[rank].incarnation}};
    gw__events_loss(ring, request.who.node,
                    same_host ? GW_BY_EXIT : GW_BY_RESET);
    gw__ring_request(ring, &request);
}

static void report_lost_peers(struct gw_ring *ring, struct gw_nodes lost)
{
    gw__session_lock(&ring->session);
    for (unsigned rank = gw__nodes_next(&lost, 0); rank < GW__NODES_MAX;
         rank = gw__nodes_next(&lost, rank + 1))
        report_lost(ring, rank);
    gw__session_unlock(&ring->session);
}

/* A member may have died while the ranks connected, whatever the error was. If
 * so, a membership update will follow. */
static enum gw_err connect_failed(struct gw_ring *ring,
                                  const struct gw_error *reason)
{
    gw__session_lock(&ring->session);
    ring->broken_epoch = ring->comm_epoch;
    ring->broken_until_ns = gw_now_ns() + update_wait_ns;
    ring->broken = *reason;
    gw__session_unlock(&ring->session);
    report_lost_peers(ring, gw__comm_lost(ring->comm));
    return GW_OK;
}

enum gw_err gw__ring_comm_failed(struct gw_ring *ring, enum gw_err err,
                                 struct gw_error *why)
{
    const struct gw_error *reason = gw_comm_error(ring->comm);
    bool loss = err == GW_ELOST || err == GW_ECLOSED;
    struct gw_nodes lost = {{0}};
    if (loss)
        lost = gw__comm_lost(ring->comm);
    gw__session_lock(&ring->session);
    if (loss) {
        ring->broken_epoch = ring->comm_epoch;
        ring->broken_until_ns = 0;
    } else if (!ring->failed.code)
        gw_fail(&ring->failed, err, "%s", reason->text);
    if (!gw__nodes_is_empty(lost)) {
        gw__status_noticed(ring);
        gw__status_append(ring, reason->text);
    }
    ring->status.doubled += err == GW_EWRONG;
    gw__session_unlock(&ring->session);
    if (!loss)
        return gw_fail(why, err, "%s", reason->text);
    report_lost_peers(ring, lost);
    return GW_OK;
}

/* ---- connecting ---- */

static enum gw_err prepare_comm(struct gw_ring *ring, struct gw_error *why)
{
    const struct gw__view *view = &ring->ops.view;
    unsigned nodes[GW__NODES_MAX];
    for (unsigned i = 0; i < view->ring_count; i++)
        nodes[i] = view->ring[i].node;
    const struct gw_ring_config *config = &ring->config;
    const struct gw__comm_setup setup = {
        .config = {.rank = (unsigned)gw__view_rank(view, ring->session.node),
                   .size = view->ring_count,
                   .wire = config->wire,
                   .slice_bytes = config->slice_bytes,
                   .lanes = config->lanes,
                   .interface = config->interface,
                   .key_file = config->key_file,
                   .insecure = config->insecure,
                   .timeout_ms = NEVER_MS,
                   .events = gw__events_sink(ring)},
        .epoch = (uint32_t)view->ring_epoch,
        .nodes = nodes,
        .profiles = ring->session.profiles,
        .interrupt = &ring->stop};
    return gw__comm_prepare(&setup, &ring->next, why);
}

static enum gw_err describe_location(struct gw_ring *ring, struct gw_error *why)
{
    const struct gw__address *address = gw__comm_address(ring->next);
    struct gw__member_request request = {
        .kind = GW__REQUEST_ADDRESS,
        .address = {.ring_epoch = ring->next_epoch, .bytes = address->bytes}};
    if (address->bytes > sizeof request.address.blob)
        return gw_fail(why, GW_EINTERNAL, "an address of %zu bytes",
                       address->bytes);
    memcpy(request.address.blob, address->blob, address->bytes);
    gw__ring_request(ring, &request);
    gw__status_step(ring);
    return GW_OK;
}

enum gw_err gw__ring_prepare(struct gw_ring *ring, struct gw_error *why)
{
    if (ring->next && ring->next_epoch == ring->ops.view.ring_epoch)
        return GW_OK;
    gw__comm_leave(&ring->next);
    ring->next_epoch = ring->ops.view.ring_epoch;
    enum gw_err err = prepare_comm(ring, why);
    if (!err)
        err = describe_location(ring, why);
    if (err)
        gw__comm_leave(&ring->next);
    return err;
}

/* True: the addresses of all members are there. False: another event comes
 * first. */
static bool await_addresses(struct gw_ring *ring, uint64_t ring_epoch)
{
    gw__session_lock(&ring->session);
    while (ring->connected_epoch != ring_epoch && !atomic_load(&ring->stop))
        gw__session_nap(&ring->session);
    bool there = !atomic_load(&ring->stop);
    gw__session_unlock(&ring->session);
    return there;
}

static void mark_connected(struct gw_ring *ring)
{
    uint64_t now_ns = gw_now_ns();
    gw__session_lock(&ring->session);
    if (ring->noticed_ns)
        gw__status_reached(ring, &ring->status.last.reconnected_ns);
    else if (ring->admit_began_ns && !ring->joining)
        ring->status.joined_stall_ns = now_ns - ring->admit_began_ns;
    ring->admit_began_ns = 0;
    gw__session_unlock(&ring->session);
    gw__failpoint(GW__AT_RING_CONNECTED);
}

/* Takes our end, which control may have made. GW_EINTR: the view is over. */
static enum gw_err take_next(struct gw_ring *ring, uint64_t ring_epoch,
                             struct gw_comm **next, struct gw_error *why)
{
    *next = NULL;
    enum gw_err err = gw__failpoint_err(GW__AT_RING_CONNECT);
    if (err)
        return gw_fail(why, err, "failpoint ring.connect");
    gw__session_lock(&ring->session);
    err = ring->ops.view.ring_epoch == ring_epoch ? gw__ring_prepare(ring, why)
                                                  : GW_EINTR;
    if (!err) {
        *next = ring->next;
        ring->next = NULL;
    }
    gw__session_unlock(&ring->session);
    return err;
}

/* Until all addresses are here, another member may still be finishing an op in
 * the old communicator, with data that we sent there. GW_EINTR: another event
 * comes first. */
static enum gw_err change_over(struct gw_ring *ring,
                               const struct gw__view *view,
                               struct gw_error *why)
{
    struct gw_comm *next;
    enum gw_err err = take_next(ring, view->ring_epoch, &next, why);
    gw__failpoint(GW__AT_RING_ADDRESS);
    if (!err && !await_addresses(ring, view->ring_epoch))
        err = GW_EINTR;
    if (err) {
        gw__comm_leave(&next);
        return err;
    }
    gw__ring_disconnect(ring);
    ring->comm = next;
    ring->comm_epoch = view->ring_epoch;
    gw__failpoint(GW__AT_RING_ADDRESSES);
    /* The table is not written again before this ring epoch is over here. */
    err = gw__comm_connect(next, ring->table, gw_now_ns() + connect_ns, why);
    if (err == GW_EINTR)
        gw__ring_disconnect(ring);
    else if (err)
        err = connect_failed(ring, why);
    else
        mark_connected(ring);
    return err;
}

enum gw_err gw__ring_connect(struct gw_ring *ring, struct gw_error *why)
{
    struct gw_error reason = {0};
    enum gw_err err = GW_OK;
    gw__session_lock(&ring->session);
    struct gw__view view = ring->ops.view;
    gw__ring_lower_stop(ring);
    gw__session_unlock(&ring->session);
    if (view.ring_count > 1)
        err = change_over(ring, &view, &reason);
    else {
        gw__ring_disconnect(ring);
        ring->comm_epoch = view.ring_epoch;
        mark_connected(ring);
    }
    if (!err || err == GW_EINTR) /* for another view, or to end */
        return GW_OK;
    return gw_fail(why, err, "epoch %llu: %s", (unsigned long long)view.epoch,
                   reason.text);
}
