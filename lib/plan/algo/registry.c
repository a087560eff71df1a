/* SPDX-License-Identifier: MIT
 *
 * The list of algorithms, and making a plan by name.
 */
#include "algo.h"

#include <string.h>

static const struct gw_algo *const algos[] = {
#define X(name) &gw__algo_##name,
    GW__ALGOS(X)
#undef X
};

enum { ALGO_COUNT = sizeof algos / sizeof *algos };

const struct gw_algo *const *gw_algo_list(size_t *count)
{
    *count = ALGO_COUNT;
    return algos;
}

const struct gw_algo *gw_algo_find(enum gw_collective collective,
                                   const char *name)
{
    for (size_t i = 0; i < ALGO_COUNT; i++)
        if (algos[i]->collective == collective &&
            strcmp(algos[i]->name, name) == 0)
            return algos[i];
    return NULL;
}

static enum gw_err no_such(enum gw_collective collective, const char *name,
                           struct gw_error *why)
{
    char known[256] = "";
    for (size_t i = 0; i < ALGO_COUNT; i++)
        if (algos[i]->collective == collective) {
            size_t used = strlen(known);
            snprintf(known + used, sizeof known - used, "%s%s",
                     used ? ", " : "", algos[i]->name);
        }
    return gw_fail(why, GW_EINVAL, "%s has no algorithm \"%s\"; it has %s",
                   gw_collective_name(collective), name, known);
}

enum gw_err gw_plan_make(enum gw_collective collective, const char *name,
                         const struct gw_algo_args *args, struct gw_plan **plan,
                         struct gw_error *why)
{
    *plan = NULL;
    const struct gw_algo *algo = gw_algo_find(collective, name);
    if (!algo)
        return no_such(collective, name, why);
    if (args->ranks == 0 || args->ranks > GW_RANKS_MAX ||
        !algo->valid(args->ranks))
        return gw_fail(why, GW_EINVAL, "%s %s does not serve %u ranks",
                       gw_collective_name(collective), name, args->ranks);
    struct gw_builder *builder;
    enum gw_err err = gw_builder_new(
        collective, args->ranks, algo->chunks(args), args->root, &builder, why);
    if (err)
        return err;
    gw_builder_name(builder, name);
    algo->emit(builder, args);
    return gw_builder_finish(&builder, plan, why);
}
