/* SPDX-License-Identifier: MIT
 *
 * Joining, the main thread's part: the state grows as items arrive
 * (ring_state_fetch.c), until this member is admitted and has the results of
 * all ops before its first one.
 *
 * It declares itself ready when it lacks at most one op. Where ops are quicker
 * than snapshots that never happens; then it does so after the third snapshot.
 * Once it is admitted the others wait for it in its first op, so it can catch
 * up. Then it confirms that its copy is valid (ring_state_confirm.c).
 *
 * If all members that had the state are gone before another one has a copy, the
 * state is lost. A joiner that finds this, or that the ring from which it
 * copied no longer exists, cannot take part. It must join again, which ends its
 * place in the ring. When all have done so the ring is empty, and starts from
 * the beginning.
 */
#include "ring_parts.h"

#include "base/failpoint.h"

#include <assert.h>

#include <stdlib.h>
#include <string.h>

enum { SNAPSHOTS_ENOUGH = 3 };

/* ---- using an item ---- */

static void install_snapshot(struct gw_ring *ring,
                             const struct gw__fetch *whole)
{
    const struct gw_ring_config *config = &ring->config;
    pthread_mutex_lock(&ring->state_lock);
    assert(whole->item.bytes == config->state_bytes);
    if (config->state_bytes)
        memcpy(config->state, whole->data, config->state_bytes);
    ring->state_op = whole->item.op;
    ring->digest = whole->digest;
    ring->state_epoch = whole->epoch;
    pthread_mutex_unlock(&ring->state_lock);
}

/* Without the lock: no other thread uses a complete item. */
static enum gw_err apply_item(struct gw_ring *ring, struct gw_error *why)
{
    const struct gw__fetch *whole = &ring->fetch;
    struct gw_ring_result delivered;
    if (whole->item.kind == GW__ITEM_RESULT)
        return gw__keep_apply(ring, &whole->result, &delivered, why);
    install_snapshot(ring, whole);
    return GW_OK;
}

/* A result that was applied to a different state than the donor's gives another
 * digest. One that was applied to a copy that is now void is void, too. */
static enum gw_err finish_item(struct gw_ring *ring, struct gw_error *why)
{
    struct gw__fetch *fetch = &ring->fetch;
    gw__session_unlock(&ring->session);
    enum gw_err err = apply_item(ring, why);
    gw__session_lock(&ring->session);
    bool snapshot = fetch->item.kind == GW__ITEM_SNAPSHOT;
    bool based = snapshot || fetch->copied;
    fetch->snapshots += snapshot;
    fetch->have_op = ring->state_op;
    fetch->copied = based && ring->digest == fetch->digest;
    fetch->copied = fetch->copied && gw__confirm_copied(ring);
    if (!fetch->copied)
        gw__state_validity_forget(&ring->validity);
    ring->status.digest = ring->digest;
    gw__fetch_next(fetch);
    return err;
}

/* ---- progress ---- */

static bool is_ready(const struct gw__fetch *fetch)
{
    return fetch->copied && fetch->server_op != UINT64_MAX &&
           (fetch->have_op + 1 >= fetch->server_op ||
            fetch->snapshots >= SNAPSHOTS_ENOUGH);
}

static bool is_up_to_date(const struct gw_ring *ring)
{
    return ring->member && !ring->flushing &&
           ring->fetch.have_op == ring->ops.next_op;
}

static bool is_done(const struct gw_ring *ring)
{
    return is_up_to_date(ring) &&
           gw__confirm_status(ring) == GW__STATE_VALIDITY_CONFIRMED;
}

/* The copy is void, or no member has the state. */
static bool is_lost(struct gw_ring *ring)
{
    const struct gw__fetch *fetch = &ring->fetch;
    if (gw__fetch_whole(fetch))
        return false; /* it is used first */
    if (ring->fetch.over && fetch->have_op == 0 && !fetch->copied)
        ring->fetch.over = false; /* the state is still the initial one */
    return ring->fetch.over ||
           gw__confirm_status(ring) == GW__STATE_VALIDITY_LOST;
}

/* ---- obstacles ---- */

static enum gw_err check_alive(struct gw_ring *ring, uint64_t deadline_ns,
                               struct gw_error *why)
{
    enum gw_err err = gw__ring_alive(ring, why);
    if (!err)
        err = gw__driver_error(ring->session.driver, why);
    if (!err)
        err = gw__bounds_join(ring, why);
    if (err)
        return err;
    if (is_lost(ring))
        return gw_fail(why, GW_ECLOSED,
                       "the ring has lost its state: all members that had it "
                       "are dead");
    if (deadline_ns == 0 || gw_now_ns() < deadline_ns)
        return GW_OK;
    return gw_fail(
        why, GW_ETIMEOUT, "node %u %s", ring->session.node,
        !ring->session.registered ? "has no answer from the controllers"
        : !ring->fetch.active     ? "waits to be admitted"
        : !is_ready(&ring->fetch) ? "must still copy the state"
                                  : "has the state and waits to be admitted");
}

/* ---- the loop; with the lock ---- */

static void send_ready(struct gw_ring *ring, bool *ready_sent)
{
    const struct gw__member_request request = {.kind = GW__REQUEST_READY,
                                               .op = ring->fetch.have_op};
    gw__failpoint(GW__AT_COPY_READY);
    *ready_sent = true;
    gw__ring_request(ring, &request);
}

/* The others may need our end of the wire before we have the state. */
static enum gw_err connect_members(struct gw_ring *ring, struct gw_error *why)
{
    enum gw_err err = gw__ring_quiet(ring, why);
    if (err || gw__ring_is_connected(ring))
        return err;
    gw__session_unlock(&ring->session);
    err = gw__ring_connect(ring, why);
    gw__session_lock(&ring->session);
    return err;
}

static enum gw_err check_copy(struct gw_ring *ring, bool *ready_sent,
                              struct gw_error *why)
{
    bool broken = ring->broken_epoch == ring->ops.view.ring_epoch;
    ring->fetch.active = ring->session.registered && ring->known.ring_count > 0;
    if (gw__fetch_whole(&ring->fetch))
        return finish_item(ring, why);
    if (ring->member && !ring->flushing && !broken &&
        !gw__ring_is_connected(ring))
        return connect_members(ring, why);
    if (!*ready_sent && !ring->member && is_ready(&ring->fetch))
        send_ready(ring, ready_sent);
    gw__confirm_query(ring);
    gw__session_nap(&ring->session);
    return GW_OK;
}

enum gw_err gw__ring_copy(struct gw_ring *ring, uint64_t deadline_ns,
                          struct gw_error *why)
{
    bool ready_sent = false;
    gw__session_lock(&ring->session);
    enum gw_err err = GW_OK;
    while (!err && !is_done(ring)) {
        err = check_alive(ring, deadline_ns, why);
        if (!err)
            err = check_copy(ring, &ready_sent, why);
    }
    ring->fetch.active = false;
    ring->has_state = !err;
    ring->joining = false;
    ring->status_changed = true;
    gw__session_unlock(&ring->session);
    if (!err)
        gw__failpoint(GW__AT_COPY_DONE);
    return err;
}
