/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The view's state of a pipeline, from its events alone: STAGE has the rank of
 * a stage and the predicted time of a step, PASS_BEGIN and PASS_END the times
 * of each pass. Two steps are kept, the current one and the one before. Pure.
 *
 * If several ranks are the same stage (replicas of the pipeline), the lowest
 * rank is followed.
 */
#ifndef RINGTOP_PIPE_STATE_H
#define RINGTOP_PIPE_STATE_H

#include "event_log.h"

#include <gradwire/pipe.h>

enum { PIPE_STAGES = 256, PIPE_PASSES = 1 << 12, PIPE_HISTORY = 128 };

#define PIPE_NEVER UINT64_MAX

struct pipe_pass {
    uint64_t begin_ns, end_ns; /* end PIPE_NEVER: it is under way */
    uint32_t micro, chunk;
    uint32_t peer; /* the stage that it waited for, or GW_NONE */
    uint32_t kind; /* enum gw_pass_kind */
};

/* The passes of a stage in a step, in order. */
struct pipe_lane {
    struct pipe_pass *passes;
    unsigned count, room;
    bool truncated; /* there were more than are kept */
    unsigned done[GW_PASS_KINDS];
    uint64_t held, peak; /* activations: now, the most */
    uint64_t busy_ns;    /* of passes that have ended */
    uint64_t wait_ns;    /* between passes */
};

struct pipe_step {
    bool used;
    bool complete; /* all passes of all stages have ended */
    bool partial;  /* some of it was not seen */
    bool redone;   /* it was begun before */
    uint32_t step;
    uint64_t end_ns; /* of the last pass that has ended */
    struct pipe_lane lanes[PIPE_STAGES];
};

struct pipe {
    bool here; /* a STAGE event was seen */
    unsigned stages, micros, chunks;
    uint64_t predicted_ns;       /* for a step; 0: not reported */
    uint32_t ranks[PIPE_STAGES]; /* of each stage; GW_NONE */
    struct pipe_step steps[2];
    unsigned current;                  /* the index of the current step */
    uint64_t history_ns[PIPE_HISTORY]; /* steps; i at i % PIPE_HISTORY */
    uint64_t finished;                 /* of them */
    struct { /* the log's line about steps, if it is the last one */
        uint64_t written, steps, took_ns;
        double bubble; /* the sum */
        uint32_t first;
    } reported;
};

void pipe_init(struct pipe *pipe);
void pipe_fini(struct pipe *pipe);
/* Applies an event of any kind. Writes a line when a step is done. */
void pipe_event(struct pipe *pipe, const struct gw_event *event,
                struct event_log *log);

/* ---- questions ---- */

/* The current step, or the one that has just ended; and the one before if all
 * of it was seen. NULL: none. */
const struct pipe_step *pipe_current(const struct pipe *pipe);
const struct pipe_step *pipe_last(const struct pipe *pipe);
/* The newest that is complete; NULL. */
const struct pipe_step *pipe_complete(const struct pipe *pipe);
/* When its first pass began; PIPE_NEVER: none has. */
uint64_t pipe_begin_ns(const struct pipe *pipe, const struct pipe_step *step);
/* Its duration, up to `now_ns` if it is under way. */
uint64_t pipe_took_ns(const struct pipe *pipe, const struct pipe_step *step,
                      uint64_t now_ns);
/* The number of passes of a stage in a step; 0: not known yet. */
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
/* The share of a complete step's time in which stages are idle; and the same
 * for the predicted time, with the measured work: -1 without a prediction. */
double pipe_bubble(const struct pipe *pipe, const struct pipe_step *step,
                   double *predicted);

enum pipe_doing {
    PIPE_UNKNOWN,
    PIPE_IDLE, /* not yet begun, or waiting for an unknown stage */
    PIPE_WORKS,
    PIPE_WAITS,
    PIPE_DONE /* done with this step */
};
/* The current action of a stage. *pass: the pass under way, or the next one,
 * assuming the order of the step before; else NULL. *peer: the stage that it
 * waits for; else GW_NONE. */
enum pipe_doing pipe_doing(const struct pipe *pipe, unsigned stage,
                           const struct pipe_pass **pass, uint32_t *peer);

#endif
