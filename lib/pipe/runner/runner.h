/* SPDX-License-Identifier: MIT
 *
 * Internals of the runner of one stage:
 *
 *   runner.c          runs the schedule
 *   runner_flow.c     messages to and from other stages
 *   runner_buffers.c  their memory
 *   runner_report.c   events and errors
 *   synthetic.c       work that takes time without computing
 *
 * All ranks know the whole schedule. So both ends know the order of messages
 * from one stage to another: it is the order of the sender's passes, with
 * activations and gradients mixed. Messages have no headers, only values.
 */
#ifndef GW__RUNNER_H
#define GW__RUNNER_H

#include <gradwire/pipe.h>

/* ---- runner_buffers.c ---- */

/* Buffers of one size; there are as many as were ever needed at once. */
struct gw__message_buffers {
    size_t elements; /* per buffer */
    float **idle;
    size_t idle_count, total;
    void **slabs; /* gw_alloc memory, several buffers each */
    size_t slab_count;
};

GW_MUST_CHECK enum gw_err
gw__message_buffer_acquire(struct gw__message_buffers *buffers, float **buffer,
                           struct gw_error *why);
/* NULL allowed. */
void gw__message_buffer_release(struct gw__message_buffers *buffers,
                                float *buffer);
void gw__message_buffers_fini(struct gw__message_buffers *buffers);

/* ---- runner_flow.c ---- */

/* The size of the message between virtual stage `after` and the next one, in
 * either direction. */
size_t gw__elements_of(const struct gw_pipe *pipe, unsigned after,
                       unsigned micro, bool gradient);

/* An incoming message: an activation for virtual stage (chunk, this stage), or
 * the gradient of its output. */
struct gw__pipe_message {
    unsigned micro, chunk;
    bool gradient;
    size_t elements;
    float *buffer; /* from posting until the pass has taken it */
    struct gw_request *request;
};

/* All messages from one stage in a step, in order. */
struct gw__inflow {
    unsigned stage, rank;
    size_t count, posted, arrived;
    struct gw__pipe_message *messages;
};

struct gw__sending {
    float *buffer;
    struct gw_request *request;
};

/* All messages to one stage in a step. */
struct gw__outflow {
    unsigned stage, rank;
    size_t count, sent, left; /* left: buffers returned */
    struct gw__sending *sendings;
};

/* The state of one micro-batch in one virtual stage. */
struct gw__micro_state {
    float *in;         /* activation; NULL on the first virtual stage */
    float *grad_out;   /* gradient; NULL on the last */
    bool held;         /* from F to B or W */
    uint32_t in_place; /* indices of its messages in their inflows */
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

    struct gw__micro_state *micro_states; /* chunk * micros + micro */
    struct gw__message_buffers buffers;
    struct gw__inflow *inflows; /* one per sending stage */
    struct gw__outflow *outflows;
    unsigned inflow_count, outflow_count;

    unsigned step;
    uint64_t zero_ns;
    struct gw_pass_time *times;
    unsigned held, peak;
    bool stage_sent; /* the event STAGE has been sent */
};

struct gw__micro_state *gw__micro_state_of(const struct gw_pipe *pipe,
                                           unsigned chunk, unsigned micro);
/* The receiver of the result of a stage's pass is virtual stage *to. False: no
 * receiver. */
bool gw__result_of(const struct gw_pipe *pipe, unsigned stage,
                   const struct gw_pass *pass, unsigned *to);
GW_MUST_CHECK enum gw_err gw__flows_init(struct gw_pipe *pipe,
                                         struct gw_error *why);
void gw__flows_fini(struct gw_pipe *pipe);
/* Resets all flows for a new step. */
void gw__flows_begin(struct gw_pipe *pipe);
/* Lets all messages make progress, takes completed ones, and posts further
 * receives. Never blocks. */
GW_MUST_CHECK enum gw_err gw__flows_poll(struct gw_pipe *pipe,
                                         struct gw_error *why);
/* Has the message for the pass arrived? *stage is its sender, or GW_NONE: the
 * pass needs no message from another stage. */
bool gw__flows_ready(struct gw_pipe *pipe, const struct gw_pass *pass,
                     uint32_t *stage);
/* Waits for that message. */
GW_MUST_CHECK enum gw_err gw__flows_await(struct gw_pipe *pipe,
                                          const struct gw_pass *pass,
                                          struct gw_error *why);
/* Sends the buffer to virtual stage `to`. It becomes idle when it has left, or
 * it is passed to this stage's next virtual stage. */
GW_MUST_CHECK enum gw_err gw__flows_send(struct gw_pipe *pipe, unsigned to,
                                         unsigned micro, bool gradient,
                                         float *buffer);
/* Waits until all messages have left. */
GW_MUST_CHECK enum gw_err gw__flows_end(struct gw_pipe *pipe);
/* Drops all requests after a failure of the communicator. */
void gw__flows_abandon(struct gw_pipe *pipe);

/* ---- runner_report.c ---- */

void gw__pipe_emit_stage(struct gw_pipe *pipe);
void gw__pipe_emit_waited(const struct gw_pipe *pipe,
                          const struct gw_pass *pass, uint32_t stage,
                          uint64_t begin_ns, uint64_t end_ns);
void gw__pipe_emit_pass(const struct gw_pipe *pipe, enum gw_event_kind kind,
                        const struct gw_pass *pass, uint32_t stage,
                        uint64_t time_ns);
/* Reports the communicator's error for this stage and pass (NULL: after the
 * last one), with the text of the peer that knew the cause. */
enum gw_err gw__pipe_report_lost(const struct gw_pipe *pipe,
                                 const struct gw_pass *pass,
                                 struct gw_error *why);
/* Reports an error of this stage to all. */
enum gw_err gw__pipe_report_failed(const struct gw_pipe *pipe,
                                   const struct gw_pass *pass,
                                   struct gw_error *why);

#endif
