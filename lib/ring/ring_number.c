/* SPDX-License-Identifier: MIT
 *
 * A number from the controllers (GW_RING_ANY): messages carry their sender's
 * number, so the first request goes out under one that is drawn; the answer
 * brings the real one, under which the process then starts anew, as the same
 * incarnation. Who drew a number that is taken is not answered, and draws
 * again. It may have got a number and never have heard of it; the first members
 * are admitted as they come, so it may then have been silent, and be convicted
 * by now: after some tries it comes as another incarnation.
 */
#include "ring_parts.h"

#include <string.h>
#include <sys/random.h>

static const uint64_t answer_ns = 400000000;

enum { TRIES_A_LIFE = 3 };

static bool is_controller(const struct gw_ring *ring, unsigned node)
{
    for (unsigned i = 0; i < ring->config.controller_count; i++)
        if (ring->config.controllers[i] == node)
            return true;
    return false;
}

static unsigned draw(const struct gw_ring *ring)
{
    uint8_t drawn = 0;
    do
        if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn)
            drawn++;
    while (is_controller(ring, drawn % GW_RING_NODES));
    return drawn % GW_RING_NODES;
}

/* Waits for an answer; true: *node is ours. */
static bool await_number(struct gw_ring *ring, unsigned *node)
{
    uint64_t until_ns = gw_now_ns() + answer_ns;
    gw__ring_lock(ring);
    while (!ring->registered && gw_now_ns() < until_ns &&
           !atomic_load(&ring->interrupted))
        gw__ring_nap(ring);
    bool registered = ring->registered;
    *node = ring->node;
    ring->registered = false;
    gw__ring_unlock(ring);
    return registered;
}

enum gw_err gw__ring_find_number(struct gw_ring *ring, gw__ring_starter *start,
                                 uint64_t deadline_ns, unsigned *node,
                                 struct gw_error *why)
{
    for (unsigned tries = 1;; tries++) {
        if (tries % TRIES_A_LIFE == 0 &&
            !gw__ring_next_life(ring->config.process, &ring->incarnation))
            return gw_fail_errno(why, "getrandom");
        enum gw_err err = start(ring, GW__NODE_ANY, draw(ring), why);
        if (err)
            return err;
        bool found = await_number(ring, node);
        gw__ring_stop(ring);
        gw__ring_lock(ring); /* of the number that was drawn it knew all */
        ring->registered = ring->gone = false;
        memset(ring->known_endpoints, 0, sizeof ring->known_endpoints);
        memset(&ring->known, 0, sizeof ring->known);
        err = gw__ring_alive(ring, why);
        gw__ring_unlock(ring);
        if (found || err)
            return err;
        if (deadline_ns && gw_now_ns() >= deadline_ns)
            return gw_fail(why, GW_ETIMEOUT,
                           "no controller has given this process a number");
    }
}
