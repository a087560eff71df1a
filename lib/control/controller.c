/* SPDX-License-Identifier: MIT
 *
 * A controller: the service machine on a driver, the log beside it. See
 * controller.h.
 *
 *     driver's thread                        log's thread
 *     service tells a command  --propose-->  Raft
 *     service asked APPLIED    <--news-----  committed entry, snapshot, leader
 *
 * The machine that the driver drives is the service with this around it: in
 * each step, before anything else, it takes what the log's thread has queued.
 * So entries and snapshots stay in order, and a snapshot is restored between
 * two inputs. Being asked only wakes it.
 */
#include "controller.h"

#include "client.h"
#include "driver.h"
#include "raft_log.h"
#include "service_parts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CONTROLLERS_MAX = GW__CLIENT_CONTROLLERS };

enum news_kind { ENTRY, SNAPSHOT, LEADER };

/* From the log's thread. Not bounded: it cannot be lost, and what the one
 * thread applies the other has just applied too. */
struct news {
    struct news *next;
    enum news_kind kind;
    uint64_t number; /* of the entry; who leads: an index */
    size_t bytes;
    uint8_t data[];
};

struct gw__controller {
    struct gw__controller_config config;
    unsigned nodes[CONTROLLERS_MAX];
    struct gw__service_config service;
    struct gw__driver *driver;
    struct gw__raft_log *log;
    /* The driver's thread: what it was told of where members listen. */
    char known[GW__NODES_MAX][GW__ENDPOINT_MAX];

    pthread_mutex_t lock; /* of these, and of `driver` while it is started: */
    struct news *first, **end;
    struct gw_error error;
};

static void fail(struct gw__controller *c, const struct gw_error *why)
{
    pthread_mutex_lock(&c->lock);
    if (!c->error.code)
        c->error = *why;
    pthread_mutex_unlock(&c->lock);
}

/* ---- the log's thread ---- */

static void queue(struct gw__controller *c, enum news_kind kind,
                  uint64_t number, const void *data, size_t bytes)
{
    struct news *news = malloc(sizeof *news + bytes);
    struct gw_error why;
    if (!news) {
        gw_fail(&why, GW_ENOMEM, "controller %u: an entry", c->config.index);
        fail(c, &why);
        return;
    }
    *news = (struct news){.kind = kind, .number = number, .bytes = bytes};
    if (bytes > 0)
        memcpy(news->data, data, bytes);
    pthread_mutex_lock(&c->lock);
    bool wake = !c->first && c->driver;
    *c->end = news;
    c->end = &news->next;
    pthread_mutex_unlock(&c->lock);
    if (wake) /* or its timer does */
        (void)gw__driver_ask(c->driver, "", 1);
}

static void on_entry(void *context, uint64_t index, const void *command,
                     size_t bytes)
{
    queue(context, ENTRY, index, command, bytes);
}

static void on_snapshot(void *context, const void *data, size_t bytes)
{
    queue(context, SNAPSHOT, 0, data, bytes);
}

static void on_leader(void *context, unsigned leader)
{
    queue(context, LEADER, leader, NULL, 0);
}

/* ---- the driver's thread: the machine ---- */

struct state {
    struct gw__controller *controller;
    struct gw__service service;
};

static void ask(struct state *s, const struct gw__input *now,
                const struct gw__actions *act, const void *data, size_t bytes)
{
    const struct gw__input input = {
        .kind = GW__ASKED, .now_ns = now->now_ns, .data = data, .bytes = bytes};
    gw__service_machine.step(&s->service, &input, act);
}

/* Members can be sent to from now on. */
static void look_at_members(struct gw__controller *c,
                            const struct gw__registry *registry)
{
    for (unsigned node = 0; node < GW__NODES_MAX; node++) {
        const char *endpoint = registry->members[node].endpoint;
        if (strcmp(endpoint, c->known[node]) == 0)
            continue;
        memcpy(c->known[node], endpoint, sizeof c->known[node]);
        (void)gw__driver_know(c->driver, node, endpoint);
    }
}

static void lead(struct state *s, const struct gw__input *now,
                 const struct gw__actions *act, unsigned index)
{
    struct gw__controller *c = s->controller;
    uint8_t out[GW__SERVICE_ASK_MAX];
    unsigned node = index < c->config.count ? c->nodes[index] : GW__NODES_MAX;
    ask(s, now, act, out, gw__service_ask_leader(out, node));
    if (c->config.on_leader)
        c->config.on_leader(c->config.context, node);
}

