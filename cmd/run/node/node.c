/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The lives of a ring member. It starts with its number and first orders,
 * joins, works until it is asked to leave, and leaves. A member that is declared
 * dead while it sleeps or is cut off learns so by GW_ECLOSED, discards its
 * state, and joins again as a new incarnation:
 *
 *     start --> joining --> member --order to leave--> left
 *                 ^          | declared dead
 *                 +----------+
 */
#include "node.h"

#include "common/key.h"

#include <gradwire/plugin.h>
#include <gradwire/suspicion.h>

#include <stdio.h>

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
    node_update_status(node);
    node->ring = NULL;
    node->status.ring.member = node->status.ring.parked = false;
    node->status.ring.waits_for = -1;
    snprintf(node->status.phase, sizeof node->status.phase, "join");
    pthread_mutex_unlock(&node->lock);
    gw_ring_destroy(&ring);
}

/* The link profiles cannot change during a join. If they may prevent it, the
 * join gives up now and then and is repeated with the newest ones. */
static enum gw_err join_ring(void *context, const struct desired_state *desired,
                             struct gw_error *why)
{
    struct node *node = context;
    const struct child_config *child_config = &node->config;
    struct node_addresses addresses;
    struct gw_ring *ring;
    struct gw_ring_config config = {
        .node = child_config->number,
        .endpoint = addresses.own,
        .token = child_config->token,
        .process = child_config->process,
        .controller_count = child_config->controllers,
        .wire = child_config->wire,
        .key_file = key_file(),
        .events = event_queue_sink(node->queue),
        .join_timeout_ms = desired_state_has_cut(desired) ? CUT_JOIN_MS : 0,
        .links = desired->links,
        .pace_ns = desired->pace_ns,
        .holds = child_config->holds,
        .hold_count = child_config->hold_count,
        .suspicion = node->suspicion ? node->suspicion->suspicion : NULL,
        .algos = node->algos.algos,
        .algo_count = node->algos.whole ? 0 : node->algos.count,
        .run_algos = node->algos.algos,
        .run_algo_count = node->algos.whole ? node->algos.count : 0,
        .context = node,
        .state = node->state,
        .state_bytes = node->state_bytes,
        .apply = node_apply,
    };
    node_addresses_of(child_config, &addresses);
    for (unsigned c = 0; c < child_config->controllers; c++) {
        config.controllers[c] = CONTROLLER_NODE - c;
        config.controller_endpoints[c] = addresses.controllers[c];
    }
    enum gw_err code = gw_ring_join(&config, &ring, why);
    if (!code)
        set_ring(node, ring);
    return code;
}

static enum gw_err prepare_member(struct node *node, struct gw_error *why)
{
    enum gw_err code = node_fresh(node, why);
    if (!code)
        node_report(node, STAGE_JOINING);
    return code;
}

static enum gw_err become_member(struct node *node, struct gw_error *why)
{
    const struct node_beginning how = {.prepare = prepare_member,
                                       .join = join_ring,
                                       .context = node,
                                       .waits_for_work = true};
    return node_begin(node, &how, why);
}

/* GW_OK: it has left. GW_ECLOSED: it was declared dead. */
static enum gw_err run_member(struct node *node, struct gw_error *why)
{
    enum gw_err code = become_member(node, why);
    if (!code)
        node_report(node, STAGE_MEMBER);
    while (!code) {
        if (node->stale)
            return gw_ring_leave(node->ring, why) ? why->code : GW_ECLOSED;
        if (node_wants_to_leave(node)) {
            code = node_stays(node, gw_ring_leave(node->ring, why), why);
            if (code == GW_PENDING)
                continue;
            break;
        }
        code = node_turn(node, why);
    }
    return code;
}

static enum gw_err live_again(struct node *node, struct gw_error *why)
{
    for (;;) {
        enum gw_err code = run_member(node, why);
        node_report(node, code ? STAGE_JOINING : STAGE_LEFT);
        end_ring(node);
        if (code != GW_ECLOSED)
            return code;
        if (node_wants_to_leave(node))
            return GW_OK;
        pthread_mutex_lock(&node->lock);
        node->status.rejoined++;
        pthread_mutex_unlock(&node->lock);
        node_report_error(node, why);
    }
}

enum gw_err ring_live(struct node *node, struct gw_error *why)
{
    const char *suspicion = node->config.suspicion;
    enum gw_err code = GW_OK;
    if (*suspicion)
        code = gw_plugin_open(suspicion, GW_PLUGIN_SUSPICION, &node->suspicion,
                              why);
    if (!code)
        code = ring_algos_open(node->config.algos,
                               node->config.desired.work.collective,
                               &node->algos, why);
    if (!code)
        code = live_again(node, why);
    gw_plugin_close(&node->suspicion);
    return code;
}
