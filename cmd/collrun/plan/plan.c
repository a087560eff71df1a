/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun plan: shows a plan. As text it has the format of gradwire-plan(5), so
 * that `collrun plan ... > mine.plan` is the beginning of one's own; in the
 * other formats it has one row per transfer; --draw (plan_draw.c) arranges it
 * by rank and step.
 */
#include "collrun/collrun.h"
#include "common/output.h"
#include "plan_draw.h"
#include "plan_source.h"

#include <plan/index.h>

#include <stdio.h>
#include <string.h>

static struct plan_source source;
static bool draw;

static const struct option_spec options[] = {
    PLAN_SOURCE_OPTIONS(source),
    {"draw", 0, OPTION_FLAG, &draw, NULL,
     "Print a table of the chunks that each rank sends in each step.", NULL},
    {0},
};

static void transfer_row(struct output *output, unsigned step,
                         const struct gw_transfer *transfer)
{
    char sign[2] = {plan_action_sign(transfer->action), 0};
    output_row(output, (union value[]){{.integer = step},
                                       {.integer = transfer->src},
                                       {.integer = transfer->dst},
                                       {.integer = transfer->chunk},
                                       {.text = sign},
                                       {.integer = transfer->src_scratch},
                                       {.integer = transfer->dst_scratch},
                                       {.integer = transfer->channel}});
}

/* Most plans use neither scratch nor channels. */
static unsigned count_fields(const struct gw_plan *plan)
{
    enum { SIMPLE = 5, ALL = 8 };
    bool simple = plan->scratch == 0 && gw__channels(plan) == 1;
    return simple ? SIMPLE : ALL;
}

static enum gw_err list_transfers(const struct gw_plan *plan,
                                  struct gw_error *why)
{
    static const struct field fields[] = {
        {"step", NULL, FIELD_INTEGER, 0, false},
        {"src", NULL, FIELD_INTEGER, 0, false},
        {"dst", NULL, FIELD_INTEGER, 0, false},
        {"chunk", NULL, FIELD_INTEGER, 0, false},
        {"action", NULL, FIELD_TEXT, 0, false},
        {"src_scratch", NULL, FIELD_INTEGER, 0, false},
        {"dst_scratch", NULL, FIELD_INTEGER, 0, false},
        {"channel", NULL, FIELD_INTEGER, 0, false},
    };
    struct output *output;
    if (output_begin("collrun plan", common.output, fields, count_fields(plan),
                     &output, why))
        return why->code;
    plan_notes(output, plan);
    for (unsigned s = 0; s < plan->steps && !interrupted; s++)
        for (size_t t = plan->step_begin[s]; t < plan->step_begin[s + 1]; t++)
            transfer_row(output, s + 1, &plan->transfers[t]);
    output_end(&output, NULL, interrupted != 0);
    return interrupted ? gw_fail(why, GW_EINTR, "interrupted") : GW_OK;
}

static enum gw_err show_plan(const struct gw_plan *plan, struct gw_error *why)
{
    if (draw)
        return plan_draw(plan, why);
    if (strcmp(common.output, "table") == 0)
        return gw_plan_print(plan, stdout, why);
    return list_transfers(plan, why);
}

static int run_plan(int operand_count, char **operands)
{
    struct gw_error why;
    struct gw_plan *plan;
    (void)operand_count;
    if (plan_get(operands[0], &source, &plan, &why))
        return complain(&why);
    enum gw_err err = show_plan(plan, &why);
    gw_plan_destroy(&plan);
    return err ? complain(&why) : 0;
}

const struct command command_plan = {
    .name = "plan",
    .operands = "OP|FILE.plan",
    .help = "print a plan: sender, receiver and chunk of each transfer",
    .examples = "collrun plan allreduce --algo ring -n 4\n"
                "collrun plan allreduce --algo ring -n 4 --draw\n"
                "collrun plan broadcast --algo binomial -n 8 -o json\n",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .computes = true,
    .run = run_plan,
};
