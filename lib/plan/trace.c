/* SPDX-License-Identifier: MIT
 *
 * Traces a plan: the matrix of contributor sets, rank by chunk, after every
 * transfer. It is the verifier's symbolic execution of all chunks at once, for
 * people to read.
 */
#include "index.h"
#include "sets.h"

#include <assert.h>
#include <stdlib.h>

static const double BYTES_MAX = 1 << 30;

struct gw_plan_trace {
    const struct gw_plan *plan;
    struct gw__sets sets; /* row gw__row * chunks + chunk */
    size_t next;          /* transfer */
    unsigned step;        /* that of the transfer, counted from 0 */
};

static uint32_t trace_row(const struct gw_plan_trace *trace, unsigned rank,
                          unsigned chunk)
{
    assert(rank < trace->plan->ranks && chunk < trace->plan->chunks);
    return gw__row(trace->plan, rank, 0) * trace->plan->chunks + chunk;
}

/* As trace_row, of scratch or the buffer of a rank. */
static uint32_t trace_row_of(const struct gw_plan_trace *trace, uint32_t place,
                             unsigned chunk)
{
    return place * trace->plan->chunks + chunk;
}

enum gw_err gw_plan_trace_new(const struct gw_plan *plan,
                              struct gw_plan_trace **trace,
                              struct gw_error *why)
{
    size_t rows = (size_t)gw__rows(plan) * plan->chunks;
    *trace = NULL;
    if (!gw__chunks_fit(plan))
        return gw_fail(why, GW_EINVAL, "%u chunks do not suit %s of %u ranks",
                       plan->chunks, gw_collective_name(plan->collective),
                       plan->ranks);
    if (gw__sets_bytes(plan, rows) > BYTES_MAX)
        return gw_fail(why, GW_ENOMEM,
                       "a trace of %u ranks and %u chunks is too large",
                       plan->ranks, plan->chunks);
    struct gw_plan_trace *made = calloc(1, sizeof *made);
    if (!made)
        return gw_fail(why, GW_ENOMEM, "trace of a plan");
    made->plan = plan;
    enum gw_err err =
        gw__sets_init(&made->sets, plan, NULL, (uint32_t)rows, why);
    if (err) {
        free(made);
        return err;
    }
    for (uint32_t place = 0; place < gw__rows(plan); place++)
        for (unsigned chunk = 0; chunk < plan->chunks; chunk++)
            gw__sets_begin(&made->sets, plan, trace_row_of(made, place, chunk),
                           place, chunk);
    *trace = made;
    return GW_OK;
}

void gw_plan_trace_destroy(struct gw_plan_trace **trace)
{
    if (!*trace)
        return;
    gw__sets_fini(&(*trace)->sets);
    free(*trace);
    *trace = NULL;
}

const struct gw_transfer *gw_plan_trace_next(struct gw_plan_trace *trace)
{
    const struct gw_plan *plan = trace->plan;
    if (trace->next == plan->transfer_count)
        return NULL;
    const struct gw_transfer *x = &plan->transfers[trace->next++];
    gw__sets_write(
        &trace->sets, trace_row_of(trace, gw__dst_row(plan, x), x->chunk),
        trace_row_of(trace, gw__src_row(plan, x), x->chunk), x->action);
    if (trace->next == plan->step_begin[trace->step + 1]) {
        gw__sets_commit(&trace->sets);
        trace->step++;
    }
    return x;
}

unsigned gw_plan_trace_step(struct gw_plan_trace *trace)
{
    unsigned step = trace->step;
    while (trace->step == step)
        if (!gw_plan_trace_next(trace))
            return 0;
    return step + 1;
}

unsigned gw_plan_trace_count(const struct gw_plan_trace *trace, unsigned rank,
                             unsigned chunk)
{
    return gw__sets_count(
        &trace->sets,
        gw__sets_value(&trace->sets, trace_row(trace, rank, chunk)));
}

unsigned gw_plan_trace_full(const struct gw_plan_trace *trace)
{
    return trace->sets.members;
}

bool gw_plan_trace_has(const struct gw_plan_trace *trace, unsigned rank,
                       unsigned chunk, unsigned contributor)
{
    const struct gw_plan *plan = trace->plan;
    const uint64_t *set =
        gw__sets_value(&trace->sets, trace_row(trace, rank, chunk));
    return contributor < plan->ranks &&
           gw_plan_holds(plan, contributor, chunk) &&
           gw__sets_has(set, gw__sets_self(plan, contributor));
}
