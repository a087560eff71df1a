/* SPDX-License-Identifier: MIT
 *
 * An agent with two heads on a shared trunk. From an observation it computes
 * the probability of a push to the right (the policy) and the expected reward
 * (the value). It plays trajectories and learns from them:
 *
 *     h_j   = tanh(w_j . seen + b_j)                 the trunk
 *     logit = sum p_j h_j + p,  pi(right) = 1 / (1 + e^-logit)
 *     V     = sum v_j h_j + v
 *
 *     loss  = sum over steps  -A log pi(action)  +  c_v/2 (target - V)^2
 *                             -  c_e entropy(pi)
 *
 * Advantage A and target come from V-trace (vtrace.c) or a plug-in, and are
 * constants here, not functions of the parameters. Each row of parameters is a
 * hidden unit, {w_j, b_j, p_j, v_j}; the last row has only the heads' biases p
 * and v. Rewards are scaled by 1 - discount, so that V is below 1.
 *
 * Pure: randomness comes from the caller. One thread at a time.
 */
#ifndef GW__AGENT_H
#define GW__AGENT_H

#include "cartpole.h"

#include <gradwire/actors.h>

enum {
    GW__AGENT_BIAS = GW__CARTPOLE_OBSERVED,
    GW__AGENT_POLICY,
    GW__AGENT_VALUE,
    GW__AGENT_WIDTH /* floats per row */
};

struct gw__agent_config {
    size_t hidden;
    size_t unroll; /* maximum number of steps of a trajectory */
    double discount, value_weight, entropy_weight;
    const struct gw_targets *targets; /* NULL: V-trace */
    bool plain; /* assume that the acting policy is the learning one */
};

struct gw__step {
    double observation[GW__CARTPOLE_OBSERVED];
    double chance; /* of the action, by the acting policy */
    bool right;
};

struct gw__trajectory {
    struct gw__step *steps; /* room for config.unroll */
    size_t count;
    double
        next[GW__CARTPOLE_OBSERVED]; /* the observation after the last step */
    bool failed;                     /* in the last step */
};

/* Sums over steps. */
struct gw__agent_losses {
    double policy, value, entropy, total;
};

struct gw__agent {
    struct gw__agent_config config;
    /* of the hidden units, one row per step and one for `next` */
    double *activity;
    double *logits, *values, *ratios; /* one per step, values one more */
    double *targets, *advantages;
};

GW_MUST_CHECK enum gw_err gw__agent_init(struct gw__agent *agent,
                                         const struct gw__agent_config *config,
                                         struct gw_error *why);
void gw__agent_fini(struct gw__agent *agent);
static inline size_t gw__agent_rows(const struct gw__agent_config *config)
{
    return config->hidden + 1;
}

/* Plays from `pole` until it fails, or for `steps` steps, at most unroll. */
void gw__agent_play(struct gw__agent *agent, const float *rows,
                    struct gw__cartpole *pole, struct gw_rng *rng, size_t steps,
                    struct gw__trajectory *trajectory);
/* Evaluates a trajectory with these parameters: targets and advantages. */
void gw__agent_evaluate(struct gw__agent *agent, const float *rows,
                        const struct gw__trajectory *trajectory);
/* Computes the loss from the results of gw__agent_evaluate, which stay
 * unchanged, and adds its gradient to `gradient` (as long as rows; may be
 * NULL). */
void gw__agent_learn(struct gw__agent *agent, const float *rows,
                     const struct gw__trajectory *trajectory, double *gradient,
                     struct gw__agent_losses *losses);

#endif
