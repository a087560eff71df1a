/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The poster: receives orders, sends notes and events. SIGTERM counts as an
 * order to leave. A note is a complete status, so a newer one replaces one that
 * has not been sent. A changed note is sent at most every 20 ms, in a large ring
 * less often.
 */
#include "node.h"

#include <base/clock.h>
#include <base/link_profile.h>
#include <base/thread.h>
#include <cluster/detector/detector.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define STATUS_NS UINT64_C(20000000)

struct poster {
    struct node *node;
    char packed[CHILD_CHANNEL_BYTES_MAX]; /* its status */
    uint64_t sent;                        /* hash of the last one sent */
    uint64_t sent_ns;
    bool blocked; /* the socket was full */
};

/* ---- orders ---- */

static void set_link(struct node *node, unsigned from,
                     const struct gw_link_profile *link)
{
    if (node->ring)
        gw_ring_emulate_link(node->ring, from, link);
    if (node->ps)
        gw_ps_emulate_link(node->ps, from, link);
    if (node->server)
        gw_ps_server_emulate_link(node->server, from, link);
}

static void pace(struct node *node, uint64_t ns)
{
    if (node->ring)
        gw_ring_pace(node->ring, ns);
    if (node->ps)
        gw_ps_pace(node->ps, ns);
    if (node->server)
        gw_ps_server_pace(node->server, ns);
}

static void order(struct node *node, const struct gw__order *wanted)
{
    unsigned nodes[GW_RING_NODES];
    struct gw_error why;
    for (unsigned i = 0; i < wanted->count; i++)
        nodes[i] = wanted->nodes[i];
    if (node->ring && gw_ring_order(node->ring, nodes, wanted->count, &why))
        fprintf(stderr, "node %u: %s\n", node->config.number, why.text);
}

void node_obey(struct node *node)
{
    order(node, &node->desired.order);
    for (unsigned n = 0; n < GW_RING_NODES; n++)
        set_link(node, n, &node->desired.links[n]);
    pace(node, node->desired.pace_ns);
}

static void drift(double before, double rate)
{
    if (rate < before || rate > before)
        gw__clock_set_rate(rate);
}

/* Describes the node in one line. */
static void report_known(struct node *node)
{
    char text[512];
    pthread_mutex_lock(&node->lock);
    const struct node_status *status = &node->status;
    snprintf(text, sizeof text,
             "%s, phase %s, done %d, rejoined %llu times, ring %s, worker %s, "
             "server %s: \"%.199s\"",
             status->stage == STAGE_JOINING  ? "joining"
             : status->stage == STAGE_MEMBER ? "a member"
                                             : "left",
             status->phase, status->done, (unsigned long long)status->rejoined,
             node->ring ? "made" : "none", node->ps ? "made" : "none",
             node->server ? "made" : "none", status->text);
    pthread_mutex_unlock(&node->lock);
    child_channel_known(text);
}

static void obey(void *context, const struct desired_state *desired)
{
    struct node *node = context;
    if (desired->end)
        _exit(0); /* the run is over: the process ends at once */
    event_queue_want(node->queue, desired->events);
    if (desired->describe > node->described)
        report_known(node);
    node->described = desired->describe;
    pthread_mutex_lock(&node->lock);
    struct desired_state *old = &node->desired;
    for (unsigned n = 0; n < GW_RING_NODES; n++)
        if (!gw__link_profile_equal(&old->links[n], &desired->links[n]))
            set_link(node, n, &desired->links[n]);
    if (old->pace_ns != desired->pace_ns)
        pace(node, desired->pace_ns);
    if (memcmp(&old->order, &desired->order, sizeof old->order) != 0)
        order(node, &desired->order);
    drift(old->clock_rate, desired->clock_rate);
    *old = *desired;
    node->leave = node->leave || desired->leave;
    pthread_cond_broadcast(&node->changed);
    pthread_mutex_unlock(&node->lock);
}

/* ---- leaving ---- */

static int sigterm_fd = -1;
static volatile sig_atomic_t terminated;

static void on_sigterm(int number)
{
    int saved = errno;
    (void)number;
    terminated = 1;
    eventfd_write(sigterm_fd, 1);
    errno = saved;
}

static void catch_sigterm(int wake_fd)
{
    struct sigaction action = {.sa_handler = on_sigterm};
    sigterm_fd = wake_fd;
    sigaction(SIGTERM, &action, NULL);
}

/* Main handles leaving, unless the node is still joining: other members do not
 * expect it yet. A worker may be waiting for others; they finish its item. */
