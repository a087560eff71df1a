/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What came of a chaos: blows by kind, what the run had to do because of them,
 * and what its oracles say. What is lost or doubled makes it fail, and so does
 * work that does not go on.
 */
#ifndef CHAOS_SUM_H
#define CHAOS_SUM_H

#include "chaos.h"
#include "common/output.h"

/* One blow, and how it was answered. */
void chaos_sum_count(enum chaos_kind kind, enum gw_err code);
/* Waits until the work goes on, then writes the sum below the rows. GW_EWRONG:
 * something was lost or doubled; GW_ETIMEOUT: the work does not go on. */
GW_MUST_CHECK enum gw_err chaos_sum_tell(struct output *output,
                                         struct gw_error *why);

#endif
