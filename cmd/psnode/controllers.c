/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See controllers.h. What the library's threads tell lies under a lock.
 */
#include "controllers.h"

#include "psnode.h"

#include <cluster/controller/controller.h>
#include <cluster/driver/driver.h>
#include <cluster/member/member.h>
#include <wire/address.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { TAG_ROUTES = 1, TAG_ADMIT, COUNT_MAX = 5 };

struct controllers {
    struct controllers_config config;
    struct gw__controller *controller;
    struct gw__driver *observer;
    _Atomic unsigned leader; /* a node */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* ---- under `lock` ---- */
    struct gw__news news;
    unsigned joiners;        /* that waited at the last look, */
    uint64_t joiners_ns;     /* and since when there are so many */
    struct gw_error refused; /* what was said about the slots */
};

/* ---- in the library's threads ---- */

static void on_tell(void *context, const void *data, size_t bytes)
{
    struct controllers *c = context;
    const struct gw__told *told = data;
    if (bytes != sizeof *told)
        return;
    pthread_mutex_lock(&c->lock);
    if (told->kind == GW__TOLD_NEWS)
        c->news = *gw__member_news(gw__driver_state(c->observer));
    else if (told->kind == GW__TOLD_ANSWER && told->tag == TAG_ROUTES &&
             told->answer.code)
        gw_fail(&c->refused, told->answer.code, "%s", told->answer.text);
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

static void on_leader(void *context, unsigned node)
{
    struct controllers *c = context;
    atomic_store(&c->leader, node);
    pthread_cond_broadcast(&c->changed);
}

/* ---- starting ---- */

static enum gw_err draw(void *out, size_t bytes, struct gw_error *why)
{
    return getrandom(out, bytes, 0) == (ssize_t)bytes
               ? GW_OK
               : gw_fail_errno(why, "random numbers");
}

static enum gw_err start_controller(struct controllers *c, struct gw_error *why)
{
    const struct controllers_config *config = &c->config;
    unsigned nodes[COUNT_MAX];
    struct gw__id id;
    enum gw_err code = draw(&id, sizeof id, why);
    if (code)
        return code;
    for (unsigned i = 0; i < config->count; i++)
        nodes[i] = CONTROLLER_NODES - i;
    const struct gw__controller_config controller = {
        .index = config->index,
        .count = config->count,
        .nodes = nodes,
        .raft_addresses = config->raft,
        .directory = config->directory,
        .accept_loss = config->accept_loss,
        .mesh = {.node = nodes[config->index],
                 .incarnation_high = id.high,
                 .incarnation_low = id.low,
                 .endpoint = config->endpoints[config->index],
                 .token = config->token,
                 .key_file = config->key_file,
                 .insecure = config->insecure},
        .context = c,
        .on_leader = on_leader,
    };
    return gw__controller_start(&controller, &c->controller, why);
}

static enum gw_err ask_routes(struct controllers *c)
{
    uint8_t ask[GW__MEMBER_ASK_MAX];
    const struct gw__command command = {
        .kind = GW__CMD_ROUTES,
        .routes = {.slots = c->config.slots,
                   .replicas = c->config.replicas,
                   .servers = c->config.servers}};
    size_t bytes = gw__member_ask_command(ask, &command, TAG_ROUTES);
    return gw__driver_ask(c->observer, ask, bytes);
}

static enum gw_err start_observer(struct controllers *c, struct gw_error *why)
{
    const struct controllers_config *config = &c->config;
    struct gw__driver_peer peers[COUNT_MAX];
    struct gw__member_config start = {.node = OBSERVER_NODES - config->index,
                                      .role = GW__OBSERVER,
                                      .controller_count = config->count};
    enum gw_err code = draw(&start.incarnation, sizeof start.incarnation, why);
    if (!code)
        code = draw(&start.client, sizeof start.client, why);
    if (!code)
        code = gw__address_bindable(config->observer, start.endpoint,
                                    sizeof start.endpoint, why);
    if (code)
        return code;
    for (unsigned i = 0; i < config->count; i++) {
        start.controllers[i] = (uint8_t)(CONTROLLER_NODES - i);
        peers[i] = (struct gw__driver_peer){start.controllers[i],
                                            config->endpoints[i]};
    }
    const struct gw__driver_config driver = {
        .kind = &gw__member_machine,
        .mesh = {.node = start.node,
                 .incarnation_high = start.incarnation.high,
                 .incarnation_low = start.incarnation.low,
                 .endpoint = start.endpoint,
                 .token = config->token,
                 .key_file = config->key_file,
                 .insecure = config->insecure},
        .seed = config->seed,
        .peers = peers,
        .peer_count = config->count,
        .start = &start,
        .start_bytes = sizeof start,
        .context = c,
        .on_tell = on_tell};
    pthread_mutex_lock(&c->lock); /* on_tell looks at c->observer */
    code = gw__driver_start(&driver, &c->observer, why);
    pthread_mutex_unlock(&c->lock);
    return code ? code : ask_routes(c);
}

enum gw_err controllers_start(const struct controllers_config *config,
                              struct controllers **controllers,
                              struct gw_error *why)
{
    pthread_condattr_t monotonic;
    struct controllers *c = calloc(1, sizeof *c);
    *controllers = c;
    if (!c)
        return gw_fail(why, GW_ENOMEM, "no memory for a controller");
    c->config = *config;
    atomic_store(&c->leader, GW__NODES_MAX);
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&c->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    enum gw_err code = start_controller(c, why);
    if (!code)
        code = start_observer(c, why);
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
    struct gw__driver *observer = c->observer; /* on_tell looks at that one */
    gw__driver_stop(&observer);
    if (c->controller)
        gw__controller_stop(&c->controller);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* ---- looking ---- */

enum gw_err controllers_error(struct controllers *c, struct gw_error *why)
{
    enum gw_err code = gw__controller_error(c->controller, why);
    if (!code)
        code = gw__driver_error(c->observer, why);
    if (code)
        return code;
    pthread_mutex_lock(&c->lock);
    code = c->refused.code;
    if (code && why)
        *why = c->refused;
    pthread_mutex_unlock(&c->lock);
    return code;
}

struct controllers_seen controllers_look(struct controllers *c)
{
    struct controllers_seen seen = {.leader = -1};
    unsigned leader = atomic_load(&c->leader);
    if (leader <= CONTROLLER_NODES && leader + COUNT_MAX > CONTROLLER_NODES)
        seen.leader = (int)(CONTROLLER_NODES - leader);
    pthread_mutex_lock(&c->lock);
    const struct gw__news *news = &c->news;
    for (unsigned i = 0; i < news->crew_count; i++) {
        seen.servers += news->crew[i].role == GW__SERVER;
        seen.workers += news->crew[i].role == GW__WORKER;
    }
    seen.ring = news->view.ring_count;
    seen.slots = news->routes.slot_count;
    for (unsigned s = 0; s < seen.slots; s++)
        seen.placed += news->routes.slots[s].primary != GW__NO_NODE;
    pthread_mutex_unlock(&c->lock);
    return seen;
}

/* Who has just got a number starts anew under it, and does not beat before: who
 * is admitted meanwhile is soon convicted for its silence. */
static bool have_settled(struct controllers *c)
{
    static const uint64_t settle_ns = 500000000;
    uint64_t now_ns = gw_now_ns();
    if (c->joiners != c->news.joiner_count) {
        c->joiners = c->news.joiner_count;
        c->joiners_ns = now_ns;
    }
    return now_ns - c->joiners_ns >= settle_ns;
}

/* Each controller's observer asks, and asks again; the registry says no to
 * those that come late. */
void controllers_admit(struct controllers *c)
{
    struct gw__command command = {.kind = GW__CMD_ADMIT};
    uint8_t ask[GW__MEMBER_ASK_MAX];
    pthread_mutex_lock(&c->lock);
    const struct gw__news *news = &c->news;
    bool due = have_settled(c) && c->config.ring > 0 &&
               news->view.ring_count == 0 &&
               news->joiner_count >= c->config.ring;
    command.admit.ring_epoch = news->view.ring_epoch;
    command.admit.count = news->joiner_count;
    memcpy(command.admit.joiners, news->joiners, sizeof news->joiners);
    pthread_mutex_unlock(&c->lock);
    if (!due)
        return;
    size_t bytes = gw__member_ask_command(ask, &command, TAG_ADMIT);
    /* If it cannot be asked now, it will be the next time. */
    if (gw__driver_ask(c->observer, ask, bytes))
        return;
}

void controllers_wait(struct controllers *c, unsigned ms)
{
    uint64_t until_ns = gw_now_ns() + ms * UINT64_C(1000000);
    const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000),
                                   .tv_nsec = (long)(until_ns % 1000000000)};
    pthread_mutex_lock(&c->lock);
    pthread_cond_timedwait(&c->changed, &c->lock, &until);
    pthread_mutex_unlock(&c->lock);
}
