/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Between the parts of collrun synth: synth.c, the command, synth_machine.c,
 * plans for this machine, and synth_steps.c, plans with few steps.
 */
#ifndef SYNTH_H
#define SYNTH_H

#include "sim.h"

#include <gradwire/synthesis.h>

/* ---- synth_machine.c ---- */

/* As gw_synthesize, with the predicted times of plans on this machine, whose
 * topology is `topology` (sim_machine_topology), and the bound of its wire. */
GW_MUST_CHECK enum gw_err synth_machine(const struct sim_machine *machine,
                                        const struct gw_topology *topology,
                                        const struct gw_synthesis *wanted,
                                        struct gw_plan **plan,
                                        struct gw_synthesis_result *result,
                                        struct gw_error *why);

/* ---- synth_steps.c ---- */

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
