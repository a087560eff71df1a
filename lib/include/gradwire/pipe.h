/* SPDX-License-Identifier: MIT
 *
 * Pipeline parallelism. A network is split into stages, a mini-batch into
 * micro-batches. A schedule lists the passes of each stage in order. It is
 * data, like a plan: made by an algorithm or read from a file, checked, priced,
 * simulated, run, and watched.
 *
 *   F  forward of a micro-batch through the stage
 *   B  backward, both gradients at once
 *   I  backward for the input only, which the preceding stage waits for
 *   W  backward for the weights only, which no stage waits for
 *
 * A micro-batch has one F, and one B or one I and one W, on each of the
 * `chunks` model chunks on a stage. Chunk c of stage s is virtual
 * stage c * stages + s of stages * chunks in all (Narayanan et al. 2021,
 * interleaved): activations go from virtual stage k to k + 1, gradients back.
 *
 * p stages, m micro-batches, F and b = I + W the times of a whole stage: gpipe
 * and 1f1b take (m + p - 1)(F + b). The bubble is the idle time of a stage.
 * There are two conventions: a share of the ideal time m (F + b), and a share
 * of the total.
 */
#ifndef GRADWIRE_PIPE_H
#define GRADWIRE_PIPE_H

#include <gradwire/base.h>
#include <gradwire/coll.h>
#include <gradwire/event.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- schedules ---- */

/* name, letter */
#define GW_PASSES(X)                                                           \
    X(GW_FORWARD, 'F')                                                         \
    X(GW_BACKWARD, 'B')                                                        \
    X(GW_BACKWARD_INPUT, 'I')                                                  \
    X(GW_BACKWARD_WEIGHT, 'W')

enum gw_pass_kind {
#define X(name, letter) name,
    GW_PASSES(X)
#undef X
        GW_PASS_KINDS
};

/* A pass of one micro-batch through one model chunk. */
struct gw_pass {
    uint16_t micro;
    uint8_t chunk; /* the model chunk on this stage */
    uint8_t kind;  /* enum gw_pass_kind */
};

/* Limits, so that a schedule from a file cannot exhaust memory. */
enum {
    GW_STAGES_MAX = 1024,
    GW_MICROS_MAX = 65535,
    GW_STAGE_CHUNKS_MAX = 64,
    GW_PASSES_MAX = 1 << 24
};

/* A schedule. Stage s runs passes[begin[s] .. begin[s + 1]), one after
 * another. */
struct gw_schedule {
    char name[40]; /* "1f1b", or of a file */
    unsigned stages, micros, chunks;
    /* The largest number of activations (of one micro-batch and one chunk)
     * on a stage at once, memory= of a file; 0: any number. */
    unsigned activations_max;
    size_t pass_count;
    size_t *begin; /* stages + 1 entries */
    struct gw_pass *passes;
};

/* Returns the letter of a kind: F, B, I or W. */
GW_API char gw_pass_symbol(enum gw_pass_kind kind);
/* Frees a schedule and sets the pointer to NULL. */
GW_API void gw_schedule_destroy(struct gw_schedule **schedule);
/* Returns the number of a virtual stage. */
static inline unsigned gw_schedule_virtual(const struct gw_schedule *schedule,
                                           unsigned stage, unsigned chunk)
{
    return chunk * schedule->stages + stage;
}

/* A built-in schedule. */
struct gw_schedule_kind {
    const char *name;    /* "gpipe", "1f1b", "interleaved", "zb-h1" */
    const char *summary; /* one line */
    const char *formula; /* "bubble (p-1)(F+b), peak m" */
    const char *source;  /* paper */
    bool chunks;         /* allows more than one chunk per stage */
    bool splits;         /* I and W instead of B */
};

/* Returns all built-in schedules, terminated by NULL. */
GW_API const struct gw_schedule_kind *const *gw_schedule_kinds(void);
/* Finds a built-in schedule by its name. NULL: an unknown name. */
GW_API const struct gw_schedule_kind *gw_schedule_find(const char *name);

