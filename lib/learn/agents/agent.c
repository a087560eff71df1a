/* SPDX-License-Identifier: MIT
 *
 * Forward pass, play and gradients of an agent; see agent.h.
 */
#include "agent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum gw_err gw__agent_init(struct gw__agent *agent,
                           const struct gw__agent_config *config,
                           struct gw_error *why)
{
    size_t steps = config->unroll + 1;
    double *memory = calloc(steps * (config->hidden + 5), sizeof *memory);
    *agent = (struct gw__agent){.config = *config};
    if (!memory)
        return gw_fail(why, GW_ENOMEM, "an agent with %zu hidden units",
                       config->hidden);
    agent->activity = memory;
    agent->logits = memory + steps * config->hidden;
    agent->values = agent->logits + steps;
    agent->ratios = agent->values + steps;
    agent->targets = agent->ratios + steps;
    agent->advantages = agent->targets + steps;
    return GW_OK;
}

void gw__agent_fini(struct gw__agent *agent)
{
    free(agent->activity);
    agent->activity = NULL;
}

/* ---- forward pass ---- */

/* Computes the outputs of both heads for step t. */
static void see(struct gw__agent *agent, const float *rows,
                const double observation[GW__CARTPOLE_OBSERVED], size_t t)
{
    size_t hidden = agent->config.hidden;
    double *activity = agent->activity + t * hidden;
    const float *heads = rows + hidden * GW__AGENT_WIDTH;
    double logit = (double)heads[GW__AGENT_POLICY];
    double value = (double)heads[GW__AGENT_VALUE];
    for (size_t j = 0; j < hidden; j++) {
        const float *row = rows + j * GW__AGENT_WIDTH;
        double sum = (double)row[GW__AGENT_BIAS];
        for (size_t k = 0; k < GW__CARTPOLE_OBSERVED; k++)
            sum += (double)row[k] * observation[k];
        activity[j] = tanh(sum);
        logit += (double)row[GW__AGENT_POLICY] * activity[j];
        value += (double)row[GW__AGENT_VALUE] * activity[j];
    }
    agent->logits[t] = logit;
    agent->values[t] = value;
}

/* The probability of the action taken. */
static double chance_of(double logit, bool right)
{
    return 1 / (1 + exp(right ? -logit : logit));
}

/* ---- playing ---- */

void gw__agent_play(struct gw__agent *agent, const float *rows,
                    struct gw__cartpole *pole, struct gw_rng *rng, size_t steps,
                    struct gw__trajectory *trajectory)
{
    size_t count = 0;
    trajectory->failed = false;
    while (count < steps && !trajectory->failed) {
        struct gw__step *step = &trajectory->steps[count++];
        gw__cartpole_observe(pole, step->observation);
        see(agent, rows, step->observation, 0);
        step->right = gw_rng_unit(rng) < chance_of(agent->logits[0], true);
        step->chance = chance_of(agent->logits[0], step->right);
        trajectory->failed = !gw__cartpole_push(pole, step->right);
    }
    trajectory->count = count;
    gw__cartpole_observe(pole, trajectory->next);
}

/* ---- learning ---- */

void gw__agent_evaluate(struct gw__agent *agent, const float *rows,
                        const struct gw__trajectory *trajectory)
{
    const struct gw__agent_config *config = &agent->config;
    size_t count = trajectory->count;
    const struct gw_targets *targets =
        config->targets ? config->targets : &gw_vtrace;
    const struct gw_unrolled unrolled = {.count = count,
                                         .reward = 1 - config->discount,
                                         .discount = config->discount,
                                         .values = agent->values,
                                         .ratios = agent->ratios};
    for (size_t t = 0; t < count; t++) {
        const struct gw__step *step = &trajectory->steps[t];
        see(agent, rows, step->observation, t);
        agent->ratios[t] =
            config->plain
                ? 1
                : chance_of(agent->logits[t], step->right) / step->chance;
    }
    see(agent, rows, trajectory->next, count);
    if (trajectory->failed)
        agent->values[count] = 0;
    targets->compute(&unrolled, agent->targets, agent->advantages);
}

/* Adds the gradient to each hidden unit's row, from the slopes at both
 * heads. */
static void add_row_gradient(const struct gw__agent *agent, const float *rows,
                             const struct gw__step *step,
                             const double *activity, double by_logit,
                             double by_value, double *gradient)
{
    size_t hidden = agent->config.hidden;
    for (size_t j = 0; j < hidden; j++) {
        const float *row = rows + j * GW__AGENT_WIDTH;
        double *into = gradient + j * GW__AGENT_WIDTH;
        double by_sum = ((double)row[GW__AGENT_POLICY] * by_logit +
                         (double)row[GW__AGENT_VALUE] * by_value) *
                        (1 - activity[j] * activity[j]);
        for (size_t k = 0; k < GW__CARTPOLE_OBSERVED; k++)
            into[k] += by_sum * step->observation[k];
        into[GW__AGENT_BIAS] += by_sum;
        into[GW__AGENT_POLICY] += by_logit * activity[j];
        into[GW__AGENT_VALUE] += by_value * activity[j];
    }
    gradient[hidden * GW__AGENT_WIDTH + GW__AGENT_POLICY] += by_logit;
    gradient[hidden * GW__AGENT_WIDTH + GW__AGENT_VALUE] += by_value;
}

/* log (1 + e^z), also if e^z overflows. log pi(right) is -softplus(-z), and the
 * entropy is softplus(z) - z pi(right). */
static double softplus(double z)
{
    return (z > 0 ? z : 0) + log1p(exp(-fabs(z)));
}

void gw__agent_learn(struct gw__agent *agent, const float *rows,
                     const struct gw__trajectory *trajectory, double *gradient,
                     struct gw__agent_losses *losses)
{
    const struct gw__agent_config *config = &agent->config;
    *losses = (struct gw__agent_losses){0};
    for (size_t t = 0; t < trajectory->count; t++) {
        const struct gw__step *step = &trajectory->steps[t];
        see(agent, rows, step->observation, t);
        double logit = agent->logits[t], right = chance_of(logit, true);
        double error = agent->values[t] - agent->targets[t];
        losses->policy +=
            agent->advantages[t] * softplus(step->right ? -logit : logit);
        losses->value += error * error / 2;
        losses->entropy += softplus(logit) - logit * right;
        if (!gradient)
            continue;
        /* dH/dz = -z p (1-p) */
        double by_logit =
            agent->advantages[t] * (right - (step->right ? 1 : 0)) +
            config->entropy_weight * logit * right * (1 - right);
        add_row_gradient(agent, rows, step,
                         agent->activity + t * config->hidden, by_logit,
                         config->value_weight * error, gradient);
    }
    losses->total = losses->policy + config->value_weight * losses->value -
                    config->entropy_weight * losses->entropy;
}
