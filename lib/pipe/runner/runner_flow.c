/* SPDX-License-Identifier: MIT
 *
 * Messages between stages. Receives are posted AHEAD of their use, so that
 * messages arrive while the stage computes. A send starts at the end of its
 * pass and is checked between later passes. Neither waits for the other side,
 * so an order of passes that the schedule's check accepts cannot deadlock here.
 *
 * With a single stage all neighbours are on this stage, and a buffer only
 * changes its owner.
 */
#include "runner.h"

#include <assert.h>
#include <stdlib.h>

enum { AHEAD = 4 };

static unsigned virtual_of(const struct gw_pipe *pipe, unsigned stage,
                           const struct gw_pass *pass)
{
    return gw_schedule_virtual(pipe->schedule, stage, pass->chunk);
}

bool gw__result_of(const struct gw_pipe *pipe, unsigned stage,
                   const struct gw_pass *pass, unsigned *to)
{
    unsigned at = virtual_of(pipe, stage, pass);
    switch ((enum gw_pass_kind)pass->kind) {
    case GW_FORWARD:
        *to = at + 1;
        return at < pipe->last_virtual;
    case GW_BACKWARD:
    case GW_BACKWARD_INPUT:
        *to = at - 1;
        return at > 0;
    default:
        return false;
    }
}

struct gw__micro_state *gw__micro_state_of(const struct gw_pipe *pipe,
                                           unsigned chunk, unsigned micro)
{
    return &pipe->micro_states[(size_t)chunk * pipe->micros + micro];
}

/* The size of the message between virtual stage `after` and the next one, in
 * either direction. */
size_t gw__elements_of(const struct gw_pipe *pipe, unsigned after,
                       unsigned micro, bool gradient)
{
    const struct gw_stage_work *work = pipe->config.work;
    size_t (*elements)(void *, unsigned, unsigned) =
        gradient && work->gradient_elements ? work->gradient_elements
                                            : work->elements;
    return elements ? elements(pipe->config.context, after, micro) : 0;
}

/* The size of a message to virtual stage `to`. */
static size_t elements_of(const struct gw_pipe *pipe, unsigned to,
                          unsigned micro, bool gradient)
{
    return gw__elements_of(pipe, gradient ? to : to - 1, micro, gradient);
}

/* ---- order of messages ---- */

static struct gw__inflow *inflow_from(struct gw_pipe *pipe, unsigned stage)
{
    for (unsigned i = 0; i < pipe->inflow_count; i++)
        if (pipe->inflows[i].stage == stage)
            return &pipe->inflows[i];
    return NULL;
}

static struct gw__outflow *outflow_to(const struct gw_pipe *pipe,
                                      unsigned stage)
{
    for (unsigned i = 0; i < pipe->outflow_count; i++)
        if (pipe->outflows[i].stage == stage)
            return &pipe->outflows[i];
    return NULL;
}

/* Lists the messages from `stage` in `inflow`, unless that is NULL; returns
 * their number. */
static size_t list_inflow(const struct gw_pipe *pipe, unsigned stage,
                          struct gw__inflow *inflow)
{
    const struct gw_schedule *s = pipe->schedule;
    size_t count = 0;
    for (size_t i = s->begin[stage]; i < s->begin[stage + 1]; i++) {
        const struct gw_pass *pass = &s->passes[i];
        unsigned to;
        if (!gw__result_of(pipe, stage, pass, &to) ||
            to % pipe->stages != pipe->stage)
            continue;
        if (inflow) {
            bool gradient = pass->kind != GW_FORWARD;
            unsigned chunk = to / pipe->stages;
            struct gw__micro_state *state =
                gw__micro_state_of(pipe, chunk, pass->micro);
            *(gradient ? &state->gradient_place : &state->in_place) =
                (uint32_t)count;
            inflow->messages[count] = (struct gw__pipe_message){
                .micro = pass->micro, .chunk = chunk, .gradient = gradient};
        }
        count++;
    }
    return count;
}

static enum gw_err add_inflow(struct gw_pipe *pipe, unsigned stage,
                              struct gw_error *why)
{
    size_t count = list_inflow(pipe, stage, NULL);
    if (count == 0)
        return GW_OK;
    struct gw__inflow *flow = &pipe->inflows[pipe->inflow_count++];
    *flow = (struct gw__inflow){
        .stage = stage, .rank = pipe->ranks[stage], .count = count};
    flow->messages = calloc(count, sizeof *flow->messages);
    if (!flow->messages)
        return gw_fail(why, GW_ENOMEM, "%zu messages", count);
    list_inflow(pipe, stage, flow);
    return GW_OK;
}

