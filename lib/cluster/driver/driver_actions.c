/* SPDX-License-Identifier: MIT
 *
 * Executes the actions of a machine's step. They take effect at once, in order,
 * until one breaks the contract (base/machine.h). Then the machine has failed,
 * and its later actions have no effect.
 */
#include "driver_parts.h"

#include <stdarg.h>
#include <stdio.h>

void gw__driver_fail(struct gw__driver *driver, enum gw_err code,
                     const char *format, ...)
{
    char notification[256];
    va_list args;
    va_start(args, format);
    vsnprintf(notification, sizeof notification, format, args);
    va_end(args);
    pthread_mutex_lock(&driver->lock);
    if (!driver->failed)
        gw_fail(&driver->error, code, "%s on node %u: %s", driver->kind->name,
                driver->config.channel.node, notification);
    pthread_mutex_unlock(&driver->lock);
    driver->failed = true;
}

static void act_send(void *context, uint32_t to, const void *data, size_t bytes)
{
    struct gw__driver *driver = context;
    const unsigned char *first = data;
    if (driver->failed)
        return;
    if (to >= GW__NODES_MAX || bytes > GW__MESSAGE_MAX)
        gw__driver_fail(driver, GW_EINTERNAL,
                        "it sends %zu bytes to node %u; a message has at most "
                        "%d bytes, and nodes are numbered below %d",
                        bytes, to, GW__MESSAGE_MAX, GW__NODES_MAX);
    else if (bytes > 0 && *first >= GW__STATE_TRANSFER)
        gw__driver_fail(
            driver, GW_EINTERNAL,
            "it sends a message that begins with byte %u; it must be below %d",
            *first, GW__STATE_TRANSFER);
    else
        gw__control_channel_send(driver->channel, to, data,
                                 bytes); /* a failure means that the message is
                                            lost */
}

static void act_set_timer(void *context, uint32_t timer, uint64_t at_ns)
{
    struct gw__driver *driver = context;
    if (driver->failed)
        return;
    if (timer >= GW__TIMERS_MAX)
        gw__driver_fail(driver, GW_EINTERNAL,
                        "it sets timer %u; timers are numbered below %d", timer,
                        GW__TIMERS_MAX);
    else
        driver->timers[timer] = at_ns;
}

static void act_persist(void *context, uint32_t key, const void *data,
                        size_t bytes)
{
    struct gw__driver *driver = context;
    if (!driver->failed && !gw__disk_write(&driver->disk, key, data, bytes))
        gw__driver_fail(driver, GW_ENOMEM, "it persists %zu bytes", bytes);
}

static const void *act_load(void *context, uint32_t key, size_t *bytes)
{
    struct gw__driver *driver = context;
    *bytes = 0;
    if (!driver->starting)
        gw__driver_fail(driver, GW_EINTERNAL,
                        "it loads its state outside of START");
    return driver->failed ? NULL : gw__disk_read(&driver->disk, key, bytes);
}

static void act_notify(void *context, const void *data, size_t bytes)
{
    struct gw__driver *driver = context;
    if (!driver->failed && driver->config.on_notify)
        driver->config.on_notify(driver->config.context, data, bytes);
}

static void act_inspect(void *context, uint32_t node, uint64_t incarnation)
{
    struct gw__driver *driver = context;
    if (driver->failed || node >= GW__NODES_MAX)
        return;
    gw__nodes_add(&driver->inspections->wanted, node);
    driver->inspections->of[node].incarnation = incarnation;
}

void gw__driver_step(struct gw__driver *driver, struct gw__input *input)
{
    const struct gw__actions actions = {
        .driver = driver,
        .send = act_send,
        .set_timer = act_set_timer,
        .persist = act_persist,
        .load = act_load,
        .notify = act_notify,
        .inspect = act_inspect,
    };
    if (driver->failed)
        return;
    driver->starting = input->kind == GW__START;
    input->now_ns = gw_now_ns();
    driver->kind->step(driver->state, input, &actions);
}
