/* SPDX-License-Identifier: MIT
 *
 * The parts of actors and a learner, private to actor*.c: an actor (actor.c), the
 * learner with its queue and its update (actors.c), and the two worlds that the
 * actors may live in. In actors_virtual.c they take virtual time, in
 * actors_process.c they are processes; queue and update are the same.
 */
#ifndef GW__ACTORS_PARTS_H
#define GW__ACTORS_PARTS_H

#include "agent.h"

#include <gradwire/actors.h>

#include <pthread.h>

/* ---- an actor ---- */

struct gw__actor {
    struct gw__cartpole pole;
    struct gw_rng rng;
    uint64_t steps; /* of this episode */
};

struct gw__played {
    struct gw__trajectory trajectory;
    uint64_t version; /* of the parameters: updates before */
    uint64_t episode; /* its length, if it ended with this trajectory; else 0 */
};

/* Its luck belongs to the config's seed and to its number. */
void gw__actor_init(struct gw__actor *actor,
                    const struct gw_actors_config *config, unsigned number);
/* A trajectory, and a new episode if it ended one. The version is left alone. */
void gw__actor_play(struct gw__actor *actor, struct gw__agent *agent,
                    const float *rows, uint64_t limit,
                    struct gw__played *played);
/* The time that `steps` steps take, by the config's step_ns and jitter. */
uint64_t gw__actor_duration(struct gw__actor *actor,
                            const struct gw_actors_config *config,
                            size_t steps);

void gw__sleep_until(uint64_t end_ns);

/* ---- the learner ---- */

enum { GW__BATCH_MAX = 1024 };

/* Numbers of trajectories or of actors, in the order in which they came. */
struct gw__line {
    unsigned *numbers;
    unsigned first, count, room;
};

/* What an actor's world does for the learner. */
struct gw__actors_world {
    /* The actor begins a trajectory with the newest parameters. */
    void (*begin)(struct gw_actors *actors, unsigned actor);
    /* Goes on by one event or more, at most one of which is an update. Both are
     * called under the lock. */
    enum gw_err (*turn)(struct gw_actors *actors, struct gw_error *why);
    uint64_t (*now_ns)(const struct gw_actors *actors);
    /* No actor plays any more; NULL: nothing to do. */
    void (*stop)(struct gw_actors *actors, struct gw_counters *counters);
    void (*destroy)(struct gw_actors *actors);
};

struct gw_actors {
    struct gw_actors_config config;
    const struct gw__actors_world *world;
    void *inside; /* the world's own */
    struct gw_task *task;
    struct gw_local *local;
    struct gw__agent agent;
    size_t row_count;
    uint64_t *keys;
    float *rows, *gradient; /* of all keys */
    double *sums;
    struct gw__played *played;
    unsigned *held;                       /* by each actor in `holding` */
    struct gw__line free, queue, holding; /* the last one of actors */
    unsigned batch[GW__BATCH_MAX], batch_count;
    unsigned alive; /* actors */
    uint64_t version;
    pthread_mutex_t lock; /* where the world has threads */
    bool computes;        /* there is a batch, which is being learnt from */
    uint64_t busy_ns;
    struct gw_actors_report report;
};

/* Everything but the inside of the world: no actor has begun. */
GW_MUST_CHECK enum gw_err gw__actors_make(const struct gw_actors_config *config,
                                          const struct gw__actors_world *world,
                                          struct gw_actors **actors,
                                          struct gw_error *why);
/* Room for a trajectory. One is free for each actor that plays. */
unsigned gw__actors_room(struct gw_actors *actors);
/* The actor has played it, and waits for room in the queue. */
void gw__actors_hold(struct gw_actors *actors, unsigned actor, unsigned number);
/* Everything that can happen without time going on: those who hold something
 * hand it over and begin again, and the learner gets its batch. */
void gw__actors_settle(struct gw_actors *actors);
/* The update, in two steps: the batch's gradient, which needs no lock, since it
 * reads no more than the batch and the parameters; and its application. */
void gw__actors_compute(struct gw_actors *actors);
GW_MUST_CHECK enum gw_err gw__actors_apply(struct gw_actors *actors,
                                           struct gw_error *why);
static inline size_t gw__actors_floats(const struct gw_actors *actors)
{
    return actors->row_count * GW__AGENT_WIDTH;
}

#endif
