/* SPDX-License-Identifier: MIT
 *
 * Separate actors and a learner, as in IMPALA (Espeholt et al. 2018). An actor
 * plays a trajectory with the newest parameters at its beginning. A bounded
 * queue holds the finished trajectories. The learner takes `batch` of them for
 * each update. The learner continues while a trajectory is played and waits, so
 * it learns from trajectories of an older policy:
 *
 *     policy lag = updates between the parameters with which a trajectory was
 *                  played and the update that learns from it
 *
 * Each update increases the lag of all pending trajectories by one. Each actor
 * has one trajectory in progress or finished, the others are in the queue. So,
 * as in Little's law (1961), for any durations,
 *
 *     mean lag = (actors + mean length of the queue at such times) / batch
 *
 * This is (actors + queue) / batch if the learner is slower than all actors,
 * and only slightly more than actors / batch if it waits for them.
 *
 * gw_actors_new: time is virtual; a step takes an actor a given time, and so
 * does an update of the learner. Cart and pole (gradwire/train.h), parameters
 * and gradients are real, and follow from the seed.
 *
 * gw_actors_serve: each actor is a process, and so is the learner. Steps and
 * updates take real time, policies and trajectories are messages. Queue, update
 * and reports are the same.
 */
#ifndef GRADWIRE_ACTORS_H
#define GRADWIRE_ACTORS_H

#include <gradwire/coll.h>
#include <gradwire/train.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { GW_ACTORS_MAX = 1024, GW_ACTORS_QUEUE_MAX = 4096 };
#define GW_LAG_ANY UINT64_MAX

/* A learner's data about a trajectory, step by step. */
struct gw_unrolled {
    size_t count;            /* steps */
    double reward, discount; /* of each step */
    /* The value V of each observation; count + 1 entries: the last one
     * after the last step, 0 at the end of an episode. */
    const double *values;
    /* The probability of each action under the learner's policy, divided
     * by that under the actor's policy. */
    const double *ratios;
};

/* A policy for targets: the plug-in kind "targets" (gradwire/plugin.h). */
struct gw_targets {
    /* Computes `count` targets for the values, and as many advantages of
     * the actions. */
    void (*compute)(const struct gw_unrolled *unrolled, double *targets,
                    double *advantages);
};
/* The built-in policy: V-trace (Espeholt et al. 2018, section 4.1). */
extern GW_API const struct gw_targets gw_vtrace;

/* The configuration of actors and learner. */
struct gw_actors_config {
    /* A cartpole: its agent, updater and seed. A trajectory has `unroll`
     * steps, fewer when an episode ends. */
    struct gw_task_config task;
    unsigned actors;
    /* Capacity of the queue; 0: the learner takes each trajectory directly
     * from the actor. */
    unsigned queue;
    unsigned batch;   /* trajectories per update */
    uint64_t step_ns; /* time of an actor per step */
    double jitter;    /* share of it that is exponential: 0 to 1 */
    uint64_t update_ns;
    uint64_t max_lag; /* older ones are dropped; GW_LAG_ANY: none */
    /* NULL: V-trace. Must outlive the actors. */
    const struct gw_targets *targets;
    bool plain; /* all ratios are 1, as without lag */
};

/* Sets defaults: eight actors, a queue of eight, one trajectory per update, and
 * a learner that is slower than the actors. */
GW_API void gw_actors_defaults(struct gw_actors_config *config);

/* The record of a number of updates. */
struct gw_actors_report {
    uint64_t updates;
    uint64_t trajectories; /* used by updates */
    uint64_t dropped;      /* too old */
    uint64_t steps;        /* of used trajectories */
    uint64_t episodes;     /* that ended */
    double mean_return;    /* of these, in steps; NaN: none ended */
    double policy_loss, value_loss, entropy; /* means over steps */
    double lag_mean;                         /* of used trajectories */
    uint64_t lag_max;
    double queue_mean;  /* length of the queue at the end of an update */
    double actors_mean; /* live actors at the end of an update */
    unsigned lost;      /* dead actors so far */
    double busy;        /* share of the time in which the learner worked */
    uint64_t time_ns;   /* virtual or real */
};

struct gw_actors;

/* Creates virtual actors and a learner; gw_actors_destroy frees them.
 * GW_EINVAL: the configuration is invalid; *actors is NULL. */
GW_API GW_MUST_CHECK enum gw_err
gw_actors_new(const struct gw_actors_config *config, struct gw_actors **actors,
              struct gw_error *why);
/* Stops and frees actors and learner, and sets the pointer to NULL. */
GW_API void gw_actors_destroy(struct gw_actors **actors);
/* Runs `updates` more updates and reports on them. GW_EWRONG: a gradient or a
 * parameter is now NaN or infinite; the sentence names the update. GW_ELOST: no
 * actor is left. */
GW_API GW_MUST_CHECK enum gw_err gw_actors_run(struct gw_actors *actors,
                                               uint64_t updates,
                                               struct gw_actors_report *report,
                                               struct gw_error *why);
/* Returns a hash of the parameters, the same for equal bits. */
GW_API uint64_t gw_actors_digest(const struct gw_actors *actors);

/* ---- actors as processes ---- */

/* Creates the learner's side. comms[i] is a communicator of two, in which the
 * learner is rank 0 and actor i rank 1. They belong to the caller, but the
 * threads of the learner use them until gw_actors_stop or gw_actors_destroy. A
 * lost actor loses its current trajectory; the others continue. The functions
 * above are for one thread. */
GW_API GW_MUST_CHECK enum gw_err
gw_actors_serve(const struct gw_actors_config *config, struct gw_comm **comms,
                struct gw_actors **actors, struct gw_error *why);
/* Stops the actors, each after its trajectory. *counters receives the traffic
 * between the learner and all of them: one policy per trajectory and one stop
 * message per actor. Virtual actors send nothing. No update can follow. */
GW_API void gw_actors_stop(struct gw_actors *actors,
                           struct gw_counters *counters);

/* The configuration of an actor's process. */
struct gw_actor_process {
    const struct gw_actors_config *config; /* the same as the learner's */
    unsigned number;                       /* 0 to config->actors - 1 */
    /* NULL, or called before each trajectory with the version of its
     * policy: the number of updates before it. */
    void (*begins)(void *context, uint64_t version);
    void *context;
};
/* Runs an actor: plays until the learner stops it. On failure it returns the
 * error of the communicator. */
GW_API GW_MUST_CHECK enum gw_err
gw_actor_run(const struct gw_actor_process *process, struct gw_comm *comm,
             struct gw_error *why);

#ifdef __cplusplus
}
#endif
#endif
