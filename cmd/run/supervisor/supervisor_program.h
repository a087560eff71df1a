/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Members that are a user's program, as the other files of the supervisor see
 * them. Included by supervisor_parts.h.
 */
#ifndef SUPERVISOR_PROGRAM_H
#define SUPERVISOR_PROGRAM_H

#include "run/node/child_channel.h"

struct child;
struct progress_of;
struct run;

/* Are the members a user's program? */
bool is_program(const struct run *run);
/* False: the child is not one. */
bool program_send_orders(struct run *run, struct child *child,
                         const struct desired_state *desired);
/* The status of a program as that of a node. */
void program_node_status(const struct run *run,
                         const struct gw__supervised_status *in,
                         struct node_status *out);
/* A member has ended: if the work is complete, nothing is left for joiners. */
void program_ended(struct run *run, const struct child *ended);
/* Has a member reported that the work is complete? Then the last one takes the
 * state with it. */
bool program_is_complete(const struct run *run);
/* Adds the progress of members that have ended. */
void program_progress(const struct run *run, struct progress_of *progress);

#endif
