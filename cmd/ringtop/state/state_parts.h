/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by state.c, state_event.c and state_member.c.
 */
#ifndef RINGTOP_STATE_PARTS_H
#define RINGTOP_STATE_PARTS_H

#include "state.h"

/* A rank of which nothing is known. */
void rank_init(struct rank *rank);
/* If an evaluated op counts a rank twice, writes that once, in capitals. */
void state_shout(struct state *state, struct op *op);

/* The op has ended at all its ranks. Written once, even if repeated. */
void state_finish(struct state *state, struct op *op, uint64_t time_ns);
/* A MEMBER event. */
void state_member(struct state *state, const struct gw_event *event);
/* The status of a live run: the nodes that are paused, which no event reports,
 * and the number of recoveries, most of them maybe before the first event. */
void state_members_status(struct state *state, const json_t *status);

#endif
