/* SPDX-License-Identifier: MIT
 *
 * From a flow whose values have their rows to a plan. A level is a step; half a
 * level before it is a step for copies inside the ranks, if there are any.
 * Within a step, transfers are in the order of their chunks on every link, so
 * that two ranks never wait for each other's second chunk.
 */
#include "flow.h"

#include "plan/stream.h"

#include <stdlib.h>

enum gw_err gw__flow_transfer(struct gw__flow *flow, uint32_t half,
                              const struct gw_transfer *transfer,
                              struct gw_error *why)
{
    if (flow->transfer_count == flow->transfer_room) {
        size_t room = flow->transfer_room ? 2 * flow->transfer_room : 1024;
        void *moved = realloc(flow->transfers, room * sizeof *flow->transfers);
        if (moved)
            flow->transfers = moved;
        void *levels = realloc(flow->levels, room * sizeof *flow->levels);
        if (levels)
            flow->levels = levels;
        if (!moved || !levels)
            return gw_fail(why, GW_ENOMEM, "transfers of a schedule");
        flow->transfer_room = room;
    }
    flow->levels[flow->transfer_count] = half;
    flow->transfers[flow->transfer_count++] = *transfer;
    return GW_OK;
}

struct leveled {
    uint32_t half;
    uint32_t number; /* so that the order is the same everywhere */
    struct gw_transfer transfer;
};

static int by_number(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_leveled(const void *one, const void *other)
{
    const struct leveled *a = one, *b = other;
    int by = by_number(a->half, b->half);
    by = by ? by : by_number(a->transfer.chunk, b->transfer.chunk);
    by = by ? by : by_number(a->transfer.src, b->transfer.src);
    by = by ? by : by_number(a->transfer.dst, b->transfer.dst);
    return by ? by : by_number(a->number, b->number);
}

static struct leveled *sort_transfers(const struct gw__flow *flow)
{
    struct leveled *sorted =
        malloc((flow->transfer_count + 1) * sizeof *sorted);
    for (size_t i = 0; sorted && i < flow->transfer_count; i++)
        sorted[i] = (struct leveled){.half = flow->levels[i],
                                     .number = (uint32_t)i,
                                     .transfer = flow->transfers[i]};
    if (sorted)
        qsort(sorted, flow->transfer_count, sizeof *sorted, compare_leveled);
    return sorted;
}

static enum gw_err build_plan(const struct gw__flow *flow,
                              const struct leveled *sorted, const char *algo,
                              struct gw_plan **plan, struct gw_error *why)
{
    const struct gw_plan *shape = &flow->shape;
    struct gw_builder *builder;
    enum gw_err err = gw_builder_new(shape->collective, shape->ranks,
                                     shape->chunks, shape->root, &builder, why);
    if (err)
        return err;
    gw_builder_name(builder, algo);
    gw__builder_conditions(builder, shape);
    for (size_t i = 0; i < flow->transfer_count; i++) {
        if (i > 0 && sorted[i].half != sorted[i - 1].half)
            gw_builder_step(builder);
        gw_builder_transfer(builder, &sorted[i].transfer);
    }
    return gw_builder_finish(&builder, plan, why);
}

/* The values are right by construction. The verifier has the last word, also
 * about waits. */
static enum gw_err verify_plan(struct gw_plan **plan, bool *cycle,
                               struct gw_error *why)
{
    struct gw_verdict *verdict = malloc(sizeof *verdict);
    enum gw_err err = verdict ? gw_plan_verify(*plan, 0, verdict, why)
                              : gw_fail(why, GW_ENOMEM, "verifying a schedule");
    *cycle = verdict && verdict->fault == GW_FAULT_DEADLOCK;
    if (err == GW_EPLAN)
        err = gw_fail(why, GW_EDATA, "as a plan: %s", verdict->sentence);
    free(verdict);
    if (err)
        gw_plan_destroy(plan);
    return err;
}

static enum gw_err make_plan(struct gw__flow *flow, const char *algo,
                             struct gw_plan **plan, bool *cycle,
                             struct gw_error *why)
{
    *cycle = false;
    flow->transfer_count = 0;
    enum gw_err err = gw__flow_place(flow, why);
    if (err)
        return err;
    struct leveled *sorted = sort_transfers(flow);
    if (!sorted)
        return gw_fail(why, GW_ENOMEM, "transfers of a schedule");
    err = build_plan(flow, sorted, algo, plan, why);
    free(sorted);
    return err ? err : verify_plan(plan, cycle, why);
}

enum gw_err gw__flow_plan(struct gw__flow *flow, const char *algo,
                          struct gw_plan **plan, struct gw_error *why)
{
    bool cycle;
    *plan = NULL;
    enum gw_err err = make_plan(flow, algo, plan, &cycle, why);
    if (!cycle)
        return err;
    flow->strict = true;
    return make_plan(flow, algo, plan, &cycle, why);
}
