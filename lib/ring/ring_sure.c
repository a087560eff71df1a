/* SPDX-License-Identifier: MIT
 *
 * A joiner makes sure of what it has copied. A donor may have been the only one
 * that had completed its newest op; if it dies, the others may decide that op
 * otherwise, and the joiner would go on from a state that nobody else has. So
 * before it takes part in its first op m, every member that took part in m - 1
 * must say that it has completed it, and with the same digest: from then on
 * that result stands, whoever dies. Who has another one is copied from anew.
 *
 *     ask all elders --same--> sure
 *          |  ^------- not yet
 *          +--other--> copy anew, from that one
 *
 * It costs no time of its own: the others cannot complete op m before all of
 * them have completed m - 1.
 */
#include "ring_parts.h"

static const uint64_t again_ns = 3000000;

/* ---- control ---- */

void gw__sure_asked(struct gw_ring *ring, unsigned from)
{
    struct gw__foreign answer = {.kind = GW__FOREIGN_HAVE};
    uint8_t out[GW__FOREIGN_BYTES_MAX];
    pthread_mutex_lock(&ring->state_lock);
    answer.state.ops = ring->state_op;
    answer.state.digest = ring->digest;
    pthread_mutex_unlock(&ring->state_lock);
    gw__ring_lock(ring);
    bool gives = ring->gives;
    gw__ring_unlock(ring);
    if (gives)
        gw__driver_send(ring->driver, from, out,
                        gw__foreign_encode(&answer, out));
}

static void copy_anew(struct gw__pull *pull, unsigned from)
{
    gw__pull_next(pull);
    pull->copied = false;
    pull->snapshots = 0;
    pull->donor = from;
    pull->donor_known = true;
}

void gw__sure_answered(struct gw_ring *ring, unsigned from,
                       const struct gw__foreign_state *state)
{
    gw__ring_lock(ring);
    struct gw__pull *pull = &ring->pull;
    bool comparable = ring->joining && pull->copied && !gw__pull_whole(pull) &&
                      state->ops == pull->have_op;
    if (comparable && state->digest == ring->status.digest)
        ring->sure |= (uint64_t)1 << from;
    else if (comparable) {
        ring->sure = 0;
        copy_anew(pull, from);
    }
    pthread_cond_broadcast(&ring->changed);
    gw__ring_unlock(ring);
}

/* ---- main, with the lock ---- */

/* Members that took part in ops before our first one. */
static uint64_t elders(const struct gw_ring *ring)
{
    const struct gw__view *view = &ring->known;
    int rank = gw__view_rank(view, ring->node);
    uint64_t nodes = 0;
    for (unsigned i = 0; rank >= 0 && i < view->ring_count; i++)
        if (view->ring[i].from_op < view->ring[rank].from_op)
            nodes |= (uint64_t)1 << view->ring[i].node;
    return nodes;
}

bool gw__sure(const struct gw_ring *ring)
{
    return ring->pull.copied ? !(elders(ring) & ~ring->sure)
                             : elders(ring) == 0;
}

void gw__sure_ask(struct gw_ring *ring)
{
    const struct gw__foreign ask = {.kind = GW__FOREIGN_SURE};
    uint8_t out[GW__FOREIGN_BYTES_MAX];
    uint64_t now_ns = gw_now_ns(), left = elders(ring) & ~ring->sure;
    if (now_ns < ring->sure_asked_ns + again_ns)
        return;
    ring->sure_asked_ns = now_ns;
    size_t bytes = gw__foreign_encode(&ask, out);
    for (unsigned node = 0; node < GW__NODES_MAX; node++)
        if (left >> node & 1)
            gw__driver_send(ring->driver, node, out, bytes);
}
