/* SPDX-License-Identifier: MIT
 *
 * The backend with actor processes. Each actor shares a communicator of its own
 * with the learner, so that its death does not affect the others. A thread in
 * the learner's process receives its trajectories:
 *
 *   actor    receive policy -> play for the configured time -> send trajectory
 *   thread   send policy -> receive trajectory -> hold it --room in the queue-.
 *               ^--------------------- begin (the newest policy) <-----------'
 *
 * The caller's thread computes the updates, for the configured time or as long
 * as the machine needs. The lock protects the queue and the parameters, which
 * `begin` copies. actor_message.h has the messages.
 */
#include "actor_message.h"

#include "base/thread.h"

#include <stdlib.h>

/* The learner's record of an actor. */
struct seat {
    struct gw_actors *actors;
    unsigned number;
    struct gw_comm *comm;
    pthread_t thread;
    pthread_cond_t begun;
    bool begins; /* a policy is ready to send */
    unsigned char *policy;
    double *message; /* the received trajectory */
};

struct process_world {
    pthread_cond_t batch; /* a batch is complete, or an actor is lost */
    bool stops;
    unsigned started; /* number of threads */
    struct seat seats[];
};

/* ---- threads ---- */

/* Waits until the actor may begin, then sends the policy. False: it was the
 * stop message, or the actor is lost. */
static bool send_policy(struct seat *seat)
{
    struct gw_actors *a = seat->actors;
    struct process_world *world = a->inside;
    size_t bytes = gw__policy_bytes(gw__actors_floats(a));
    pthread_mutex_lock(&a->lock);
    while (!seat->begins && !world->stops)
        pthread_cond_wait(&seat->begun, &a->lock);
    seat->begins = false;
    bool stops = world->stops;
    if (stops)
        gw__policy_write(seat->policy, GW__POLICY_STOP, a->rows,
                         gw__actors_floats(a));
    pthread_mutex_unlock(&a->lock);
    return !gw_send(seat->comm, seat->policy, bytes, GW_U8, GW__ACTOR) &&
           !stops;
}

/* False: the actor is lost, or the message is not a valid trajectory. */
static bool receive_played(struct seat *seat)
{
    struct gw_actors *a = seat->actors;
    struct process_world *world = a->inside;
    size_t unroll = a->agent.config.unroll;
    if (gw_recv(seat->comm, seat->message, gw__played_count(unroll), GW_F64,
                GW__ACTOR) ||
        !gw__played_check(seat->message, unroll))
        return false;
    pthread_mutex_lock(&a->lock);
    unsigned number = gw__actors_room(a);
    struct gw__played *played = &a->played[number];
    gw__played_read(played, seat->message);
    played->version = gw__policy_version(seat->policy);
    gw__actors_hold(a, seat->number, number);
    gw__actors_settle(a);
    pthread_cond_signal(&world->batch);
    pthread_mutex_unlock(&a->lock);
    return true;
}

