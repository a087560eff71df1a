/* SPDX-License-Identifier: MIT
 *
 * Works off a schedule, each stage its list in order, as far as messages let
 * it. Who waits for a message is looked at again when it comes, and only then,
 * so that the walk is linear in the passes. Which stage moves first does not
 * matter: a pass takes nothing away from another.
 *
 * The walk knows no time. What is done with a pass is the caller's: in the
 * check nothing, in the simulation its begin and end.
 */
#ifndef GW__PIPE_WALK_H
#define GW__PIPE_WALK_H

#include "pipe/schedule/schedule.h"

struct gw__walk {
    const struct gw_schedule *schedule;
    size_t *cursor; /* of each stage: its next pass */
    bool *queued;   /* of each stage: it stands in `todo` */
    uint32_t *todo; /* stages to look at again */
    unsigned todo_count;
    /* Of each message, by gw__message_slot: it has been sent. */
    bool *sent[2]; /* gradients, activations */
    size_t done;   /* passes */
    /* A pass's turn; `needs` has been sent, if it is there. */
    void (*pass)(void *context, unsigned stage, size_t index,
                 const struct gw__message *needs,
                 const struct gw__message *sends);
    void *context;
};

/* All passes that can be reached. The cursors stay for who asks where it stood
 * still. The schedule's numbers are in range. */
GW_MUST_CHECK enum gw_err gw__walk_new(struct gw__walk *walk,
                                       struct gw_error *why);
void gw__walk_run(struct gw__walk *walk);
void gw__walk_fini(struct gw__walk *walk);

#endif
