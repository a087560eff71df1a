/* SPDX-License-Identifier: MIT
 *
 * Pipeline parallelism. A network is cut into stages, a mini-batch into
 * micro-batches; a schedule says in which order each stage works off its
 * passes. A schedule is data, like a plan: it is made by an algorithm or read
 * from a file, checked, priced, simulated, run, and watched.
 *
 *   F  forward of a micro-batch through the stage
 *   B  backward, both gradients at once
 *   I  backward for the input only: what the stage before waits for
 *   W  backward for the weights only: what nobody waits for
 *
 * A micro-batch has one F, and one B or one I and one W, on each of the
 * `chunks` pieces of the network that a stage holds. Piece c of stage s is
 * virtual stage c * stages + s of stages * chunks in all (Narayanan et al.
 * 2021, interleaved): activations go from virtual stage k to k + 1, gradients
 * back.
 *
 * p stages, m micro-batches, F and b = I + W the times of a whole stage:
 * gpipe and 1f1b take (m + p - 1)(F + b). The bubble is what a stage does not
 * work; it is told by two conventions, as a share of the ideal time m (F + b)
 * and as a share of the total.
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

struct gw_pass {
    uint16_t micro;
    uint8_t chunk; /* which of the stage's pieces */
    uint8_t kind;  /* enum gw_pass_kind */
};

/* Limits, so that a schedule from a file cannot exhaust memory. */
enum {
    GW_STAGES_MAX = 1024,
    GW_MICROS_MAX = 65535,
    GW_STAGE_CHUNKS_MAX = 64,
    GW_PASSES_MAX = 1 << 24
};

/* Stage s works off passes[begin[s] .. begin[s + 1]), one after the other. */
struct gw_schedule {
    char name[40]; /* "1f1b", or of a file */
    unsigned stages, micros, chunks;
    /* How many activations (of one micro-batch and one piece) a stage may hold
     * at once: what memory= of a file says; 0: any number. */
    unsigned activations_max;
    size_t pass_count;
    size_t *begin; /* stages + 1 entries */
    struct gw_pass *passes;
};

GW_API char gw_pass_letter(enum gw_pass_kind kind);
GW_API void gw_schedule_destroy(struct gw_schedule **schedule);
static inline unsigned gw_schedule_virtual(const struct gw_schedule *schedule,
                                           unsigned stage, unsigned chunk)
{
    return chunk * schedule->stages + stage;
}

struct gw_schedule_kind {
    const char *name;    /* "gpipe", "1f1b", "interleaved", "zb-h1" */
    const char *summary; /* one line */
    const char *formula; /* "bubble (p-1)(F+b), peak m" */
    const char *source;  /* paper */
    bool chunks;         /* takes more than one piece a stage */
    bool splits;         /* I and W instead of B */
};

/* All of them, NULL-terminated. */
GW_API const struct gw_schedule_kind *const *gw_schedule_kinds(void);
GW_API const struct gw_schedule_kind *gw_schedule_find(const char *name);

/* The schedule `name` for so many stages and micro-batches; `chunks` is 1 but
 * for interleaved (0: 2 there, 1 elsewhere). GW_EINVAL: there is no such
 * schedule ("did you mean" is the tool's), a number beyond the limits, or
 * chunks that it does not take. */
GW_API GW_MUST_CHECK enum gw_err
gw_schedule_make(const char *name, unsigned stages, unsigned micros,
                 unsigned chunks, struct gw_schedule **schedule,
                 struct gw_error *why);

/* Text form (gradwire-schedule(5)). On failure the sentence begins
 * "NAME:LINE:COLUMN: ". Whether it can be run is for gw_schedule_check. */
GW_API GW_MUST_CHECK enum gw_err
gw_schedule_parse(const char *text, size_t bytes, const char *name,
                  struct gw_schedule **schedule, struct gw_error *why);
GW_API GW_MUST_CHECK enum gw_err gw_schedule_load(const char *path,
                                                  struct gw_schedule **schedule,
                                                  struct gw_error *why);
/* Parsing it back gives an equal schedule. */
GW_API GW_MUST_CHECK enum gw_err
gw_schedule_print(const struct gw_schedule *schedule, FILE *file,
                  struct gw_error *why);

/* Every pass is there once and no other; a piece's backward comes after its
 * forward, W after I; the stages never wait for each other in a circle; no
 * stage holds more activations than it may. GW_EPLAN with a sentence that names
 * stage, pass, and, for a circle, who waits for whom all the way round. */
GW_API GW_MUST_CHECK enum gw_err
gw_schedule_check(const struct gw_schedule *schedule, struct gw_error *why);

