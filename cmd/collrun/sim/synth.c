/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun synth: a plan that reaches the bound of a topology
 * (gradwire/synthesis.h). Without a file the plan itself goes to stdout, as
 * from collrun plan; with one, a row about it does. synth_steps.c has --steps,
 * synth_machine.c --wire.
 */
#include "synth.h"
#include "collrun/collrun.h"
#include "collrun/plan/plan_source.h"
#include "common/cluster.h"
#include "common/output.h"
#include "sim.h"

#include <gradwire/synthesis.h>

#include <stdio.h>

static const char *topo, *path;
static bool pareto;
static struct gw_synthesis wanted = {.bytes = 1 << 20};
static uint64_t alpha_ns = 1000;
static struct gw_steps steps;
static struct sim_machine machine;

enum { QUESTION_TIMEOUT_MS = 60000 };

static const struct option_spec options[] = {
    {"topo", 't', OPTION_TEXT, &topo, "FILE",
     "Topology file of the cluster, or torus:8x8, fat-tree:k=8. Default: one "
     "rack.",
     NULL},
    {"wire", 'w', OPTION_CHOICE, &machine.wire, "WIRE",
     "Make a plan for this machine with its calibrated costs instead of a "
     "cluster.",
     "shm|ipc|tcp"},
    {"ranks", 'n', OPTION_COUNT, &wanted.ranks, "N",
     "Ranks. Default: all of the topology; with --wire, 4.", NULL},
    {"root", 'r', OPTION_UNSIGNED, &wanted.root, "RANK",
     "Root rank of broadcast, reduce, gather and scatter. Default: 0.", NULL},
    {"plan", 'p', OPTION_TEXT, &path, "FILE.plan",
     "Write the plan to FILE.plan and print a row about it.", NULL},
    {"bytes", 'b', OPTION_BYTES, &wanted.bytes, "SIZE",
     "Size of a rank's whole buffer for which the plan is chosen.", NULL},
    {"alpha", 0, OPTION_DURATION, &alpha_ns, "TIME",
     "Cost of a message for its sender.", NULL},
    {"trees", 0, OPTION_COUNT, &wanted.trees, "N",
     "Multiple of the fewest trees. Default: the fastest of 1, 2, 4 and 8.",
     NULL},
    {"parts", 0, OPTION_COUNT, &wanted.parts, "N",
     "Parts of the data of each tree. Default: the fastest number.", NULL},
    {"steps", 0, OPTION_COUNT, &steps.steps, "N",
     "Search a plan of N steps with z3 instead, for at most 8 ranks.", NULL},
    {"chunks", 0, OPTION_COUNT, &steps.chunks, "N",
     "With --steps: chunks of a block. Default: 1.", NULL},
    {"rounds", 0, OPTION_COUNT, &steps.rounds, "N",
     "With --steps: rounds of all steps, at most. Default: the fewest.", NULL},
    {"nearest", 0, OPTION_FLAG, &steps.nearest, NULL,
     "With --steps: send only to the ranks to which routes have the fewest "
     "links.",
     NULL},
    {"pareto", 0, OPTION_FLAG, &pareto, NULL,
     "With --steps and --chunks: one row per plan that no other one beats in "
     "both steps and bytes.",
     NULL},
    {0},
};

static const struct field fields[] = {
    {"plan", NULL, FIELD_TEXT, 0, false},
    {"trees", NULL, FIELD_INTEGER, 0, false},
    {"parts", NULL, FIELD_INTEGER, 0, false},
    {"chunks", NULL, FIELD_INTEGER, 0, false},
    {"depth", NULL, FIELD_INTEGER, 0, false},
    {"candidates", NULL, FIELD_INTEGER, 0, true},
    {"time_us", "time us", FIELD_REAL, 2, false},
    {"bound_us", "bound us", FIELD_REAL, 2, false},
    {"optimum_percent", "% of optimum", FIELD_REAL, 1, false},
};

static enum gw_err write_plan(const struct gw_plan *plan, struct gw_error *why)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return gw_fail_errno(why, "%.200s", path);
    enum gw_err err = gw_plan_print(plan, file, why);
    if (fclose(file) && !err)
        err = gw_fail_errno(why, "writing %.200s", path);
    return err;
}

