/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A member's process: its lives. It is born with its number and first orders,
 * joins, works until it is told to leave, and leaves. Who was convicted while
 * it slept or was cut off finds out by GW_ECLOSED, forgets its state, and joins
 * again as a new incarnation:
 *
 *     born --> joining --> member --order to leave--> left
 *                 ^          | convicted
 *                 +----------+
 */
#include "node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { CUT_JOIN_MS = 1500 };
#define AGAIN_NS UINT64_C(50000000)
/* A former process of our number is convicted by then. */
#define REFUSED_NS UINT64_C(10000000000)

static bool wants_to_leave(struct node *node)
{
    pthread_mutex_lock(&node->lock);
    bool leave = node->leave && !node->stays;
    pthread_mutex_unlock(&node->lock);
    return leave;
}

static void say(struct node *node, const struct gw_error *why)
{
    pthread_mutex_lock(&node->lock);
    snprintf(node->note.text, sizeof node->note.text, "%.199s", why->text);
    pthread_mutex_unlock(&node->lock);
}

/* ---- the ring ---- */

static void set_ring(struct node *node, struct gw_ring *ring)
{
    pthread_mutex_lock(&node->lock);
    node->ring = ring;
    for (unsigned n = 0; n < GW_RING_NODES; n++)
        gw_ring_rule(ring, n, &node->orders.links[n]);
    gw_ring_pace(ring, node->orders.pace_ns);
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
    char endpoints[RUN_CONTROLLERS_MAX + 1][ENDPOINT_MAX];
    struct gw_ring *ring;
    struct gw_ring_config config = {
        .node = birth->number,
        .endpoint = endpoints[RUN_CONTROLLERS_MAX],
        .token = birth->token,
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
    post_endpoint_of(birth->token, birth->number,
                     endpoints[RUN_CONTROLLERS_MAX]);
    for (unsigned c = 0; c < birth->controllers; c++) {
        config.controllers[c] = CONTROLLER_NODE - c;
        config.controller_endpoints[c] = endpoints[c];
        post_endpoint_of(birth->token, CONTROLLER_NODE - c, endpoints[c]);
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
           (code == GW_EINVAL && gw_now_ns() - refused_ns < REFUSED_NS);
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
        if (!may_try_again(code, began_ns) || wants_to_leave(node))
            break;
        say(node, why);
        node_nap(node, AGAIN_NS);
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
    say(node, why);
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
        if (wants_to_leave(node)) {
            code = leave(node, why);
            if (code == GW_PENDING)
                continue;
            break;
        }
        code = node_turn(node, why);
    }
    return code;
}

static enum gw_err live_and_again(struct node *node, struct gw_error *why)
{
    for (;;) {
        enum gw_err code = live(node, why);
        node_tell(node, code ? STAGE_JOINING : STAGE_LEFT);
        end_ring(node);
        if (code != GW_ECLOSED)
            return code;
        if (wants_to_leave(node))
            return GW_OK;
        pthread_mutex_lock(&node->lock);
        node->note.rejoined++;
        pthread_mutex_unlock(&node->lock);
        say(node, why);
    }
}

/* ---- the process ---- */

static enum gw_err node_init(struct node *node, struct gw_error *why)
{
    pthread_condattr_t attributes;
    node->orders = node->birth.orders;
    node->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (node->wake_fd < 0)
        return gw_fail_errno(why, "eventfd");
    pthread_mutex_init(&node->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&node->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    enum gw_err code = outbox_new(node->wake_fd, &node->outbox, why);
    if (code)
        return code;
    outbox_want(node->outbox, node->orders.events);
    return node_post_start(node, why);
}

static void node_fini(struct node *node)
{
    work_destroy(&node->work);
    work_destroy(&node->next);
    free(node->state);
    outbox_destroy(&node->outbox);
    pthread_cond_destroy(&node->changed);
    pthread_mutex_destroy(&node->lock);
    close(node->wake_fd);
}

int node_main(int argc, char **argv)
{
    static struct node node;
    struct gw_error why = {.code = GW_OK};
    if (!post_born(argc, argv, &node.birth))
        return gw_err_exit(GW_EINTERNAL);
    enum gw_err code = node_init(&node, &why);
    if (code) {
        post_send(POST_FD, POST_LAST, &why, sizeof why, true);
        return gw_err_exit(code);
    }
    code = live_and_again(&node, &why);
    if (code == GW_OK)
        why = (struct gw_error){.code = GW_OK};
    else
        fprintf(stderr, "node %u: %s\n", node.birth.number, why.text);
    node_post_end(&node, &why);
    node_fini(&node);
    return gw_err_exit(code);
}