/* Makes the schedule `name`. `chunks` is 1, or more for interleaved (0: 2
 * there, 1 for the others). The caller frees *schedule. GW_EINVAL: an unknown
 * schedule, a number beyond the limits, or chunks that it does not support;
 * *schedule is NULL. */
GW_API GW_MUST_CHECK enum gw_err
gw_schedule_make(const char *name, unsigned stages, unsigned micros,
                 unsigned chunks, struct gw_schedule **schedule,
                 struct gw_error *why);

/* Parses the text form (gradwire-schedule(5)). gw_schedule_check checks whether
 * the schedule can run. GW_EDATA: the text is wrong, and the sentence begins
 * with "NAME:LINE:COLUMN: "; *schedule is NULL. */
GW_API GW_MUST_CHECK enum gw_err
gw_schedule_parse(const char *text, size_t bytes, const char *name,
                  struct gw_schedule **schedule, struct gw_error *why);
/* Reads a schedule from a file, as gw_schedule_parse. GW_EDATA also if the file
 * cannot be read. */
GW_API GW_MUST_CHECK enum gw_err gw_schedule_load(const char *path,
                                                  struct gw_schedule **schedule,
                                                  struct gw_error *why);
/* Writes the text form. gw_schedule_parse reads it into an equal schedule. */
GW_API GW_MUST_CHECK enum gw_err
gw_schedule_print(const struct gw_schedule *schedule, FILE *file,
                  struct gw_error *why);

/* Checks a schedule. Every pass occurs once, and there is no other. A chunk's
 * backward comes after its forward, W after I. There is no cycle of waits
 * between stages. No stage holds more activations than allowed. GW_EPLAN: it is
 * wrong; the sentence names stage and pass, and for a cycle all stages in
 * it. */
GW_API GW_MUST_CHECK enum gw_err
gw_schedule_check(const struct gw_schedule *schedule, struct gw_error *why);

/* Returns the largest number of activations that `stage` holds at once, each of
 * one micro-batch and one chunk: one more after each F, one fewer after each B
 * or W. It follows from the order alone, so a run and a simulation agree on
 * it. */
GW_API unsigned gw_schedule_peak(const struct gw_schedule *schedule,
                                 unsigned stage);

/* ---- price and simulation ---- */

/* The costs of passes and messages. Times of passes are for one micro-batch
 * through one virtual stage, in microseconds: arrays of stages * chunks
 * entries, or NULL for the single value. A B takes input_us + weight_us. */
struct gw_pipe_costs {
    double forward_us, input_us, weight_us;
    const double *forward_each_us, *input_each_us, *weight_each_us;
    /* From the end of a pass to the arrival of its message at the next
     * stage; overlaps with computation. */
    double message_us;
    double us_per_byte;        /* in addition, per byte of a message */
    uint64_t activation_bytes; /* of a message, in either direction */
    /* The time of a message, by the virtual stage that sends it, instead
     * of message_us and us_per_byte; or NULL. */
    const double *activation_each_us, *gradient_each_us;
};

/* The price of a schedule, without a simulation; see the top of this file. */
struct gw_pipe_price {
    double ideal_us; /* the work of the busiest stage */
    double time_us;  /* ideal and bubble */
    double bubble_us;
    double bubble_of_ideal;    /* bubble_us / ideal_us */
    double bubble_of_total;    /* bubble_us / time_us */
    unsigned peak_activations; /* of the fullest stage, in chunks */
    double peak_share;         /* the same in whole stages: / chunks */
    uint64_t messages;         /* all stages, per step */
    uint64_t bytes;
};

/* Computes the price by the closed formulas of the built-in schedules (in their
 * source files, with the peaks), as if messages took no time. The formulas hold
 * for any number of stages and micro-batches. GW_EINVAL: a schedule from a
 * file, or costs that differ between stages. */
