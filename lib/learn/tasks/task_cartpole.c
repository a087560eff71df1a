/* SPDX-License-Identifier: MIT
 *
 * Reinforcement learning as a task. A row is an episode, which an agent
 * (agent.h) plays with the current parameters; its start and its random
 * sequence depend on the row. The gradient is that of actor and critic, over
 * sections of `unroll` steps. With synchronous updates this is A2C; with
 * asynchronous workers it is A3C (Mnih et al. 2016). The acting agent is the
 * learning one, so ratios are 1 here; actors.c has separate actors and a
 * learner.
 *
 * A policy learns from its own actions, so the smallest rounding difference
 * changes everything after it. Therefore each episode's gradient is rounded
 * such that f32 adds a batch without any error (exact.h). The result has the
 * same bits for any number of parts and ranks, and any order of addition.
 *
 * The table "agent" is dense: one row per hidden unit, and one for the heads.
 */
#include "task.h"

#include "learn/agents/agent.h"
#include "learn/exact.h"
#include "learn/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HIDDEN_MAX = 1024, LIMIT_MAX = 100000, TEST_EPISODES = 100 };

struct cartpole_scratch {
    struct gw__agent agent;
    struct gw__trajectory trajectory;
    double *gradient; /* of an episode */
    bool ready;
};

static void set_defaults(struct gw_task_config *config)
{
    config->epochs = 5;
    config->batch = 16;
    config->updater = GW_PS_ADAGRAD;
    config->cartpole.hidden = 32;
    config->cartpole.episodes = 320;
    config->cartpole.limit = 200;
    config->cartpole.unroll = 20;
    config->cartpole.discount = 0.99;
    config->cartpole.value_weight = 0.5;
    config->cartpole.entropy_weight = 0.001;
}

static void close_nothing(void *data)
{
    (void)data; /* unused */
}

static enum gw_err check_cartpole(const struct gw_task_config *config,
                                  struct gw_error *why)
{
    size_t episodes = config->cartpole.episodes;
    double discount = config->cartpole.discount;
    if (config->train || config->test)
        return gw_fail(why, GW_EINVAL,
                       "cartpole makes its own data; give no file");
    if (config->cartpole.hidden == 0 || config->cartpole.hidden > HIDDEN_MAX)
        return gw_fail(why, GW_EINVAL, "cartpole: %u hidden units; use 1 to %d",
                       config->cartpole.hidden, HIDDEN_MAX);
    if (episodes == 0 || episodes >= UINT32_MAX)
        return gw_fail(why, GW_EINVAL,
                       "cartpole: an epoch cannot have %zu episodes", episodes);
    if (config->cartpole.limit == 0 || config->cartpole.limit > LIMIT_MAX ||
        config->cartpole.unroll == 0)
        return gw_fail(why, GW_EINVAL,
                       "cartpole: episodes of %u steps with an unroll of %u "
                       "steps are not possible",
                       config->cartpole.limit, config->cartpole.unroll);
    if (!(discount >= 0 && discount < 1))
        return gw_fail(
            why, GW_EINVAL,
            "cartpole: the discount must be at least 0 and below 1, not %g",
            discount);
    if (config->batch > GW__EXACT_ROWS_MAX ||
        (!config->batch && episodes > GW__EXACT_ROWS_MAX))
        return gw_fail(why, GW_EINVAL,
                       "cartpole: a batch can have at most %d episodes",
                       GW__EXACT_ROWS_MAX);
    return GW_OK;
}

void gw__cartpole_agent(const struct gw_task_config *config,
                        struct gw__agent_config *agent)
{
    uint32_t unroll = config->cartpole.unroll, limit = config->cartpole.limit;
    *agent = (struct gw__agent_config){
        .hidden = config->cartpole.hidden,
        .unroll = unroll < limit ? unroll : limit,
        .discount = config->cartpole.discount,
        .value_weight = config->cartpole.value_weight,
        .entropy_weight = config->cartpole.entropy_weight,
        .plain = true, /* the acting policy is the learning one */
    };
}

static enum gw_err open_cartpole(struct gw_task *task, struct gw_error *why)
{
    const struct gw_task_config *config = &task->config;
    enum gw_err code = check_cartpole(config, why);
    if (code)
        return code;
    uint32_t rows = config->cartpole.hidden + 1;
    task->rows = config->cartpole.episodes;
    task->test_rows = task->rows < TEST_EPISODES ? task->rows : TEST_EPISODES;
    struct gw_ps_table_config *table =
        gw__task_table(task, "agent", GW__AGENT_WIDTH, rows);
    table->dense = rows;
    table->init_range = 0.3f;
    return GW_OK;
}

