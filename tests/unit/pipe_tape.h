/* SPDX-License-Identifier: MIT
 *
 * Events of a pipeline, made up for the tests of the live view: what a run by
 * 1F1B would have told if passes took exactly as long as they should.
 */
#ifndef PIPE_TAPE_H
#define PIPE_TAPE_H

#include "tape.h"

#include <gradwire/pipe.h>

enum { PIPE_TAPE_STAGES = 16, PIPE_TAPE_MICROS = 64 };

struct pipe_tape {
    unsigned stages, micros;
    uint64_t forward_ns, backward_ns;
    bool splits; /* I, and W right after it, instead of B */
    uint64_t predicted_ns;
};

/* Each stage introduces itself; its rank is 10 more than its number. */
void pipe_tape_stages(struct tape *tape, const struct pipe_tape *pipe);
/* A whole step, from tape->now_ns on, in the order of time. */
void pipe_tape_step(struct tape *tape, const struct pipe_tape *pipe,
                    uint32_t step);
/* What such a step takes: (m + p - 1)(F + b). */
uint64_t pipe_tape_ns(const struct pipe_tape *pipe);

#endif
