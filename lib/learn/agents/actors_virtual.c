/* SPDX-License-Identifier: MIT
 *
 * The backend in virtual time. The parameters at its beginning determine a
 * whole trajectory. So an actor plays it at once, and hands it over when its
 * duration has passed:
 *
 *     plays --time--> holds it --room in the queue--> begins the next one
 *
 * Events of the same time are in the order learner, actor 0, actor 1, ...
 */
#include "actors_parts.h"

#include <assert.h>
#include <stdlib.h>

enum { NONE = -1 };

struct player {
    struct gw__actor actor;
    unsigned number;   /* of its trajectory */
    uint64_t ready_ns; /* end of its trajectory */
    bool holds;        /* it is finished and waits for room */
};

struct virtual_backend {
    uint64_t now_ns, done_ns; /* done_ns: end of the update */
    struct player players[];
};

static void begin_actor(struct gw_actors *a, unsigned actor)
{
    struct virtual_backend *backend = a->inside;
    struct player *p = &backend->players[actor];
    struct gw__played *played = &a->played[p->number = gw__actors_room(a)];
    gw__actor_play(&p->actor, &a->agent, a->rows, a->config.task.cartpole.limit,
                   played);
    played->version = a->version;
    p->holds = false;
    p->ready_ns =
        backend->now_ns +
        gw__actor_duration(&p->actor, &a->config, played->trajectory.count);
}

/* The next actor to be ready, or NONE. */
static int next_actor(const struct gw_actors *a)
{
    const struct virtual_backend *backend = a->inside;
    const struct player *players = backend->players;
    int next = NONE;
    for (unsigned i = 0; i < a->config.actors; i++)
        if (!players[i].holds &&
            (next == NONE || players[i].ready_ns < players[next].ready_ns))
            next = (int)i;
    return next;
}

static void schedule_update(struct gw_actors *a)
{
    struct virtual_backend *backend = a->inside;
    bool computed = a->computes;
    gw__actors_fill_batch(a);
    if (a->computes && !computed)
        backend->done_ns = backend->now_ns + a->config.update_ns;
}

/* Processes one event; a completed update increments the version. */
static enum gw_err next_event(struct gw_actors *a, struct gw_error *why)
{
    struct virtual_backend *backend = a->inside;
    enum gw_err code = GW_OK;
    int next = next_actor(a);
    /* otherwise there would be a deadlock */
    assert(a->computes || next != NONE);
    if (a->computes &&
        (next == NONE || backend->done_ns <= backend->players[next].ready_ns)) {
        backend->now_ns = backend->done_ns;
        gw__actors_compute(a);
        code = gw__actors_apply(a, why);
        a->busy_ns += a->config.update_ns;
    } else {
        struct player *player = &backend->players[next];
        backend->now_ns = player->ready_ns;
        player->holds = true;
        gw__actors_hold(a, (unsigned)next, player->number);
    }
    schedule_update(a);
    return code;
}

static uint64_t now_ns(const struct gw_actors *a)
{
    const struct virtual_backend *backend = a->inside;
    return backend->now_ns;
}

static void destroy(struct gw_actors *a)
{
    free(a->inside);
}

static const struct gw__actors_backend virtual_backend = {.begin = begin_actor,
                                                          .turn = next_event,
                                                          .now_ns = now_ns,
                                                          .destroy = destroy};

enum gw_err gw_actors_new(const struct gw_actors_config *config,
                          struct gw_actors **actors, struct gw_error *why)
{
    enum gw_err code = gw__actors_make(config, &virtual_backend, actors, why);
    if (code)
        return code;
    struct virtual_backend *backend =
        calloc(1, sizeof *backend + config->actors * sizeof *backend->players);
    (*actors)->inside = backend;
    if (!backend) {
        gw_actors_destroy(actors);
        return gw_fail(why, GW_ENOMEM, "%u actors", config->actors);
    }
    for (unsigned i = 0; i < config->actors; i++) {
        gw__actor_init(&backend->players[i].actor, config, i);
        begin_actor(*actors, i);
    }
    return GW_OK;
}
