/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lists of algorithms: see ring_algos.h.
 */
#include "ring_algos.h"

#include "common/plan/plan_algo.h"
#include "common/plan/plan_file.h"
#include "common/plan/plan_plugin.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the words ---- */

static enum gw_err add_word(const char *word, char *list, size_t room,
                            struct gw_error *why)
{
    char path[PATH_MAX];
    size_t used = strlen(list);
    if (plan_names_file(word) || plan_names_plugin(word)) {
        if (!realpath(word, path))
            return gw_fail(why, GW_EDATA, "%.200s: %s", word, strerror(errno));
        word = path;
    }
    int length =
        snprintf(list + used, room - used, "%s%s", used ? "\n" : "", word);
    if (length < 0 || (size_t)length >= room - used)
        return gw_fail(why, GW_EINVAL,
                       "--algo: the full names of the files must have at most "
                       "%zu bytes",
                       room - 1);
    return GW_OK;
}

enum gw_err ring_algos_list(const char *words, char *list, size_t room,
                            struct gw_error *why)
{
    enum gw_err err = GW_OK;
    *list = 0;
    if (access(words, F_OK) == 0)
        return add_word(words, list, room, why);
    char *copy = strdup(words), *left = copy;
    if (!copy)
        return gw_fail(why, GW_ENOMEM, "--algo");
    for (char *word = strsep(&left, ","); word && !err;
         word = strsep(&left, ","))
        err = *word ? add_word(word, list, room, why)
                    : gw_fail(why, GW_EINVAL,
                              "--algo %.100s: a name is empty; use NAME,NAME",
                              words);
    free(copy);
    return err;
}

enum gw_err ring_algos_open(const char *list, struct ring_algos *algos,
                            struct gw_error *why)
{
    enum gw_err err = GW_OK;
    memset(algos, 0, sizeof *algos);
    char *copy = strdup(list), *left = copy;
    if (!copy)
        return gw_fail(why, GW_ENOMEM, "--algo");
    for (char *word = strsep(&left, "\n"); word && *word && !err;
         word = strsep(&left, "\n"))
        if (algos->count == RING_ALGOS_MAX)
            err = gw_fail(why, GW_EINVAL,
                          "--algo: too many algorithms; use at most %d",
                          RING_ALGOS_MAX);
        else
            err = plan_algo(GW_ALLREDUCE, word, 0,
                            &algos->algos[algos->count++], why);
    free(copy);
    gw__chosen_plans_init(&algos->chosen, algos->algos, algos->count);
    return err;
}

/* ---- the plans ---- */

const char *ring_algos_name(struct ring_algos *algos, unsigned members)
{
    const struct gw_plan *plan = gw__chosen_plan(&algos->chosen, members);
    return plan ? plan->algo : NULL;
}

/* A file with a fixed number of ranks must be right, even if the ring has
 * another number of members at first. */
static enum gw_err check_file(const struct gw_algo *algo, unsigned ranks,
                              struct gw_error *why)
{
    struct gw_plan *plan;
    enum gw_err err = gw__chosen_plan_make(algo, ranks, &plan, why);
    gw_plan_destroy(&plan);
    return err ? gw_wrap(why, err, "--algo %.200s", plan_algo_word(algo))
               : GW_OK;
}

static enum gw_err refuse_members(const struct ring_algos *algos,
                                  unsigned members, const struct gw_error *last,
                                  struct gw_error *why)
{
    const char *word = plan_algo_word(algos->algos[0]);
    unsigned ranks = plan_names_file(word) ? plan_file_ranks(word) : 0;
    if (algos->count > 1)
        return gw_fail(why, GW_EINVAL,
                       "--algo: no plan is for %u members; add one, or start "
                       "another number of members",
                       members);
    if (ranks)
        return gw_fail(why, GW_EINVAL,
                       "--algo %.200s: the plan is for %u ranks, not for %u; "
                       "start %u members, or add a plan for %u: --algo "
                       "FILE,FILE",
                       word, ranks, members, ranks, members);
    *why = *last;
    return gw_wrap(why, last->code, "--algo %.200s", word);
}

enum gw_err ring_algos_check(const struct ring_algos *algos, unsigned members,
                             struct gw_error *why)
{
    bool found = algos->count == 0 || members == 0;
    struct gw_error last = {.code = GW_OK};
    for (unsigned i = 0; i < algos->count; i++) {
        const char *path = plan_file_path(algos->algos[i]);
        unsigned ranks = path ? plan_file_ranks(path) : 0;
        struct gw_plan *plan;
        if (ranks && check_file(algos->algos[i], ranks, why))
            return why->code;
        if (found)
            continue;
        found = !gw__chosen_plan_make(algos->algos[i], members, &plan, &last);
        gw_plan_destroy(&plan);
    }
    return found ? GW_OK : refuse_members(algos, members, &last, why);
}
