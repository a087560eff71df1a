/* SPDX-License-Identifier: MIT
 *
 * A question of steps.c to a solver: who sends which chunk in which step? The
 * answer is a tree per chunk. steps_z3.c asks z3; without it, steps_none.c
 * refuses.
 */
#ifndef GW__STEPS_SOLVER_H
#define GW__STEPS_SOLVER_H

#include <gradwire/synthesis.h>

struct gw__steps_question {
    const struct gw_topology *topology;
    unsigned ranks, steps, rounds, chunks; /* chunks of all ranks */
    unsigned timeout_ms;
    const uint32_t *owner;     /* of each chunk: the rank that has it first */
    const unsigned *link_room; /* of each link: chunks per round; 0: any */
    const bool *may_send;      /* [src][dst] */
};

/* The step, from 1, in which a chunk goes from one rank to another; 0: never.
 * sent[(chunk * ranks + src) * ranks + dst] */
struct gw__steps_answer {
    bool exists;
    uint8_t *sent;
};

/* GW_ENOTSUP, GW_EUNSURE, GW_ENOMEM. */
GW_MUST_CHECK enum gw_err
gw__steps_solve(const struct gw__steps_question *question,
                struct gw__steps_answer *answer, struct gw_error *why);

#endif
