/* SPDX-License-Identifier: MIT
 *
 * Generated events of a pipeline for the tests of the live view: those of a
 * 1F1B run whose passes take exactly their nominal times.
 */
#ifndef PIPE_TAPE_H
#define PIPE_TAPE_H

#include "tape.h"

#include <gradwire/pipe.h>

enum { PIPE_TAPE_STAGES = 16, PIPE_TAPE_MICROS = 64 };

struct pipe_tape {
    unsigned stages, micros;
    uint64_t forward_ns, backward_ns;
    bool splits; /* backward passes are I and then W, instead of B */
    uint64_t predicted_ns;
};

/* The events that introduce the stages; the rank of a stage is its number plus
 * 10. */
void pipe_tape_stages(struct tape *tape, const struct pipe_tape *pipe);
/* A whole step, from tape->now_ns on, in the order of time. */
void pipe_tape_step(struct tape *tape, const struct pipe_tape *pipe,
                    uint32_t step);
/* The duration of a step: (m + p - 1)(F + b). */
uint64_t pipe_tape_ns(const struct pipe_tape *pipe);

#endif
