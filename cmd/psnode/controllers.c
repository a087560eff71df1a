/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See controllers.h. Reports of the library's threads are stored under a lock.
 */
#include "controllers.h"

#include "psnode.h"

#include <cluster/controller/controller.h>
#include <cluster/session/session.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG_ROUTES = 1, TAG_ADMIT, COUNT_MAX = 5 };

struct controllers {
    struct controllers_config config;
    struct gw__controller *controller;
    struct gw__session observer;
    _Atomic unsigned leader; /* a node */

    /* ---- with the observer's lock held ---- */
    unsigned joiners;        /* waiting at the last check, */
    uint64_t joiners_ns;     /* and since when there are so many */
    struct gw_error refused; /* the refusal of the slots */
};

/* ---- in the library's threads ---- */

static void on_notification(void *context,
                            const struct gw__notification *notification)
{
    struct controllers *c = context;
    if (notification->kind == GW__NOTIFY_ANSWER &&
        notification->tag == TAG_ROUTES && notification->answer.code)
        gw_fail(&c->refused, notification->answer.code, "%s",
                notification->answer.text);
}

static void on_leader(void *context, unsigned node)
{
    struct controllers *c = context;
    atomic_store(&c->leader, node);
    gw__session_wake(&c->observer);
}

/* ---- starting ---- */

static enum gw_err start_controller(struct controllers *c, struct gw_error *why)
{
    const struct controllers_config *config = &c->config;
    unsigned nodes[COUNT_MAX];
    for (unsigned i = 0; i < config->count; i++)
        nodes[i] = CONTROLLER_NODES - i;
    const struct gw__controller_config controller = {
        .index = config->index,
        .count = config->count,
        .nodes = nodes,
        .raft_addresses = config->raft,
        .directory = config->directory,
        .accept_loss = config->accept_loss,
        .channel = {.node = nodes[config->index],
                    .endpoint = config->endpoints[config->index],
                    .security = config->security},
        .context = c,
        .on_leader = on_leader,
    };
    return gw__controller_start(&controller, &c->controller, why);
}

static enum gw_err init_observer(struct controllers *c, struct gw_error *why)
{
    const struct controllers_config *config = &c->config;
    struct gw__session_config observer = {.node =
                                              OBSERVER_NODES - config->index,
                                          .role = GW__OBSERVER,
                                          .endpoint = config->observer,
                                          .security = config->security,
                                          .controller_count = config->count,
                                          .context = c,
                                          .on_notification = on_notification};
    for (unsigned i = 0; i < config->count; i++)
        observer.controllers[i] = (struct gw__driver_peer){
            CONTROLLER_NODES - i, config->endpoints[i]};
    return gw__session_init(&c->observer, &observer, why);
}

static enum gw_err ask_routes(struct controllers *c)
{
    const struct gw__command command = {
        .kind = GW__CMD_ROUTES,
        .routes = {.slots = c->config.slots,
                   .replicas = c->config.replicas,
                   .servers = c->config.servers}};
    return gw__session_command(&c->observer, &command, TAG_ROUTES);
}

enum gw_err controllers_start(const struct controllers_config *config,
                              struct controllers **controllers,
                              struct gw_error *why)
{
    struct controllers *c = calloc(1, sizeof *c);
    *controllers = c;
    if (!c)
        return gw_fail(why, GW_ENOMEM, "no memory for a controller");
    c->config = *config;
    atomic_store(&c->leader, GW__NODES_MAX);
    enum gw_err code = init_observer(c, why);
    if (!code)
        code = start_controller(c, why);
    if (!code)
        code = gw__session_start(&c->observer, 0, why);
    if (!code)
        code = ask_routes(c);
    if (code)
        controllers_stop(controllers);
    return code;
}

void controllers_stop(struct controllers **controllers)
{
    struct controllers *c = *controllers;
    if (!c)
        return;
    *controllers = NULL;
    gw__session_stop(&c->observer);
    if (c->controller)
        gw__controller_stop(&c->controller);
    gw__session_fini(&c->observer); /* on_leader uses it */
    free(c);
}

/* ---- status ---- */

enum gw_err controllers_error(struct controllers *c, struct gw_error *why)
{
    enum gw_err code = gw__controller_error(c->controller, why);
    if (!code)
        code = gw__driver_error(c->observer.driver, why);
    if (code)
        return code;
    gw__session_lock(&c->observer);
    code = c->refused.code;
    if (code && why)
        *why = c->refused;
    gw__session_unlock(&c->observer);
    return code;
}

struct controllers_status controllers_get_status(struct controllers *c)
{
    struct controllers_status status = {.leader = -1};
    unsigned leader = atomic_load(&c->leader);
    if (leader <= CONTROLLER_NODES && leader + COUNT_MAX > CONTROLLER_NODES)
        status.leader = (int)(CONTROLLER_NODES - leader);
    gw__session_lock(&c->observer);
    const struct gw__membership_update *update = &c->observer.update;
    for (unsigned i = 0; i < update->ps_member_count; i++) {
        status.servers += update->ps_members[i].role == GW__SERVER;
        status.workers += update->ps_members[i].role == GW__WORKER;
    }
    status.ring = update->view.ring_count;
    status.slots = update->routes.slot_count;
    for (unsigned s = 0; s < status.slots; s++)
        status.assigned += update->routes.slots[s].primary != GW__NO_NODE;
    gw__session_unlock(&c->observer);
    return status;
}

/* A process that has just received its number starts again under it and sends
 * no heartbeat before. One that is admitted meanwhile is soon declared dead. */
static bool joiners_are_stable(struct controllers *c)
{
    static const uint64_t stable_ns = 500000000;
    uint64_t now_ns = gw_now_ns();
    if (c->joiners != c->observer.update.joiner_count) {
        c->joiners = c->observer.update.joiner_count;
        c->joiners_ns = now_ns;
    }
    return now_ns - c->joiners_ns >= stable_ns;
}

/* Each controller's observer requests it, repeatedly; the registry refuses late
 * requests. */
void controllers_admit(struct controllers *c)
{
    struct gw__command command = {.kind = GW__CMD_ADMIT};
    gw__session_lock(&c->observer);
    const struct gw__membership_update *update = &c->observer.update;
    bool due = joiners_are_stable(c) && c->config.ring > 0 &&
               update->view.ring_count == 0 &&
               update->joiner_count >= c->config.ring;
    command.admit.ring_epoch = update->view.ring_epoch;
    command.admit.count = update->joiner_count;
    memcpy(command.admit.joiners, update->joiners, sizeof update->joiners);
    gw__session_unlock(&c->observer);
    if (due) /* if the request fails now, it is repeated */
        gw__session_command(&c->observer, &command, TAG_ADMIT);
}

void controllers_wait(struct controllers *c, unsigned ms)
{
    uint64_t until_ns = gw_now_ns() + ms * UINT64_C(1000000);
    gw__session_lock(&c->observer);
    gw__session_wait(&c->observer, until_ns);
    gw__session_unlock(&c->observer);
}