/* The most activations that `stage` holds at once, each of one micro-batch and
 * one piece: one more after each F, one fewer after each B or W. It follows
 * from the order alone, so a run and a simulation agree on it. */
GW_API unsigned gw_schedule_peak(const struct gw_schedule *schedule,
                                 unsigned stage);

/* ---- price and simulation ---- */

/* What passes take. Times are of one micro-batch through one virtual stage:
 * arrays of stages * chunks entries, in microseconds, or NULL: all alike, as
 * the single value says. A B takes input_us + weight_us. */
struct gw_pipe_costs {
    double forward_us, input_us, weight_us;
    const double *forward_each_us, *input_each_us, *weight_each_us;
    double message_us;         /* from the end of a pass until its message is
                                  with the next stage; overlaps with work */
    double us_per_byte;        /* the same, for each byte of it */
    uint64_t activation_bytes; /* of a message, either way */
    /* What a message takes, by the virtual stage that sends it, instead of
     * message_us and us_per_byte; or NULL. */
    const double *activation_each_us, *gradient_each_us;
};

/* What is known without simulating; see the top of this page. */
struct gw_pipe_price {
    double ideal_us; /* the work of the busiest stage */
    double time_us;  /* ideal and bubble */
    double bubble_us;
    double bubble_of_ideal;    /* bubble_us / ideal_us */
    double bubble_of_total;    /* bubble_us / time_us */
    unsigned peak_activations; /* of the stage that holds most, in pieces */
    double peak_share;         /* the same in whole stages: / chunks */
    uint64_t messages;         /* all stages, a step */
    uint64_t bytes;
};

/* By the closed formulas of the built-in schedules (their files give them; the
 * peaks too), as if messages took no time; they hold for any number of stages
 * and micro-batches. GW_EINVAL for a schedule of a file's, or costs that differ
 * between stages. */
GW_API GW_MUST_CHECK enum gw_err
gw_pipe_price(const char *name, unsigned stages, unsigned micros,
              unsigned chunks, const struct gw_pipe_costs *costs,
              struct gw_pipe_price *price, struct gw_error *why);

/* When a pass began and ended, in microseconds since the step began; whom it
 * waited for last. */
struct gw_pass_time {
    double begin_us, end_us;
    double ready_us; /* when its stage had come to it; waited begin - ready */
    uint32_t waited_for; /* the stage whose message came last, or GW_NONE: it
                            did not wait */
};

struct gw_stage_total {
    double busy_us, wait_us; /* wait: between its passes and before the first */
    double rest_us;          /* after its last pass, until the step is over */
    unsigned peak_activations;
    uint32_t waits_most_for; /* stage, or GW_NONE */
};

struct gw_timeline {
    unsigned stages;
    size_t pass_count;
    struct gw_pass_time *times;   /* in the order of schedule->passes */
    struct gw_stage_total *stage; /* a stage each */
    double time_us;               /* of the step */
    double ideal_us;              /* the busiest stage's work */
    double bubble_us;             /* time_us - ideal_us */
    double bubble_of_total;       /* mean share of the time that stages do not
                                     work; equals bubble_us / time_us when all
                                     have the same work */
    double bubble_of_ideal;
    unsigned peak_activations;
    uint64_t messages, bytes;
};

/* One step in virtual time. `schedule` has been checked. GW_EPLAN: it has not,
 * and stands still. */
GW_API GW_MUST_CHECK enum gw_err
gw_pipe_simulate(const struct gw_schedule *schedule,
                 const struct gw_pipe_costs *costs,
                 struct gw_timeline **timeline, struct gw_error *why);
/* An empty timeline, to be filled with what was measured; then `settle` sets
 * everything but the begin, end, ready and waited_for of the passes, and the
 * bytes. */
GW_API GW_MUST_CHECK enum gw_err
gw_timeline_new(const struct gw_schedule *schedule,
                struct gw_timeline **timeline, struct gw_error *why);
GW_API void gw_timeline_settle(struct gw_timeline *timeline,
                               const struct gw_schedule *schedule);
GW_API void gw_timeline_destroy(struct gw_timeline **timeline);

/* ---- micro-batch size ---- */

/* A micro-batch of s samples takes `fixed_us + sample_us * s` a stage (forward
 * and backward). So a step over `batch` samples takes T(s) = (batch/s + p - 1)
 * (fixed + sample s), which is least at s = sqrt(fixed batch / (sample (p-1))),
 * where it is (sqrt(sample batch) + sqrt((p-1) fixed))^2. */
struct gw_pipe_fit {
    double fixed_us, sample_us;
    double best_size; /* samples a micro-batch, 1 .. batch */
    double best_us;
};

