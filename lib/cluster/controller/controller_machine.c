/* SPDX-License-Identifier: MIT
 *
 * The communication between a controller's two threads.
 *
 *     driver's thread                        log's thread
 *     service emits a command  --propose-->  Raft
 *     service gets APPLIED     <--queue----  committed entry, snapshot, leader
 *
 * The driver runs this machine around the service. Each step first takes the
 * entries that the log's thread has queued. So entries and snapshots stay in
 * order, and a snapshot is restored between two inputs. The request from the
 * log's thread only wakes the driver.
 */
#include "controller_parts.h"

#include <stdlib.h>
#include <string.h>

enum update_kind { ENTRY, SNAPSHOT, LEADER, VOTE };

/* Queued by the log's thread. The queue has no bound, because an entry must not
 * be lost; the log's own replica has just applied the same entry. */
struct gw__controller_update {
    struct gw__controller_update *next;
    enum update_kind kind;
    uint64_t number; /* of the entry or term; leader: its index */
    size_t bytes;
    uint8_t data[];
};

/* ---- the log's thread ---- */

/* Queues an entry. True: wake the driver. After an entry was lost, later ones
 * are dropped, so that the driver keeps a consistent state. */
static bool queue_update(struct gw__controller *c,
                         struct gw__controller_update *update)
{
    pthread_mutex_lock(&c->lock);
    bool lost = c->error.code, wake = !c->first && c->driver && !lost;
    if (!lost) {
        *c->end = update;
        c->end = &update->next;
    }
    pthread_mutex_unlock(&c->lock);
    if (lost)
        free(update);
    return wake;
}

static void queue(struct gw__controller *c, enum update_kind kind,
                  uint64_t number, const void *data, size_t bytes)
{
    struct gw__controller_update *update = malloc(sizeof *update + bytes);
    struct gw_error why;
    if (!update) {
        gw_fail(&why, GW_ENOMEM, "controller %u: an entry", c->config.index);
        gw__controller_fail(c, &why);
        return;
    }
    *update = (struct gw__controller_update){
        .kind = kind, .number = number, .bytes = bytes};
    if (bytes > 0)
        memcpy(update->data, data, bytes);
    if (queue_update(c, update)) /* otherwise its timer wakes it */
        (void)gw__driver_request(c->driver, "", 1);
}

void gw__controller_on_entry(void *context, uint64_t index, const void *command,
                             size_t bytes)
{
    queue(context, ENTRY, index, command, bytes);
}

void gw__controller_on_snapshot(void *context, const void *data, size_t bytes)
{
    queue(context, SNAPSHOT, 0, data, bytes);
}

void gw__controller_on_leader(void *context, unsigned leader)
{
    queue(context, LEADER, leader, NULL, 0);
}

void gw__controller_on_vote(void *context, unsigned candidate, uint64_t term)
{
    const uint8_t index = (uint8_t)candidate;
    queue(context, VOTE, term, &index, sizeof index);
}

/* ---- the driver's thread: the machine ---- */

struct state {
    struct gw__controller *controller;
    struct gw__service service;
};

static void forward_request(struct state *s, const struct gw__input *now,
                            const struct gw__actions *act, const void *data,
                            size_t bytes)
{
    const struct gw__input input = {.kind = GW__REQUESTED,
                                    .now_ns = now->now_ns,
                                    .data = data,
                                    .bytes = bytes};
    gw__service_machine.step(&s->service, &input, act);
}

/* Publishes the endpoints of members, so that messages can be sent to them. */
static void publish_endpoints(struct gw__controller *c,
                              const struct gw__registry *registry)
{
    for (unsigned node = gw__nodes_next(&registry->known, 0);
         node < GW__NODES_MAX;
         node = gw__nodes_next(&registry->known, node + 1)) {
        const char *endpoint = registry->members[node].endpoint;
        if (strcmp(endpoint, c->known[node]) == 0)
            continue;
        if (gw__driver_know(c->driver, node, endpoint) != GW_ENOMEM)
            memcpy(c->known[node], endpoint, sizeof c->known[node]);
    }
}

static void lead(struct state *s, const struct gw__input *now,
                 const struct gw__actions *act, unsigned index)
{
    struct gw__controller *c = s->controller;
    uint8_t out[GW__SERVICE_REQUEST_MAX];
    unsigned node = index < c->config.count ? c->nodes[index] : GW__NODES_MAX;
    gw__controller_event_lead(c, node);
    forward_request(s, now, act, out, gw__service_request_leader(out, node));
    if (c->config.on_leader)
        c->config.on_leader(c->config.context, node);
}

static void apply_update(struct state *s, const struct gw__input *now,
                         const struct gw__actions *act,
                         const struct gw__controller_update *update)
{
    struct gw__controller *c = s->controller;
    struct gw__registry *registry = &s->service.registry;
    uint8_t out[GW__SERVICE_REQUEST_MAX];
    struct gw_error why;
    size_t bytes = 0;
    if (update->kind == LEADER) {
        lead(s, now, act, (unsigned)update->number);
        return;
    }
    if (update->kind == VOTE) {
        gw__controller_event_vote(c, update->data[0], update->number);
        return;
    }
    if (update->kind == ENTRY)
        gw__controller_event_commit(c, update->number);
    if (update->kind == ENTRY)
        bytes = gw__service_request_applied(out, update->number, update->data,
                                            update->bytes);
    else if (gw__registry_restore(registry, update->data, update->bytes, &why))
        gw__controller_fail(c, &why);
    forward_request(s, now, act, out,
                    bytes); /* without bytes it only looks for changes */
    publish_endpoints(c, registry);
    if (c->config.on_applied)
        c->config.on_applied(c->config.context, registry);
}

static void apply_updates(struct state *s, const struct gw__input *now,
                          const struct gw__actions *act)
{
    struct gw__controller *c = s->controller;
    pthread_mutex_lock(&c->lock);
    struct gw__controller_update *update = c->first;
    c->first = NULL;
    c->end = &c->first;
    pthread_mutex_unlock(&c->lock);
    while (update) {
        struct gw__controller_update *next = update->next;
        apply_update(s, now, act, update);
        free(update);
        update = next;
    }
}

static void step_controller(void *state, const struct gw__input *input,
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
    apply_updates(s, input, act);
    if (input->kind != GW__START && input->kind != GW__REQUESTED)
        gw__service_machine.step(&s->service, input, act);
    gw__controller_event_changes(s->controller, &s->service);
}

const struct gw__machine_kind gw__controller_machine = {
    .name = "controller",
    .state_bytes = sizeof(struct state),
    .step = step_controller,
};

void gw__controller_describe(const void *state, uint64_t now_ns,
                             struct gw__description *out)
{
    const struct state *s = state;
    (void)now_ns;
    gw__service_describe(&s->service, out);
}

void gw__controller_on_notify(void *context, const void *data, size_t bytes)
{
    struct gw__controller *c = context;
    char endpoint[GW__ENDPOINT_MAX];
    unsigned node;
    if (!gw__service_sends_endpoint(data, bytes, &node, endpoint)) {
        (void)gw__raft_log_propose(c->log, data, bytes);
        return;
    }
    (void)gw__driver_know(c->driver, node, endpoint);
    /* Until the next entry: the number may belong to a process that was
     * declared dead while it was stopped, and that must be notified. */
    memset(c->known[node], 0, sizeof c->known[node]);
}

void gw__controller_drop_update(struct gw__controller *c)
{
    while (c->first) {
        struct gw__controller_update *update = c->first;
        c->first = update->next;
        free(update);
    }
}