static void *serve_actor(void *context)
{
    struct seat *seat = context;
    struct gw_actors *a = seat->actors;
    struct process_world *world = a->inside;
    while (send_policy(seat) && receive_played(seat))
        continue;
    pthread_mutex_lock(&a->lock);
    if (!world->stops)
        a->alive--;
    pthread_cond_signal(&world->batch);
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

static void begin_actor(struct gw_actors *a, unsigned actor)
{
    struct process_world *world = a->inside;
    struct seat *seat = &world->seats[actor];
    gw__policy_write(seat->policy, a->version, a->rows, gw__actors_floats(a));
    seat->begins = true;
    pthread_cond_signal(&seat->begun);
}

static enum gw_err await_batch(struct gw_actors *a, struct gw_error *why)
{
    struct process_world *world = a->inside;
    while (!a->computes && a->alive > 0)
        pthread_cond_wait(&world->batch, &a->lock);
    if (!a->computes)
        return gw_fail(why, GW_ELOST,
                       "after update %llu: all %u actors have ended",
                       (unsigned long long)a->version, a->config.actors);
    pthread_mutex_unlock(&a->lock);
    uint64_t begin_ns = gw_now_ns();
    gw__actors_compute(a);
    gw__sleep_until(begin_ns + a->config.update_ns);
    pthread_mutex_lock(&a->lock);
    enum gw_err code = gw__actors_apply(a, why);
    a->busy_ns += gw_now_ns() - begin_ns;
    if (!code)
        gw__actors_settle(a);
    return code;
}

static uint64_t now_ns(const struct gw_actors *a)
{
    (void)a;
    return gw_now_ns();
}

/* ---- creation and destruction ---- */

/* Actors finish their current trajectory first. */
static void stop(struct gw_actors *a, struct gw_counters *counters)
{
    struct process_world *world = a->inside;
    pthread_mutex_lock(&a->lock);
    world->stops = true;
    for (unsigned i = 0; i < a->config.actors; i++)
        pthread_cond_signal(&world->seats[i].begun);
    pthread_mutex_unlock(&a->lock);
    for (; world->started > 0; world->started--)
        pthread_join(world->seats[world->started - 1].thread, NULL);
    for (unsigned i = 0; i < a->config.actors; i++) {
        struct gw_counters link;
        gw_comm_counters(world->seats[i].comm, GW__ACTOR, &link);
        counters->messages_sent += link.messages_sent;
        counters->messages_received += link.messages_received;
        counters->bytes_sent += link.bytes_sent;
        counters->bytes_received += link.bytes_received;
    }
}

static void destroy(struct gw_actors *a)
{
    struct process_world *world = a->inside;
    struct gw_counters counters = {0};
    if (!world)
        return;
    stop(a, &counters);
    for (unsigned i = 0; i < a->config.actors; i++) {
        pthread_cond_destroy(&world->seats[i].begun);
        free(world->seats[i].policy);
        free(world->seats[i].message);
    }
    pthread_cond_destroy(&world->batch);
    free(world);
}

static const struct gw__actors_world process_world = {.begin = begin_actor,
                                                      .turn = await_batch,
                                                      .now_ns = now_ns,
                                                      .stop = stop,
                                                      .destroy = destroy};

static bool seat_init(struct seat *seat, struct gw_actors *a, unsigned number,
                      struct gw_comm *comm)
{
    size_t count = gw__played_count(a->agent.config.unroll);
    seat->actors = a;
    seat->number = number;
    seat->comm = comm;
    pthread_cond_init(&seat->begun, NULL);
    seat->policy = malloc(gw__policy_bytes(gw__actors_floats(a)));
    seat->message = malloc(count * sizeof *seat->message);
    return seat->policy && seat->message;
}

static enum gw_err start_threads(struct gw_actors *a, struct gw_comm **comms,
                                 struct gw_error *why)
{
    unsigned count = a->config.actors;
    struct process_world *world = a->inside;
    enum gw_err code = GW_OK;
    bool made = true;
    if (!world)
        return gw_fail(why, GW_ENOMEM, "%u actors", count);
    pthread_cond_init(&world->batch, NULL);
    for (unsigned i = 0; i < count; i++)
        made &= seat_init(&world->seats[i], a, i, comms[i]);
    if (!made)
        return gw_fail(why, GW_ENOMEM, "%u actors", count);
    pthread_mutex_lock(&a->lock);
    for (unsigned i = 0; i < count && !code; i++) {
        begin_actor(a, i);
        code = gw__thread_start(&world->seats[i].thread, serve_actor,
                                &world->seats[i], "actors", why);
        world->started += !code;
    }
    pthread_mutex_unlock(&a->lock);
    return code;
}

enum gw_err gw_actors_serve(const struct gw_actors_config *config,
                            struct gw_comm **comms, struct gw_actors **actors,
                            struct gw_error *why)
{
    enum gw_err code = gw__actors_make(config, &process_world, actors, why);
    if (code)
        return code;
    (*actors)->inside = calloc(1, sizeof(struct process_world) +
                                      config->actors * sizeof(struct seat));
    code = start_threads(*actors, comms, why);
    if (code)
        gw_actors_destroy(actors);
    return code;
}