/* From the times of two steps with different micro-batch sizes that divide
 * `batch`. GW_EINVAL: the sizes are equal or do not divide; GW_EWRONG: the
 * times fit no costs that are not negative (the sentence says which is). */
GW_API GW_MUST_CHECK enum gw_err gw_pipe_fit(unsigned stages, unsigned batch,
                                             const unsigned sizes[2],
                                             const double times_us[2],
                                             struct gw_pipe_fit *fit,
                                             struct gw_error *why);
/* T(s) of that. */
GW_API double gw_pipe_fit_us(const struct gw_pipe_fit *fit, unsigned stages,
                             unsigned batch, double size);

/* ---- running ---- */

/* What a stage computes. Activations and gradients are f32; `elements` says how
 * many a message between virtual stage `after` and after + 1 has (of both
 * directions). `in` is NULL on the first virtual stage, `out` on the last, and
 * likewise for gradients: grad_out NULL on the last (the loss is its own),
 * grad_in NULL on the first. Buffers belong to the runner: `in` stays as it is
 * until the micro-batch's B or W on that piece has returned; grad_out until
 * that of its W. A NULL function is not called (no schedule asks for it). */
struct gw_stage_work {
    size_t (*elements)(void *context, unsigned after, unsigned micro);
    enum gw_err (*forward)(void *context, unsigned chunk, unsigned micro,
                           const float *in, float *out, struct gw_error *why);
    /* kind: GW_BACKWARD, GW_BACKWARD_INPUT (grad_in only) or
     * GW_BACKWARD_WEIGHT (grad_in NULL). */
    enum gw_err (*backward)(void *context, unsigned chunk, unsigned micro,
                            enum gw_pass_kind kind, const float *grad_out,
                            float *grad_in, struct gw_error *why);
    /* How many the gradient has, where it differs from the activation (it may
     * lie otherwise along a tensor axis); NULL: as `elements` says. */
    size_t (*gradient_elements)(void *context, unsigned after, unsigned micro);
};

struct gw_pipe_config {
    struct gw_comm *comm; /* not owned; the ranks that pass messages */
    /* The rank in `comm` of stage s is ranks[s]; NULL: s. */
    const unsigned *ranks;
    unsigned stage; /* of this process */
    const struct gw_schedule
        *schedule;                    /* not owned; checked, the same on all */
    const struct gw_stage_work *work; /* not owned */
    void *context;                    /* of the work's functions */
    struct gw_sink *events;           /* not owned; NULL: none */
    double predicted_us;              /* of a step, for the events; or 0 */
};

struct gw_pipe;

/* One stage. Receives are posted in the order in which the peers send, so that
 * messages move while the stage computes; sends do not wait for the receiver
 * either. What a link has no room for moves on between passes only: for large
 * messages let the communicator's slices be a quarter of one. GW_EINVAL: the
 * communicator has no such ranks. */
GW_API GW_MUST_CHECK enum gw_err
gw_pipe_new(const struct gw_pipe_config *config, struct gw_pipe **pipe,
            struct gw_error *why);
GW_API void gw_pipe_destroy(struct gw_pipe **pipe);
/* Works off the schedule once, as training step `step`. When it returns all
 * messages of this stage have left and come. GW_ELOST and so on: a peer's; the
 * sentence says in which pass: "stage 1, step 7, F3: ...". */
GW_API GW_MUST_CHECK enum gw_err
gw_pipe_step(struct gw_pipe *pipe, unsigned step, struct gw_error *why);
/* The times of this stage's passes in the last step, in the order of its
 * passes, on the clock of gw_now_ns (microseconds since `*zero_ns`, when the
 * step began here). */
GW_API const struct gw_pass_time *gw_pipe_times(const struct gw_pipe *pipe,
                                                uint64_t *zero_ns);
/* The most activations held at once in the last step, counted as they were
 * stored and dropped. */
GW_API unsigned gw_pipe_peak(const struct gw_pipe *pipe);

/* Work that takes time and computes nothing: sleeps (for more stages than
 * cores; a late awakening is taken off the next pass) or spins (uses a core for
 * so long; tells honestly what a busy core costs). Times are of one micro-batch
 * through one piece. The context of the functions is a struct gw_synthetic of
 * this stage's own. */
struct gw_synthetic {
    bool spin;
    double forward_us, input_us, weight_us; /* a micro-batch */
    size_t message_elements;
    /* the work's own; zero at first, and late_ns at the begin of each step */
    uint64_t late_ns;
    unsigned spin_rounds;
};
GW_API const struct gw_stage_work *gw_synthetic_work(void);

#ifdef __cplusplus
}
#endif
#endif
