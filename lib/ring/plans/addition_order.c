/* SPDX-License-Identifier: MIT
 *
 * Expressions as hashes: see addition_order.h.
 */
#include "addition_order.h"

#include <base/mix.h>

#include <stdlib.h>
#include <string.h>

/* The expressions of all values, at rank * chunks + chunk. */
struct expressions {
    const struct gw_plan *plan;
    size_t count;
    uint64_t *before, *after; /* the current step */
};

static uint64_t input_of(unsigned rank)
{
    return gw__mix_words(1, rank, 0);
}

static uint64_t sum_of(uint64_t a, uint64_t b)
{
    return a < b ? gw__mix_words(2, a, b) : gw__mix_words(2, b, a);
}

static size_t value_at(const struct gw_plan *plan, unsigned rank,
                       unsigned chunk)
{
    return (size_t)rank * plan->chunks + chunk;
}

static enum gw_err begin_inputs(struct expressions *e, struct gw_error *why)
{
    e->count = (size_t)e->plan->ranks * e->plan->chunks;
    e->before = malloc(e->count * sizeof *e->before);
    e->after = malloc(e->count * sizeof *e->after);
    if (!e->before || !e->after)
        return gw_fail(why, GW_ENOMEM, "the expressions of %u ranks",
                       e->plan->ranks);
    for (size_t i = 0; i < e->count; i++)
        e->after[i] = input_of((unsigned)(i / e->plan->chunks));
    return GW_OK;
}

static void run_step(struct expressions *e, unsigned step)
{
    const struct gw_plan *plan = e->plan;
    memcpy(e->before, e->after, e->count * sizeof *e->before);
    for (size_t t = plan->step_begin[step]; t < plan->step_begin[step + 1];
         t++) {
        const struct gw_transfer *x = &plan->transfers[t];
        uint64_t sent = e->before[value_at(plan, x->src, x->chunk)];
        uint64_t *there = &e->after[value_at(plan, x->dst, x->chunk)];
        *there = x->action == GW_ADD ? sum_of(*there, sent) : sent;
    }
}

static enum gw_err compare_results(const struct expressions *e,
                                   struct gw_error *why)
{
    for (size_t i = e->plan->chunks; i < e->count; i++) {
        unsigned chunk = (unsigned)(i % e->plan->chunks);
        unsigned rank = (unsigned)(i / e->plan->chunks);
        if (e->after[i] != e->after[chunk])
            return gw_fail(why, GW_ENOTSUP,
                           "ranks 0 and %u add chunk %u in different orders, "
                           "so their results may differ in the last bits; "
                           "members of an elastic ring need equal results",
                           rank, chunk);
    }
    return GW_OK;
}

enum gw_err gw__addition_order_check(const struct gw_plan *plan,
                                     struct gw_error *why)
{
    struct expressions e = {.plan = plan};
    enum gw_err err = begin_inputs(&e, why);
    for (unsigned step = 0; !err && step < plan->steps; step++)
        run_step(&e, step);
    if (!err)
        err = compare_results(&e, why);
    free(e.before);
    free(e.after);
    return err;
}
