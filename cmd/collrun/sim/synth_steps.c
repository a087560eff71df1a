/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun synth --steps: plans with few steps, found by z3, or the proof that
 * there are none. --pareto: for each number of steps the plan with the fewest
 * rounds per chunk, if it has fewer than all plans with fewer steps.
 */
#include "synth.h"

#include "common/command.h"
#include "common/output.h"

#include <stdio.h>

enum gw_err synth_steps(const struct gw_topology *topology,
                        const struct gw_steps *steps, struct gw_plan **plan,
                        struct gw_steps_result *result, struct gw_error *why)
{
    enum gw_err err = gw_synthesize_steps(topology, steps, plan, result, why);
    if (err || result->exists)
        return err;
    if (steps->rounds == 0)
        return gw_fail(why, GW_EPLAN,
                       "no plan of %s on topology %.40s has only %u step%s: "
                       "z3 has proved it",
                       gw_collective_name(steps->collective),
                       gw_topology_name(topology), steps->steps,
                       steps->steps == 1 ? "" : "s");
    char reason[64] = "z3 has proved it";
    if (steps->rounds < result->rounds_least)
        snprintf(reason, sizeof reason, "the bound is %u",
                 result->rounds_least);
    return gw_fail(why, GW_EPLAN,
                   "no plan of %s on topology %.40s with %u steps and %u "
                   "chunks has only %u rounds: %s",
                   gw_collective_name(steps->collective),
                   gw_topology_name(topology), steps->steps, steps->chunks,
                   steps->rounds, reason);
}

static const struct field fields[] = {
    {"plan", NULL, FIELD_TEXT, 0, false},
    {"steps", NULL, FIELD_INTEGER, 0, false},
    {"chunks", NULL, FIELD_INTEGER, 0, false},
    {"rounds", NULL, FIELD_INTEGER, 0, false},
    {"rounds_least", "bound", FIELD_INTEGER, 0, false},
    {"rounds_per_chunk", "rounds/chunk", FIELD_REAL, 3, false},
};

static enum gw_err begin_rows(const struct gw_topology *topology,
                              const struct gw_steps *steps,
                              struct output **output, struct gw_error *why)
{
    if (output_begin("collrun synth steps", common.output, fields,
                     sizeof fields / sizeof *fields, output, why))
        return why->code;
    output_note_text(*output, "op", gw_collective_name(steps->collective));
    output_note_text(*output, "topology", gw_topology_name(topology));
    output_note_integer(*output, "ranks", steps->ranks);
    return GW_OK;
}

static void print_steps(struct output *output, const struct gw_steps *steps,
                        unsigned rounds, unsigned least, const char *path)
{
    output_row(output, (union value[]){
                           {.text = path},
                           {.integer = steps->steps},
                           {.integer = steps->chunks},
                           {.integer = rounds},
                           {.integer = least},
                           {.real = (double)rounds / steps->chunks},
                       });
}

enum gw_err synth_steps_row(const struct gw_topology *topology,
                            const struct gw_steps *steps,
                            const struct gw_steps_result *result,
                            const char *path, struct gw_error *why)
{
    struct output *output;
    if (begin_rows(topology, steps, &output, why))
        return why->code;
    output_collect(output);
    print_steps(output, steps, result->rounds, result->rounds_least, path);
    output_end(&output, NULL, false);
    return GW_OK;
}

/* Of all numbers of chunks the fewest rounds per chunk: best->chunks, and
 * *rounds; 0: no plan has so few steps, or none is better than `limit`. */
static enum gw_err best_of_steps(const struct gw_topology *topology,
                                 struct gw_steps *best, unsigned chunks_max,
                                 double limit, unsigned *rounds,
                                 unsigned *least, struct gw_error *why)
{
    struct gw_steps try = *best;
    *rounds = 0;
    for (try.chunks = 1; try.chunks <= chunks_max && !interrupted;
         try.chunks++) {
        struct gw_plan *plan;
        struct gw_steps_result result;
        /* Only fewer rounds per chunk count: one question suffices. */
        double most = limit * try.chunks - 1e-9;
        try.rounds = most < 1e6 ? (unsigned)most : 0;
        if (try.rounds > 0 && try.rounds < try.steps)
            continue;
        if (gw_synthesize_steps(topology, &try, &plan, &result, why))
            return why->code;
        gw_plan_destroy(&plan);
        if (!result.exists)
            continue;
        *rounds = result.rounds;
        *least = result.rounds_least;
        best->chunks = try.chunks;
        limit = (double)result.rounds / try.chunks;
    }
    return GW_OK;
}

enum gw_err synth_pareto(const struct gw_topology *topology,
                         const struct gw_steps *steps, struct gw_error *why)
{
    struct output *output;
    struct gw_steps best = *steps;
    double limit = 1e9;
    enum gw_err err = begin_rows(topology, steps, &output, why);
    if (err)
        return err;
    for (best.steps = 1; best.steps <= steps->steps && !err && !interrupted;
         best.steps++) {
        unsigned rounds, least = 0;
        err = best_of_steps(topology, &best, steps->chunks, limit, &rounds,
                            &least, why);
        if (err || rounds == 0)
            continue;
        limit = (double)rounds / best.chunks;
        print_steps(output, &best, rounds, least, "-");
    }
    output_end(&output, err ? why : NULL, interrupted != 0);
    return err;
}
