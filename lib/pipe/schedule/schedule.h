/* SPDX-License-Identifier: MIT
 *
 * Between the parts that make schedules (gradwire-schedule(5)):
 *   schedule.c            the object
 *   schedule_KIND.c       one algorithm: the order of a stage's passes, and by
 *                         formula its bubble and its peak
 *   schedules.c           the list of them, and making one by name
 *   schedule_check.c      is it right? schedule_circle.c: can it stand still?
 *   walk.c                works off a schedule as far as messages let it
 *   schedule_parse.c      the text form, in, of schedule_words.c
 *   schedule_file.c       files, and the text form, out
 *   price.c               what the formulas say
 *   simulate.c            a step in virtual time; timeline.c: its sums
 *
 * Adding an algorithm means a file and a line here.
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

/* What a schedule is made for: p, m and v of the formulas. */
struct gw__pipe_shape {
    unsigned stages, micros, chunks;
};

/* Times of one micro-batch through one piece: F, I and W. */
struct gw__pass_us {
    double forward, input, weight;
};

/* Where a stage's passes are put down, one after the other. There is room for
 * as many as it has. */
struct gw__pass_pen {
    struct gw_pass *next;
};

static inline void gw__pass_put(struct gw__pass_pen *pen,
                                enum gw_pass_kind kind, unsigned micro,
                                unsigned chunk)
{
    *pen->next++ = (struct gw_pass){
        .micro = (uint16_t)micro,
        .chunk = (uint8_t)chunk,
        .kind = (uint8_t)kind,
    };
}

struct gw__schedule_form {
    struct gw_schedule_kind kind;
    /* Puts down all passes of `stage`. */
    void (*emit)(const struct gw__pipe_shape *shape, unsigned stage,
                 struct gw__pass_pen *pen);
    double (*bubble_us)(const struct gw__pipe_shape *shape,
                        const struct gw__pass_us *us);
    unsigned (*peak)(const struct gw__pipe_shape *shape, unsigned stage);
};

#define X(name) extern const struct gw__schedule_form gw__schedule_##name;
GW__SCHEDULES(X)
#undef X

/* The algorithm of that name, or NULL. */
const struct gw__schedule_form *gw__schedule_form(const char *name);
/* GW_EINVAL and a sentence with the names that there are. */
GW_MUST_CHECK enum gw_err gw__schedule_no_such(const char *name,
                                               struct gw_error *why);
/* GW_EINVAL: a number beyond the limits, or chunks that it does not take.
 * shape->chunks 0 becomes the default. */
GW_MUST_CHECK enum gw_err
gw__schedule_shape(const struct gw__schedule_form *form,
                   struct gw__pipe_shape *shape, struct gw_error *why);

/* Which stage holds that virtual stage. */
static inline unsigned gw__stage_of(const struct gw_schedule *schedule,
                                    unsigned virtual_stage)
{
    assert(schedule->stages > 0);
    return virtual_stage % schedule->stages;
}

/* The fewest passes that such a schedule has: an F and a B each. */
static inline size_t gw__schedule_least(unsigned stages, unsigned micros,
                                        unsigned chunks)
{
    return (size_t)2 * stages * micros * chunks;
}

/* A schedule with room for so many passes, all of them and begin[] zero. */
GW_MUST_CHECK enum gw_err gw__schedule_new(const struct gw__pipe_shape *shape,
                                           size_t pass_count,
                                           struct gw_schedule **schedule,
                                           struct gw_error *why);

/* "F3", or "F3.1" where stages have several pieces. */
enum { GW__PASS_TEXT = 24 };
const char *gw__pass_text(const struct gw_schedule *schedule,
                          struct gw_pass pass, char text[GW__PASS_TEXT]);

static inline bool gw__pass_is_forward(struct gw_pass pass)
{
    return pass.kind == GW_FORWARD;
}

/* Ends the life of an activation. */
static inline bool gw__pass_drops(struct gw_pass pass)
{
    return pass.kind == GW_BACKWARD || pass.kind == GW_BACKWARD_WEIGHT;
}

/* What moves between virtual stages: an activation to the next or a gradient
 * to the one before. */
struct gw__message {
    bool there;        /* false: no such message */
    bool forward;      /* an activation */
    unsigned from, to; /* virtual stages */
    unsigned micro;
};

/* What the pass needs before it can begin, and what it sends when it has
 * ended. */
struct gw__message gw__pass_needs(const struct gw_schedule *schedule,
                                  unsigned stage, struct gw_pass pass);
struct gw__message gw__pass_sends(const struct gw_schedule *schedule,
                                  unsigned stage, struct gw_pass pass);
/* Its place among all that move the same way: 0 .. V m - 1, by receiver. */
static inline size_t gw__message_slot(const struct gw_schedule *schedule,
                                      const struct gw__message *message)
{
    return (size_t)message->to * schedule->micros + message->micro;
}

/* Numbers of passes are in range: what follows may index by them. */
GW_MUST_CHECK enum gw_err
gw__schedule_check_range(const struct gw_schedule *schedule,
                         struct gw_error *why);
/* The stages never wait for each other in a circle. All passes are there. */
GW_MUST_CHECK enum gw_err
gw__schedule_check_circle(const struct gw_schedule *schedule,
                          struct gw_error *why);

#endif
