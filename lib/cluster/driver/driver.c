/* SPDX-License-Identifier: MIT
 *
 * The thread of a driver: its start, its turns and its end.
 *
 *     START --> turn: wishes, timers, messages, on_turn --> sleep
 *                 ^                                           |
 *                 +-- a wish, a message, the next timer, -----+
 *                     the time for on_turn
 *
 * It ends when its queue was closed and is empty, or when the machine has
 * failed. A turn handles a limited number of each kind and then continues
 * without a sleep, so that none of them starves the others.
 */
#include "driver_parts.h"

#include "base/clock.h"
#include "base/thread.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

enum { A_TURN = 256 }; /* limit for wishes and for messages */

_Static_assert((int)GW__NODES_MAX == (int)GW__CONTROL_CHANNEL_NODES,
               "numbers fit");
_Static_assert((int)GW__MESSAGE_MAX == (int)GW__CONTROL_CHANNEL_BYTES_MAX,
               "bytes fit");

/* ---- a turn; each function returns whether there may be more ---- */

static void fulfil(struct gw__driver *driver, const struct gw__wish *wish)
{
    const void *data = wish + 1;
    struct gw__input input = {.from = wish->node,
                              .incarnation = wish->incarnation,
                              .data = data,
                              .bytes = wish->bytes};
    struct gw_error why;
    switch ((enum gw__wish_kind)wish->kind) {
    case GW__WISH_REQUEST:
        input.kind = GW__REQUESTED;
        gw__driver_step(driver, &input);
        break;
    case GW__WISH_DIED:
        input.kind = GW__DIED;
        gw__driver_step(driver, &input);
        break;
    case GW__WISH_SEND:
        gw__control_channel_send(driver->channel, wish->node, data,
                                 wish->bytes);
        break;
    case GW__WISH_KNOW:
        if (gw__control_channel_know(driver->channel, wish->node, data, &why))
            gw__driver_fail(driver, why.code, "%s", why.text);
        break;
    case GW__WISH_DESCRIBE:
        gw__driver_describe(driver);
        break;
    }
}

static bool fulfil_wishes(struct gw__driver *driver, bool *over)
{
    for (unsigned i = 0; i < A_TURN && !driver->failed; i++) {
        const struct gw__wish *wish =
            gw__driver_queue_next(&driver->queue, over);
        if (!wish)
            return false;
        fulfil(driver, wish);
    }
    return true;
}

/* GW__TIMERS_MAX: none. */
static unsigned next_timer(const struct gw__driver *driver)
{
    unsigned next = GW__TIMERS_MAX;
    for (unsigned i = 0; i < GW__TIMERS_MAX; i++)
        if (driver->timers[i] != 0 &&
            (next == GW__TIMERS_MAX ||
             driver->timers[i] < driver->timers[next]))
            next = i;
    return next;
}

static bool fire_timers(struct gw__driver *driver)
{
    uint64_t now_ns = gw_now_ns();
    for (unsigned fired = 0; fired < GW__TIMERS_MAX; fired++) {
        unsigned timer = next_timer(driver);
        if (timer == GW__TIMERS_MAX || driver->timers[timer] > now_ns)
            return false;
        struct gw__input input = {.kind = GW__TIMER, .timer = timer};
        driver->timers[timer] = 0;
        gw__driver_step(driver, &input);
    }
    return true;
}

static void deliver_message(struct gw__driver *driver,
                            const struct gw__control_channel_message *message)
{
    const struct gw__driver_config *config = &driver->config;
    const unsigned char *first = message->data;
    struct gw__input input = {.kind = GW__MESSAGE,
                              .from = message->from,
                              .incarnation = message->incarnation_low,
                              .data = message->data,
                              .bytes = message->bytes};
    if (message->bytes == 0 || *first < GW__STATE_TRANSFER)
        gw__driver_step(driver, &input);
    else if (config->on_message)
        config->on_message(config->context, message->from,
                           (struct gw__id){message->incarnation_high,
                                           message->incarnation_low},
                           message->data, message->bytes);
}

static bool receive_messages(struct gw__driver *driver)
{
    struct gw__control_channel_message message;
    for (unsigned i = 0; i < A_TURN && !driver->failed; i++) {
        if (gw__control_channel_receive(driver->channel, &message) != GW_OK)
            return false;
        deliver_message(driver, &message);
    }
    return true;
}

/* ---- the thread ---- */