static enum gw_err add_outflow(struct gw_pipe *pipe, unsigned stage,
                               struct gw_error *why)
{
    size_t count = 0;
    for (size_t i = 0; i < pipe->pass_count; i++) {
        unsigned to;
        count += gw__result_of(pipe, pipe->stage, &pipe->passes[i], &to) &&
                 to % pipe->stages == stage;
    }
    if (count == 0)
        return GW_OK;
    struct gw__outflow *flow = &pipe->outflows[pipe->outflow_count++];
    *flow = (struct gw__outflow){
        .stage = stage, .rank = pipe->ranks[stage], .count = count};
    flow->sendings = calloc(count, sizeof *flow->sendings);
    if (!flow->sendings)
        return gw_fail(why, GW_ENOMEM, "%zu messages", count);
    return GW_OK;
}

/* The neighbours are the previous and the next stage, cyclically. */
enum gw_err gw__flows_init(struct gw_pipe *pipe, struct gw_error *why)
{
    enum { NEIGHBOURS = 2 };
    unsigned after = (pipe->stage + 1) % pipe->stages;
    unsigned before = (pipe->stage + pipe->stages - 1) % pipe->stages;
    pipe->inflows = calloc(NEIGHBOURS, sizeof *pipe->inflows);
    pipe->outflows = calloc(NEIGHBOURS, sizeof *pipe->outflows);
    if (!pipe->inflows || !pipe->outflows)
        return gw_fail(why, GW_ENOMEM, "a stage's messages");
    if (pipe->stages == 1)
        return GW_OK;
    enum gw_err err = add_inflow(pipe, before, why);
    if (!err && after != before)
        err = add_inflow(pipe, after, why);
    if (!err)
        err = add_outflow(pipe, after, why);
    if (!err && after != before)
        err = add_outflow(pipe, before, why);
    return err;
}

void gw__flows_fini(struct gw_pipe *pipe)
{
    for (unsigned i = 0; i < pipe->inflow_count; i++)
        free(pipe->inflows[i].messages);
    for (unsigned i = 0; i < pipe->outflow_count; i++)
        free(pipe->outflows[i].sendings);
    free(pipe->inflows);
    free(pipe->outflows);
}

/* ---- steps ---- */

void gw__flows_begin(struct gw_pipe *pipe)
{
    for (unsigned i = 0; i < pipe->inflow_count; i++)
        pipe->inflows[i].posted = pipe->inflows[i].arrived = 0;
    for (unsigned i = 0; i < pipe->outflow_count; i++)
        pipe->outflows[i].sent = pipe->outflows[i].left = 0;
}

/* Posts receives up to the `count`-th of the flow. */
static enum gw_err post(struct gw_pipe *pipe, struct gw__inflow *flow,
                        size_t count, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    while (!err && flow->posted < count && flow->posted < flow->count) {
        struct gw__pipe_message *message = &flow->messages[flow->posted];
        unsigned to = message->chunk * pipe->stages + pipe->stage;
        message->elements =
            elements_of(pipe, to, message->micro, message->gradient);
        err = gw__message_buffer_acquire(&pipe->buffers, &message->buffer, why);
        if (err)
            return err;
        err = gw_recv_start(pipe->comm, message->buffer, message->elements,
                            GW_F32, flow->rank, &message->request);
        flow->posted++;
    }
    return err;
}

/* A message of the flow has arrived: gives it to its virtual stage. */
static void arrive(struct gw_pipe *pipe, struct gw__inflow *flow)
{
    struct gw__pipe_message *message = &flow->messages[flow->arrived++];
    struct gw__micro_state *state =
        gw__micro_state_of(pipe, message->chunk, message->micro);
    *(message->gradient ? &state->grad_out : &state->in) = message->buffer;
    message->buffer = NULL;
}

/* Requests of a flow complete in order, so only the oldest is tested; the test
 * lets all of them make progress. */
static enum gw_err poll_inflow(struct gw_pipe *pipe, struct gw__inflow *flow,
                               struct gw_error *why)
{
    enum gw_err err = GW_OK;
    while (!err && flow->arrived < flow->posted) {
        err = gw_test(&flow->messages[flow->arrived].request);
        if (!err)
            arrive(pipe, flow);
    }
    if (err && err != GW_PENDING)
        return err;
    return post(pipe, flow, flow->arrived + AHEAD, why);
}