static void take(struct state *s, const struct gw__input *now,
                 const struct gw__actions *act, const struct news *news)
{
    struct gw__controller *c = s->controller;
    struct gw__registry *registry = &s->service.registry;
    uint8_t out[GW__SERVICE_ASK_MAX];
    struct gw_error why;
    size_t bytes = 0;
    if (news->kind == LEADER) {
        lead(s, now, act, (unsigned)news->number);
        return;
    }
    if (news->kind == ENTRY)
        bytes =
            gw__service_ask_applied(out, news->number, news->data, news->bytes);
    else if (gw__registry_restore(registry, news->data, news->bytes, &why))
        fail(c, &why);
    ask(s, now, act, out, bytes); /* without bytes it looks around */
    look_at_members(c, registry);
    if (c->config.on_applied)
        c->config.on_applied(c->config.context, registry);
}

static void take_news(struct state *s, const struct gw__input *now,
                      const struct gw__actions *act)
{
    struct gw__controller *c = s->controller;
    pthread_mutex_lock(&c->lock);
    struct news *news = c->first;
    c->first = NULL;
    c->end = &c->first;
    pthread_mutex_unlock(&c->lock);
    while (news) {
        struct news *next = news->next;
        take(s, now, act, news);
        free(news);
        news = next;
    }
}

static void step(void *state, const struct gw__input *input,
                 const struct gw__actions *act)
{
    struct state *s = state;
    struct gw__input start = *input;
    if (input->kind == GW__START) {
        memcpy(&s->controller, input->data, sizeof s->controller);
        start.data = &s->controller->service;
        start.bytes = sizeof s->controller->service;
        gw__service_machine.step(&s->service, &start, act);
    }
    take_news(s, input, act);
    if (input->kind != GW__START && input->kind != GW__ASKED)
        gw__service_machine.step(&s->service, input, act);
}

static const struct gw__machine_kind machine = {
    .name = "controller",
    .state_bytes = sizeof(struct state),
    .step = step,
};

static void on_tell(void *context, const void *data, size_t bytes)
{
    struct gw__controller *c = context;
    char endpoint[GW__ENDPOINT_MAX];
    unsigned node;
    if (gw__service_tells_endpoint(data, bytes, &node, endpoint))
        (void)gw__driver_know(c->driver, node, endpoint);
    else
        (void)gw__raft_log_propose(c->log, data, bytes);
}

/* ---- its life ---- */

/* The driver's first step waits at the lock until its owner knows it. */
static enum gw_err start_driver(struct gw__controller *c, struct gw_error *why)
{
    const struct gw__driver_config config = {
        .kind = &machine,
        .mesh = c->config.mesh,
        .seed = gw_hash(&c->service.incarnation, sizeof(struct gw__id), 0),
        .start = &c,
        .start_bytes = sizeof c,
        .context = c,
        .on_tell = on_tell};
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
        .election_ms = from->election_ms ? from->election_ms : 150,
        .heartbeat_ms = from->heartbeat_ms ? from->heartbeat_ms : 30,
        .context = c,
        .on_entry = on_entry,
        .on_snapshot = on_snapshot,
        .on_leader = on_leader};
    return gw__raft_log_open(&config, &c->log, why);
}

static struct gw__controller *
new_controller(const struct gw__controller_config *config)
{
    struct gw__controller *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->config = *config;
    c->end = &c->first;
    pthread_mutex_init(&c->lock, NULL);
    memcpy(c->nodes, config->nodes, config->count * sizeof *c->nodes);
    c->service.node = config->mesh.node;
    c->service.incarnation = (struct gw__id){config->mesh.incarnation_high,
                                             config->mesh.incarnation_low};
    strncpy(c->service.endpoint, config->mesh.endpoint, GW__ENDPOINT_MAX - 1);
    return c;
}

enum gw_err gw__controller_start(const struct gw__controller_config *config,
                                 struct gw__controller **controller,
                                 struct gw_error *why)
{
    *controller = NULL;
    if (config->count == 0 || config->count > CONTROLLERS_MAX ||
        config->index >= config->count)
        return gw_fail(why, GW_EINVAL, "controller %u of %u: there are 1 to %d",
                       config->index, config->count, CONTROLLERS_MAX);
    struct gw__controller *c = new_controller(config);
    if (!c)
        return gw_fail(why, GW_ENOMEM, "a controller");
    enum gw_err err = open_log(c, why);
    if (!err)
        err = start_driver(c, why);
    if (!err)
        err = gw__raft_log_run(c->log, why);
    if (err)
        gw__controller_stop(&c);
    *controller = c;
    return err;
}

/* The log ends first, since it asks the driver; the driver then works off what
 * it was asked; what it still proposes is refused. */
void gw__controller_stop(struct gw__controller **controller)
{
    struct gw__controller *c = *controller;
    if (!c)
        return;
    *controller = NULL;
    if (c->log)
        gw__raft_log_stop(c->log);
    gw__driver_stop(&c->driver);
    gw__raft_log_close(&c->log);
    while (c->first) {
        struct news *news = c->first;
        c->first = news->next;
        free(news);
    }
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
