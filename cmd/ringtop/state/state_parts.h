/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What state.c, state_event.c and state_member.c share.
 */
#ifndef RINGTOP_STATE_PARTS_H
#define RINGTOP_STATE_PARTS_H

#include "state.h"

/* A rank of which nothing is known. */
void rank_init(struct rank *rank);
/* Writes once, and in capitals, that an op which was evaluated counts somebody
 * twice, if it does. */
void state_shout(struct state *state, struct op *op);

/* The op has ended at all that take part. Told once, however often it is so. */
void state_finish(struct state *state, struct op *op, uint64_t time_ns);
/* A MEMBER event. */
void state_member(struct state *state, const struct gw_event *event);

#endif
