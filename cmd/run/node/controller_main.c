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
    struct birth birth;
    struct gw__link_profiles *profiles;
    struct gw__controller *controller;
    struct outbox *outbox;
    int wake_fd; /* written for a rare event */
    bool end;
    double clock_rate;
    uint64_t severed; /* controllers' nodes, as last set in the controller */
    struct gw__controller_status told;
    uint64_t told_ns;
    uint64_t described; /* the newest order to describe its state */
};

static volatile sig_atomic_t terminated;

static void on_sigterm(int number)
{
    (void)number;
    terminated = 1;
}

/* ---- orders and notes ---- */

static void obey(void *context, const struct orders *orders)
{
    struct keeper *keeper = context;
    uint64_t changed = keeper->severed ^ orders->severed;
    if (orders->clock_rate < keeper->clock_rate ||
        orders->clock_rate > keeper->clock_rate)
        gw__clock_set_rate(orders->clock_rate);
    keeper->clock_rate = orders->clock_rate;
    outbox_want(keeper->outbox, orders->events);
    keeper->end = orders->end || orders->leave;
    if (orders->describe > keeper->described && keeper->controller)
        post_known("a controller");
    keeper->described = orders->describe;
    for (unsigned n = 0; n < GW_RING_NODES; n++) {
        const struct gw_ring_link *link = &orders->links[n];
        const struct gw__link_profile profile = {.delay_us = link->delay_us,
                                                 .jitter_us = link->jitter_us,
                                                 .rate = link->rate,
                                                 .loss_ppm = link->loss_ppm,
                                                 .down = link->down};
        gw__link_profiles_set(keeper->profiles, n, &profile);
        if (keeper->controller && changed >> n & 1)
            gw__controller_cut(keeper->controller, n, orders->severed >> n & 1);
    }
    keeper->severed = keeper->controller ? orders->severed : 0;
}

/* HELLOs come all the time: a change only of them can wait. */
static void send_note(struct keeper *keeper)
{
    static const uint64_t hellos_ns = 500000000;
    struct node_note note = {.stage = STAGE_MEMBER};
    const struct gw__controller_status *now = &note.controller;
    gw__controller_status(keeper->controller, &note.controller);
    note.events_dropped = outbox_dropped(keeper->outbox);
    if (keeper->told_ns && now->leader == keeper->told.leader &&
        now->applied == keeper->told.applied &&
        now->term == keeper->told.term && now->last == keeper->told.last &&
        now->committed == keeper->told.committed &&
        gw_now_ns() - keeper->told_ns < hellos_ns)
        return;
    if (post_send(POST_FD, POST_NOTE, &note, sizeof note, false) != GW_OK)
        return;
    keeper->told = note.controller;
    keeper->told_ns = gw_now_ns();
}

/* ---- the process ---- */

static enum gw_err open_outbox(struct keeper *keeper, struct gw_error *why)
{
    keeper->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (keeper->wake_fd < 0)
        return gw_fail_errno(why, "eventfd");
    return outbox_new(keeper->wake_fd, &keeper->outbox, why);
}

static enum gw_err start_controller(struct keeper *keeper, struct gw_error *why)
{
    const struct birth *birth = &keeper->birth;
    unsigned nodes[RUN_CONTROLLERS_MAX];
    const char *raft[RUN_CONTROLLERS_MAX];
    char endpoint[ENDPOINT_MAX];
    struct gw__controller_config config = {
        .index = birth->number,
        .count = birth->controllers,
        .nodes = nodes,
        .raft_addresses = raft,
        .directory = birth->directory,
        .channel = {.node = CONTROLLER_NODE - birth->number,
                    .endpoint = endpoint,
                    .token = birth->token,
                    .key_file = key_file(),
                    .profiles = keeper->profiles},
        .events = outbox_sink(keeper->outbox),
    };
    post_endpoint_of(birth->token, config.channel.node, endpoint);
    for (unsigned c = 0; c < birth->controllers; c++) {
        nodes[c] = CONTROLLER_NODE - c;
        raft[c] = birth->raft[c];
    }
    return gw__controller_start(&config, &keeper->controller, why);
}

static enum gw_err keep_running(struct keeper *keeper, struct gw_error *why)
{
    enum gw_err code = GW_OK;
    while (!code && !keeper->end && !terminated) {
        orders_await(keeper->wake_fd, false, obey, keeper);
        send_note(keeper);
        outbox_send(keeper->outbox, POST_FD); /* the rest goes later */
        code = gw__controller_error(keeper->controller, why);
    }
    return code;
}

int controller_main(int argc, char **argv)
{
    static struct keeper keeper = {.clock_rate = 1};
    struct sigaction action = {.sa_handler = on_sigterm};
    struct gw_error why;
    if (!post_born(argc, argv, &keeper.birth))
        return gw_err_exit(GW_EINTERNAL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGXFSZ, SIG_IGN); /* a full disk is an ordinary error */
    enum gw_err code =
        gw__link_profiles_new(keeper.birth.seed, &keeper.profiles, &why);
    if (!code)
        code = open_outbox(&keeper, &why);
    if (!code) {
        obey(&keeper, &keeper.birth.orders);
        code = start_controller(&keeper, &why);
    }
    if (!code) {
        obey(&keeper, &keeper.birth.orders);
        code = keep_running(&keeper, &why);
    }
    if (code) {
        fprintf(stderr, "controller %u: %s\n", keeper.birth.number, why.text);
        post_send(POST_FD, POST_LAST, &why, sizeof why, true);
    }
    if (keeper.end)
        _exit(0); /* the run is over, and its log is not needed */
    if (keeper.controller)
        gw__controller_stop(&keeper.controller);
    outbox_destroy(&keeper.outbox);
    gw__link_profiles_destroy(&keeper.profiles);
    return gw_err_exit(code);
}