static bool init_scratch(struct cartpole_scratch *s,
                         const struct gw_task_config *config,
                         struct gw_error *why)
{
    struct gw__agent_config agent;
    gw__cartpole_agent(config, &agent);
    free(s->trajectory.steps); /* of an earlier attempt */
    free(s->gradient);
    gw__agent_fini(&s->agent);
    s->trajectory.steps = calloc(agent.unroll, sizeof *s->trajectory.steps);
    s->gradient =
        calloc(gw__agent_rows(&agent) * GW__AGENT_WIDTH, sizeof *s->gradient);
    s->ready = !gw__agent_init(&s->agent, &agent, why) && s->trajectory.steps &&
               s->gradient;
    return s->ready;
}

static enum gw_err prepare_episodes(struct gw_work_item *item,
                                    struct gw_error *why)
{
    const struct gw_task_config *config = &item->task->config;
    struct cartpole_scratch *scratch = item->scratch;
    bool ready = scratch->ready || init_scratch(scratch, config, why);
    for (size_t j = 0; ready && item->count && j <= config->cartpole.hidden;
         j++)
        ready = gw__keyset_add(&item->keys[0], j);
    if (!ready)
        return gw_fail(why, GW_ENOMEM, "cartpole: %u hidden units",
                       config->cartpole.hidden);
    return GW_OK;
}

/* Plays an episode section by section, adds its gradient to scratch->gradient
 * and counts its steps. */
static size_t play_episode(struct gw_work_item *item, const float *rows,
                           size_t row, double *gradient,
                           struct gw__agent_losses *sums)
{
    struct cartpole_scratch *s = item->scratch;
    const struct gw_task_config *config = &item->task->config;
    size_t steps = 0, limit = config->cartpole.limit;
    struct gw__cartpole pole;
    struct gw_rng rng;
    uint64_t seed = gw__mix_in(config->seed, item->set);
    gw_rng_seed(&rng, gw__mix_in(gw__mix_in(seed, item->epoch), row));
    gw__cartpole_begin(&pole, &rng);
    do {
        struct gw__agent_losses losses;
        size_t unroll = s->agent.config.unroll, left = limit - steps;
        gw__agent_play(&s->agent, rows, &pole, &rng,
                       left < unroll ? left : unroll, &s->trajectory);
        gw__agent_evaluate(&s->agent, rows, &s->trajectory);
        gw__agent_learn(&s->agent, rows, &s->trajectory, gradient, &losses);
        steps += s->trajectory.count;
        sums->policy += losses.policy;
        sums->value += losses.value;
        sums->entropy += losses.entropy;
        sums->total += losses.total;
    } while (!s->trajectory.failed && steps < limit);
    return steps;
}

static void compute_gradient(struct gw_work_item *item,
                             const float *const *rows, float *const *gradients,
                             struct gw_sample_sums *sums)
{
    struct cartpole_scratch *s = item->scratch;
    size_t floats = gw__work_item_floats(item, 0);
    double limit = item->task->config.cartpole.limit;
    double share = 1 / (double)item->batch_rows;
    for (size_t k = 0; gradients && k < floats; k++)
        gradients[0][k] = 0;
    for (size_t i = 0; i < item->count; i++) {
        struct gw__agent_losses losses = {0};
        memset(s->gradient, 0, floats * sizeof *s->gradient);
        size_t steps = play_episode(item, rows[0], gw__work_item_row(item, i),
                                    gradients ? s->gradient : NULL, &losses);
        for (size_t k = 0; gradients && k < floats; k++)
            gradients[0][k] += gw__exact_share(s->gradient[k] / limit, share);
        sums->loss += losses.total / (double)steps;
        sums->right += steps;
        sums->policy_loss += losses.policy;
        sums->value_loss += losses.value;
        sums->entropy += losses.entropy;
    }
    sums->samples = item->count;
}

static void scratch_fini(void *scratch)
{
    struct cartpole_scratch *s = scratch;
    gw__agent_fini(&s->agent);
    free(s->trajectory.steps);
    free(s->gradient);
}

const struct gw__task_model gw__task_cartpole = {
    .name = "cartpole",
    .quality = "return",
    .stream = true,
    .chunk = 1 << 16,
    .scratch_bytes = sizeof(struct cartpole_scratch),
    .rates = {[GW_PS_SGD] = 10,
              [GW_PS_MOMENTUM] = 2,
              [GW_PS_ADAGRAD] = 0.05f,
              [GW_PS_ADAM] = 0.01f,
              [GW_PS_CALLBACK] = 10},
    .defaults = set_defaults,
    .open = open_cartpole,
    .close = close_nothing,
    .prepare = prepare_episodes,
    .compute = compute_gradient,
    .scratch_fini = scratch_fini,
};
