/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What state.c and state_event.c share.
 */
#ifndef RINGTOP_STATE_PARTS_H
#define RINGTOP_STATE_PARTS_H

#include "state.h"

/* A rank of which nothing is known. */
void rank_init(struct rank *rank);
/* Writes once, and in capitals, that an op which was evaluated counts somebody
 * twice, if it does. */
void state_shout(struct state *state, struct op *op);

#endif
