/* SPDX-License-Identifier: MIT
 *
 * The drivers of this process, and their descriptions. Each request for a
 * description is a wish in the driver's queue, so its own thread reads its
 * state, between two steps. A driver whose thread hangs does not answer.
 */
#include "driver_parts.h"

#include "base/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gw__driver *first; /* list of all, by `next` */

/* ---- text ---- */

void gw__describe(struct gw__description *d, const char *format, ...)
{
    va_list args;
    size_t room = sizeof d->text - d->used;
    va_start(args, format);
    int bytes = vsnprintf(d->text + d->used, room, format, args);
    va_end(args);
    if (bytes > 0)
        d->used += (size_t)bytes < room ? (size_t)bytes : room - 1;
}

const char *gw__describe_since(uint64_t time_ns, uint64_t now_ns, char out[32])
{
    if (time_ns == 0)
        snprintf(out, 32, "never");
    else if (time_ns <= now_ns)
        snprintf(out, 32, "%llu ms ago",
                 (unsigned long long)((now_ns - time_ns) / 1000000));
    else
        snprintf(out, 32, "in %llu ms",
                 (unsigned long long)((time_ns - now_ns) / 1000000));
    return out;
}

void gw__describe_id(struct gw__description *d, struct gw__id id)
{
    gw__describe(d, "%llx.%08x", (unsigned long long)id.high,
                 (unsigned)(id.low >> 32));
}

/* ---- a driver ---- */

void gw__driver_enlist(struct gw__driver *driver)
{
    pthread_mutex_lock(&lock);
    driver->next = first;
    first = driver;
    pthread_mutex_unlock(&lock);
}

void gw__driver_delist(struct gw__driver *driver)
{
    pthread_mutex_lock(&lock);
    struct gw__driver **at = &first;
    while (*at && *at != driver)
        at = &(*at)->next;
    if (*at)
        *at = driver->next;
    pthread_mutex_unlock(&lock);
}

void gw__driver_describe(struct gw__driver *driver)
{
    const struct gw__driver_config *config = &driver->config;
    pthread_mutex_lock(&driver->lock);
    struct gw__description *d = &driver->described;
    d->used = 0;
    gw__describe(d, "%s, node %u, incarnation ", driver->kind->name,
                 config->channel.node);
    gw__describe_id(d, (struct gw__id){config->channel.incarnation_high,
                                       config->channel.incarnation_low});
    gw__describe(d, "%s%s\n", driver->failed ? ", FAILED: " : "",
                 driver->failed ? driver->error.text : "");
    if (config->describe)
        config->describe(driver->state, gw_now_ns(), d);
    driver->descriptions++;
    pthread_cond_broadcast(&driver->notified);
    pthread_mutex_unlock(&driver->lock);
}

/* ---- all of them ---- */

static size_t one(struct gw__driver *driver, char *out, size_t room,
                  uint64_t until_ns)
{
    const struct gw__wish wish = {.kind = GW__WISH_DESCRIBE};
    const struct timespec until = gw__clock_until(until_ns);
    int waited = 0, bytes;
    pthread_mutex_lock(&driver->lock);
    uint64_t before = driver->descriptions;
    pthread_mutex_unlock(&driver->lock);
    enum gw_err err = gw__driver_queue_add(&driver->queue, &wish, NULL);
    pthread_mutex_lock(&driver->lock);
    while (!err && driver->descriptions == before && waited != ETIMEDOUT)
        waited =
            pthread_cond_timedwait(&driver->notified, &driver->lock, &until);
    if (driver->descriptions > before)
        bytes = snprintf(out, room, "%s", driver->described.text);
    else
        bytes = snprintf(out, room, "%s, node %u: its thread does not answer\n",
                         driver->kind->name, driver->config.channel.node);
    pthread_mutex_unlock(&driver->lock);
    return bytes > 0 ? (size_t)bytes : 0;
}

size_t gw__drivers_describe(char *out, size_t room, uint64_t patience_ns)
{
    uint64_t until_ns = gw_now_ns() + patience_ns;
    size_t used = 0;
    out[0] = 0;
    pthread_mutex_lock(&lock);
    for (struct gw__driver *d = first; d && used < room; d = d->next)
        used += one(d, out + used, room - used, until_ns);
    pthread_mutex_unlock(&lock);
    return used < room ? used : room - 1;
}
