/* SPDX-License-Identifier: MIT
 *
 * Internals of actors and learner, private to actor*.c: the actor (actor.c),
 * the learner with its queue and its update (actors.c), and two backends. In
 * actors_virtual.c actors run in virtual time; in actors_process.c they are
 * processes. Queue and update are the same.
 */
#ifndef GW__ACTORS_PARTS_H
#define GW__ACTORS_PARTS_H

#include "agent.h"

#include <gradwire/actors.h>

#include <pthread.h>

/* ---- actors ---- */

struct gw__actor {
    struct gw__cartpole pole;
    struct gw_rng rng;
    uint64_t steps; /* of the current episode */
};

struct gw__played {
    struct gw__trajectory trajectory;
    uint64_t version; /* of the parameters: number of updates before */
    /* the episode's length if it ended in this trajectory, otherwise 0 */
    uint64_t episode;
};

/* The random sequence depends on the config's seed and the number. */
void gw__actor_init(struct gw__actor *actor,
                    const struct gw_actors_config *config, unsigned number);
/* Plays a trajectory, and resets the pole if the episode ended. The version is
 * not changed. */
void gw__actor_play(struct gw__actor *actor, struct gw__agent *agent,
                    const float *rows, uint64_t limit,
                    struct gw__played *played);
/* The duration of `steps` steps, from the config's step_ns and jitter. */
uint64_t gw__actor_duration(struct gw__actor *actor,
                            const struct gw_actors_config *config,
                            size_t steps);

void gw__sleep_until(uint64_t end_ns);

/* ---- the learner ---- */

enum { GW__BATCH_MAX = 1024 };

/* A queue of trajectory numbers or actor numbers. */
struct gw__index_queue {
    unsigned *numbers;
    unsigned first, count, room;
};

/* The backend of the actors. `begin` and `turn` are called under the lock. */
struct gw__actors_backend {
    /* Lets the actor begin a trajectory with the newest parameters. */
    void (*begin)(struct gw_actors *actors, unsigned actor);
    /* Processes one event or more, at most one of them an update. */
    enum gw_err (*turn)(struct gw_actors *actors, struct gw_error *why);
    uint64_t (*now_ns)(const struct gw_actors *actors);
    /* Ends all actors. NULL: not needed. */
    void (*stop)(struct gw_actors *actors, struct gw_counters *counters);
    void (*destroy)(struct gw_actors *actors);
};

struct gw_actors {
    struct gw_actors_config config;
    const struct gw__actors_backend *backend;
    void *inside; /* data of the backend */
    struct gw_task *task;
    struct gw_table_store *store;
    struct gw__agent agent;
    size_t row_count;
    uint64_t *keys;
    float *rows, *gradient; /* of all keys */
    double *sums;
    struct gw__played *played;
    unsigned *held; /* of each actor in `holding` */
    struct gw__index_queue free, queue, holding; /* `holding` has actors */
    unsigned batch[GW__BATCH_MAX], batch_count;
    unsigned alive; /* number of live actors */
    uint64_t version;
    pthread_mutex_t lock; /* used by a backend with threads */
    bool computes;        /* the batch is complete and being computed */
    uint64_t busy_ns;
    struct gw_actors_report report;
};

/* Creates everything except the backend's data; no actor has begun. */
GW_MUST_CHECK enum gw_err
gw__actors_make(const struct gw_actors_config *config,
                const struct gw__actors_backend *backend,
                struct gw_actors **actors, struct gw_error *why);
/* A free trajectory. There is always one for each live actor. */
unsigned gw__actors_room(struct gw_actors *actors);
/* The actor has played it and waits for room in the queue. */
void gw__actors_hold(struct gw_actors *actors, unsigned actor, unsigned number);
/* Does everything that takes no time: hands trajectories over, lets their
 * actors begin again, and fills the learner's batch. */
void gw__actors_fill_batch(struct gw_actors *actors);
/* The two steps of an update: the gradient of the batch, without the lock,
 * since it only reads the batch and the parameters; and its application. */
void gw__actors_compute(struct gw_actors *actors);
GW_MUST_CHECK enum gw_err gw__actors_apply(struct gw_actors *actors,
                                           struct gw_error *why);
static inline size_t gw__actors_floats(const struct gw_actors *actors)
{
    return actors->row_count * GW__AGENT_WIDTH;
}

#endif
