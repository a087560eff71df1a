/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The lives of a server. The library serves in its own threads. This file
 * starts it, asks it to leave, and starts it again as a new incarnation when it
 * was declared dead while it slept or was cut off.
 */
#include "ps.h"

#include "common/key.h"

#include <gradwire/plugin.h>

#include <sys/eventfd.h>

#define POLL_NS UINT64_C(20000000)

/* The policy for stragglers of all lives; NULL: none. */
static struct gw_plugin *policy;

static void on_status(void *context)
{
    const struct node *node = context;
    eventfd_write(node->wake_fd, 1);
}

/* ---- beginning ---- */

static void set_server(struct node *node, struct gw_ps_server *server)
{
    pthread_mutex_lock(&node->lock);
    node->server = server;
    if (server)
        node_obey(node);
    pthread_mutex_unlock(&node->lock);
}

static enum gw_err start_server(void *context,
                                const struct desired_state *desired,
                                struct gw_error *why)
{
    struct node *node = context;
    const struct child_config *child_config = &node->config;
    struct settings settings;
    struct node_addresses addresses;
    struct gw_ps_server *server;
    const char *model = *desired->work.model ? desired->work.model : NULL;
    enum gw_err code =
        settings_parse(model, desired->work.settings, &settings, why);
    if (code)
        return code;
    struct gw_ps_server_config *config = &settings.server;
    config->node = node_number(child_config);
    config->endpoint = addresses.own;
    config->token = child_config->token;
    config->wire = child_config->wire;
    config->key_file = key_file();
    config->seed = child_config->seed;
    config->controller_count = child_config->controllers;
    config->events = event_queue_sink(node->queue);
    config->restore = *child_config->restore ? child_config->restore : NULL;
    config->straggler = policy ? policy->straggler : NULL;
    config->context = node;
    config->on_status = on_status;
    config->links = desired->links;
    config->pace_ns = desired->pace_ns;
    node_addresses_of(child_config, &addresses);
    for (unsigned c = 0; c < child_config->controllers; c++) {
        config->controllers[c] = CONTROLLER_NODE - c;
        config->controller_endpoints[c] = addresses.controllers[c];
    }
    code = gw_ps_server_start(config, &server, why);
    if (!code)
        set_server(node, server);
    return code;
}

static enum gw_err become_server(struct node *node, struct gw_error *why)
{
    const struct node_beginning how = {.join = start_server, .context = node};
    return node_begin(node, &how, why);
}

/* ---- serving and its end ---- */

static enum gw_err serve_desired_state(struct node *node, struct gw_error *why)
{
    for (;;) {
        enum gw_err code = gw_ps_server_error(node->server, why);
        if (!code && node_wants_to_leave(node)) {
            code = node_stays(node, gw_ps_server_leave(node->server, why), why);
            if (!code)
                return GW_OK;
        }
        if (code && code != GW_PENDING)
            return code;
        node_nap(node, POLL_NS);
    }
}

static void end_server(struct node *node)
{
    struct gw_ps_server *server = node->server;
    pthread_mutex_lock(&node->lock);
    node_update_status(node);
    node->server = NULL;
    node->status.server.member = false;
    pthread_mutex_unlock(&node->lock);
    gw_ps_server_destroy(&server);
}

static enum gw_err run_server_node(struct node *node, struct gw_error *why)
{
    for (;;) {
        enum gw_err code = become_server(node, why);
        if (code)
            return node_wants_to_leave(node) ? GW_OK : code;
        node_stage(node, STAGE_MEMBER);
        code = serve_desired_state(node, why);
        node_stage(node, code ? STAGE_JOINING : STAGE_LEFT);
        end_server(node);
        if (code != GW_ECLOSED)
            return code;
        if (node_wants_to_leave(node))
            return GW_OK;
        ps_rejoin(node, why);
    }
}

enum gw_err server_live(struct node *node, struct gw_error *why)
{
    const char *path = node->config.straggler;
    enum gw_err code =
        *path ? gw_plugin_open(path, GW_PLUGIN_STRAGGLER, &policy, why) : GW_OK;
    if (!code)
        code = run_server_node(node, why);
    gw_plugin_close(&policy);
    return code;
}
