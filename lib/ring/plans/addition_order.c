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
    uint64_t *before, *after;      /* the current step */
    struct gw_transfer *transfers; /* of the current step, sorted */
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
    e->transfers = malloc((e->plan->transfer_count + 1) * sizeof *e->transfers);
    if (!e->before || !e->after || !e->transfers)
        return gw_fail(why, GW_ENOMEM, "the expressions of %u ranks",
                       e->plan->ranks);
    for (size_t i = 0; i < e->count; i++)
        e->after[i] = input_of((unsigned)(i / e->plan->chunks));
    return GW_OK;
}

/* By receiving value, then by the rank of the sender. */
static int compare_transfers(const void *a, const void *b)
{
    const struct gw_transfer *x = a, *y = b;
    if (x->dst != y->dst)
        return x->dst < y->dst ? -1 : 1;
    if (x->chunk != y->chunk)
        return x->chunk < y->chunk ? -1 : 1;
    return (x->src > y->src) - (x->src < y->src);
}

/* The sum of the `count` values that the transfers bring, and of the receiver's
 * own unless the first one replaces it, in ascending order of ranks. A sum of three or more is rounded once, to
 * the type of the values, so with f16 it differs from two sums of two. */
static uint64_t sum_in_order(const struct expressions *e,
                             const struct gw_transfer *x, size_t count)
{
    const uint64_t own = e->before[value_at(e->plan, x->dst, x->chunk)];
    bool replaces = x->action == GW_REPLACE, has_own = replaces;
    size_t operands = count + !replaces;
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t sent = e->before[value_at(e->plan, x[i].src, x->chunk)];
        if (!has_own && x[i].src > x->dst) {
            sum = i ? sum_of(sum, own) : own;
            has_own = true;
        }
        sum = i || (has_own && !replaces) ? sum_of(sum, sent) : sent;
    }
    sum = has_own ? sum : sum_of(sum, own);
    return operands > 2 ? gw__mix_words(3, sum, operands) : sum;
}

static void run_step(struct expressions *e, unsigned step)
{
    const struct gw_plan *plan = e->plan;
    size_t begin = plan->step_begin[step];
    size_t count = plan->step_begin[step + 1] - begin, same;
    struct gw_transfer *x = e->transfers;
    memcpy(x, plan->transfers + begin, count * sizeof *x);
    qsort(x, count, sizeof *x, compare_transfers);
    memcpy(e->before, e->after, e->count * sizeof *e->before);
    for (; count > 0; x += same, count -= same) {
        for (same = 1; same < count; same++)
            if (x[same].dst != x->dst || x[same].chunk != x->chunk)
                break;
        e->after[value_at(plan, x->dst, x->chunk)] = sum_in_order(e, x, same);
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
    free(e.transfers);
    return err;
}
