/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun import: reads a schedule in the format of another project, checks it
 * in that format's own terms, and prints it as a plan. All commands that take a
 * FILE.plan read such files, too; import is for reading the result, or for
 * editing it.
 */
#include "collrun/collrun.h"
#include "plan_file_out.h"

#include <gradwire/plan.h>

#include <stdio.h>

static const char *path;

static const struct option_spec options[] = {
    {"write", 'w', OPTION_TEXT, &path, "FILE",
     "Write the plan to FILE instead of stdout.", NULL},
    {0},
};

static enum gw_err print_imported(const void *context, FILE *file,
                                  struct gw_error *why)
{
    return gw_plan_print(context, file, why);
}

static int run_import(int operand_count, char **operands)
{
    struct gw_error why;
    struct gw_plan *plan;
    (void)operand_count;
    if (gw_plan_load(operands[0], 0, &plan, &why))
        return complain(&why);
    enum gw_err err = plan_file_out(path, print_imported, plan, &why);
    gw_plan_destroy(&plan);
    return err ? complain(&why) : 0;
}

const struct command command_import = {
    .name = "import",
    .operands = "FILE",
    .help = "check a schedule of MSCCL, TE-CCL, ForestColl, SCCL or GOAL, and "
            "print it as a plan",
    .examples = "collrun import allreduce.xml\n"
                "collrun import allgather.json -w allgather.plan\n"
                "collrun run allreduce --algo allreduce.xml\n",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .computes = true,
    .run = run_import,
};
