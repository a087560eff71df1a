/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Between the parts of collrun synth: synth.c, the command, and synth_steps.c,
 * plans with few steps.
 */
#ifndef SYNTH_H
#define SYNTH_H

#include <gradwire/synthesis.h>

/* As gw_synthesize_steps; GW_EPLAN with a sentence if no such plan exists. */
GW_MUST_CHECK enum gw_err synth_steps(const struct gw_topology *topology,
                                      const struct gw_steps *steps,
                                      struct gw_plan **plan,
                                      struct gw_steps_result *result,
                                      struct gw_error *why);
/* A row about the plan that was written to `path`. */
GW_MUST_CHECK enum gw_err synth_steps_row(const struct gw_topology *topology,
                                          const struct gw_steps *steps,
                                          const struct gw_steps_result *result,
                                          const char *path,
                                          struct gw_error *why);
/* A table of the plans of up to steps->steps steps and steps->chunks chunks of
 * which none has both fewer steps and fewer bytes. */
GW_MUST_CHECK enum gw_err synth_pareto(const struct gw_topology *topology,
                                       const struct gw_steps *steps,
                                       struct gw_error *why);

#endif