GW_API GW_MUST_CHECK enum gw_err
gw_pipe_price(const char *name, unsigned stages, unsigned micros,
              unsigned chunks, const struct gw_pipe_costs *costs,
              struct gw_pipe_price *price, struct gw_error *why);

/* The times of a pass, in microseconds since the beginning of the step. */
struct gw_pass_time {
    double begin_us, end_us;
    double ready_us; /* when its stage was free; wait: begin - ready */
    /* The stage whose message came last, or GW_NONE: it did not wait. */
    uint32_t waited_for;
};

/* The totals of a stage. */
struct gw_stage_total {
    double busy_us, wait_us; /* wait: before and between passes */
    double rest_us; /* after its last pass, until the end of the step */
    unsigned peak_activations;
    uint32_t waits_most_for; /* stage, or GW_NONE */
};

/* The times of one step, simulated or measured. */
struct gw_timeline {
    unsigned stages;
    size_t pass_count;
    struct gw_pass_time *times;   /* in the order of schedule->passes */
    struct gw_stage_total *stage; /* per stage */
    double time_us;               /* of the step */
    double ideal_us;              /* work of the busiest stage */
    double bubble_us;             /* time_us - ideal_us */
    /* Mean idle share of the stages; equals bubble_us / time_us when all
     * have the same work. */
    double bubble_of_total;
    double bubble_of_ideal;
    unsigned peak_activations;
    uint64_t messages, bytes;
};

/* Simulates one step in virtual time. `schedule` must have been checked. The
 * caller frees *timeline with gw_timeline_destroy. GW_EPLAN: the schedule is
 * wrong and deadlocks. */
GW_API GW_MUST_CHECK enum gw_err
gw_pipe_simulate(const struct gw_schedule *schedule,
                 const struct gw_pipe_costs *costs,
                 struct gw_timeline **timeline, struct gw_error *why);
/* Creates an empty timeline for measured times. After they are filled in,
 * gw_timeline_complete sets all other fields. */
GW_API GW_MUST_CHECK enum gw_err
gw_timeline_new(const struct gw_schedule *schedule,
                struct gw_timeline **timeline, struct gw_error *why);
/* Computes all fields except begin, end, ready and waited_for of the passes,
 * and the bytes. */
GW_API void gw_timeline_complete(struct gw_timeline *timeline,
                                 const struct gw_schedule *schedule);
/* Frees a timeline and sets the pointer to NULL. */
GW_API void gw_timeline_destroy(struct gw_timeline **timeline);

/* ---- micro-batch size ---- */

/* The costs of a micro-batch of s samples on a stage (forward and backward):
 * `fixed_us + sample_us * s`. A step over `batch` samples takes T(s) = (batch/s
 * + p - 1)(fixed + sample s). The minimum is at s = sqrt(fixed batch / (sample
 * (p-1))), where T is (sqrt(sample batch) + sqrt((p-1) fixed))^2. */
struct gw_pipe_fit {
    double fixed_us, sample_us;
    double best_size; /* samples per micro-batch, 1 .. batch */
    double best_us;
};

/* Computes the costs from the times of two steps with different micro-batch
 * sizes that divide `batch`. GW_EINVAL: the sizes are equal or do not divide
 * it. GW_EWRONG: only negative costs fit the times; the sentence names the
 * cost. */
GW_API GW_MUST_CHECK enum gw_err gw_pipe_fit(unsigned stages, unsigned batch,
                                             const unsigned sizes[2],
                                             const double times_us[2],
                                             struct gw_pipe_fit *fit,
                                             struct gw_error *why);
/* Returns T(s) for these costs. */
GW_API double gw_pipe_fit_us(const struct gw_pipe_fit *fit, unsigned stages,
                             unsigned batch, double size);

/* ---- running ---- */

