/* SPDX-License-Identifier: MIT
 *
 * Plans by number of members, each made when it is first needed: see
 * chosen_plans.h.
 */
#include "chosen_plans.h"

#include "addition_order.h"

#include <cluster/registry/report.h>

#include <gradwire/event.h>
#include <string.h>

void gw__chosen_plans_init(struct gw__chosen_plans *chosen,
                           const struct gw_algo *const *algos,
                           unsigned algo_count)
{
    memset(chosen, 0, sizeof *chosen);
    chosen->algos = algos;
    chosen->algo_count = algo_count;
    chosen->collective = GW_ALLREDUCE;
}

void gw__whole_plans_init(struct gw__chosen_plans *chosen,
                          enum gw_collective collective,
                          const struct gw_algo *const *algos,
                          unsigned algo_count)
{
    gw__chosen_plans_init(chosen, algos, algo_count);
    chosen->collective = collective;
    chosen->whole = true;
}

void gw__chosen_plans_fini(struct gw__chosen_plans *chosen)
{
    for (unsigned n = 0; n <= GW__NODES_MAX; n++)
        gw_plan_destroy(&chosen->plans[n]);
}

/* ---- one algorithm ---- */

static enum gw_err check_collective(enum gw_collective collective,
                                    const struct gw_algo *algo,
                                    struct gw_error *why)
{
    if (algo->collective == collective)
        return GW_OK;
    return gw_fail(why, GW_EINVAL, "%s is for %s, not for %s", algo->name,
                   gw_collective_name(algo->collective),
                   gw_collective_name(collective));
}

enum gw_err gw__plan_has_chunk_recovery(const struct gw_plan *plan,
                                        struct gw_error *why)
{
    if (plan->scratch)
        return gw_fail(why, GW_ENOTSUP,
                       "plan %s uses scratch; chunks can be recovered only in "
                       "plans without scratch",
                       plan->algo);
    if (plan->chunks > GW__REPORT_CHUNKS_MAX)
        return gw_fail(why, GW_ENOTSUP,
                       "plan %s has %u chunks; at most %d can be recovered",
                       plan->algo, plan->chunks, GW__REPORT_CHUNKS_MAX);
    return GW_OK;
}

static enum gw_err check_plan(const struct gw_plan *plan, bool whole,
                              struct gw_error *why)
{
    struct gw_verdict verdict;
    enum gw_err err = gw_plan_verify(plan, 0, &verdict, why);
    if (!err && !whole)
        err = gw__plan_has_chunk_recovery(plan, why);
    if (!err && plan->collective == GW_ALLREDUCE && !plan->scratch)
        err = gw__addition_order_check(plan, why);
    return err ? gw_wrap(why, err, "%u ranks", plan->ranks) : GW_OK;
}

static enum gw_err make_checked(enum gw_collective collective, bool whole,
                                const struct gw_algo *algo, unsigned members,
                                struct gw_plan **plan, struct gw_error *why)
{
    const struct gw_algo_args args = {.ranks = members};
    *plan = NULL;
    enum gw_err err = check_collective(collective, algo, why);
    if (!err)
        err = gw_plan_make(collective, algo->name, &args, plan, why);
    if (!err)
        err = check_plan(*plan, whole, why);
    if (err)
        gw_plan_destroy(plan);
    return err;
}

enum gw_err gw__chosen_plan_make(const struct gw_algo *algo, unsigned members,
                                 struct gw_plan **plan, struct gw_error *why)
{
    return make_checked(GW_ALLREDUCE, false, algo, members, plan, why);
}

enum gw_err gw__whole_plan_make(enum gw_collective collective,
                                const struct gw_algo *algo, unsigned members,
                                struct gw_plan **plan, struct gw_error *why)
{
    return make_checked(collective, true, algo, members, plan, why);
}

/* ---- the first one that has a plan ---- */

static void search(struct gw__chosen_plans *chosen, unsigned members)
{
    struct gw_plan **plan = &chosen->plans[members];
    chosen->searched[members] = true;
    for (unsigned i = 0; i < chosen->algo_count && !*plan; i++)
        if (make_checked(chosen->collective, chosen->whole, chosen->algos[i],
                         members, plan, NULL))
            *plan = NULL;
}

/* A single member moves nothing. */
const struct gw_plan *gw__chosen_plan(struct gw__chosen_plans *chosen,
                                      unsigned members)
{
    bool has_any = chosen && chosen->algo_count > 0;
    if (!has_any || members < 2 || members > GW__NODES_MAX)
        return NULL;
    if (!chosen->searched[members])
        search(chosen, members);
    return chosen->plans[members];
}

bool gw__chosen_trees(const struct gw__chosen_plans *chosen, unsigned members)
{
    unsigned ring_most = chosen ? chosen->ring_most : 0;
    return members > (ring_most ? ring_most : GW__RING_PLAN_MOST);
}

unsigned gw__chosen_chunks(struct gw__chosen_plans *chosen, unsigned members)
{
    const struct gw_plan *plan = gw__chosen_plan(chosen, members);
    if (plan)
        return plan->chunks;
    return gw__chosen_trees(chosen, members) ? GW__TREE_CHUNKS : members;
}

uint32_t gw__chosen_event_chunk(struct gw__chosen_plans *chosen,
                                unsigned members)
{
    const struct gw_plan *plan = gw__chosen_plan(chosen, members);
    if (plan)
        return plan->chunks;
    if (gw__chosen_trees(chosen, members))
        return GW__TREE_CHUNKS;
    return chosen->algo_count == 0 ? GW_NONE : 0;
}
