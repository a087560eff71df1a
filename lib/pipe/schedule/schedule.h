/* SPDX-License-Identifier: MIT
 *
 * Internals of schedules (gradwire-schedule(5)):
 *   schedule.c            the object
 *   schedule_KIND.c       one algorithm: the order of a stage's passes, and the
 *                         formulas of its bubble and its peak
 *   schedules.c           the list of them, and creation by name
 *   schedule_check.c      checks; schedule_deadlock.c: deadlocks
 *   walk.c                execution in the order of dependencies
 *   schedule_parse.c      the parser, with schedule_words.c
 *   schedule_file.c       files, and printing as text
 *   price.c               results of the formulas
 *   simulate.c            a step in virtual time; timeline.c: its sums
 *
 * A new algorithm needs a file and a line here.
 */
#ifndef GW__PIPE_SCHEDULE_H
#define GW__PIPE_SCHEDULE_H

#include <gradwire/pipe.h>

#include <assert.h>

#define GW__SCHEDULES(X)                                                       \
    X(gpipe)                                                                   \
    X(1f1b)                                                                    \
    X(interleaved)                                                             \
    X(zb_h1)

/* The parameters of a schedule: p, m and v of the formulas. */
struct gw__pipe_shape {
    unsigned stages, micros, chunks;
};

/* Times of one micro-batch in one virtual stage: F, I and W. */
struct gw__pass_us {
    double forward, input, weight;
};

/* Receives a stage's passes in order. There is room for all of them. */
struct gw__pass_emitter {
    struct gw_pass *next;
};

static inline void gw__pass_put(struct gw__pass_emitter *emitter,
                                enum gw_pass_kind kind, unsigned micro,
                                unsigned chunk)
{
    *emitter->next++ = (struct gw_pass){
        .micro = (uint16_t)micro,
        .chunk = (uint8_t)chunk,
        .kind = (uint8_t)kind,
    };
}

struct gw__schedule_algorithm {
    struct gw_schedule_kind kind;
    /* Emits all passes of `stage`. */
    void (*emit)(const struct gw__pipe_shape *shape, unsigned stage,
                 struct gw__pass_emitter *emitter);
    double (*bubble_us)(const struct gw__pipe_shape *shape,
                        const struct gw__pass_us *us);
    unsigned (*peak)(const struct gw__pipe_shape *shape, unsigned stage);
};

#define X(name) extern const struct gw__schedule_algorithm gw__schedule_##name;
GW__SCHEDULES(X)
#undef X

/* Finds an algorithm by name, or NULL. */
const struct gw__schedule_algorithm *gw__schedule_algorithm(const char *name);
/* GW_EINVAL with a text that lists the valid names. */
GW_MUST_CHECK enum gw_err gw__schedule_no_such(const char *name,
                                               struct gw_error *why);
/* GW_EINVAL: a number beyond the limits, or an invalid number of chunks.
 * shape->chunks 0 becomes the default. */
GW_MUST_CHECK enum gw_err
gw__schedule_shape(const struct gw__schedule_algorithm *algorithm,
                   struct gw__pipe_shape *shape, struct gw_error *why);

/* The stage of a virtual stage. */
static inline unsigned gw__stage_of(const struct gw_schedule *schedule,
                                    unsigned virtual_stage)
{
    assert(schedule->stages > 0);
    return virtual_stage % schedule->stages;
}

/* The minimum number of passes of such a schedule: one F and one B each. */
static inline size_t gw__schedule_least(unsigned stages, unsigned micros,
                                        unsigned chunks)
{
    return (size_t)2 * stages * micros * chunks;
}

/* A schedule with room for `passes` passes; passes and begin[] are zero. */
GW_MUST_CHECK enum gw_err gw__schedule_new(const struct gw__pipe_shape *shape,
                                           size_t pass_count,
                                           struct gw_schedule **schedule,
                                           struct gw_error *why);

/* "F3", or "F3.1" if stages have several chunks. */
enum { GW__PASS_TEXT = 24 };
const char *gw__pass_text(const struct gw_schedule *schedule,
                          struct gw_pass pass, char text[GW__PASS_TEXT]);

static inline bool gw__pass_is_forward(struct gw_pass pass)
{
    return pass.kind == GW_FORWARD;
}

/* Does the pass end the life of an activation? */
static inline bool gw__pass_drops(struct gw_pass pass)
{
    return pass.kind == GW_BACKWARD || pass.kind == GW_BACKWARD_WEIGHT;
}

/* A message between virtual stages: an activation to the next one, or a
 * gradient to the previous one. */
struct gw__message {
    bool there;        /* false: no message */
    bool forward;      /* an activation */
    unsigned from, to; /* virtual stages */
    unsigned micro;
};

/* The message that the pass needs before it begins, and the one that it sends
 * at its end. */
struct gw__message gw__pass_needs(const struct gw_schedule *schedule,
                                  unsigned stage, struct gw_pass pass);
struct gw__message gw__pass_sends(const struct gw_schedule *schedule,
                                  unsigned stage, struct gw_pass pass);
/* Its index among all messages in the same direction: 0 .. V m - 1, by
 * receiver. */
static inline size_t gw__message_slot(const struct gw_schedule *schedule,
                                      const struct gw__message *message)
{
    return (size_t)message->to * schedule->micros + message->micro;
}

/* Checks the ranges of all numbers, so that later checks may use them as
 * indices. */
GW_MUST_CHECK enum gw_err
gw__schedule_check_range(const struct gw_schedule *schedule,
                         struct gw_error *why);
/* Checks for deadlock. All passes must be present. */
GW_MUST_CHECK enum gw_err
gw__schedule_check_deadlock(const struct gw_schedule *schedule,
                            struct gw_error *why);

#endif
