/* SPDX-License-Identifier: MIT
 *
 * Inside the runner of one stage:
 *
 *   runner.c          works off the schedule
 *   runner_flow.c     the messages to and from the other stages
 *   runner_buffers.c  the memory in which they lie
 *   runner_tell.c     what is said of it: events, sentences
 *   synthetic.c       work that takes time and computes nothing
 *
 * All ranks know the whole schedule. So the order of the messages from one
 * stage to another is known at both ends: it is the order of the sender's
 * passes, activations and gradients mixed as they come. Nothing travels but the
 * numbers themselves.
 */
#ifndef GW__RUNNER_H
#define GW__RUNNER_H

#include <gradwire/pipe.h>

/* ---- runner_buffers.c ---- */

/* Buffers of one size, taken and given back; there are as many as were ever
 * needed at once. */
struct gw__message_buffers {
    size_t elements; /* of each */
    float **idle;
    size_t idle_count, total;
    void **slabs; /* what gw_alloc gave, several buffers each */
    size_t slab_count;
};

GW_MUST_CHECK enum gw_err
gw__message_buffer_take(struct gw__message_buffers *buffers, float **buffer,
                        struct gw_error *why);
/* NULL allowed. */
void gw__message_buffer_give(struct gw__message_buffers *buffers,
                             float *buffer);
void gw__message_buffers_fini(struct gw__message_buffers *buffers);

/* ---- runner_flow.c ---- */

/* Of the message between virtual stage `after` and the next, either way. */
size_t gw__elements_of(const struct gw_pipe *pipe, unsigned after,
                       unsigned micro, bool gradient);

/* A message that comes: an activation for virtual stage (chunk, this stage), or
 * the gradient of what that stage has put out. */
struct gw__pipe_message {
    unsigned micro, chunk;
    bool gradient;
    size_t elements;
    float *buffer; /* from posting until the pass has taken it */
    struct gw_request *request;
};

/* All that comes from one stage in a step, in the order in which it sends. */
struct gw__inflow {
    unsigned stage, rank;
    size_t count, posted, came;
    struct gw__pipe_message *parcels;
};

struct gw__sending {
    float *buffer;
    struct gw_request *request;
};

/* All that goes to one stage in a step. */
struct gw__outflow {
    unsigned stage, rank;
    size_t count, sent, left; /* left: gave its buffer back */
    struct gw__sending *sendings;
};

/* What a stage has in hands of one micro-batch and one piece. */
struct gw__pipe_piece {
    float *in;         /* activation; NULL on the first virtual stage */
    float *grad_out;   /* gradient; NULL on the last */
    bool held;         /* from F to B or W */
    uint32_t in_place; /* where its messages stand in their inflow */
    uint32_t gradient_place;
};

struct gw_pipe {
    struct gw_pipe_config config;
    const struct gw_schedule *schedule;
    struct gw_comm *comm;
    unsigned stage, stages, micros, last_virtual;
    unsigned *ranks; /* of each stage */
    const struct gw_pass *passes;
    size_t pass_count;

    struct gw__pipe_piece *pieces; /* chunk * micros + micro */
    struct gw__message_buffers buffers;
    struct gw__inflow *inflows; /* one a stage that sends to this one */
    struct gw__outflow *outflows;
    unsigned inflow_count, outflow_count;

    unsigned step;
    uint64_t zero_ns;
    struct gw_pass_time *times;
    unsigned held, peak;
    bool told; /* the event STAGE */
};

struct gw__pipe_piece *gw__piece_of(const struct gw_pipe *pipe, unsigned chunk,
                                    unsigned micro);
/* Where the result of a stage's pass goes: to virtual stage *to. False:
 * nowhere. */
bool gw__result_of(const struct gw_pipe *pipe, unsigned stage,
                   const struct gw_pass *pass, unsigned *to);
GW_MUST_CHECK enum gw_err gw__flows_init(struct gw_pipe *pipe,
                                         struct gw_error *why);
void gw__flows_fini(struct gw_pipe *pipe);
/* A step begins: nothing has been sent nor come. */
void gw__flows_begin(struct gw_pipe *pipe);
/* Lets all messages move, takes what has come and what has left, and posts
 * further receives. Never waits. */
GW_MUST_CHECK enum gw_err gw__flows_poll(struct gw_pipe *pipe,
                                         struct gw_error *why);
/* Is the message here that the pass needs? *stage: who sends it, or GW_NONE: it
 * needs none of another stage. */
bool gw__flows_ready(struct gw_pipe *pipe, const struct gw_pass *pass,
                     uint32_t *stage);
/* Waits for that message. */
GW_MUST_CHECK enum gw_err gw__flows_await(struct gw_pipe *pipe,
                                          const struct gw_pass *pass,
                                          struct gw_error *why);
/* The buffer goes to virtual stage `to`: to another process, and then back to
 * the idle ones, or into the hands of this stage's next piece. */
GW_MUST_CHECK enum gw_err gw__flows_send(struct gw_pipe *pipe, unsigned to,
                                         unsigned micro, bool gradient,
                                         float *buffer);
/* Until all that was sent has left. */
GW_MUST_CHECK enum gw_err gw__flows_end(struct gw_pipe *pipe);
/* The communicator has failed: lets go of all requests. */
void gw__flows_abandon(struct gw_pipe *pipe);

/* ---- runner_tell.c ---- */

void gw__tell_stage(struct gw_pipe *pipe);
void gw__tell_waited(const struct gw_pipe *pipe, const struct gw_pass *pass,
                     uint32_t stage, uint64_t begin_ns, uint64_t end_ns);
void gw__tell_pass(const struct gw_pipe *pipe, enum gw_event_kind kind,
                   const struct gw_pass *pass, uint32_t stage,
                   uint64_t time_ns);
/* The communicator's error as that of this stage in this pass (NULL: after the
 * last one), but in the words of a peer that knew the cause. */
enum gw_err gw__tell_lost(const struct gw_pipe *pipe,
                          const struct gw_pass *pass, struct gw_error *why);
/* An error of this stage's own: it is one of all. */
enum gw_err gw__tell_failed(const struct gw_pipe *pipe,
                            const struct gw_pass *pass, struct gw_error *why);

#endif