static enum gw_err poll_outflow(struct gw_pipe *pipe, struct gw__outflow *flow)
{
    enum gw_err err = GW_OK;
    while (!err && flow->left < flow->sent) {
        struct gw__sending *sending = &flow->sendings[flow->left];
        err = gw_test(&sending->request);
        if (err)
            break;
        gw__message_buffer_release(&pipe->buffers, sending->buffer);
        flow->left++;
    }
    return err == GW_PENDING ? GW_OK : err;
}

enum gw_err gw__flows_poll(struct gw_pipe *pipe, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    for (unsigned i = 0; i < pipe->outflow_count && !err; i++)
        err = poll_outflow(pipe, &pipe->outflows[i]);
    for (unsigned i = 0; i < pipe->inflow_count && !err; i++)
        err = poll_inflow(pipe, &pipe->inflows[i], why);
    return err;
}

/* The flow with the message for the pass, and its index. NULL: no message from
 * another stage. */
static struct gw__inflow *needed(struct gw_pipe *pipe,
                                 const struct gw_pass *pass, size_t *place)
{
    unsigned at = virtual_of(pipe, pipe->stage, pass);
    const struct gw__micro_state *state =
        gw__micro_state_of(pipe, pass->chunk, pass->micro);
    switch ((enum gw_pass_kind)pass->kind) {
    case GW_FORWARD:
        *place = state->in_place;
        return at > 0 ? inflow_from(pipe, (at - 1) % pipe->stages) : NULL;
    case GW_BACKWARD:
    case GW_BACKWARD_INPUT:
        *place = state->gradient_place;
        return at < pipe->last_virtual
                   ? inflow_from(pipe, (at + 1) % pipe->stages)
                   : NULL;
    default:
        return NULL;
    }
}

bool gw__flows_ready(struct gw_pipe *pipe, const struct gw_pass *pass,
                     uint32_t *stage)
{
    size_t place;
    const struct gw__inflow *flow = needed(pipe, pass, &place);
    *stage = flow ? flow->stage : GW_NONE;
    return !flow || place < flow->arrived;
}

enum gw_err gw__flows_await(struct gw_pipe *pipe, const struct gw_pass *pass,
                            struct gw_error *why)
{
    size_t place;
    struct gw__inflow *flow = needed(pipe, pass, &place);
    if (!flow)
        return GW_OK;
    enum gw_err err = post(pipe, flow, place + 1, why);
    while (!err && flow->arrived <= place) {
        err = gw_wait(&flow->messages[flow->arrived].request);
        if (!err)
            arrive(pipe, flow);
    }
    return err;
}

/* Passes the buffer to the next virtual stage of this stage. */
static void hand_over(struct gw_pipe *pipe, unsigned to, unsigned micro,
                      bool gradient, float *buffer)
{
    struct gw__micro_state *state =
        gw__micro_state_of(pipe, to / pipe->stages, micro);
    *(gradient ? &state->grad_out : &state->in) = buffer;
}

enum gw_err gw__flows_send(struct gw_pipe *pipe, unsigned to, unsigned micro,
                           bool gradient, float *buffer)
{
    unsigned stage = to % pipe->stages;
    if (stage == pipe->stage) {
        hand_over(pipe, to, micro, gradient, buffer);
        return GW_OK;
    }
    struct gw__outflow *flow = outflow_to(pipe, stage);
    assert(flow && flow->sent < flow->count);
    struct gw__sending *sending = &flow->sendings[flow->sent++];
    sending->buffer = buffer;
    return gw_send_start(pipe->comm, buffer,
                         elements_of(pipe, to, micro, gradient), GW_F32,
                         flow->rank, &sending->request);
}

enum gw_err gw__flows_end(struct gw_pipe *pipe)
{
    enum gw_err err = GW_OK;
    for (unsigned i = 0; i < pipe->outflow_count; i++) {
        struct gw__outflow *flow = &pipe->outflows[i];
        for (; !err && flow->left < flow->sent; flow->left++) {
            err = gw_wait(&flow->sendings[flow->left].request);
            if (!err)
                gw__message_buffer_release(&pipe->buffers,
                                           flow->sendings[flow->left].buffer);
        }
    }
    return err;
}

void gw__flows_abandon(struct gw_pipe *pipe)
{
    for (unsigned i = 0; i < pipe->inflow_count; i++) {
        struct gw__inflow *flow = &pipe->inflows[i];
        for (; flow->arrived < flow->posted; flow->arrived++)
            if (gw_wait(&flow->messages[flow->arrived].request))
                continue;
    }
    for (unsigned i = 0; i < pipe->outflow_count; i++) {
        struct gw__outflow *flow = &pipe->outflows[i];
        for (; flow->left < flow->sent; flow->left++)
            if (gw_wait(&flow->sendings[flow->left].request))
                continue;
    }
}
