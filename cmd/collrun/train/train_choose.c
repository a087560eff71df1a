/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The all-reduce of a training. It is chosen before the ranks start, so that
 * they agree, the choice can be printed, and the counts can be compared with
 * the plan.
 */
#include "common/plan/plan_algo.h"
#include "train.h"

#include <string.h>

const char *train_algo_label(const char *algo)
{
    return algo ? plan_algo_label(gw_algo_find(GW_ALLREDUCE, algo)) : NULL;
}

enum gw_err train_choose(unsigned ranks, const char *wire, const char *name,
                         size_t length, const char **algo,
                         struct gw_price *price, struct gw_error *why)
{
    struct gw_candidate best;
    struct gw_wire_costs costs;
    struct gw_plan *plan;
    bool measured;
    const struct gw_algo *named = NULL;
    bool chosen = strcmp(name, "auto") != 0;
    struct gw_algo_args args = {.ranks = ranks};
    if (chosen && (plan_algo(GW_ALLREDUCE, name, ranks, &named, why) ||
                   plan_prove(named, &args, why)))
        return why->code;
    if (named)
        *algo = named->name;
    else if (ranks > 1 && gw_choose(wire, GW_ALLREDUCE, ranks, length,
                                    sizeof(float), &best, 1) == 0)
        return gw_fail(why, GW_ENOMEM, "choosing an algorithm");
    else if (ranks > 1)
        *algo = best.algo->name;
    if (!*algo)
        return GW_OK;
    enum gw_err code = gw_plan_make(GW_ALLREDUCE, *algo, &args, &plan, why);
    if (code)
        return code;
    gw_costs(wire, &costs, &measured);
    code = gw_plan_price(plan, length, sizeof(float), &costs.model, price, why);
    gw_plan_destroy(&plan);
    return code;
}
