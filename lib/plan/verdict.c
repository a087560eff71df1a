/* SPDX-License-Identifier: MIT
 *
 * Describes the verifier's finding in one sentence with its step, ranks and
 * chunk. Faults that need the contributor sets are described in history.c.
 */
#include "verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void gw__history_add(struct gw_verdict *verdict, const char *format, ...)
{
    size_t used = strlen(verdict->history);
    char *end = verdict->history + used;
    size_t room = sizeof verdict->history - used;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(end, room, format, args);
    va_end(args);
    if (length < 0 || (size_t)length + 2 > room) {
        *end = 0;
        return;
    }
    end[length] = '\n';
    end[length + 1] = 0;
}

static void history_add_transfer(const struct gw__index *index, uint32_t t,
                                 struct gw_verdict *verdict)
{
    char name[GW__TRANSFER_TEXT];
    gw__transfer_text(&index->plan->transfers[t], name);
    gw__history_add(verdict, "step %u: %s", index->step[t] + 1, name);
}

GW_PRINTF(2, 3)
static void set_sentence(struct gw_verdict *verdict, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(verdict->sentence, sizeof verdict->sentence, format, args);
    va_end(args);
}

static void describe_shape(const struct gw__index *index,
                           const struct gw__finding *finding,
                           struct gw_verdict *verdict)
{
    const struct gw_plan *plan = index->plan;
    const char *name = gw_collective_name(plan->collective);
    if (finding->transfer != UINT32_MAX) {
        char moves[GW__TRANSFER_TEXT];
        gw__transfer_text(&plan->transfers[finding->transfer], moves);
        set_sentence(verdict, "step %u: %s is not allowed: %s %s",
                     verdict->step, moves, name,
                     plan->collective == GW_BARRIER
                         ? "allows only tokens (`|`)"
                         : "allows only `+` (add) and `=` (replace)");
        history_add_transfer(index, finding->transfer, verdict);
    } else if (plan->collective == GW_BARRIER)
        set_sentence(verdict, "a barrier must have one chunk, not %u",
                     plan->chunks);
    else
        set_sentence(
            verdict, "%s of %u ranks needs a multiple of %u chunks, not %u",
            name, plan->ranks,
            plan->ranks * (plan->collective == GW_ALLTOALL ? plan->ranks : 1),
            plan->chunks);
}

/* The history lists the transfers of that rank in that step. */
static void describe_ports(const struct gw__index *index,
                           const struct gw__finding *finding,
                           struct gw_verdict *verdict)
{
    const struct gw_plan *plan = index->plan;
    set_sentence(
        verdict, "step %u: %u>%u c%u: rank %u %s more than ports=%u %s",
        verdict->step, verdict->src, verdict->dst, verdict->chunk,
        finding->rank, finding->receives ? "receives from" : "sends to",
        plan->ports, plan->ports == 1 ? "peer" : "peers");
    size_t end = plan->step_begin[finding->step + 1];
    for (size_t t = plan->step_begin[finding->step]; t < end; t++) {
        const struct gw_transfer *x = &plan->transfers[t];
        if (finding->rank == (finding->receives ? x->dst : x->src))
            history_add_transfer(index, (uint32_t)t, verdict);
    }
}

static void describe_conflict(const struct gw__index *index,
                              const struct gw__finding *finding,
                              struct gw_verdict *verdict)
{
    const struct gw_transfer *x = &index->plan->transfers[finding->transfer];
    const struct gw_transfer *y = &index->plan->transfers[finding->other];
    char first[GW__TRANSFER_TEXT], second[GW__TRANSFER_TEXT];
    if (x->action == GW_TOKEN)
        set_sentence(verdict, "step %u: %u>%u c%u | occurs twice",
                     verdict->step, x->src, x->dst, x->chunk);
    else
        set_sentence(
            verdict, "step %u: %s and %s %s rank %u's c%u", verdict->step,
            gw__transfer_text(y, first), gw__transfer_text(x, second),
            x->action == y->action ? "both replace" : "replace and add to",
            x->dst, x->chunk);
    history_add_transfer(index, finding->other, verdict);
    history_add_transfer(index, finding->transfer, verdict);
}

static bool holds_at_first(const struct gw__index *index, unsigned rank,
                           unsigned chunk)
{
    const struct gw_plan *plan = index->plan;
    if (index->start)
        return !gw__nodes_is_empty(
            index->start->sets[(size_t)rank * plan->chunks + chunk]);
    return gw_plan_holds(plan, rank, chunk);
}

/* The history shows which ranks hold the value and when it arrives. */
static void describe_absent(const struct gw__index *index,
                            const struct gw__finding *finding,
                            struct gw_verdict *verdict)
{
    const struct gw_plan *plan = index->plan;
    const struct gw_transfer *x = &plan->transfers[finding->transfer];
    char name[GW__TRANSFER_TEXT], where[32] = "";
    if (x->src_scratch)
        snprintf(where, sizeof where, " in scratch %u", x->src_scratch);
    set_sentence(verdict, "step %u: %s: rank %u does not hold c%u%s",
                 verdict->step, gw__moves_text(x, name), x->src, x->chunk,
                 where);
    for (unsigned rank = 0; rank < plan->ranks; rank++)
        if (holds_at_first(index, rank, x->chunk))
            gw__history_add(verdict, "start: rank %u holds c%u", rank,
                            x->chunk);
    history_add_transfer(index, finding->transfer, verdict);
    uint32_t end = index->by_chunk.begin[x->chunk + 1];
    for (uint32_t i = index->by_chunk.begin[x->chunk]; i < end; i++) {
        uint32_t t = index->by_chunk.item[i];
        const struct gw_transfer *later = &plan->transfers[t];
        if (index->step[t] < finding->step ||
            gw__dst_row(plan, later) != gw__src_row(plan, x))
            continue;
        gw__history_add(verdict, "step %u: %s comes too late",
                        index->step[t] + 1, gw__transfer_text(later, name));
        return;
    }
}

/* Fills in the place of the fault; a fault at the end has no transfer. */
static void set_location(const struct gw__index *index,
                         const struct gw__finding *finding,
                         struct gw_verdict *verdict)
{
    const struct gw_plan *plan = index->plan;
    *verdict = (struct gw_verdict){.fault = finding->fault};
    if (finding->fault == GW_FAULT_INCOMPLETE) {
        verdict->step = plan->steps;
        verdict->src = verdict->dst = finding->rank;
        verdict->chunk = finding->chunk;
    } else if (finding->transfer != UINT32_MAX) {
        const struct gw_transfer *x = &plan->transfers[finding->transfer];
        verdict->step = finding->step + 1;
        verdict->src = x->src;
        verdict->dst = x->dst;
        verdict->chunk = x->chunk;
    }
}

enum gw_err gw__verdict_describe(const struct gw__index *index,
                                 const struct gw__finding *finding,
                                 struct gw_verdict *verdict,
                                 struct gw_error *why)
{
    set_location(index, finding, verdict);
    switch (finding->fault) {
    case GW_FAULT_SHAPE:
        describe_shape(index, finding, verdict);
        break;
    case GW_FAULT_PORTS:
        describe_ports(index, finding, verdict);
        break;
    case GW_FAULT_CONFLICT:
        describe_conflict(index, finding, verdict);
        break;
    case GW_FAULT_ABSENT:
        describe_absent(index, finding, verdict);
        break;
    default:
        return gw__history_describe(index, finding, verdict, why);
    }
    return GW_EPLAN;
}
