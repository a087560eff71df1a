/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun export: writes a plan in the format of another project. A Chakra
 * trace is a file per rank, so it goes to files: PREFIX.0.et, PREFIX.1.et, ...
 */
#include "collrun/collrun.h"
#include "plan_file_out.h"
#include "plan_source.h"

#include <gradwire/plan.h>

#include <inttypes.h>
#include <stdio.h>

static struct plan_source source;
static const char *format_name, *path;
static uint64_t bytes = 1 << 20;

static const struct option_spec options[] = {
    {"to", 0, OPTION_CHOICE, &format_name, "FORMAT",
     "Format: msccl, goal, chakra or dot.", "msccl|goal|chakra|dot"},
    {"write", 'w', OPTION_TEXT, &path, "FILE",
     "Write to FILE instead of stdout; for chakra, to FILE.0.et, FILE.1.et, "
     "...",
     NULL},
    {"bytes", 'b', OPTION_BYTES, &bytes, "SIZE",
     "Message size for goal and chakra. Default: 1M.", NULL},
    PLAN_SOURCE_OPTIONS(source),
    {0},
};

enum { ELEM_BYTES = 4 };

struct export_job {
    const struct gw_plan *plan;
    struct gw_export options;
};

static enum gw_err write_export(const void *context, FILE *file,
                                struct gw_error *why)
{
    const struct export_job *job = context;
    return gw_plan_export(job->plan, &job->options, file, why);
}

/* A file per rank. */
static enum gw_err write_traces(struct export_job *job, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    if (!path)
        return gw_fail(why, GW_EINVAL,
                       "chakra is one file per rank; add --write PREFIX");
    for (unsigned rank = 0; rank < job->plan->ranks && !err; rank++) {
        char name[512];
        int length = snprintf(name, sizeof name, "%s.%u.et", path, rank);
        if (length < 0 || (size_t)length >= sizeof name)
            return gw_fail(why, GW_EINVAL, "%.200s: the name is too long",
                           path);
        job->options.rank = rank;
        err = plan_file_out(name, write_export, job, why);
    }
    return err;
}

static enum gw_err export_plan(const struct gw_plan *plan, struct gw_error *why)
{
    struct export_job job = {
        .plan = plan,
        .options = {.elem_bytes = ELEM_BYTES,
                    .count = plan_count(plan->collective, plan->ranks, bytes,
                                        ELEM_BYTES)},
    };
    if (!format_name)
        return gw_fail(why, GW_EINVAL,
                       "add --to FORMAT: msccl, goal, chakra or dot");
    if (gw_format_parse(format_name, &job.options.format, why))
        return why->code;
    return job.options.format == GW_FORMAT_CHAKRA
               ? write_traces(&job, why)
               : plan_file_out(path, write_export, &job, why);
}

static int run_export(int operand_count, char **operands)
{
    struct gw_error why;
    struct gw_plan *plan;
    (void)operand_count;
    if (plan_get(operands[0], &source, &plan, &why))
        return complain(&why);
    enum gw_err err = export_plan(plan, &why);
    gw_plan_destroy(&plan);
    return err ? complain(&why) : 0;
}

const struct command command_export = {
    .name = "export",
    .operands = "OP|FILE.plan",
    .help = "write a plan for MSCCL, LogGOPSim, ASTRA-sim or Graphviz",
    .examples =
        "collrun export --to msccl allreduce --algo ring -n 8 -w ring.xml\n"
        "collrun export --to goal ring.plan | head\n"
        "collrun export --to chakra ring.plan -b 64M -w traces/ring\n"
        "collrun export --to dot ring.plan | dot -Tsvg > ring.svg\n",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .computes = true,
    .run = run_export,
};
