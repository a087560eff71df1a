/* SPDX-License-Identifier: MIT
 *
 * Generated events of a pipeline; see pipe_tape.h. Stage s of p begins with p -
 * s - 1 forward passes, then alternates between forward and backward ones. A
 * pass begins when its stage is free and the pass of the other stage on which
 * it depends is done.
 */
#include "pipe_tape.h"

#include <check.h>
#include <stdlib.h>

enum { NOT_YET = 0 };

struct pipe_simulation {
    const struct pipe_tape *pipe;
    /* Completion times; they begin with 1. */
    uint64_t forward_ns[PIPE_TAPE_STAGES][PIPE_TAPE_MICROS];
    uint64_t backward_ns[PIPE_TAPE_STAGES][PIPE_TAPE_MICROS];
    uint64_t free_ns[PIPE_TAPE_STAGES];
    unsigned forwards[PIPE_TAPE_STAGES], backwards[PIPE_TAPE_STAGES];
};

void pipe_tape_stages(struct tape *tape, const struct pipe_tape *pipe)
{
    for (unsigned s = 0; s < pipe->stages; s++) {
        struct gw_event *event =
            tape_add(tape, GW_EV_STAGE, 10 + s, (int64_t)pipe->predicted_ns);
        event->peer = s;
        event->step = pipe->stages;
        event->op = pipe->micros;
        event->chunk = 1;
    }
}

static void add(struct tape *tape, enum gw_event_kind kind, unsigned stage,
                uint64_t time_ns, const struct gw_event *pass)
{
    struct gw_event *event = tape_add(tape, kind, 10 + stage, pass->value);
    uint64_t now_ns = tape->now_ns;
    event->time_ns = time_ns;
    event->op = pass->op;
    event->step = pass->step;
    event->chunk = 0;
    event->peer = pass->peer;
    event->bytes = kind == GW_EV_PASS_END ? pass->bytes : 0;
    tape->now_ns = now_ns - 1000; /* now_ns does not advance here */
}

static bool wants_forward(const struct pipe_simulation *w, unsigned s)
{
    unsigned ahead = w->pipe->stages - s; /* of the backward passes */
    return w->forwards[s] < w->pipe->micros &&
           w->forwards[s] - w->backwards[s] < ahead;
}

/* Runs the stage's next pass if the pass on which it depends is done. */
static bool advance(struct pipe_simulation *w, unsigned s, struct tape *tape,
                    uint32_t step, uint64_t begin_ns)
{
    bool forward = wants_forward(w, s), last = s + 1 == w->pipe->stages;
    unsigned micro = forward ? w->forwards[s] : w->backwards[s];
    uint64_t need_ns = 1, *done_ns = forward ? &w->forward_ns[s][micro]
                                             : &w->backward_ns[s][micro];
    uint32_t peer = GW_NONE;
    if (!forward && w->backwards[s] == w->pipe->micros)
        return false;
    if (forward && s > 0)
        need_ns = w->forward_ns[s - 1][micro];
    if (!forward && !last)
        need_ns = w->backward_ns[s + 1][micro];
    if (need_ns == NOT_YET)
        return false;
    if (need_ns > w->free_ns[s])
        peer = forward ? s - 1 : s + 1;
    uint64_t from_ns = need_ns > w->free_ns[s] ? need_ns : w->free_ns[s];
    *done_ns = from_ns + (forward ? w->pipe->forward_ns : w->pipe->backward_ns);
    w->free_ns[s] = *done_ns;
    w->forwards[s] += forward;
    w->backwards[s] += !forward;
    uint64_t middle_ns = (from_ns + *done_ns) / 2;
    struct gw_event pass = {.value = forward           ? GW_FORWARD
                                     : w->pipe->splits ? GW_BACKWARD_INPUT
                                                       : GW_BACKWARD,
                            .op = micro,
                            .step = step,
                            .peer = s == 0 && forward ? GW_NONE : peer,
                            .bytes = w->forwards[s] - w->backwards[s]};
    bool both = !forward && w->pipe->splits;
    uint64_t zero_ns = begin_ns - 1;
    add(tape, GW_EV_PASS_BEGIN, s, zero_ns + from_ns, &pass);
    add(tape, GW_EV_PASS_END, s, zero_ns + (both ? middle_ns : *done_ns),
        &pass);
    if (!both)
        return true;
    pass.value = GW_BACKWARD_WEIGHT;
    pass.peer = GW_NONE;
    add(tape, GW_EV_PASS_BEGIN, s, zero_ns + middle_ns, &pass);
    add(tape, GW_EV_PASS_END, s, zero_ns + *done_ns, &pass);
    return true;
}

static int by_time(const void *a, const void *b)
{
    const struct gw_event *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return (x->kind < y->kind) - (x->kind > y->kind); /* ends first */
}

void pipe_tape_step(struct tape *tape, const struct pipe_tape *pipe,
                    uint32_t step)
{
    static struct pipe_simulation simulation;
    size_t first = tape->count;
    uint64_t begin_ns = tape->now_ns;
    bool moved = true;
    ck_assert_uint_le(pipe->stages, PIPE_TAPE_STAGES);
    ck_assert_uint_le(pipe->micros, PIPE_TAPE_MICROS);
    simulation = (struct pipe_simulation){.pipe = pipe};
    for (unsigned s = 0; s < pipe->stages; s++)
        simulation.free_ns[s] = 1;
    while (moved) {
        moved = false;
        for (unsigned s = 0; s < pipe->stages; s++)
            moved |= advance(&simulation, s, tape, step, begin_ns);
    }
    qsort(tape->events + first, tape->count - first, sizeof *tape->events,
          by_time);
    tape->now_ns = begin_ns + pipe_tape_ns(pipe);
}

uint64_t pipe_tape_ns(const struct pipe_tape *pipe)
{
    return (pipe->micros + pipe->stages - 1) *
           (pipe->forward_ns + pipe->backward_ns);
}
