/* SPDX-License-Identifier: MIT
 *
 * Starts, stops and inspects a controller with its log and its driver. See
 * controller.h, and controller_machine.c for the communication between the two.
 */
#include "controller_parts.h"

#include "base/failpoint.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

void gw__controller_fail(struct gw__controller *c, const struct gw_error *why)
{
    pthread_mutex_lock(&c->lock);
    if (!c->error.code)
        c->error = *why;
    pthread_mutex_unlock(&c->lock);
}

/* The driver's first step waits at the lock until `driver` is set. */
static enum gw_err start_driver(struct gw__controller *c, struct gw_error *why)
{
    const struct gw__driver_config config = {
        .kind = &gw__controller_machine,
        .channel = c->config.channel,
        .seed = gw_hash(&c->service.incarnation, sizeof(struct gw__id), 0),
        .start = &c,
        .start_bytes = sizeof c,
        .context = c,
        .on_notify = gw__controller_on_notify,
        .describe = gw__controller_describe};
    pthread_mutex_lock(&c->lock);
    enum gw_err err = gw__driver_start(&config, &c->driver, why);
    pthread_mutex_unlock(&c->lock);
    return err;
}

static enum gw_err open_log(struct gw__controller *c, struct gw_error *why)
{
    const struct gw__controller_config *from = &c->config;
    const struct gw__raft_log_config config = {
        .index = from->index,
        .count = from->count,
        .addresses = from->raft_addresses,
        .directory = from->directory,
        .accept_loss = from->accept_loss,
        .security = from->channel.security,
        .profiles = from->channel.profiles,
        .nodes = c->nodes,
        .election_ms = from->election_ms ? from->election_ms : 150,
        .heartbeat_ms = from->heartbeat_ms ? from->heartbeat_ms : 30,
        .context = c,
        .on_entry = gw__controller_on_entry,
        .on_snapshot = gw__controller_on_snapshot,
        .on_leader = gw__controller_on_leader,
        .on_vote = gw__controller_on_vote};
    return gw__raft_log_open(&config, &c->log, why);
}

static struct gw__controller *
new_controller(const struct gw__controller_config *config, struct gw__id id)
{
    struct gw__controller *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->config = *config;
    c->config.channel.incarnation_high = id.high;
    c->config.channel.incarnation_low = id.low;
    c->end = &c->first;
    c->status.leader = GW__NODES_MAX;
    pthread_mutex_init(&c->lock, NULL);
    memcpy(c->nodes, config->nodes, config->count * sizeof *c->nodes);
    c->service.node = config->channel.node;
    c->service.incarnation = id;
    strncpy(c->service.endpoint, config->channel.endpoint,
            GW__ENDPOINT_MAX - 1);
    return c;
}

enum gw_err gw__controller_start(const struct gw__controller_config *config,
                                 struct gw__controller **controller,
                                 struct gw_error *why)
{
    *controller = NULL;
    if (config->count == 0 || config->count > GW__CONTROLLERS_MAX ||
        config->index >= config->count)
        return gw_fail(why, GW_EINVAL,
                       "controller %u of %u: there can be 1 to %d controllers",
                       config->index, config->count, GW__CONTROLLERS_MAX);
    struct gw__id id = {config->channel.incarnation_high,
                        config->channel.incarnation_low};
    enum gw_err err = gw__failpoints_begin(why);
    if (!err && gw__id_is_none(id))
        err = gw__draw(&id, sizeof id, why);
    if (err)
        return err;
    struct gw__controller *c = new_controller(config, id);
    if (!c)
        return gw_fail(why, GW_ENOMEM, "a controller");
    err = open_log(c, why);
    if (!err)
        err = start_driver(c, why);
    if (!err)
        err = gw__raft_log_run(c->log, why);
    if (err)
        gw__controller_stop(&c);
    *controller = c;
    return err;
}

/* The log ends first, since it sends requests to the driver. The driver then
 * finishes the requests in its queue. Proposals that it still makes are
 * refused. */
void gw__controller_stop(struct gw__controller **controller)
{
    struct gw__controller *c = *controller;
    if (!c)
        return;
    *controller = NULL;
    struct gw__driver *driver = c->driver; /* its thread still uses it */
    if (c->log)
        gw__raft_log_stop(c->log);
    gw__driver_stop(&driver);
    gw__raft_log_close(&c->log);
    gw__controller_drop_update(c);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

enum gw_err gw__controller_error(struct gw__controller *c, struct gw_error *why)
{
    enum gw_err err = gw__driver_error(c->driver, why);
    if (!err)
        err = gw__raft_log_error(c->log, why);
    pthread_mutex_lock(&c->lock);
    struct gw_error error = c->error;
    pthread_mutex_unlock(&c->lock);
    return err || !error.code ? err
                              : gw_fail(why, error.code, "%s", error.text);
}

void gw__controller_cut(struct gw__controller *c, unsigned node, bool down)
{
    for (unsigned i = 0; i < c->config.count; i++)
        if (c->nodes[i] == node)
            gw__raft_log_cut(c->log, i, down);
}