/* The computation of a stage. Activations and gradients are f32. `elements`
 * returns the number of elements of a message between virtual stage `after` and
 * after + 1 (in both directions). `in` is NULL on the first virtual stage,
 * `out` on the last; likewise grad_out is NULL on the last (which computes the
 * loss), grad_in on the first. Buffers belong to the runner: `in` is unchanged
 * until the micro-batch's B or W on that chunk has returned, grad_out until its
 * W has returned. A function that the schedule does not use may be NULL. */
struct gw_stage_work {
    size_t (*elements)(void *context, unsigned after, unsigned micro);
    enum gw_err (*forward)(void *context, unsigned chunk, unsigned micro,
                           const float *in, float *out, struct gw_error *why);
    /* kind: GW_BACKWARD, GW_BACKWARD_INPUT (grad_in only) or
     * GW_BACKWARD_WEIGHT (grad_in NULL). */
    enum gw_err (*backward)(void *context, unsigned chunk, unsigned micro,
                            enum gw_pass_kind kind, const float *grad_out,
                            float *grad_in, struct gw_error *why);
    /* The elements of a gradient, if they differ from the activation's
     * (with another layout along a tensor axis); NULL: as `elements`. */
    size_t (*gradient_elements)(void *context, unsigned after, unsigned micro);
};

/* The configuration of a stage. All pointers belong to the caller. */
struct gw_pipe_config {
    struct gw_comm *comm; /* of the ranks that exchange messages */
    /* The rank in `comm` of stage s is ranks[s]; NULL: s. */
    const unsigned *ranks;
    unsigned stage;                     /* of this process */
    const struct gw_schedule *schedule; /* checked, the same on all */
    const struct gw_stage_work *work;
    void *context;          /* of the work's functions */
    struct gw_sink *events; /* NULL: none */
    double predicted_us;    /* of a step, for the events; or 0 */
};

struct gw_pipe;

/* Creates one stage. Receives are posted in the order in which the peers send,
 * so that messages move while the stage computes; sends do not wait for the
 * receiver either. Data for which a link has no room moves only between passes:
 * for large messages let the communicator's slices be a quarter of a message.
 * The caller frees *pipe with gw_pipe_destroy. GW_EINVAL: the communicator has
 * no such ranks. */
GW_API GW_MUST_CHECK enum gw_err
gw_pipe_new(const struct gw_pipe_config *config, struct gw_pipe **pipe,
            struct gw_error *why);
/* Frees a stage and sets the pointer to NULL. */
GW_API void gw_pipe_destroy(struct gw_pipe **pipe);
/* Runs the schedule once, as training step `step`. When it returns, all
 * messages of this stage have been sent and received. GW_ELOST and others: the
 * error of a peer; the sentence names the pass: "stage 1, step 7, F3: ...". */
GW_API GW_MUST_CHECK enum gw_err
gw_pipe_step(struct gw_pipe *pipe, unsigned step, struct gw_error *why);
/* Returns the times of this stage's passes in the last step, in the order of
 * its passes, in microseconds since *zero_ns, the beginning of the step here by
 * gw_now_ns. They are valid until the next step. */
GW_API const struct gw_pass_time *gw_pipe_times(const struct gw_pipe *pipe,
                                                uint64_t *zero_ns);
/* Returns the largest number of activations at once in the last step, counted
 * as they were stored and dropped. */
GW_API unsigned gw_pipe_peak(const struct gw_pipe *pipe);

/* The context of synthetic work, which takes time and computes nothing: it
 * sleeps (for more stages than cores; a late wake-up shortens the next pass) or
 * spins (and shows the real cost of a busy core). Times are for one micro-batch
 * through one chunk. Each stage has its own. */
struct gw_synthetic {
    bool spin;
    double forward_us, input_us, weight_us; /* per micro-batch */
    size_t message_elements;
    /* Internal; initially 0. late_ns is 0 at the beginning of a step. */
    uint64_t late_ns;
    unsigned spin_rounds;
};
/* Returns the functions of synthetic work. */
GW_API const struct gw_stage_work *gw_synthetic_work(void);

#ifdef __cplusplus
}
#endif
#endif
