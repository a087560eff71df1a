/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The process of a controller, where a run has three or five: the library's
 * controller, its link profiles, and its status and events for the supervisor.
 * It ends with its supervisor, by an order, or when its log fails.
 */
#include "node_events.h"

#include "common/key.h"

#include <base/clock.h>
#include <cluster/controller/controller.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct keeper {
    struct child_config config;
    struct gw__link_profiles *profiles;
    struct gw__controller *controller;
    struct event_queue *queue;
    int wake_fd; /* written for a rare event */
    bool end;
    double clock_rate;
    struct gw_nodes severed; /* as last set in the controller */
    struct gw__controller_status reported;
    uint64_t reported_ns;
    uint64_t described; /* the newest order to describe its state */
};

static volatile sig_atomic_t terminated;

static void on_sigterm(int number)
{
    (void)number;
    terminated = 1;
}

/* ---- orders and notes ---- */

static void obey(void *context, const struct desired_state *desired)
{
    struct keeper *keeper = context;
    if (desired->clock_rate < keeper->clock_rate ||
        desired->clock_rate > keeper->clock_rate)
        gw__clock_set_rate(desired->clock_rate);
    keeper->clock_rate = desired->clock_rate;
    event_queue_want(keeper->queue, desired->events);
    keeper->end = desired->end || desired->leave;
    if (desired->describe > keeper->described && keeper->controller)
        child_channel_known("a controller");
    keeper->described = desired->describe;
    for (unsigned n = 0; n < GW_RING_NODES; n++) {
        gw__link_profiles_set(keeper->profiles, n, &desired->links[n]);
        bool cut = gw__nodes_has(&desired->severed, n);
        if (keeper->controller && cut != gw__nodes_has(&keeper->severed, n))
            gw__controller_cut(keeper->controller, n, cut);
    }
    keeper->severed =
        keeper->controller ? desired->severed : (struct gw_nodes){{0}};
}

/* HELLOs come all the time: a change only of them can wait. */
static void send_status(struct keeper *keeper)
{
    static const uint64_t hellos_ns = 500000000;
    static struct node_status status = {.stage = STAGE_MEMBER}; /* large */
    const struct gw__controller_status *now = &status.controller;
    gw__controller_status(keeper->controller, &status.controller);
    status.events_dropped = event_queue_dropped(keeper->queue);
    if (keeper->reported_ns && now->leader == keeper->reported.leader &&
        now->applied == keeper->reported.applied &&
        now->term == keeper->reported.term &&
        now->last == keeper->reported.last &&
        now->committed == keeper->reported.committed &&
        gw_now_ns() - keeper->reported_ns < hellos_ns)
        return;
    if (child_channel_send_status(CHILD_CHANNEL_FD, &status, false) != GW_OK)
        return;
    keeper->reported = status.controller;
    keeper->reported_ns = gw_now_ns();
}

/* ---- the process ---- */

static enum gw_err open_event_queue(struct keeper *keeper, struct gw_error *why)
{
    keeper->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (keeper->wake_fd < 0)
        return gw_fail_errno(why, "eventfd");
    return event_queue_new(keeper->wake_fd, &keeper->queue, why);
}

static enum gw_err start_controller(struct keeper *keeper, struct gw_error *why)
{
    const struct child_config *child_config = &keeper->config;
    unsigned nodes[RUN_CONTROLLERS_MAX];
    const char *raft[RUN_CONTROLLERS_MAX];
    char endpoint[ENDPOINT_MAX];
    struct gw__controller_config config = {
        .index = child_config->number,
        .count = child_config->controllers,
        .nodes = nodes,
        .raft_addresses = raft,
        .directory = child_config->directory,
        .channel = {.node = CONTROLLER_NODE - child_config->number,
                    .endpoint = endpoint,
                    .security = {child_config->token, key_file(), false},
                    .profiles = keeper->profiles},
        .events = event_queue_sink(keeper->queue),
    };
    child_channel_endpoint_of(child_config->token, config.channel.node,
                              endpoint);
    for (unsigned c = 0; c < child_config->controllers; c++) {
        nodes[c] = CONTROLLER_NODE - c;
        raft[c] = child_config->raft[c];
    }
    return gw__controller_start(&config, &keeper->controller, why);
}

static enum gw_err keep_running(struct keeper *keeper, struct gw_error *why)
{
    enum { POLL_MS = 20 };
    enum gw_err code = GW_OK;
    while (!code && !keeper->end && !terminated) {
        desired_state_await(keeper->wake_fd, POLL_MS, false, obey, keeper);
        send_status(keeper);
        event_queue_send(keeper->queue,
                         CHILD_CHANNEL_FD); /* the rest goes later */
        code = gw__controller_error(keeper->controller, why);
    }
    return code;
}

int controller_main(int argc, char **argv)
{
    static struct keeper keeper = {.clock_rate = 1};
    struct sigaction action = {.sa_handler = on_sigterm};
    struct gw_error why;
    if (!child_channel_open(argc, argv, &keeper.config))
        return gw_err_exit(GW_EINTERNAL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGXFSZ, SIG_IGN); /* a full disk is an ordinary error */
    enum gw_err code =
        gw__link_profiles_new(keeper.config.seed, &keeper.profiles, &why);
    if (!code)
        code = open_event_queue(&keeper, &why);
    if (!code) {
        obey(&keeper, &keeper.config.desired);
        code = start_controller(&keeper, &why);
    }
    if (!code) {
        obey(&keeper, &keeper.config.desired);
        code = keep_running(&keeper, &why);
    }
    if (code) {
        fprintf(stderr, "controller %u: %s\n", keeper.config.number, why.text);
        child_channel_send(CHILD_CHANNEL_FD, CHILD_CHANNEL_EXIT, &why,
                           sizeof why, true);
    }
    if (keeper.end)
        _exit(0); /* the run is over, and its log is not needed */
    if (keeper.controller)
        gw__controller_stop(&keeper.controller);
    event_queue_destroy(&keeper.queue);
    gw__link_profiles_destroy(&keeper.profiles);
    return gw_err_exit(code);
}
