/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the view knows of a pipeline, from its events alone: STAGE says who is
 * which stage and how long a step should take, PASS_BEGIN and PASS_END when
 * each pass ran. Two steps are kept, the one that runs and the one before.
 * Pure.
 *
 * Where several ranks are the same stage (replicas of the pipeline) the one of
 * the lowest rank is followed.
 */
#ifndef RINGTOP_PIPE_STATE_H
#define RINGTOP_PIPE_STATE_H

#include "journal.h"

#include <gradwire/pipe.h>

enum { PIPE_STAGES = 256, PIPE_PASSES = 1 << 12, PIPE_HISTORY = 128 };

#define PIPE_NEVER UINT64_MAX

struct pipe_pass {
    uint64_t begin_ns, end_ns; /* end PIPE_NEVER: it is under way */
    uint32_t micro, chunk;
    uint32_t peer; /* the stage that it waited for, or GW_NONE */
    uint32_t kind; /* enum gw_pass_kind */
};

/* A stage's passes in a step, in order. */
struct pipe_lane {
    struct pipe_pass *passes;
    unsigned count, room;
    bool cut; /* there were more than are kept */
    unsigned done[GW_PASS_KINDS];
    uint64_t held, peak; /* activations: now, the most */
    uint64_t busy_ns;    /* of passes that have ended */
    uint64_t wait_ns;    /* between passes */
};

struct pipe_step {
    bool used;
    bool complete; /* all passes of all stages have ended */
    bool partial;  /* not all of it was seen */
    bool redone;   /* it was begun before */
    uint32_t step;
    uint64_t end_ns; /* of the last pass that has ended */
    struct pipe_lane lanes[PIPE_STAGES];
};

struct pipe {
    bool here; /* a STAGE was seen */
    unsigned stages, micros, chunks;
    uint64_t predicted_ns;       /* of a step; 0: nobody has told */
    uint32_t ranks[PIPE_STAGES]; /* of each stage; GW_NONE */
    struct pipe_step steps[2];
    unsigned current;                  /* which of them */
    uint64_t history_ns[PIPE_HISTORY]; /* steps; i at i % PIPE_HISTORY */
    uint64_t finished;                 /* of them */
    struct { /* the journal's line about steps, if it is the last one */
        uint64_t written, steps, took_ns;
        double bubble; /* the sum */
        uint32_t first;
    } told;
};

void pipe_init(struct pipe *pipe);
void pipe_fini(struct pipe *pipe);
/* Takes an event of any kind. Writes when a step is done. */
void pipe_event(struct pipe *pipe, const struct gw_event *event,
                struct journal *journal);

/* ---- questions ---- */

/* The step that runs, or has just ended; and the one before if it was seen from
 * its begin to its end. NULL: there is none. */
const struct pipe_step *pipe_current(const struct pipe *pipe);
const struct pipe_step *pipe_last(const struct pipe *pipe);
/* The newest that is complete; NULL. */
const struct pipe_step *pipe_complete(const struct pipe *pipe);
/* When its first pass began; PIPE_NEVER: none has. */
uint64_t pipe_begin_ns(const struct pipe *pipe, const struct pipe_step *step);
/* How long it took, or has taken until `now_ns`. */
uint64_t pipe_took_ns(const struct pipe *pipe, const struct pipe_step *step,
                      uint64_t now_ns);
/* Passes that a stage has in a step; 0: not known yet. */
unsigned pipe_passes(const struct pipe *pipe, const struct pipe_step *step,
                     unsigned stage);
unsigned pipe_done(const struct pipe_lane *lane);
bool pipe_lane_done(const struct pipe *pipe, const struct pipe_lane *lane);

struct pipe_total {
    double busy, wait, rest; /* shares of the step's time */
    uint32_t waits_most_for; /* a stage, or GW_NONE */
};
void pipe_total(const struct pipe *pipe, const struct pipe_step *step,
                unsigned stage, struct pipe_total *total);
/* The share of a complete step's time in which stages do not work; and what it
 * would be of the predicted time, with the work that was measured: -1 when
 * nothing was predicted. */
double pipe_bubble(const struct pipe *pipe, const struct pipe_step *step,
                   double *predicted);

enum pipe_doing {
    PIPE_UNKNOWN,
    PIPE_IDLE, /* the step has not come to it, or nobody knows what for */
    PIPE_WORKS,
    PIPE_WAITS,
    PIPE_DONE /* with this step */
};
/* What a stage does now. *pass: what it works on, or, as the step before went,
 * what it waits to begin; else NULL. *peer: whom it waits for; else GW_NONE. */
enum pipe_doing pipe_doing(const struct pipe *pipe, unsigned stage,
                           const struct pipe_pass **pass, uint32_t *peer);

#endif
