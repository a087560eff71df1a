/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The report on a step: one row for the whole and one per stage, with the same
 * fields for a simulation and a run.
 */
#ifndef REPORT_H
#define REPORT_H

#include "common/output.h"

#include <gradwire/pipe.h>

struct report {
    const char *title; /* "pipebench sim" */
    bool measured;     /* the field is bubble_measured, else bubble_simulated */
    const struct gw_schedule *schedule;
    const struct gw_timeline *timeline; /* NULL: none; no rows */
    /* The prediction, by formula (gw_pipe_price) or by simulation; NULL: none.
     * A simulation has the stages' shares, too. */
    const struct gw_pipe_price *price;
    const struct gw_timeline *simulated;
};

/* Begins the document; the caller may add notes, then calls report_rows and
 * output_end. */
GW_MUST_CHECK enum gw_err report_begin(const struct report *report,
                                       struct output **output,
                                       struct gw_error *why);
void report_rows(const struct report *report, struct output *output);

#endif
