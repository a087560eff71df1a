/* SPDX-License-Identifier: MIT
 *
 * Checks the data flow of a plan by symbolic execution. `+` needs disjoint
 * sets, or a rank would be counted twice; at the end every set must be the one
 * that the collective promises. Chunks are independent, so each is executed
 * alone. Memory holds the sets of one chunk only: one row per rank and scratch,
 * initialised when a transfer first touches it.
 */
#include "verify.h"

#include <stdlib.h>

struct play {
    const struct gw__index *index;
    const struct gw_plan *plan;
    struct gw__finding *found;
    struct gw__sets sets;
    uint32_t *begun;  /* of each row: chunk + 1 that it belongs to */
    uint32_t *writer; /* of each staged row: its first write of the step */
};

static void touch(struct play *p, uint32_t row, unsigned chunk)
{
    if (p->begun[row] == chunk + 1)
        return;
    p->begun[row] = chunk + 1;
    gw__sets_begin(&p->sets, p->plan, row, row, chunk);
}

/* May transfer x write a row that `first` writes in the same step? Values are
 * added in the order of their ranks, so a replacement is the first of them. */
static bool may_follow(const struct gw_transfer *x,
                       const struct gw_transfer *first)
{
    return x->action != GW_REPLACE &&
           (first->action != GW_REPLACE || first->src < x->src);
}

/* The fault of transfer t, or GW_FAULT_NONE. */
static enum gw_fault play_transfer(struct play *p, uint32_t t)
{
    const struct gw_transfer *all = p->plan->transfers, *x = &all[t];
    uint32_t src = gw__src_row(p->plan, x), dst = gw__dst_row(p->plan, x);
    touch(p, src, x->chunk);
    touch(p, dst, x->chunk);
    if (!p->sets.staged[dst])
        p->writer[dst] = t;
    else if (!may_follow(x, &all[p->writer[dst]]))
        return GW_FAULT_CONFLICT;
    if (gw__sets_count(&p->sets, gw__sets_before(&p->sets, src)) == 0)
        return GW_FAULT_ABSENT;
    if (!gw__sets_write(&p->sets, dst, src, x->action))
        return GW_FAULT_DOUBLE;
    return GW_FAULT_NONE;
}

/* Executes items i..end of one step; false at a fault. */
static bool play_step(struct play *p, uint32_t i, uint32_t end)
{
    enum gw_fault fault = GW_FAULT_NONE;
    for (; fault == GW_FAULT_NONE && i < end; i++) {
        uint32_t t = p->index->by_chunk.item[i];
        fault = play_transfer(p, t);
        struct gw__finding finding = {
            .fault = fault,
            .step = p->index->step[t],
            .transfer = t,
            .other = p->writer[gw__dst_row(p->plan, &p->plan->transfers[t])],
        };
        if (fault != GW_FAULT_NONE)
            gw__finding_keep_first(p->found, &finding);
    }
    gw__sets_commit(&p->sets);
    return fault == GW_FAULT_NONE;
}

static bool play_chunk(struct play *p, unsigned chunk)
{
    uint32_t i = p->index->by_chunk.begin[chunk];
    uint32_t end = p->index->by_chunk.begin[chunk + 1];
    bool right = true;
    while (right && i < end) {
        uint32_t step_end = gw__index_step_end(p->index, i, end);
        right = play_step(p, i, step_end);
        i = step_end;
    }
    return right;
}

static bool check_promise(struct play *p, unsigned rank, unsigned chunk)
{
    uint32_t row = gw__row(p->plan, rank, 0);
    touch(p, row, chunk);
    const uint64_t *set = gw__sets_before(&p->sets, row);
    if (gw__sets_is_full(&p->sets, p->plan, rank, chunk, set))
        return true;
    struct gw__finding short_of = {.fault = GW_FAULT_INCOMPLETE,
                                   .step = p->plan->steps,
                                   .rank = rank,
                                   .chunk = chunk};
    gw__finding_keep_first(p->found, &short_of);
    return false;
}

/* A chunk is promised to one rank (its block's, the root) or to all ranks but
 * the first of an exclusive scan. */
static void check_promises(struct play *p, unsigned chunk)
{
    const struct gw_plan *plan = p->plan;
    switch (plan->collective) {
    case GW_REDUCE:
    case GW_GATHER:
        check_promise(p, plan->root, chunk);
        break;
    case GW_SCATTER:
    case GW_REDUCE_SCATTER:
    case GW_ALLTOALL:
        check_promise(p, gw_plan_block(plan, chunk) % plan->ranks, chunk);
        break;
    default:
        for (unsigned rank = 0; rank < plan->ranks; rank++)
            if (gw_plan_wants(plan, rank, chunk) &&
                !check_promise(p, rank, chunk))
                return;
    }
}

enum gw_err gw__check_dataflow(const struct gw__index *index,
                               struct gw__finding *found, struct gw_error *why)
{
    const struct gw_plan *plan = index->plan;
    struct play p = {.index = index, .plan = plan, .found = found};
    uint32_t rows = gw__rows(plan);
    enum gw_err err = gw__sets_init(&p.sets, plan, rows, why);
    if (err)
        return err;
    gw__sets_from(&p.sets, index->start);
    p.begun = calloc(rows, sizeof *p.begun);
    p.writer = calloc(rows, sizeof *p.writer);
    bool room = p.begun && p.writer;
    for (unsigned chunk = 0; room && chunk < plan->chunks; chunk++)
        if (play_chunk(&p, chunk) && found->fault == GW_FAULT_NONE)
            check_promises(&p, chunk);
    free(p.writer);
    free(p.begun);
    gw__sets_fini(&p.sets);
    return room ? GW_OK
                : gw_fail(why, GW_ENOMEM, "sets of %u ranks", plan->ranks);
}
