/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The process of a ring member, a worker or a server, from its start to its
 * last message. Its lives are in node.c, ps_worker.c and ps_server.c.
 */
#include "node.h"

#include <base/clock.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- shared by lives ---- */

bool node_wants_to_leave(struct node *node)
{
    pthread_mutex_lock(&node->lock);
    bool leave = node->leave && !node->stays;
    pthread_mutex_unlock(&node->lock);
    return leave;
}

void node_report_error(struct node *node, const struct gw_error *why)
{
    pthread_mutex_lock(&node->lock);
    snprintf(node->status.text, sizeof node->status.text, "%.199s", why->text);
    pthread_mutex_unlock(&node->lock);
}

void node_stage(struct node *node, enum node_stage stage)
{
    pthread_mutex_lock(&node->lock);
    node->status.stage = stage;
    pthread_mutex_unlock(&node->lock);
}

unsigned node_number(const struct child_config *config)
{
    return config->role == GW__SERVER ? SERVER_NODE + config->number
                                      : config->number;
}

void node_addresses_of(const struct child_config *config,
                       struct node_addresses *addresses)
{
    child_channel_endpoint_of(config->token, node_number(config),
                              addresses->own);
    for (unsigned c = 0; c < config->controllers; c++)
        child_channel_endpoint_of(config->token, CONTROLLER_NODE - c,
                                  addresses->controllers[c]);
}

/* ---- the process ---- */

static enum gw_err init(struct node *node, struct gw_error *why)
{
    node->desired = node->config.desired;
    node->described = node->desired.describe;
    if (node->desired.clock_rate < 1 || node->desired.clock_rate > 1)
        gw__clock_set_rate(node->desired.clock_rate);
    node->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (node->wake_fd < 0)
        return gw_fail_errno(why, "eventfd");
    pthread_mutex_init(&node->lock, NULL);
    gw__clock_cond_init(&node->changed);
    enum gw_err code = event_queue_new(node->wake_fd, &node->queue, why);
    if (code)
        return code;
    event_queue_want(node->queue, node->desired.events);
    return node_child_channel_start(node, why);
}

static void fini(struct node *node)
{
    work_destroy(&node->work);
    work_destroy(&node->next);
    free(node->state);
    event_queue_destroy(&node->queue);
    pthread_cond_destroy(&node->changed);
    pthread_mutex_destroy(&node->lock);
    close(node->wake_fd);
}

static enum gw_err run_node(struct node *node, struct gw_error *why)
{
    if (node->config.role == GW__SERVER)
        return server_live(node, why);
    return node->config.servers ? worker_live(node, why) : ring_live(node, why);
}

int node_main(int argc, char **argv)
{
    static struct node node;
    struct gw_error why = {.code = GW_OK};
    if (!child_channel_open(argc, argv, &node.config))
        return gw_err_exit(GW_EINTERNAL);
    const struct work_order *work = &node.config.desired.work;
    bool is_program = work->kind == WORK_PROGRAM;
    enum gw_err code =
        is_program ? node_become_program(work, &why) : init(&node, &why);
    if (code) {
        child_channel_send(CHILD_CHANNEL_FD, CHILD_CHANNEL_EXIT, &why,
                           sizeof why, true);
        return gw_err_exit(code);
    }
    code = run_node(&node, &why);
    if (code == GW_OK)
        why = (struct gw_error){.code = GW_OK};
    else
        fprintf(stderr, "%s %u: %s\n",
                node.config.role == GW__SERVER ? "server"
                : node.config.servers          ? "worker"
                                               : "node",
                node.config.number, why.text);
    node_child_channel_end(&node, &why);
    fini(&node);
    return gw_err_exit(code);
}
