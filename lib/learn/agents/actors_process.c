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
struct remote_actor {
    struct gw_actors *actors;
    unsigned number;
    struct gw_comm *comm;
    pthread_t thread;
    pthread_cond_t begun;
    bool begins; /* a policy is ready to send */
    unsigned char *policy;
    double *message; /* the received trajectory */
};

struct process_backend {
    pthread_cond_t batch; /* a batch is complete, or an actor is lost */
    bool stops;
    unsigned started; /* number of threads */
    struct remote_actor remotes[];
};

/* ---- threads ---- */

/* Waits until the actor may begin, then sends the policy. False: it was the
 * stop message, or the actor is lost. */
static bool send_policy(struct remote_actor *remote)
{
    struct gw_actors *a = remote->actors;
    struct process_backend *backend = a->inside;
    size_t bytes = gw__policy_bytes(gw__actors_floats(a));
    pthread_mutex_lock(&a->lock);
    while (!remote->begins && !backend->stops)
        pthread_cond_wait(&remote->begun, &a->lock);
    remote->begins = false;
    bool stops = backend->stops;
    if (stops)
        gw__policy_write(remote->policy, GW__POLICY_STOP, a->rows,
                         gw__actors_floats(a));
    pthread_mutex_unlock(&a->lock);
    return !gw_send(remote->comm, remote->policy, bytes, GW_U8, GW__ACTOR) &&
           !stops;
}

/* False: the actor is lost, or the message is not a valid trajectory. */
static bool receive_played(struct remote_actor *remote)
{
    struct gw_actors *a = remote->actors;
    struct process_backend *backend = a->inside;
    size_t unroll = a->agent.config.unroll;
    if (gw_recv(remote->comm, remote->message, gw__played_count(unroll), GW_F64,
                GW__ACTOR) ||
        !gw__played_check(remote->message, unroll))
        return false;
    pthread_mutex_lock(&a->lock);
    unsigned number = gw__actors_room(a);
    struct gw__played *played = &a->played[number];
    gw__played_read(played, remote->message);
    played->version = gw__policy_version(remote->policy);
    gw__actors_hold(a, remote->number, number);
    gw__actors_fill_batch(a);
    pthread_cond_signal(&backend->batch);
    pthread_mutex_unlock(&a->lock);
    return true;
}

static void *serve_actor(void *context)
{
    struct remote_actor *remote = context;
    struct gw_actors *a = remote->actors;
    struct process_backend *backend = a->inside;
    while (send_policy(remote) && receive_played(remote))
        continue;
    pthread_mutex_lock(&a->lock);
    if (!backend->stops)
        a->alive--;
    pthread_cond_signal(&backend->batch);
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

static void begin_actor(struct gw_actors *a, unsigned actor)
{
    struct process_backend *backend = a->inside;
    struct remote_actor *remote = &backend->remotes[actor];
    gw__policy_write(remote->policy, a->version, a->rows, gw__actors_floats(a));
    remote->begins = true;
    pthread_cond_signal(&remote->begun);
}

static enum gw_err await_batch(struct gw_actors *a, struct gw_error *why)
{
    struct process_backend *backend = a->inside;
    while (!a->computes && a->alive > 0)
        pthread_cond_wait(&backend->batch, &a->lock);
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
        gw__actors_fill_batch(a);
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
    struct process_backend *backend = a->inside;
    pthread_mutex_lock(&a->lock);
    backend->stops = true;
    for (unsigned i = 0; i < a->config.actors; i++)
        pthread_cond_signal(&backend->remotes[i].begun);
    pthread_mutex_unlock(&a->lock);
    for (; backend->started > 0; backend->started--)
        pthread_join(backend->remotes[backend->started - 1].thread, NULL);
    for (unsigned i = 0; i < a->config.actors; i++) {
        struct gw_counters link;
        gw_comm_counters(backend->remotes[i].comm, GW__ACTOR, &link);
        counters->messages_sent += link.messages_sent;
        counters->messages_received += link.messages_received;
        counters->bytes_sent += link.bytes_sent;
        counters->bytes_received += link.bytes_received;
    }
}

static void destroy(struct gw_actors *a)
{
    struct process_backend *backend = a->inside;
    struct gw_counters counters = {0};
    if (!backend)
        return;
    stop(a, &counters);
    for (unsigned i = 0; i < a->config.actors; i++) {
        pthread_cond_destroy(&backend->remotes[i].begun);
        free(backend->remotes[i].policy);
        free(backend->remotes[i].message);
    }
    pthread_cond_destroy(&backend->batch);
    free(backend);
}

static const struct gw__actors_backend process_backend = {.begin = begin_actor,
                                                          .turn = await_batch,
                                                          .now_ns = now_ns,
                                                          .stop = stop,
                                                          .destroy = destroy};

static bool remote_init(struct remote_actor *remote, struct gw_actors *a,
                        unsigned number, struct gw_comm *comm)
{
    size_t count = gw__played_count(a->agent.config.unroll);
    remote->actors = a;
    remote->number = number;
    remote->comm = comm;
    pthread_cond_init(&remote->begun, NULL);
    remote->policy = malloc(gw__policy_bytes(gw__actors_floats(a)));
    remote->message = malloc(count * sizeof *remote->message);
    return remote->policy && remote->message;
}

static enum gw_err start_threads(struct gw_actors *a, struct gw_comm **comms,
                                 struct gw_error *why)
{
    unsigned count = a->config.actors;
    struct process_backend *backend = a->inside;
    enum gw_err code = GW_OK;
    bool made = true;
    if (!backend)
        return gw_fail(why, GW_ENOMEM, "%u actors", count);
    pthread_cond_init(&backend->batch, NULL);
    for (unsigned i = 0; i < count; i++)
        made &= remote_init(&backend->remotes[i], a, i, comms[i]);
    if (!made)
        return gw_fail(why, GW_ENOMEM, "%u actors", count);
    pthread_mutex_lock(&a->lock);
    for (unsigned i = 0; i < count && !code; i++) {
        begin_actor(a, i);
        code = gw__thread_start(&backend->remotes[i].thread, serve_actor,
                                &backend->remotes[i], "actors", why);
        backend->started += !code;
    }
    pthread_mutex_unlock(&a->lock);
    return code;
}

enum gw_err gw_actors_serve(const struct gw_actors_config *config,
                            struct gw_comm **comms, struct gw_actors **actors,
                            struct gw_error *why)
{
    enum gw_err code = gw__actors_make(config, &process_backend, actors, why);
    if (code)
        return code;
    (*actors)->inside =
        calloc(1, sizeof(struct process_backend) +
                      config->actors * sizeof(struct remote_actor));
    code = start_threads(*actors, comms, why);
    if (code)
        gw_actors_destroy(actors);
    return code;
}
