/* SPDX-License-Identifier: MIT
 *
 * Plans for a host, whose ranks reach all others at once: no tree is needed, and
 * every step costs a meeting of the ranks. They are those algorithms of the
 * library in which each value sent is an input or a finished sum. In one step
 * every rank sends straight to those that need its data; in two steps each rank
 * first sums its part.
 */
#include "synthesis.h"

static bool is_flat(const struct gw_algo *algo,
                    const struct gw_synthesis *wanted)
{
    return algo->collective == wanted->collective && algo->direct &&
           !algo->baseline && algo->valid(wanted->ranks);
}

enum gw_err gw__flat_plan(const struct gw_synthesis *wanted, size_t *next,
                          struct gw_plan **plan, struct gw_error *why)
{
    const struct gw_algo_args args = {.ranks = wanted->ranks,
                                      .root = wanted->root};
    size_t count;
    const struct gw_algo *const *list = gw_algo_list(&count);
    *plan = NULL;
    while (*next < count && !is_flat(list[*next], wanted))
        ++*next;
    if (*next == count)
        return GW_OK;
    const struct gw_algo *algo = list[(*next)++];
    return gw_plan_make(algo->collective, algo->name, &args, plan, why);
}
