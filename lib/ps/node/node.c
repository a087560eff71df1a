/* SPDX-License-Identifier: MIT
 *
 * Opening and closing of a node; see node.h. A node registers first. Then it
 * opens a messenger under its number, and the control thread announces the
 * address to the members.
 */
#include "node_parts.h"

#include <stdlib.h>

static const uint64_t join_default_ns = 10000000000;

/* ---- opening ---- */

static struct gw__session_config
session_config(struct gw__node *node, const struct gw__node_config *config)
{
    struct gw__session_config session = {
        .node = config->node,
        .role = config->role,
        .endpoint = config->endpoint,
        .security = config->security,
        .controller_count = config->controller_count,
        .interrupt = config->interrupt,
        .context = node,
        .on_notification = gw__node_on_notification,
        .on_turn = gw__node_on_turn,
        .on_message = gw__node_on_message};
    for (unsigned i = 0; i < config->controller_count && i < GW_PS_CONTROLLERS;
         i++)
        session.controllers[i] = (struct gw__driver_peer){
            config->controllers[i], config->controller_endpoints[i]};
    return session;
}

/* Its strings are copies. */
static enum gw_err copy_config(struct gw__node *node,
                               const struct gw__node_config *config,
                               struct gw_error *why)
{
    const struct gw__session_config *session = &node->session.config;
    struct gw__node_config *mine = &node->config;
    *mine = *config;
    mine->endpoint = session->endpoint;
    mine->security = session->security;
    for (unsigned i = 0; i < session->controller_count; i++) {
        node->controllers[i] = session->controllers[i].node;
        node->controller_endpoints[i] = session->controllers[i].endpoint;
    }
    mine->controllers = node->controllers;
    mine->controller_endpoints = node->controller_endpoints;
    if (!mine->wire)
        mine->wire = "shm";
    if (!gw__session_own(&node->session, &mine->wire) ||
        !gw__session_own(&node->session, &mine->interface))
        return gw_fail(why, GW_ENOMEM, "node");
    for (unsigned n = 0; config->links && n < GW_PS_NODES; n++)
        gw__link_profiles_set(node->session.profiles, n, &config->links[n]);
    gw__link_profiles_pace(node->session.profiles, config->pace_ns);
    mine->links = NULL; /* owned by the caller */
    return GW_OK;
}

/* Waits until the registry counts this process as active. */
static enum gw_err await_active(struct gw__node *node, uint64_t deadline_ns,
                                struct gw_error *why)
{
    enum gw_err err = GW_PENDING;
    struct gw__session *session = &node->session;
    gw__session_lock(session);
    while (err == GW_PENDING) {
        if (session->gone)
            err = gw_fail(why, GW_ECLOSED, "node %u: %s", node->number,
                          session->gone_text);
        else if (session->registered && session->update.state == GW__ACTIVE)
            err = GW_OK;
        else if (gw__session_interrupted(session))
            err = gw_fail(why, GW_EINTR, "interrupted");
        else if (gw_now_ns() >= deadline_ns)
            err = gw_fail(why, GW_ETIMEOUT,
                          session->update.index
                              ? "the controllers did not accept node %u"
                              : "no controller has answered node %u",
                          node->number);
        else
            gw__session_nap(session);
    }
    gw__session_unlock(session);
    return err;
}

static enum gw_err open_messenger(struct gw__node *node, struct gw_error *why)
{
    const struct gw__node_config *c = &node->config;
    const struct gw__messenger_config config = {
        .node = node->number,
        .incarnation_high = node->session.incarnation.high,
        .incarnation_low = node->session.incarnation.low,
        .wire = c->wire,
        .interface = c->interface,
        .security = c->security,
        .copy_always = c->copy_always,
        .profiles = node->session.profiles};
    enum gw_err err = gw__messenger_open(&config, &node->messenger, why);
    if (err)
        return err;
    gw__session_lock(&node->session);
    node->box.address = *gw__messenger_address(node->messenger);
    node->box.has_address = true;
    atomic_store(&node->has_messenger, true);
    gw__session_unlock(&node->session);
    return GW_OK;
}

static enum gw_err join_group(struct gw__node *node, struct gw_error *why)
{
    uint64_t join_ns = node->config.join_ms * UINT64_C(1000000);
    uint64_t deadline_ns = gw_now_ns() + (join_ns ? join_ns : join_default_ns);
    enum gw_err err = gw__session_start(&node->session, deadline_ns, why);
    node->number = node->session.node;
    if (!err)
        err = await_active(node, deadline_ns, why);
    return err ? err : open_messenger(node, why);
}

enum gw_err gw__node_open(const struct gw__node_config *config,
                          struct gw__node **opened, struct gw_error *why)
{
    *opened = NULL;
    struct gw__node *node = calloc(1, sizeof *node);
    if (!node)
        return gw_fail(why, GW_ENOMEM, "node");
    const struct gw__session_config session = session_config(node, config);
    enum gw_err err = gw__session_init(&node->session, &session, why);
    node->known = calloc(GW__MESSENGER_NODES, sizeof *node->known);
    if (!err && !node->known)
        err = gw_fail(why, GW_ENOMEM, "node");
    if (!err)
        err = copy_config(node, config, why);
    if (!err)
        err = join_group(node, why);
    if (err)
        gw__node_close(&node);
    *opened = node;
    return err;
}

/* ---- closing ---- */

void gw__node_close(struct gw__node **opened)
{
    struct gw__node *node = *opened;
    if (!node)
        return;
    *opened = NULL;
    gw__session_stop(&node->session); /* its thread wakes the messenger */
    gw__messenger_close(&node->messenger);
    gw__session_fini(&node->session);
    free(node->known);
    free(node);
}

enum gw_err gw__node_leave(struct gw__node *node, uint64_t deadline_ns,
                           struct gw_error *why)
{
    return gw__session_leave(&node->session, deadline_ns, why);
}
