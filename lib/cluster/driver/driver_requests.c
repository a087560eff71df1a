/* SPDX-License-Identifier: MIT
 *
 * Requests to a driver from any thread.
 */
#include "driver_parts.h"

#include <string.h>

enum gw_err gw__driver_request(struct gw__driver *driver, const void *data,
                               size_t bytes)
{
    struct gw__wish wish = {.kind = GW__WISH_REQUEST, .bytes = bytes};
    if (bytes > GW__MESSAGE_MAX)
        return GW_EINVAL;
    return gw__driver_queue_add(&driver->queue, &wish, data);
}

enum gw_err gw__driver_send(struct gw__driver *driver, unsigned node,
                            const void *data, size_t bytes)
{
    struct gw__wish wish = {
        .kind = GW__WISH_SEND, .node = node, .bytes = bytes};
    const unsigned char *first = data;
    if (node >= GW__NODES_MAX || bytes == 0 || bytes > GW__MESSAGE_MAX ||
        *first < GW__STATE_TRANSFER)
        return GW_EINVAL;
    return gw__driver_queue_add(&driver->queue, &wish, data);
}

enum gw_err gw__driver_died(struct gw__driver *driver, unsigned node,
                            uint64_t incarnation)
{
    struct gw__wish wish = {
        .kind = GW__WISH_DIED, .node = node, .incarnation = incarnation};
    if (node >= GW__NODES_MAX)
        return GW_EINVAL;
    return gw__driver_queue_add(&driver->queue, &wish, NULL);
}

enum gw_err gw__driver_know(struct gw__driver *driver, unsigned node,
                            const char *endpoint)
{
    struct gw__wish wish = {
        .kind = GW__WISH_KNOW, .node = node, .bytes = strlen(endpoint) + 1};
    if (node >= GW__NODES_MAX ||
        (endpoint[0] && gw__control_channel_check_endpoint(endpoint, NULL)))
        return GW_EINVAL;
    return gw__driver_queue_add(&driver->queue, &wish, endpoint);
}

const void *gw__driver_state(const struct gw__driver *driver)
{
    return driver->state;
}

const char *gw__driver_endpoint(const struct gw__driver *driver)
{
    return gw__control_channel_endpoint(driver->channel);
}

enum gw_err gw__driver_error(struct gw__driver *driver, struct gw_error *why)
{
    pthread_mutex_lock(&driver->lock);
    struct gw_error error = driver->error;
    pthread_mutex_unlock(&driver->lock);
    return error.code ? gw_fail(why, error.code, "%s", error.text) : GW_OK;
}
