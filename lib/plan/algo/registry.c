/* SPDX-License-Identifier: MIT
 *
 * The list of algorithms, the algorithms that an application adds, and plans by
 * name. An added algorithm can be found by name and run, but it is not listed,
 * so that an automatic choice never takes an algorithm unknown to the library.
 */
#include "algo.h"

#include <plan/registry.h>

#include <string.h>

static const struct gw_algo *const algos[] = {
#define X(name) &gw__algo_##name,
    GW__ALGOS(X)
#undef X
};

enum { ALGO_COUNT = sizeof algos / sizeof *algos, ADDED_MAX = 16 };

/* A free entry stays NULL, so that the numbers of the others do not change. */
static const struct gw_algo *added[ADDED_MAX];
static unsigned added_count;

const struct gw_algo *const *gw_algo_list(size_t *count)
{
    *count = ALGO_COUNT;
    return algos;
}

/* ---- by number ---- */

const struct gw_algo *gw__algo_numbered(unsigned number)
{
    if (number < ALGO_COUNT)
        return algos[number];
    number -= ALGO_COUNT;
    return number < added_count ? added[number] : NULL;
}

unsigned gw__algo_number(const struct gw_algo *algo)
{
    unsigned number = 0;
    while (number < ALGO_COUNT + added_count &&
           gw__algo_numbered(number) != algo)
        number++;
    return number;
}

bool gw__algo_is_added(const struct gw_algo *algo)
{
    return gw__algo_number(algo) >= ALGO_COUNT;
}

/* ---- by name ---- */

const struct gw_algo *gw_algo_find(enum gw_collective collective,
                                   const char *name)
{
    for (unsigned i = 0; i < ALGO_COUNT + added_count; i++) {
        const struct gw_algo *algo = gw__algo_numbered(i);
        if (algo && algo->collective == collective &&
            strcmp(algo->name, name) == 0)
            return algo;
    }
    return NULL;
}

/* Names go into tables, JSON, signatures and command lines. */
static bool is_name(const char *name)
{
    struct gw_plan plan;
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return length > 0 && name[length] == 0 && length < sizeof plan.algo;
}

static enum gw_err check_new(const struct gw_algo *algo, struct gw_error *why)
{
    if (!algo->name || !is_name(algo->name))
        return gw_fail(why, GW_EINVAL,
                       "an algorithm's name must be 1 to 39 characters of a-z, "
                       "0-9 and _, not \"%.60s\"",
                       algo->name ? algo->name : "");
    if ((unsigned)algo->collective >= GW_COLLECTIVES)
        return gw_fail(why, GW_EINVAL, "%s: unknown collective %u", algo->name,
                       (unsigned)algo->collective);
    if (!algo->valid || !algo->chunks || !algo->emit)
        return gw_fail(why, GW_EINVAL, "%s: %s is NULL", algo->name,
                       !algo->valid    ? "valid"
                       : !algo->chunks ? "chunks"
                                       : "emit");
    if (gw_algo_find(algo->collective, algo->name))
        return gw_fail(
            why, GW_EINVAL,
            "%s already has an algorithm \"%s\"; choose another name",
            gw_collective_name(algo->collective), algo->name);
    return GW_OK;
}

enum gw_err gw_algo_add(const struct gw_algo *algo, struct gw_error *why)
{
    enum gw_err err = check_new(algo, why);
    if (err)
        return err;
    if (added_count == ADDED_MAX)
        return gw_fail(why, GW_ENOMEM, "%s: at most %d algorithms can be added",
                       algo->name, ADDED_MAX);
    added[added_count++] = algo;
    return GW_OK;
}

void gw_algo_remove(const struct gw_algo *algo)
{
    for (unsigned i = 0; i < added_count; i++)
        if (added[i] == algo)
            added[i] = NULL;
    while (added_count > 0 && !added[added_count - 1])
        added_count--;
}

/* ---- plans ---- */

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
    return gw_fail(why, GW_EINVAL, "%s has no algorithm \"%s\"; use %s",
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
        return gw_fail(why, GW_EINVAL, "%s %s does not support %u ranks",
                       gw_collective_name(collective), name, args->ranks);
    struct gw_builder *builder;
    enum gw_err err = gw_builder_new(
        collective, args->ranks, algo->chunks(args), args->root, &builder, why);
    if (err)
        return err;
    algo->emit(builder, args);
    gw_builder_name(builder, name); /* in place of any name that it has set
                                       itself */
    err = gw_builder_finish(&builder, plan, why);
    return err ? gw_wrap(why, err, "%s %s of %u ranks",
                         gw_collective_name(collective), name, args->ranks)
               : GW_OK;
}
