/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A ring member's lives. It is born with its number and first orders, joins,
 * works until it is told to leave, and leaves. Who was convicted while it slept
 * or was cut off finds out by GW_ECLOSED, forgets its state, and joins again as
 * a new incarnation:
 *
 *     born --> joining --> member --order to leave--> left
 *                 ^          | convicted
 *                 +----------+
 */
#include "node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CUT_JOIN_MS = 1500 };

/* ---- the ring ---- */

static void set_ring(struct node *node, struct gw_ring *ring)
{
    pthread_mutex_lock(&node->lock);
    node->ring = ring;
    node_obey(node);
    pthread_mutex_unlock(&node->lock);
}

static void end_ring(struct node *node)
{
    struct gw_ring *ring = node->ring;
    pthread_mutex_lock(&node->lock);
    node_look(node);
    node->ring = NULL;
    node->note.ring.member = node->note.ring.parked = false;
    node->note.ring.waits_for = -1;
    snprintf(node->note.phase, sizeof node->note.phase, "join");
    pthread_mutex_unlock(&node->lock);
    gw_ring_destroy(&ring);
}

static bool is_cut(const struct orders *orders)
{
    for (unsigned n = 0; n < GW_RING_NODES; n++)
        if (orders->links[n].down)
            return true;
    return false;
}

/* Rules cannot be changed while it joins: if it may be that it cannot join by
 * the present ones it gives up now and then, and tries by the newest. */
static enum gw_err join(struct node *node, const struct orders *orders,
                        struct gw_error *why)
{
    const struct birth *birth = &node->birth;
    struct node_addresses addresses;
    struct gw_ring *ring;
    struct gw_ring_config config = {
        .node = birth->number,
        .endpoint = addresses.own,
        .token = birth->token,
        .process = birth->process,
        .controller_count = birth->controllers,
        .wire = birth->wire,
        .events = outbox_sink(node->outbox),
        .join_timeout_ms = is_cut(orders) ? CUT_JOIN_MS : 0,
        .links = orders->links,
        .pace_ns = orders->pace_ns,
        .context = node,
        .state = node->state,
        .state_bytes = node->state_bytes,
        .apply = node_apply,
    };
    node_addresses_of(birth, &addresses);
    for (unsigned c = 0; c < birth->controllers; c++) {
        config.controllers[c] = CONTROLLER_NODE - c;
        config.controller_endpoints[c] = addresses.controllers[c];
    }
    enum gw_err code = gw_ring_join(&config, &ring, why);
    if (!code)
        set_ring(node, ring);
    return code;
}

/* Others are at other work still, or have not missed our predecessor yet. */
static bool may_try_again(enum gw_err code, uint64_t refused_ns)
{
    return code == GW_EMISMATCH || code == GW_ETIMEOUT || code == GW_ECLOSED ||
           (code == GW_EINVAL && gw_now_ns() - refused_ns < NODE_REFUSED_NS);
}

static enum gw_err become_member(struct node *node, struct gw_error *why)
{
    uint64_t began_ns = gw_now_ns();
    struct orders *orders = malloc(sizeof *orders);
    enum gw_err code = GW_OK;
    if (!orders)
        return gw_fail(why, GW_ENOMEM, "no memory for orders");
    for (;;) {
        code = node_fresh(node, why);
        if (code)
            break;
        node_tell(node, STAGE_JOINING);
        pthread_mutex_lock(&node->lock);
        *orders = node->orders;
        pthread_mutex_unlock(&node->lock);
        code = join(node, orders, why);
        if (!may_try_again(code, began_ns) || node_wants_to_leave(node))
            break;
        node_say(node, why);
        node_nap(node, NODE_AGAIN_NS);
    }
    free(orders);
    return code;
}

/* GW_OK: it has left. GW_PENDING: it is the last, and stays. */
static enum gw_err leave(struct node *node, struct gw_error *why)
{
    enum gw_err code = gw_ring_leave(node->ring, why);
    if (code != GW_EINVAL)
        return code;
    node->stays = true;
    node_say(node, why);
    return GW_PENDING;
}

/* GW_OK: it has left. GW_ECLOSED: convicted. */
static enum gw_err live(struct node *node, struct gw_error *why)
{
    enum gw_err code = become_member(node, why);
    if (!code)
        node_tell(node, STAGE_MEMBER);
    while (!code) {
        if (node->stale)
            return gw_ring_leave(node->ring, why) ? why->code : GW_ECLOSED;
        if (node_wants_to_leave(node)) {
            code = leave(node, why);
            if (code == GW_PENDING)
                continue;
            break;
        }
        code = node_turn(node, why);
    }
    return code;
}

enum gw_err ring_live(struct node *node, struct gw_error *why)
{
    for (;;) {
        enum gw_err code = live(node, why);
        node_tell(node, code ? STAGE_JOINING : STAGE_LEFT);
        end_ring(node);
        if (code != GW_ECLOSED)
            return code;
        if (node_wants_to_leave(node))
            return GW_OK;
        pthread_mutex_lock(&node->lock);
        node->note.rejoined++;
        pthread_mutex_unlock(&node->lock);
        node_say(node, why);
    }
}
