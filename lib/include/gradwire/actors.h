/* SPDX-License-Identifier: MIT
 *
 * Actors and a learner apart, as in IMPALA (Espeholt et al. 2018): actors play
 * with the newest parameters that there are when they begin a trajectory; a
 * queue of bounded room has what they have played; the learner takes `batch` of
 * it for each update. While a trajectory is made and waits, the learner goes
 * on, and what it learns from then was played by an older policy:
 *
 *     policy lag = updates between the parameters that a trajectory was played
 *                  with and the update that learns from it
 *
 * When an update ends it makes every trajectory older by one that is still to
 * be learnt from. Each actor has one in the making or in hand, the others are
 * in the queue; so, as in Little's law (1961), however long anything takes,
 *
 *     mean lag = (actors + mean length of the queue at such times) / batch
 *
 * which is (actors + queue) / batch if the learner is slower than all actors,
 * and hardly more than actors / batch if it waits for them.
 *
 * gw_actors_new: time is virtual, a step costs an actor so much, an update the
 * learner so much. All else is real, the cart and pole (gradwire/train.h), the
 * parameters, the gradients; and the same on each run, since the seed decides.
 *
 * gw_actors_serve: each actor is a process, and so is the learner. Steps and
 * updates take their time by the clock, policies and trajectories are messages.
 * Queue, update and reports are the same.
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

/* What a learner knows of a trajectory, step by step. */
struct gw_unrolled {
    size_t count;            /* steps */
    double reward, discount; /* of each step */
    const double *values;    /* V of what was seen; count + 1: the last one of
                                what comes then, 0 if nothing does */
    const double *ratios;    /* how likely the action is by the policy that
                                learns, over how likely it was by the one that
                                acted */
};

/* How a learner judges it: the plug-in kind "targets" (gradwire/plugin.h). */
struct gw_targets {
    /* Sets `count` targets, to which the values are drawn, and as many
     * advantages, by which actions become more likely. */
    void (*judge)(const struct gw_unrolled *unrolled, double *targets,
                  double *advantages);
};
/* The built-in one: V-trace (Espeholt et al. 2018, section 4.1). */
extern GW_API const struct gw_targets gw_vtrace;

struct gw_actors_config {
    /* A cartpole: its agent, updater and seed. A trajectory has `unroll` steps,
     * less when an episode ends. */
    struct gw_task_config task;
    unsigned actors;
    unsigned queue;   /* trajectories that wait; 0: the learner takes each one
                         from the actor's hand */
    unsigned batch;   /* trajectories of an update */
    uint64_t step_ns; /* of an actor; a trajectory takes steps times that */
    double jitter;    /* share of it that is exponential: 0 to 1 */
    uint64_t update_ns;
    uint64_t max_lag; /* older trajectories are thrown away; GW_LAG_ANY */
    /* NULL: V-trace. Must outlive the actors. */
    const struct gw_targets *targets;
    bool plain; /* ratios are 1: as if there were no lag */
};

/* A good beginning: eight actors, a queue of eight, one trajectory an update,
 * a learner that is not fast enough for them. */
GW_API void gw_actors_defaults(struct gw_actors_config *config);

/* What has happened in one stretch of updates. */
struct gw_actors_report {
    uint64_t updates;
    uint64_t trajectories; /* learnt from */
    uint64_t dropped;      /* too old */
    uint64_t steps;        /* of those learnt from */
    uint64_t episodes;     /* that ended */
    double mean_return;    /* of those: steps; NaN: none ended */
    double policy_loss, value_loss, entropy; /* means over steps */
    double lag_mean;                         /* of those learnt from */
    uint64_t lag_max;
    double queue_mean;  /* trajectories in the queue when an update ended */
    double actors_mean; /* that live when an update ended */
    unsigned lost;      /* actors, of all so far */
    double busy;        /* share of the time that the learner computed */
    uint64_t time_ns;   /* virtual, or by the clock */
};

struct gw_actors;

/* GW_EINVAL: the config makes no sense. */
GW_API GW_MUST_CHECK enum gw_err
gw_actors_new(const struct gw_actors_config *config, struct gw_actors **actors,
              struct gw_error *why);
GW_API void gw_actors_destroy(struct gw_actors **actors);
/* So many updates more. GW_EWRONG: a gradient or a parameter is NaN or infinite
 * now; the sentence names the update. GW_ELOST: no actor is left. */
GW_API GW_MUST_CHECK enum gw_err gw_actors_run(struct gw_actors *actors,
                                               uint64_t updates,
                                               struct gw_actors_report *report,
                                               struct gw_error *why);
/* Equal for equal parameters, bit by bit. */
GW_API uint64_t gw_actors_digest(const struct gw_actors *actors);

/* ---- actors that are processes ---- */

/* The learner's side. comms[i] is a communicator of two, in which the learner
 * is rank 0 and actor i rank 1; they belong to the caller, and to the threads
 * that this starts until gw_actors_stop or gw_actors_destroy. An actor that is
 * lost takes the trajectory with it that it plays; the others go on. The
 * functions above are for one thread. */
GW_API GW_MUST_CHECK enum gw_err
gw_actors_serve(const struct gw_actors_config *config, struct gw_comm **comms,
                struct gw_actors **actors, struct gw_error *why);
/* Ends the actors, each after its trajectory, and gives what the learner sent to
 * and received from all of them: a policy for each trajectory and one that says
 * stop for each actor. Virtual ones send nothing. No update can follow. */
GW_API void gw_actors_stop(struct gw_actors *actors,
                           struct gw_counters *counters);

struct gw_actor_life {
    const struct gw_actors_config *config; /* as the learner has it */
    unsigned number;                       /* 0 to config->actors - 1 */
    /* NULL, or called before each trajectory with the version of its policy:
     * the updates before it. */
    void (*begins)(void *context, uint64_t version);
    void *context;
};
/* An actor's side: plays until the learner stops it. On failure the sentence is
 * the communicator's. */
GW_API GW_MUST_CHECK enum gw_err gw_actor_run(const struct gw_actor_life *life,
                                              struct gw_comm *comm,
                                              struct gw_error *why);

#ifdef __cplusplus
}
#endif
#endif
