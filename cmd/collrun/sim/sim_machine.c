/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun sim --wire: this machine instead of a cluster. All ranks are on one
 * host, and messages have the calibrated costs (gw_costs): alpha at their
 * sender, beta per byte of shared memory, gamma per reduced byte.
 *
 * The time of a call there does not depend on links, but on wake-ups, caches
 * and shared cores. The cost model (gw_cost_breakdown), fitted to measured
 * runs, has it. There is one model of this machine, not two: the simulation
 * determines the order of events, and its clock is stretched so that it ends at
 * the time of the cost model. All costs are stretched by one factor, which
 * changes no order.
 */
#include "sim.h"

#include "collrun/plan/plan_source.h"

#include <stdio.h>
#include <string.h>

/* The costs of a wire, times `stretch`. */
static enum gw_err set_costs(const struct sim_machine *machine, double stretch,
                             struct gw_topology **topology,
                             struct gw_topology_run *run, struct gw_error *why)
{
    char text[256];
    bool measured;
    struct gw_wire_costs costs;
    gw_costs(machine->wire, &costs, &measured);
    const struct gw_cost_model *model = &costs.model;
    double beta = gw_cost_model_us(model, 0, stretch, 0);
    snprintf(text, sizeof text,
             "topology %s\ninner rate=%.0f\nrack here: machine\n"
             "host machine ranks=%u\n",
             machine->wire, beta > 1e-6 ? 1e6 / beta : 1e12, machine->ranks);
    run->message_us = gw_cost_model_us(model, stretch, 0, 0);
    run->reduce_us_per_byte = gw_cost_model_us(model, 0, 0, stretch);
    return gw_topology_parse(text, strlen(text), machine->wire, topology, why);
}

enum gw_err sim_machine_topology(const struct sim_machine *machine,
                                 struct gw_topology **topology,
                                 struct gw_error *why)
{
    struct gw_topology_run run;
    if (machine->ranks > SIM_MACHINE_RANKS_MAX)
        return gw_fail(why, GW_EINVAL,
                       "--wire simulates at most %d ranks, not %u",
                       SIM_MACHINE_RANKS_MAX, machine->ranks);
    return set_costs(machine, 1, topology, &run, why);
}

void sim_machine_costs(const struct sim_machine *machine, double *message_us,
                       uint64_t *reduce_rate)
{
    bool measured;
    struct gw_wire_costs costs;
    gw_costs(machine->wire, &costs, &measured);
    double gamma = costs.model.gamma_us_per_byte;
    *message_us = costs.model.alpha_us;
    *reduce_rate = gamma > 1e-6 ? (uint64_t)(1e6 / gamma) : 0;
}

/* One run with costs times `stretch`. */
static enum gw_err simulate_run(const struct sim_machine *machine,
                                double stretch, struct gw_topology_run run,
                                struct gw_topology_result **result,
                                struct gw_error *why)
{
    struct gw_topology *topology;
    enum gw_err err = set_costs(machine, stretch, &topology, &run, why);
    if (!err)
        err = gw_topology_simulate(topology, &run, result, why);
    gw_topology_destroy(&topology);
    return err;
}

enum gw_err sim_machine_run(const struct sim_machine *machine,
                            const struct gw_algo *algo,
                            const struct gw_topology_run *run,
                            struct gw_topology_result **result,
                            struct gw_error *why)
{
    struct gw_topology_run quiet = *run;
    quiet.events = NULL;
    *result = NULL;
    double us = plan_predict_us(machine->wire, algo, run->plan->ranks,
                                run->count, run->elem_bytes);
    if (us < 0)
        return gw_fail(why, GW_ENOMEM, "prediction for %zu elements",
                       run->count);
    enum gw_err err = simulate_run(machine, 1, quiet, result, why);
    if (err)
        return err;
    double stretch = (*result)->time_us > 0 ? us / (*result)->time_us : 1;
    gw_topology_result_destroy(result);
    return simulate_run(machine, stretch, *run, result, why);
}