static enum gw_err print_result(const struct gw_topology *topology,
                                const struct gw_plan *plan,
                                const struct gw_synthesis_result *r,
                                struct gw_error *why)
{
    struct output *output;
    if (output_begin("collrun synth", common.output, fields,
                     sizeof fields / sizeof *fields, &output, why))
        return why->code;
    output_note_text(output, "op", gw_collective_name(wanted.collective));
    output_note_text(output, "topology", gw_topology_name(topology));
    output_note_integer(output, "ranks", wanted.ranks);
    output_note_integer(output, "bytes", (int64_t)wanted.bytes);
    output_collect(output);
    output_row(output, (union value[]){
                           {.text = path},
                           {.integer = r->trees},
                           {.integer = r->parts},
                           {.integer = plan->chunks},
                           {.integer = r->depth},
                           {.integer = r->candidates},
                           {.real = r->time_us},
                           {.real = r->bound_us},
                           {.real = 100 * r->bound_us / r->time_us},
                       });
    output_end(&output, NULL, false);
    return GW_OK;
}

static enum gw_err deliver(const struct gw_plan *plan, struct gw_error *why)
{
    return path ? write_plan(plan, why) : gw_plan_print(plan, stdout, why);
}

static enum gw_err synthesise(const struct gw_topology *topology,
                              struct gw_error *why)
{
    struct gw_plan *plan;
    struct gw_synthesis_result result;
    wanted.message_us = (double)alpha_ns / 1e3;
    enum gw_err err =
        machine.wire
            ? synth_machine(&machine, topology, &wanted, &plan, &result, why)
            : gw_synthesize(topology, &wanted, &plan, &result, why);
    if (!err)
        err = deliver(plan, why);
    if (!err && path)
        err = print_result(topology, plan, &result, why);
    gw_plan_destroy(&plan);
    return err;
}

static enum gw_err search_steps(const struct gw_topology *topology,
                                struct gw_error *why)
{
    struct gw_plan *plan;
    struct gw_steps_result result;
    enum gw_err err = synth_steps(topology, &steps, &plan, &result, why);
    if (!err)
        err = deliver(plan, why);
    if (!err && path)
        err = synth_steps_row(topology, &steps, &result, path, why);
    gw_plan_destroy(&plan);
    return err;
}

static enum gw_err load_topology(struct gw_topology **topology,
                                 struct gw_error *why)
{
    unsigned ranks = wanted.ranks ? wanted.ranks : PLAN_RANKS_DEFAULT;
    if (!machine.wire)
        return cluster_get(topo, ranks, topology, why);
    if (topo || steps.steps)
        return gw_fail(why, GW_EINVAL,
                       "--wire makes a plan for this machine; remove %s",
                       topo ? "--topo" : "--steps");
    machine.ranks = ranks;
    return sim_machine_topology(&machine, topology, why);
}

static enum gw_err make_plan(const struct gw_topology *topology,
                             struct gw_error *why)
{
    if (wanted.ranks == 0)
        wanted.ranks = gw_topology_ranks(topology);
    if (steps.steps == 0 &&
        (steps.chunks || steps.rounds || steps.nearest || pareto))
        return gw_fail(
            why, GW_EINVAL,
            "--chunks, --rounds, --nearest and --pareto need --steps");
    if (steps.steps == 0)
        return synthesise(topology, why);
    steps.collective = wanted.collective;
    steps.ranks = wanted.ranks;
    steps.root = wanted.root;
    steps.chunks = steps.chunks ? steps.chunks : 1;
    steps.timeout_ms = common.timeout_ns
                           ? (unsigned)(common.timeout_ns / 1000000)
                           : QUESTION_TIMEOUT_MS;
    return pareto ? synth_pareto(topology, &steps, why)
                  : search_steps(topology, why);
}

static int run_synth(int operand_count, char **operands)
{
    bool is_file;
    struct gw_error why;
    struct gw_topology *topology = NULL;
    (void)operand_count;
    enum gw_err err =
        plan_operand(operands[0], &is_file, &wanted.collective, &why);
    if (!err && is_file)
        err = gw_fail(&why, GW_EINVAL,
                      "%.100s is a file; synth makes a plan of a collective, "
                      "such as allreduce",
                      operands[0]);
    if (!err)
        err = load_topology(&topology, &why);
    if (!err)
        err = make_plan(topology, &why);
    gw_topology_destroy(&topology);
    return err ? complain(&why) : 0;
}

const struct command command_synth = {
    .name = "synth",
    .operands = "OP",
    .help = "make a plan that reaches the bound of a topology",
    .examples = "collrun synth allgather --topo racks.topo > best.plan\n"
                "collrun synth allreduce -t racks.topo -b 64M -p best.plan\n"
                "collrun sim allreduce -t racks.topo -b 64M -a all,best.plan\n"
                "collrun synth reduce --wire shm -n 4 -b 16M > here.plan\n"
                "collrun synth allgather -t dgx-1.topo --steps 2 > two.plan\n",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .computes = true,
    .run = run_synth,
};
