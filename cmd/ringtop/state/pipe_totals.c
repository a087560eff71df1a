/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Queries about a pipeline (pipe_state.h).
 */
#include "pipe_state.h"

const struct pipe_step *pipe_current(const struct pipe *pipe)
{
    const struct pipe_step *step = &pipe->steps[pipe->current];
    return step->used ? step : NULL;
}

static bool is_whole(const struct pipe_step *step)
{
    return step->used && step->complete && !step->partial;
}

const struct pipe_step *pipe_last(const struct pipe *pipe)
{
    const struct pipe_step *step = &pipe->steps[1 - pipe->current];
    return is_whole(step) ? step : NULL;
}

const struct pipe_step *pipe_complete(const struct pipe *pipe)
{
    const struct pipe_step *current = &pipe->steps[pipe->current];
    return is_whole(current) ? current : pipe_last(pipe);
}

uint64_t pipe_begin_ns(const struct pipe *pipe, const struct pipe_step *step)
{
    uint64_t begin_ns = PIPE_NEVER;
    for (unsigned s = 0; s < pipe->stages; s++) {
        const struct pipe_lane *lane = &step->lanes[s];
        if (lane->count > 0 && lane->passes[0].begin_ns < begin_ns)
            begin_ns = lane->passes[0].begin_ns;
    }
    return begin_ns;
}

uint64_t pipe_took_ns(const struct pipe *pipe, const struct pipe_step *step,
                      uint64_t now_ns)
{
    uint64_t begin_ns = pipe_begin_ns(pipe, step);
    uint64_t end_ns = step->complete ? step->end_ns : now_ns;
    return begin_ns != PIPE_NEVER && end_ns > begin_ns ? end_ns - begin_ns : 0;
}

/* A schedule has B, or I and W. Which is known from the first backward pass on,
 * or from the step before. */
unsigned pipe_passes(const struct pipe *pipe, const struct pipe_step *step,
                     unsigned stage)
{
    const struct pipe_step *last = pipe_last(pipe);
    const struct pipe_lane *lane = &step->lanes[stage];
    unsigned all = pipe->micros * pipe->chunks;
    if (last && last != step)
        lane = &last->lanes[stage];
    if (lane->done[GW_BACKWARD] > 0 && lane->done[GW_BACKWARD_INPUT] == 0)
        return 2 * all;
    if (lane->done[GW_BACKWARD_INPUT] > 0 && lane->done[GW_BACKWARD] == 0)
        return 3 * all;
    if (pipe_lane_done(pipe, lane))
        return pipe_done(lane);
    return 0;
}

unsigned pipe_done(const struct pipe_lane *lane)
{
    unsigned done = 0;
    for (unsigned k = 0; k < GW_PASS_KINDS; k++)
        done += lane->done[k];
    return done;
}

bool pipe_lane_done(const struct pipe *pipe, const struct pipe_lane *lane)
{
    unsigned all = pipe->micros * pipe->chunks;
    unsigned backward = lane->done[GW_BACKWARD];
    return lane->done[GW_FORWARD] >= all &&
           backward + lane->done[GW_BACKWARD_INPUT] >= all &&
           backward + lane->done[GW_BACKWARD_WEIGHT] >= all;
}

/* ---- shares ---- */

/* The wait before pass i. */
static uint64_t wait_before(const struct pipe_lane *lane, unsigned i,
                            uint64_t begin_ns)
{
    uint64_t from_ns = i > 0 ? lane->passes[i - 1].end_ns : begin_ns;
    uint64_t to_ns = lane->passes[i].begin_ns;
    return to_ns > from_ns ? to_ns - from_ns : 0;
}

static uint32_t most_waited_for(const struct pipe_lane *lane, uint64_t begin_ns)
{
    uint64_t waited_ns[PIPE_STAGES] = {0}, most_ns = 0;
    uint32_t most = GW_NONE;
    for (unsigned i = 0; i < lane->count; i++) {
        uint32_t peer = lane->passes[i].peer;
        if (peer >= PIPE_STAGES)
            continue;
        waited_ns[peer] += wait_before(lane, i, begin_ns);
        if (waited_ns[peer] > most_ns) {
            most_ns = waited_ns[peer];
            most = peer;
        }
    }
    return most;
}

void pipe_total(const struct pipe *pipe, const struct pipe_step *step,
                unsigned stage, struct pipe_total *total)
{
    const struct pipe_lane *lane = &step->lanes[stage];
    uint64_t begin_ns = pipe_begin_ns(pipe, step);
    double took_ns = (double)pipe_took_ns(pipe, step, step->end_ns);
    *total = (struct pipe_total){.waits_most_for = GW_NONE};
    if (took_ns <= 0 || lane->count == 0)
        return;
    uint64_t wait_ns = lane->wait_ns + wait_before(lane, 0, begin_ns);
    total->busy = (double)lane->busy_ns / took_ns;
    total->wait = (double)wait_ns / took_ns;
    total->rest = 1 - total->busy - total->wait;
    total->waits_most_for = most_waited_for(lane, begin_ns);
}

double pipe_bubble(const struct pipe *pipe, const struct pipe_step *step,
                   double *predicted)
{
    double busy_ns = 0;
    double took_ns = (double)pipe_took_ns(pipe, step, step->end_ns);
    for (unsigned s = 0; s < pipe->stages; s++)
        busy_ns += (double)step->lanes[s].busy_ns / pipe->stages;
    *predicted = -1;
    if (pipe->predicted_ns > 0) {
        double bubble = 1 - busy_ns / (double)pipe->predicted_ns;
        *predicted = bubble > 0 ? bubble : 0;
    }
    return took_ns > 0 ? 1 - busy_ns / took_ns : 0;
}

/* ---- the current pass ---- */

/* The pass at the same place in the step before. */
static const struct pipe_pass *pass_to_come(const struct pipe *pipe,
                                            unsigned stage, unsigned place)
{
    const struct pipe_step *last = pipe_last(pipe);
    return last && place < last->lanes[stage].count
               ? &last->lanes[stage].passes[place]
               : NULL;
}

/* Before its first pass every stage but the first waits for the one before.
 * Later, it waits as in the last step. */
static uint32_t waits_for(unsigned stage, unsigned place,
                          const struct pipe_pass *to_come)
{
    if (place == 0)
        return stage > 0 ? stage - 1 : GW_NONE;
    return to_come ? to_come->peer : GW_NONE;
}

enum pipe_doing pipe_doing(const struct pipe *pipe, unsigned stage,
                           const struct pipe_pass **pass, uint32_t *peer)
{
    const struct pipe_step *step = pipe_current(pipe);
    *pass = NULL;
    *peer = GW_NONE;
    if (!step)
        return pipe->ranks[stage] == GW_NONE ? PIPE_UNKNOWN : PIPE_IDLE;
    const struct pipe_lane *lane = &step->lanes[stage];
    if (lane->count > 0 && lane->passes[lane->count - 1].end_ns == PIPE_NEVER) {
        *pass = &lane->passes[lane->count - 1];
        return PIPE_WORKS;
    }
    if (pipe_lane_done(pipe, lane))
        return PIPE_DONE;
    *pass = pass_to_come(pipe, stage, lane->count);
    *peer = waits_for(stage, lane->count, *pass);
    return *peer == GW_NONE ? PIPE_IDLE : PIPE_WAITS;
}
