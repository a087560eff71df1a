/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A plan as a picture in text.
 */
#ifndef PLAN_DRAW_H
#define PLAN_DRAW_H

#include "common/output.h"

#include <gradwire/plan.h>

/* One row per rank and one column per step, with the transfers that the rank
 * sends: "c0+>1" is chunk 0, added at rank 1. GW_EINVAL when there are too many
 * steps. */
GW_MUST_CHECK enum gw_err plan_draw(const struct gw_plan *plan,
                                    struct gw_error *why);

/* The first notes of a document about a plan. */
void plan_notes(struct output *output, const struct gw_plan *plan);
/* '+', '=' or '|' of an enum gw_action. */
char plan_action_sign(unsigned action);

#endif
