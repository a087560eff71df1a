/* SPDX-License-Identifier: MIT
 *
 * A joiner confirms its copy by the rules of state_validity.h: a donor may have
 * been the only member that had completed its newest op. So it asks the earlier
 * members for their digests and, when they are gone, the members that joined
 * with it whether they have the state.
 *
 *     ask all earlier members --same--> sure
 *          |  ^------- not yet
 *          +--other--> copy again, from that one
 *
 * This costs no extra time: the others cannot complete op m before all of them
 * have completed m - 1.
 */
#include "ring_parts.h"

static const uint64_t again_ns = 3000000;

/* ---- control thread ---- */

static struct gw__process self(const struct gw_ring *ring)
{
    return (struct gw__process){ring->session.node, ring->session.incarnation};
}

static bool has_nothing(const struct gw_ring *ring)
{
    return ring->joining && !gw__fetch_whole(&ring->fetch) &&
           gw__state_validity_is_empty(&ring->validity, &ring->known,
                                       self(ring));
}

void gw__confirm_requested(struct gw_ring *ring, unsigned from)
{
    struct gw__state_transfer answer = {.kind = GW__TRANSFER_HAVE};
    uint8_t out[GW__TRANSFER_BYTES_MAX];
    pthread_mutex_lock(&ring->state_lock);
    answer.state.ops = ring->state_op;
    answer.state.digest = ring->digest;
    pthread_mutex_unlock(&ring->state_lock);
    gw__session_lock(&ring->session);
    bool has_state = ring->has_state, nothing = has_nothing(ring);
    if (!has_state && nothing)
        answer = (struct gw__state_transfer){.kind = GW__TRANSFER_NOTHING,
                                             .ops = ring->known.ring_epoch};
    gw__session_unlock(&ring->session);
    if (has_state || nothing)
        gw__driver_send(ring->session.driver, from, out,
                        gw__state_transfer_encode(&answer, out));
}

static void copy_anew(struct gw_ring *ring)
{
    struct gw__fetch *fetch = &ring->fetch;
    gw__fetch_next(fetch);
    gw__state_validity_forget(&ring->validity);
    fetch->copied = false;
    fetch->snapshots = 0;
}

void gw__confirm_answered(struct gw_ring *ring, unsigned from,
                          const struct gw__state_transfer_state *state)
{
    gw__session_lock(&ring->session);
    struct gw__fetch *fetch = &ring->fetch;
    bool comparable = ring->joining && fetch->copied && !gw__fetch_whole(fetch);
    if (comparable && !gw__state_validity_compare(&ring->validity, from,
                                                  state->ops, state->digest)) {
        copy_anew(ring);
        fetch->server = from;
        fetch->server_known = true;
    }
    gw__session_wake(&ring->session);
    gw__session_unlock(&ring->session);
}

void gw__confirm_nothing(struct gw_ring *ring, unsigned from,
                         uint64_t ring_epoch)
{
    gw__session_lock(&ring->session);
    gw__state_validity_peer_empty(&ring->validity, from, ring_epoch);
    gw__session_wake(&ring->session);
    gw__session_unlock(&ring->session);
}

/* A complete item belongs to the main thread; its validity is checked after it
 * is used. */
void gw__confirm_update(struct gw_ring *ring)
{
    struct gw__fetch *fetch = &ring->fetch;
    if (!ring->joining)
        return;
    if (!gw__state_validity_decided(&ring->validity,
                                    ring->session.update.decisions,
                                    ring->session.update.decision_count)) {
        fetch->copied = false;
        fetch->snapshots = 0;
        if (!gw__fetch_whole(fetch))
            copy_anew(ring);
    }
    gw__fetch_update(ring);
}

/* ---- main thread, with the lock ---- */

bool gw__confirm_copied(struct gw_ring *ring)
{
    const struct gw__state_validity_copy copy = {.ops = ring->state_op,
                                                 .digest = ring->digest,
                                                 .epoch = ring->state_epoch};
    gw__state_validity_copied(&ring->validity, &copy);
    return gw__state_validity_decided(&ring->validity,
                                      ring->session.update.decisions,
                                      ring->session.update.decision_count);
}

enum gw__validity_status gw__confirm_status(const struct gw_ring *ring)
{
    return gw__state_validity_status(&ring->validity, &ring->known, self(ring));
}

void gw__confirm_query(struct gw_ring *ring)
{
    const struct gw__state_transfer message = {.kind = GW__TRANSFER_CONFIRM};
    uint8_t out[GW__TRANSFER_BYTES_MAX];
    uint64_t now_ns = gw_now_ns();
    struct gw_nodes left =
        gw__state_validity_requests(&ring->validity, &ring->known, self(ring));
    if (gw__nodes_is_empty(left) || !ring->member ||
        now_ns < ring->confirm_sent_ns + again_ns)
        return;
    ring->confirm_sent_ns = now_ns;
    size_t bytes = gw__state_transfer_encode(&message, out);
    for (unsigned node = gw__nodes_next(&left, 0); node < GW__NODES_MAX;
         node = gw__nodes_next(&left, node + 1))
        gw__driver_send(ring->session.driver, node, out, bytes);
}
