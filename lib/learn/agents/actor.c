/* SPDX-License-Identifier: MIT
 *
 * An actor: it plays cart-pole trajectories with the parameters that it gets
 * (agent.h), either step by step in virtual time (actors_virtual.c) or as a
 * process (gw_actor_run).
 */
#include "actor_message.h"
#include "learn/random.h"
#include "learn/tasks/task.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

void gw__actor_init(struct gw__actor *actor,
                    const struct gw_actors_config *config, unsigned number)
{
    enum { LUCK = 2 }; /* a random sequence other than the task's episodes */
    gw_rng_seed(&actor->rng,
                gw__mix_in(gw__mix_in(config->task.seed, LUCK), number));
    gw__cartpole_begin(&actor->pole, &actor->rng);
    actor->steps = 0;
}

void gw__actor_play(struct gw__actor *actor, struct gw__agent *agent,
                    const float *rows, uint64_t limit,
                    struct gw__played *played)
{
    struct gw__trajectory *trajectory = &played->trajectory;
    size_t unroll = agent->config.unroll, left = limit - actor->steps;
    gw__agent_play(agent, rows, &actor->pole, &actor->rng,
                   left < unroll ? left : unroll, trajectory);
    actor->steps += trajectory->count;
    played->episode = 0;
    if (!trajectory->failed && trajectory->count < left)
        return;
    played->episode = actor->steps;
    actor->steps = 0;
    gw__cartpole_begin(&actor->pole, &actor->rng);
}

uint64_t gw__actor_duration(struct gw__actor *actor,
                            const struct gw_actors_config *config, size_t steps)
{
    double jitter = config->jitter;
    double share = 1 - jitter - jitter * log(1 - gw_rng_unit(&actor->rng));
    return (uint64_t)((double)(steps * config->step_ns) * share);
}

/* ---- actor process ---- */

struct actor_state {
    const struct gw_actor_process *process;
    struct gw__agent agent;
    struct gw__actor actor;
    struct gw__played played;
    size_t floats;
    unsigned char *policy;
    float *rows;
    double *message;
};

void gw__sleep_until(uint64_t end_ns)
{
    uint64_t now_ns = gw_now_ns();
    uint64_t left_ns = end_ns > now_ns ? end_ns - now_ns : 0;
    const struct timespec nap = {.tv_sec = (time_t)(left_ns / 1000000000),
                                 .tv_nsec = (long)(left_ns % 1000000000)};
    if (left_ns > 0)
        nanosleep(&nap, NULL);
}

static enum gw_err actor_state_init(struct actor_state *state,
                                    struct gw_error *why)
{
    const struct gw_actors_config *config = state->process->config;
    struct gw__agent_config agent;
    gw__cartpole_agent(&config->task, &agent);
    state->floats = gw__agent_rows(&agent) * GW__AGENT_WIDTH;
    state->policy = malloc(gw__policy_bytes(state->floats));
    state->rows = calloc(state->floats, sizeof *state->rows);
    state->message =
        calloc(gw__played_count(agent.unroll), sizeof *state->message);
    state->played.trajectory.steps =
        calloc(agent.unroll, sizeof *state->played.trajectory.steps);
    if (!state->policy || !state->rows || !state->message ||
        !state->played.trajectory.steps)
        return gw_fail(why, GW_ENOMEM, "an actor");
    gw__actor_init(&state->actor, config, state->process->number);
    return gw__agent_init(&state->agent, &agent, why);
}

static void actor_state_fini(struct actor_state *state)
{
    gw__agent_fini(&state->agent);
    free(state->played.trajectory.steps);
    free(state->message);
    free(state->rows);
    free(state->policy);
}

/* Plays with the received parameters. It takes the configured time, or as long
 * as the machine needs. */
static void play_steps(struct actor_state *state)
{
    const struct gw_actors_config *config = state->process->config;
    uint64_t begin_ns = gw_now_ns();
    gw__policy_rows(state->policy, state->rows, state->floats);
    gw__actor_play(&state->actor, &state->agent, state->rows,
                   config->task.cartpole.limit, &state->played);
    gw__played_write(state->message, &state->played);
    gw__sleep_until(begin_ns +
                    gw__actor_duration(&state->actor, config,
                                       state->played.trajectory.count));
}

static enum gw_err run_actor(struct actor_state *state, struct gw_comm *comm)
{
    const struct gw_actor_process *process = state->process;
    size_t count = gw__played_count(state->agent.config.unroll);
    for (;;) {
        enum gw_err code =
            gw_recv(comm, state->policy, gw__policy_bytes(state->floats), GW_U8,
                    GW__LEARNER);
        uint64_t version = code ? 0 : gw__policy_version(state->policy);
        if (code || version == GW__POLICY_STOP)
            return code;
        if (process->begins)
            process->begins(process->context, version);
        play_steps(state);
        code = gw_send(comm, state->message, count, GW_F64, GW__LEARNER);
        if (code)
            return code;
    }
}

enum gw_err gw_actor_run(const struct gw_actor_process *process,
                         struct gw_comm *comm, struct gw_error *why)
{
    struct actor_state state = {.process = process};
    enum gw_err code = actor_state_init(&state, why);
    if (!code) {
        code = run_actor(&state, comm);
        if (code)
            gw_fail(why, code, "%s", gw_comm_error(comm)->text);
    }
    actor_state_fini(&state);
    return code;
}