static void see_to_leaving(struct node *node)
{
    pthread_mutex_lock(&node->lock);
    if (terminated && !node->leave) {
        node->leave = true;
        pthread_cond_broadcast(&node->changed);
    }
    bool joined = node->ring || node->ps || node->server;
    bool at_once =
        node->leave && !joined && node->status.stage == STAGE_JOINING;
    if (node->leave && node->ps)
        gw_ps_interrupt(node->ps);
    if (at_once)
        node->status.stage = STAGE_LEFT;
    if (at_once) { /* no other thread needs the lock any more */
        child_channel_send_status(CHILD_CHANNEL_FD, &node->status, true);
        _exit(0);
    }
    pthread_mutex_unlock(&node->lock);
}

/* ---- notes ---- */

static void update_server_status(struct node *node)
{
    struct node_status *status = &node->status;
    gw_ps_server_get_status(node->server, &status->server);
    memcpy(status->text, status->server.text, sizeof status->text);
}

void node_update_status(struct node *node)
{
    struct gw_ring_status status;
    struct node_status *node_status = &node->status;
    if (node->server)
        update_server_status(node);
    if (!node->ring)
        return;
    gw_ring_status(node->ring, &status);
    snprintf(node_status->phase, sizeof node_status->phase, "%s", status.phase);
    status.phase = NULL;
    node_status->ring = status;
    if (status.text[0])
        memcpy(node_status->text, status.text, sizeof node_status->text);
}

static size_t compose(struct node *node, char out[CHILD_CHANNEL_BYTES_MAX])
{
    pthread_mutex_lock(&node->lock);
    node_update_status(node);
    node->status.events_dropped = event_queue_dropped(node->queue);
    size_t bytes = node_status_pack(&node->status, out);
    pthread_mutex_unlock(&node->lock);
    return bytes;
}

/* The time between two notes. */
static uint64_t status_ns(struct node *node)
{
    pthread_mutex_lock(&node->lock);
    unsigned members = node->status.ring.size;
    pthread_mutex_unlock(&node->lock);
    return gw__interval_ns(STATUS_NS, members);
}

static void send_status(struct poster *poster)
{
    uint64_t now = gw_now_ns();
    if (now - poster->sent_ns < status_ns(poster->node))
        return;
    size_t bytes = compose(poster->node, poster->packed);
    uint64_t hash = gw_hash(poster->packed, bytes, 0);
    if (hash == poster->sent)
        return;
    if (child_channel_send(CHILD_CHANNEL_FD, CHILD_CHANNEL_STATUS,
                           poster->packed, bytes, false) != GW_OK) {
        poster->blocked = true;
        return;
    }
    poster->sent = hash;
    poster->sent_ns = now;
}

/* ---- the thread ---- */

static bool is_over(struct node *node)
{
    pthread_mutex_lock(&node->lock);
    bool over = node->over;
    pthread_mutex_unlock(&node->lock);
    return over;
}

static void *child_channel(void *context)
{
    static struct poster poster; /* one per process */
    struct node *node = context;
    poster.node = node;
    while (!is_over(node)) {
        desired_state_await(node->wake_fd, (int)(status_ns(node) / 1000000),
                            poster.blocked, obey, node);
        see_to_leaving(node);
        poster.blocked = false;
        send_status(&poster);
        if (event_queue_send(node->queue, CHILD_CHANNEL_FD) == GW_PENDING)
            poster.blocked = true;
    }
    return NULL;
}

enum gw_err node_child_channel_start(struct node *node, struct gw_error *why)
{
    catch_sigterm(node->wake_fd);
    return gw__thread_start(&node->poster, child_channel, node,
                            "the messenger of the node", why);
}

void node_child_channel_end(struct node *node, const struct gw_error *error)
{
    char packed[CHILD_CHANNEL_BYTES_MAX];
    pthread_mutex_lock(&node->lock);
    node->over = true;
    pthread_mutex_unlock(&node->lock);
    eventfd_write(node->wake_fd, 1);
    pthread_join(node->poster, NULL);
    event_queue_send(node->queue, CHILD_CHANNEL_FD);
    size_t bytes = compose(node, packed);
    child_channel_send(CHILD_CHANNEL_FD, CHILD_CHANNEL_STATUS, packed, bytes,
                       true);
    if (error->code)
        child_channel_send(CHILD_CHANNEL_FD, CHILD_CHANNEL_EXIT, error,
                           sizeof *error, true);
}
