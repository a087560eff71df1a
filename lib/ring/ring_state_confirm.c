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
    return ring->joining && !gw__pull_whole(&ring->pull) &&
           gw__state_validity_is_empty(&ring->claim, &ring->known, self(ring));
}

void gw__sure_asked(struct gw_ring *ring, unsigned from)
{
    struct gw__foreign answer = {.kind = GW__FOREIGN_HAVE};
    uint8_t out[GW__FOREIGN_BYTES_MAX];
    pthread_mutex_lock(&ring->state_lock);
    answer.state.ops = ring->state_op;
    answer.state.digest = ring->digest;
    pthread_mutex_unlock(&ring->state_lock);
    gw__session_lock(&ring->session);
    bool gives = ring->gives, nothing = has_nothing(ring);
    if (!gives && nothing)
        answer = (struct gw__foreign){.kind = GW__FOREIGN_NOTHING,
                                      .ops = ring->known.ring_epoch};
    gw__session_unlock(&ring->session);
    if (gives || nothing)
        gw__driver_send(ring->session.driver, from, out,
                        gw__foreign_encode(&answer, out));
}

static void copy_anew(struct gw_ring *ring)
{
    struct gw__pull *pull = &ring->pull;
    gw__pull_next(pull);
    gw__state_validity_forget(&ring->claim);
    pull->copied = false;
    pull->snapshots = 0;
}

void gw__sure_answered(struct gw_ring *ring, unsigned from,
                       const struct gw__foreign_state *state)
{
    gw__session_lock(&ring->session);
    struct gw__pull *pull = &ring->pull;
    bool comparable = ring->joining && pull->copied && !gw__pull_whole(pull);
    if (comparable && !gw__state_validity_heard(&ring->claim, from, state->ops,
                                                state->digest)) {
        copy_anew(ring);
        pull->donor = from;
        pull->donor_known = true;
    }
    gw__session_wake(&ring->session);
    gw__session_unlock(&ring->session);
}

void gw__sure_nothing(struct gw_ring *ring, unsigned from, uint64_t ring_epoch)
{
    gw__session_lock(&ring->session);
    gw__state_validity_heard_nothing(&ring->claim, from, ring_epoch);
    gw__session_wake(&ring->session);
    gw__session_unlock(&ring->session);
}

/* A complete item belongs to the main thread; its validity is checked after it
 * is used. */
void gw__sure_news(struct gw_ring *ring)
{
    struct gw__pull *pull = &ring->pull;
    if (!ring->joining)
        return;
    if (!gw__state_validity_decided(&ring->claim, ring->session.news.decisions,
                                    ring->session.news.decision_count)) {
        pull->copied = false;
        pull->snapshots = 0;
        if (!gw__pull_whole(pull))
            copy_anew(ring);
    }
    gw__pull_news(ring);
}

/* ---- main thread, with the lock ---- */

bool gw__sure_copied(struct gw_ring *ring)
{
    const struct gw__state_validity_copy copy = {.ops = ring->state_op,
                                                 .digest = ring->digest,
                                                 .epoch = ring->state_epoch};
    gw__state_validity_copied(&ring->claim, &copy);
    return gw__state_validity_decided(&ring->claim,
                                      ring->session.news.decisions,
                                      ring->session.news.decision_count);
}

enum gw__worth gw__sure_worth(const struct gw_ring *ring)
{
    return gw__state_validity_worth(&ring->claim, &ring->known, self(ring));
}

void gw__sure_ask(struct gw_ring *ring)
{
    const struct gw__foreign ask = {.kind = GW__FOREIGN_SURE};
    uint8_t out[GW__FOREIGN_BYTES_MAX];
    uint64_t now_ns = gw_now_ns();
    uint64_t left =
        gw__state_validity_asks(&ring->claim, &ring->known, self(ring));
    if (!left || !ring->member || now_ns < ring->sure_asked_ns + again_ns)
        return;
    ring->sure_asked_ns = now_ns;
    size_t bytes = gw__foreign_encode(&ask, out);
    for (unsigned node = 0; node < GW__NODES_MAX; node++)
        if (left >> node & 1)
            gw__driver_send(ring->session.driver, node, out, bytes);
}
