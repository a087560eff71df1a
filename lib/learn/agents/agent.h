/* SPDX-License-Identifier: MIT
 *
 * An agent with two heads on one trunk: from what it sees it tells how likely
 * it should push to the right (the policy), and how much reward is to come (the
 * value). It plays, which gives trajectories, and learns from them:
 *
 *     h_j   = tanh(w_j . seen + b_j)                 the trunk
 *     logit = sum p_j h_j + p,  pi(right) = 1 / (1 + e^-logit)
 *     V     = sum v_j h_j + v
 *
 *     loss  = sum over steps  -A log pi(action)  +  c_v/2 (target - V)^2
 *                             -  c_e entropy(pi)
 *
 * Advantage A and target are V-trace's (vtrace.c), or a plug-in's; they are
 * numbers here, not functions of the parameters. Rows of parameters are a
 * hidden unit each, {w_j, b_j, p_j, v_j}; the last one has the heads' own p and
 * v, and nothing else. Rewards are scaled by 1 - discount, so that V is
 * below 1.
 *
 * Pure: what is random comes from the caller. One thread at a time.
 */
#ifndef GW__AGENT_H
#define GW__AGENT_H

#include "cartpole.h"

#include <gradwire/actors.h>

enum {
    GW__AGENT_BIAS = GW__CARTPOLE_SEEN,
    GW__AGENT_POLICY,
    GW__AGENT_VALUE,
    GW__AGENT_WIDTH /* floats of a row */
};

struct gw__agent_config {
    size_t hidden;
    size_t unroll; /* steps of a trajectory, at most */
    double discount, value_weight, entropy_weight;
    const struct gw_targets *targets; /* NULL: V-trace */
    bool plain; /* as if the policy that acted were the one that learns */
};

struct gw__step {
    double seen[GW__CARTPOLE_SEEN];
    double chance; /* of the action, by the policy that acted */
    bool right;
};

struct gw__trajectory {
    struct gw__step *steps; /* room for config.unroll */
    size_t count;
    double next[GW__CARTPOLE_SEEN]; /* what is seen after the last step */
    bool failed;                    /* with the last step */
};

/* Sums over steps. */
struct gw__agent_losses {
    double policy, value, entropy, total;
};

struct gw__agent {
    struct gw__agent_config config;
    double *activity; /* of hidden units, a row a step, and one for `next` */
    double *logits, *values, *ratios; /* a step each; values one more */
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

/* Plays from `pole` on until it fails, or for so many steps, at most unroll. */
void gw__agent_play(struct gw__agent *agent, const float *rows,
                    struct gw__cartpole *pole, struct gw_rng *rng, size_t steps,
                    struct gw__trajectory *trajectory);
/* Looks at a trajectory with these parameters: targets and advantages. */
void gw__agent_judge(struct gw__agent *agent, const float *rows,
                     const struct gw__trajectory *trajectory);
/* The loss by what gw__agent_judge has found, which stays as it is. `gradient`
 * (NULL: not wanted), as long as rows, has the slope added to it. */
void gw__agent_learn(struct gw__agent *agent, const float *rows,
                     const struct gw__trajectory *trajectory, double *gradient,
                     struct gw__agent_losses *losses);

#endif