static void sleep_until_update(struct gw__driver *driver)
{
    unsigned timer = next_timer(driver);
    uint64_t until_ns = UINT64_MAX;
    if (timer < GW__TIMERS_MAX)
        until_ns = driver->timers[timer];
    if (driver->config.on_turn && until_ns > driver->turn_due_ns)
        until_ns = driver->turn_due_ns;
    gw__control_channel_wait(driver->channel, driver->queue.bell, until_ns);
}

/* False: it was the last one. */
static bool run_turn(struct gw__driver *driver)
{
    bool over = false;
    bool more = fulfil_wishes(driver, &over);
    more |= fire_timers(driver);
    more |= gw__driver_inspect(driver);
    more |= receive_messages(driver);
    if (driver->failed || over)
        return false;
    if (driver->config.on_turn)
        driver->turn_due_ns =
            gw_now_ns() + driver->config.on_turn(driver->config.context);
    if (!more)
        sleep_until_update(driver);
    return true;
}

static void *run_driver(void *context)
{
    struct gw__driver *driver = context;
    prctl(PR_SET_NAME, GW__CONTROL_THREAD); /* for tools that list threads */
    struct gw__input start = {.kind = GW__START,
                              .from = driver->config.channel.node,
                              .incarnation =
                                  driver->config.channel.incarnation_low,
                              .seed = driver->config.seed,
                              .data = driver->start,
                              .bytes = driver->config.start_bytes};
    gw__driver_step(driver, &start);
    while (run_turn(driver))
        ;
    gw__driver_queue_close(&driver->queue);
    return NULL;
}

static enum gw_err start_thread(struct gw__driver *driver, struct gw_error *why)
{
    return gw__thread_start(&driver->thread, run_driver, driver,
                            "the member machine", why);
}

/* ---- starting and stopping ---- */

static void destroy(struct gw__driver *driver)
{
    gw__control_channel_close(&driver->channel);
    gw__driver_queue_fini(&driver->queue);
    gw__disk_fini(&driver->disk);
    pthread_cond_destroy(&driver->notified);
    pthread_mutex_destroy(&driver->lock);
    free(driver->inspections);
    free(driver->start);
    free(driver->state);
    free(driver);
}

static enum gw_err prepare_driver(struct gw__driver *driver,
                                  struct gw_error *why)
{
    const struct gw__driver_config *config = &driver->config;
    driver->state = calloc(1, driver->kind->state_bytes + 1);
    driver->start = calloc(1, config->start_bytes + 1);
    driver->inspections = calloc(1, sizeof *driver->inspections);
    if (!driver->state || !driver->start || !driver->inspections)
        return gw_fail(why, GW_ENOMEM, "its state of %zu bytes",
                       driver->kind->state_bytes);
    if (config->start_bytes > 0)
        memcpy(driver->start, config->start, config->start_bytes);
    enum gw_err err = gw__driver_queue_init(&driver->queue, why);
    if (!err)
        err = gw__control_channel_open(&config->channel, &driver->channel, why);
    for (unsigned i = 0; !err && i < config->peer_count; i++)
        err = gw__control_channel_know(driver->channel, config->peers[i].node,
                                       config->peers[i].endpoint, why);
    return err ? err : start_thread(driver, why);
}

enum gw_err gw__driver_start(const struct gw__driver_config *config,
                             struct gw__driver **started, struct gw_error *why)
{
    struct gw__driver *driver = calloc(1, sizeof *driver);
    *started = NULL;
    if (!driver)
        return gw_fail(why, GW_ENOMEM, "%s", config->kind->name);
    driver->config = *config;
    driver->kind = config->kind;
    pthread_mutex_init(&driver->lock, NULL);
    gw__clock_cond_init(&driver->notified);
    enum gw_err err = prepare_driver(driver, why);
    if (err) {
        destroy(driver);
        return gw_wrap(why, err, "%s", config->kind->name);
    }
    gw__driver_enlist(driver);
    *started = driver;
    return GW_OK;
}

void gw__driver_stop(struct gw__driver **stopped)
{
    struct gw__driver *driver = *stopped;
    if (!driver)
        return;
    *stopped = NULL;
    assert(!pthread_equal(driver->thread, pthread_self()));
    gw__driver_delist(driver);
    gw__driver_queue_close(&driver->queue);
    pthread_join(driver->thread, NULL);
    destroy(driver);
}
