/* SPDX-License-Identifier: MIT
 *
 * Executes a schedule as far as messages allow, each stage in its own order. A
 * waiting stage is visited again only when its message arrives, so the walk is
 * linear in the passes. The order of stages does not matter: passes do not
 * compete.
 *
 * The walk has no time. The caller defines the action of a pass: nothing in the
 * check, computing begin and end in the simulation.
 */
#ifndef GW__PIPE_TRAVERSAL_H
#define GW__PIPE_TRAVERSAL_H

#include "pipe/schedule/schedule.h"

struct gw__pipe_traversal {
    const struct gw_schedule *schedule;
    size_t *cursor; /* the next pass of each stage */
    bool *queued;   /* of each stage: it is in `todo` */
    uint32_t *todo; /* stages to visit */
    unsigned todo_count;
    /* For each message, by gw__message_slot: has it been sent? */
    bool *sent[2]; /* gradients, activations */
    size_t done;   /* passes */
    /* Called for each pass; its message `needs`, if any, has been sent. */
    void (*pass)(void *context, unsigned stage, size_t index,
                 const struct gw__message *needs,
                 const struct gw__message *sends);
    void *context;
};

/* The schedule's numbers must be in range. */
GW_MUST_CHECK enum gw_err
gw__pipe_traversal_new(struct gw__pipe_traversal *traversal,
                       struct gw_error *why);
/* Runs all reachable passes. Afterwards the cursors are at the deadlocked
 * passes, if any. */
void gw__pipe_traversal_run(struct gw__pipe_traversal *traversal);
void gw__pipe_traversal_fini(struct gw__pipe_traversal *traversal);

#endif
