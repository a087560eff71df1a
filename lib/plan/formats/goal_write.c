/* SPDX-License-Identifier: MIT
 *
 * Writes a plan as GOAL for LogGOPSim: a send and a receive per transfer, with
 * the number of the transfer as tag, a calculation of no time per copy inside a
 * rank, and what each requires. Comments say which data the messages carry, so
 * that goal.c can read the plan again.
 */
#include "ops.h"
#include "plan/index.h"
#include "recall.h"
#include "write.h"

#include <inttypes.h>

static void write_op(const struct gw__export *e, const struct gw__rank_op *op,
                     size_t number)
{
    const struct gw_transfer *x = &e->plan->transfers[op->transfer];
    char note[GW__NOTE_TEXT];
    bool sends = op->kind == GW__OP_SEND;
    if (sends || gw__is_local(x))
        fprintf(e->file, "// gradwire: %s\n",
                gw__note_text(e->plan, op->transfer, note));
    if (gw__is_local(x))
        fprintf(e->file, "l%zu: calc 0\n", number);
    else
        fprintf(e->file, "l%zu: %s %" PRIu64 "b %s %u tag %u\n", number,
                sends ? "send" : "recv", gw__export_bytes(e, x),
                sends ? "to" : "from", sends ? x->dst : x->src, op->transfer);
}

static enum gw_err write_rank(const struct gw__export *e, unsigned rank,
                              struct gw_error *why)
{
    struct gw__rank_ops ops;
    enum gw_err err = gw__rank_ops_init(&ops, e->plan, rank, why);
    if (err)
        return err;
    fprintf(e->file, "rank %u {\n", rank);
    for (size_t i = 0; i < ops.count; i++)
        write_op(e, &ops.ops[i], i + 1);
    for (size_t i = 0; i < ops.count; i++)
        for (uint32_t d = 0; d < ops.ops[i].dep_count; d++)
            fprintf(e->file, "l%zu requires l%u\n", i + 1,
                    ops.deps[ops.ops[i].dep_begin + d] + 1);
    fputs("}\n", e->file);
    gw__rank_ops_fini(&ops);
    return GW_OK;
}

enum gw_err gw__goal_write(const struct gw__export *e, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    if (e->plan->collective == GW_CUSTOM)
        return gw_fail(why, GW_ENOTSUP,
                       "GOAL has no conditions of custom; use chakra or dot");
    fputs("// gradwire: ", e->file);
    gw__plan_print_header(e->plan, e->file);
    fprintf(e->file, "\nnum_ranks %u\n", e->plan->ranks);
    for (unsigned rank = 0; rank < e->plan->ranks && !err; rank++)
        err = write_rank(e, rank, why);
    return err;
}
