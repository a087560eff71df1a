/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The figures of an experiment: the time of each op, and the loss of each step.
 */
#ifndef FIGURES_H
#define FIGURES_H

#include <gradwire/gradwire.h>

/* Writes the rows of the figures, of the events in DIRECTORY/events.jsonl, to
 * ops.jsonl and steps.jsonl there (those that have rows), and figures.sh, which
 * draws figures/ops.svg and figures/steps.svg with collrun plot. Without events
 * it writes nothing. */
GW_MUST_CHECK enum gw_err figures_write(const char *directory,
                                        struct gw_error *why);
/* Runs figures.sh, if it exists. False: not drawn, which was reported. */
GW_MUST_CHECK bool figures_draw(const char *directory);

#endif
