/* SPDX-License-Identifier: MIT
 *
 * See supervised.h. There is one such member per process, at most. Its
 * thread starts with the first gw_ring_from_env and ends with the process: when
 * the supervisor ends, so does the process (a parent-death signal).
 *
 *     program    gw_ring_from_env --> ring --> destroyed --> ring ...
 *     messenger  orders --> ring; status, events --> supervisor
 *
 * `lock` guards all but the queue of events. The messenger uses the ring under
 * it, so that the program cannot destroy the ring meanwhile.
 */
#include "supervised.h"
#include "event_queue.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/link_profile.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { TURN_MS = 20, CUT_JOIN_MS = 1500 };
/* By then the death of a former process of the same number is known. */
#define REFUSED_NS UINT64_C(10000000000)
#define AGAIN_NS   UINT64_C(50000000)

static struct supervised {
    pthread_mutex_t lock;
    pid_t process; /* a forked child does not inherit the thread; 0: none */
    int fd;
    pthread_t messenger;
    struct gw__supervised_orders orders;
    struct gw_ring *ring; /* NULL: not a member now */
    struct gw__supervised_status status;
    uint64_t sent; /* hash of the last status sent */
    struct gw__event_queue queue;
} supervised = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* ---- messages ---- */

static bool send_message(enum gw__supervised_kind kind, void *data,
                         size_t bytes, bool wait)
{
    struct gw__supervised_head head = {GW__SUPERVISED_MAGIC, (uint32_t)kind,
                                       bytes};
    struct iovec parts[] = {{&head, sizeof head}, {data, bytes}};
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t sent;
    do
        sent = sendmsg(supervised.fd, &message,
                       MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT));
    while (sent < 0 && errno == EINTR);
    return sent >= 0;
}

