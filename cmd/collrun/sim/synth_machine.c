/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun synth --wire: a plan for this machine instead of a cluster. Its ranks
 * reach all others at once and may share cores, so that flat plans compete with
 * trees, and the cost model of collrun sim --wire (sim_machine.c) decides.
 *
 * In shared memory there are flat plans only, unless trees are requested:
 * windows run these in one pass, but a tree transfer by transfer. The cost model
 * is not fitted to that, and its predictions for trees are too short.
 */
#include "synth.h"

#include "collrun/plan/plan_source.h"

#include <coll/cost/choose.h>

#include <string.h>

enum { ELEM_BYTES = sizeof(float) };

struct prediction {
    const char *wire;
    uint64_t bytes; /* a rank's buffer, all blocks of it */
    struct gw_wire_costs costs;
};

static enum gw_err predict_plan(void *context, const struct gw_plan *plan,
                                double *time_us, struct gw_error *why)
{
    const struct prediction *p = context;
    size_t count =
        plan_count(plan->collective, plan->ranks, p->bytes, ELEM_BYTES);
    return gw__plan_predict_us(p->wire, &p->costs, plan, count, ELEM_BYTES,
                               time_us, why);
}

enum gw_err synth_machine(const struct sim_machine *machine,
                          const struct gw_topology *topology,
                          const struct gw_synthesis *wanted,
                          struct gw_plan **plan,
                          struct gw_synthesis_result *result,
                          struct gw_error *why)
{
    bool measured;
    struct prediction p = {.wire = machine->wire, .bytes = wanted->bytes};
    struct gw_synthesis here = *wanted;
    here.predict = predict_plan;
    here.context = &p;
    here.flat = strcmp(p.wire, "shm") == 0;
    gw_costs_among(p.wire, here.ranks, &p.costs, &measured);
    enum gw_err err = gw_synthesize(topology, &here, plan, result, why);
    size_t count =
        plan_count(here.collective, here.ranks, here.bytes, ELEM_BYTES);
    if (!err)
        result->bound_us = gw_wire_bound_us(p.wire, here.collective, here.ranks,
                                            count, ELEM_BYTES);
    return err;
}
