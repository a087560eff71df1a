/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The result of a chaos run: actions by kind, the recoveries of the run, and
 * its oracles. It fails if anything was lost or doubled, or if the work does
 * not continue.
 */
#ifndef CHAOS_SUM_H
#define CHAOS_SUM_H

#include "chaos.h"
#include "common/output.h"

/* Counts an action, and its answer. */
void chaos_sum_count(enum chaos_kind kind, enum gw_err code);
/* Waits until the work continues, then writes the sum below the rows.
 * GW_EWRONG: something was lost or doubled; GW_ETIMEOUT: the work does not
 * continue. */
GW_MUST_CHECK enum gw_err chaos_sum_report(struct output *output,
                                           struct gw_error *why);

#endif