/* False: there are no new orders now. */
static bool receive_orders(struct gw__supervised_orders *orders)
{
    struct gw__supervised_head head = {0};
    struct iovec parts[] = {{&head, sizeof head}, {orders, sizeof *orders}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t got;
    do
        got = recvmsg(supervised.fd, &message, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)(sizeof head + sizeof *orders) &&
           head.magic == GW__SUPERVISED_MAGIC &&
           head.kind == GW__SUPERVISED_ORDERS &&
           strcmp(orders->version, GW_VERSION) == 0;
}

/* ---- the status; with `lock` held ---- */

/* An event leaves the queue once the socket has it. */
static void send_events(void)
{
    static struct gw_event row[GW__SUPERVISED_EVENTS_MAX];
    size_t count;
    while ((count = gw__event_queue_row(&supervised.queue, row)) > 0 &&
           send_message(GW__SUPERVISED_EVENTS, row, count * sizeof *row, false))
        gw__event_queue_remove(&supervised.queue, count);
}

static void update_status(void)
{
    struct gw__supervised_status *status = &supervised.status;
    status->events_dropped = gw__event_queue_dropped(&supervised.queue);
    if (!supervised.ring)
        return;
    gw_ring_status(supervised.ring, &status->ring);
    snprintf(status->phase, sizeof status->phase, "%s", status->ring.phase);
    status->ring.phase = NULL;
}

static void send_status(bool wait)
{
    struct gw__supervised_status *status = &supervised.status;
    update_status();
    uint64_t hash = gw_hash(status, sizeof *status, 0);
    if (hash != supervised.sent &&
        send_message(GW__SUPERVISED_STATUS, status, sizeof *status, wait))
        supervised.sent = hash;
}

/* ---- orders; with `lock` held ---- */

static void obey(const struct gw__supervised_orders *old)
{
    const struct gw__supervised_orders *new = &supervised.orders;
    struct gw_ring *ring = supervised.ring;
    supervised.queue.wanted = new->events;
    if (new->clock_rate < old->clock_rate || new->clock_rate > old->clock_rate)
        gw__clock_set_rate(new->clock_rate);
    if (!ring)
        return;
    for (unsigned n = 0; n < GW_RING_NODES; n++)
        if (!gw__link_profile_equal(&old->links[n], &new->links[n]))
            gw_ring_emulate_link(ring, n, &new->links[n]);
    gw_ring_pace(ring, new->pace_ns);
    struct gw_error why;
    if (gw_ring_order(ring, new->order, new->order_count, &why))
        snprintf(supervised.status.text, sizeof supervised.status.text,
                 "%.199s", why.text);
}

static void take_orders(void)
{
    static struct gw__supervised_orders newest;
    while (receive_orders(&newest)) {
        const struct gw__supervised_orders old = supervised.orders;
        supervised.orders = newest;
        obey(&old);
    }
}

static void *run_messenger(void *context)
{
    (void)context;
    for (short ready = 0; !(ready & (POLLHUP | POLLNVAL));) {
        ready = gw__file_wait(supervised.fd, POLLIN, TURN_MS);
        pthread_mutex_lock(&supervised.lock);
        take_orders();
        send_status(false);
        send_events();
        pthread_mutex_unlock(&supervised.lock);
    }
    return NULL; /* the supervisor has ended */
}

/* ---- the start ---- */

bool gw__supervised(void)
{
    const char *fd = getenv(GW__SUPERVISED_VARIABLE);
    return fd && *fd;
}

static bool is_mine(const struct gw_ring *ring)
{
    return ring && supervised.ring == ring && supervised.process == getpid();
}

/* With `lock` held: reads the first orders, and starts the messenger. */
static enum gw_err start(struct gw_error *why)
{
    const char *text = getenv(GW__SUPERVISED_VARIABLE);
    if (supervised.process == getpid())
        return GW_OK;
    supervised.fd = text ? (int)strtol(text, NULL, 10) : -1;
    gw__event_queue_init(&supervised.queue);
    if (!receive_orders(&supervised.orders))
        return gw_fail(why, GW_EINVAL,
                       "%s=%.20s: it is not the socket of a supervisor of "
                       "version %s",
                       GW__SUPERVISED_VARIABLE, text ? text : "", GW_VERSION);
    fcntl(supervised.fd, F_SETFD, FD_CLOEXEC);
    if (supervised.orders.clock_rate < 1 || supervised.orders.clock_rate > 1)
        gw__clock_set_rate(supervised.orders.clock_rate);
    supervised.queue.wanted = supervised.orders.events;
    supervised.status.progress.loss = (double)NAN;
    enum gw_err err =
        gw__thread_start(&supervised.messenger, run_messenger, NULL,
                         "the messenger to the supervisor", why);
    if (!err)
        supervised.process = getpid();
    return err;
}

/* ---- joining ---- */

static struct gw_ring_config
config_of(const struct gw_ring_config *caller,
          const struct gw__supervised_orders *orders)
{
    struct gw_ring_config config = *caller;
    config.node = orders->node;
    config.token = orders->token;
    config.process = orders->process;
    config.endpoint = orders->endpoint;
    config.controller_count = orders->controller_count;
    for (unsigned c = 0; c < orders->controller_count; c++) {
        config.controllers[c] = orders->controllers[c];
        config.controller_endpoints[c] = orders->controller_endpoints[c];
    }
    config.wire = orders->wire;
    config.links = orders->links;
    config.pace_ns = orders->pace_ns;
    config.key_file =
        config.key_file ? config.key_file : getenv("GRADWIRE_KEY");
    config.events = config.events ? config.events : &supervised.queue.sink;
    return config;
}

/* The profiles of links cannot change during a join. If they may prevent it,
 * the join ends now and then, and is repeated with the newest ones. */
static void limit_join(struct gw_ring_config *config)
{
    for (unsigned n = 0; n < GW_RING_NODES; n++)
        if (config->links[n].down &&
            (!config->join_timeout_ms || config->join_timeout_ms > CUT_JOIN_MS))
            config->join_timeout_ms = CUT_JOIN_MS;
}

static enum gw_err join_once(const struct gw_ring_config *caller,
                             struct gw_ring **ring, struct gw_error *why)
{
    struct gw__supervised_orders *orders = malloc(sizeof *orders);
    if (!orders)
        return gw_fail(why, GW_ENOMEM, "no memory for the orders");
    pthread_mutex_lock(&supervised.lock);
    *orders = supervised.orders;
    pthread_mutex_unlock(&supervised.lock);
    struct gw_ring_config config = config_of(caller, orders);
    limit_join(&config);
    enum gw_err err = gw_ring_join(&config, ring, why);
    free(orders);
    return err;
}

/* Others may not have noticed the death of the predecessor yet, or may be out
 * of reach now. */
static bool may_try_again(const struct gw_ring_config *caller, enum gw_err err,
                          uint64_t since_ns)
{
    uint64_t limit_ns = caller->join_timeout_ms * UINT64_C(1000000);
    uint64_t waited_ns = gw_now_ns() - since_ns;
    return err == GW_ECLOSED ||
           (err == GW_ETIMEOUT && (!limit_ns || waited_ns < limit_ns)) ||
           (err == GW_EINVAL && waited_ns < REFUSED_NS);
}

static void set_stage(enum gw__supervised_stage stage)
{
    pthread_mutex_lock(&supervised.lock);
    supervised.status.stage = stage;
    pthread_mutex_unlock(&supervised.lock);
}

enum gw_err gw__supervised_join(const struct gw_ring_config *config,
                                struct gw_ring **ring, struct gw_error *why)
{
    const struct timespec again = {.tv_nsec = AGAIN_NS};
    uint64_t since_ns = gw_now_ns();
    *ring = NULL;
    pthread_mutex_lock(&supervised.lock);
    enum gw_err err = start(why);
    bool second = supervised.ring != NULL;
    pthread_mutex_unlock(&supervised.lock);
    if (!err && second)
        err = gw_fail(why, GW_EINVAL,
                      "a supervised process can be one member of one ring");
    if (err)
        return gw_wrap(why, err, "ring: join");
    set_stage(GW__SUPERVISED_JOINS);
    while ((err = join_once(config, ring, why)) != GW_OK &&
           may_try_again(config, err, since_ns))
        nanosleep(&again, NULL);
    if (err)
        return err;
    pthread_mutex_lock(&supervised.lock);
    supervised.ring = *ring;
    supervised.status.stage = GW__SUPERVISED_MEMBER;
    supervised.status.joins++;
    obey(&(struct gw__supervised_orders){.clock_rate =
                                             supervised.orders.clock_rate});
    send_status(false);
    pthread_mutex_unlock(&supervised.lock);
    return GW_OK;
}

/* ---- hooks of the ring ---- */

void gw__supervised_compute(struct gw_ring *ring)
{
    uint64_t began_ns = gw_now_ns(), slow_ns = 0;
    const struct timespec turn = {.tv_nsec = TURN_MS * 1000000L};
    do {
        if (slow_ns)
            nanosleep(&turn, NULL); /* the orders may change meanwhile */
        pthread_mutex_lock(&supervised.lock);
        slow_ns = is_mine(ring) ? supervised.orders.slow_ns : 0;
        pthread_mutex_unlock(&supervised.lock);
    } while (slow_ns && gw_now_ns() - began_ns < slow_ns);
}

void gw__supervised_report(struct gw_ring *ring,
                           const struct gw_ring_progress *progress)
{
    pthread_mutex_lock(&supervised.lock);
    if (is_mine(ring))
        supervised.status.progress = *progress;
    pthread_mutex_unlock(&supervised.lock);
}

void gw__supervised_left(struct gw_ring *ring)
{
    pthread_mutex_lock(&supervised.lock);
    if (is_mine(ring)) {
        supervised.status.stage = GW__SUPERVISED_LEFT;
        send_status(true);
    }
    pthread_mutex_unlock(&supervised.lock);
}

void gw__supervised_destroy(struct gw_ring *ring)
{
    pthread_mutex_lock(&supervised.lock);
    if (is_mine(ring)) {
        struct gw__supervised_status *status = &supervised.status;
        update_status();
        snprintf(status->text, sizeof status->text, "%.199s",
                 status->ring.text);
        status->ring.member = status->ring.parked = false;
        status->ring.waits_for = -1;
        if (status->stage == GW__SUPERVISED_MEMBER)
            status->stage = GW__SUPERVISED_JOINS;
        supervised.ring = NULL;
        send_status(true);
        send_events();
    }
    pthread_mutex_unlock(&supervised.lock);
}
