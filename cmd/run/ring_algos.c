/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lists of algorithms: see ring_algos.h.
 */
#include "ring_algos.h"

#include "common/plan/plan_algo.h"
#include "common/plan/plan_file.h"
#include "common/plan/plan_plugin.h"

#include <gradwire/ring.h>

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

/* ---- reading ---- */

enum gw_err ring_algos_collective(const char *word,
                                  enum gw_collective *collective,
                                  struct gw_error *why)
{
    *collective = GW_ALLREDUCE;
    enum gw_err err = word ? gw_collective_parse(word, collective, why) : GW_OK;
    if (!err && *collective == GW_CUSTOM)
        err = gw_fail(why, GW_EINVAL,
                      "custom is the collective of one plan, and has none for "
                      "the members that are left after a death");
    return err ? gw_wrap(why, err, "--collective") : GW_OK;
}

/* The plan of a file for its own number of ranks, or for the first that it
 * has. */
static enum gw_err make_any(const struct gw_algo *algo, struct gw_plan **plan)
{
    const char *path = plan_file_path(algo);
    unsigned ranks = path ? plan_file_ranks(path) : 0;
    unsigned first = ranks ? ranks : 2, last = ranks ? ranks : GW_RING_NODES;
    enum gw_err err = GW_EINVAL;
    *plan = NULL;
    for (unsigned n = first; err && n <= last; n++)
        err = gw__whole_plan_make(algo->collective, algo, n, plan, NULL);
    return err;
}

/* Does a file's plan have no recovery by chunk? *why may be NULL. */
static bool is_whole(const struct gw_algo *algo, struct gw_error *why)
{
    struct gw_plan *plan;
    if (!plan_file_path(algo) || make_any(algo, &plan))
        return false;
    bool whole = gw__plan_has_chunk_recovery(plan, why) != GW_OK;
    gw_plan_destroy(&plan);
    return whole;
}

static enum gw_err read_words(char *left, struct ring_algos *algos,
                              struct gw_error *why)
{
    enum gw_err err = GW_OK;
    for (char *word = strsep(&left, "\n"); word && *word && !err;
         word = strsep(&left, "\n"))
        if (algos->count == RING_ALGOS_MAX)
            err = gw_fail(why, GW_EINVAL,
                          "--algo: too many algorithms; use at most %d",
                          RING_ALGOS_MAX);
        else
            err = plan_algo(algos->collective, word, 0,
                            &algos->algos[algos->count++], why);
    return err;
}

enum gw_err ring_algos_open(const char *list, enum gw_collective collective,
                            struct ring_algos *algos, struct gw_error *why)
{
    memset(algos, 0, sizeof *algos);
    algos->collective = collective;
    algos->whole = collective != GW_ALLREDUCE;
    char *copy = strdup(list ? list : "");
    if (!copy)
        return gw_fail(why, GW_ENOMEM, "--algo");
    enum gw_err err = read_words(copy, algos, why);
    free(copy);
    for (unsigned i = 0; !err && i < algos->count; i++)
        algos->whole = algos->whole || is_whole(algos->algos[i], NULL);
    if (algos->whole)
        gw__whole_plans_init(&algos->chosen, collective, algos->algos,
                             algos->count);
    else
        gw__chosen_plans_init(&algos->chosen, algos->algos, algos->count);
    return err;
}

/* ---- the plans ---- */

const char *ring_algos_name(struct ring_algos *algos, unsigned members)
{
    const struct gw_plan *plan = gw__chosen_plan(&algos->chosen, members);
    return plan ? plan->algo : NULL;
}

static enum gw_err make_checked(const struct ring_algos *algos,
                                const struct gw_algo *algo, unsigned members,
                                struct gw_plan **plan, struct gw_error *why)
{
    return algos->whole ? gw__whole_plan_make(algos->collective, algo, members,
                                              plan, why)
                        : gw__chosen_plan_make(algo, members, plan, why);
}

/* The root of an op is the oldest member. */
static enum gw_err check_root(const struct gw_algo *algo, unsigned ranks,
                              struct gw_error *why)
{
    struct gw_plan *plan;
    enum gw_err err = plan_file_make(algo, ranks, &plan, why);
    if (!err && plan->root != 0)
        err = gw_fail(why, GW_ENOTSUP,
                      "the plan has root %u; in an elastic ring the root is "
                      "rank 0",
                      plan->root);
    gw_plan_destroy(&plan);
    return err;
}

/* A file with a fixed number of ranks must be right, even if the ring has
 * another number of members at first. */
static enum gw_err check_file(const struct ring_algos *algos,
                              const struct gw_algo *algo, unsigned ranks,
                              struct gw_error *why)
{
    struct gw_plan *plan = NULL;
    enum gw_err err = GW_OK;
    if (gw_collective_rooted(algos->collective))
        err = check_root(algo, ranks, why);
    if (!err)
        err = make_checked(algos, algo, ranks, &plan, why);
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
        if (ranks && check_file(algos, algos->algos[i], ranks, why))
            return why->code;
        if (found)
            continue;
        found = !make_checked(algos, algos->algos[i], members, &plan, &last);
        gw_plan_destroy(&plan);
    }
    return found ? GW_OK : refuse_members(algos, members, &last, why);
}

enum gw_err ring_algos_check_by_chunk(const struct ring_algos *algos,
                                      const char *user, struct gw_error *why)
{
    struct gw_error reason;
    if (!algos->whole)
        return GW_OK;
    if (algos->collective != GW_ALLREDUCE)
        return gw_fail(why, GW_EINVAL,
                       "%s needs all-reduces, but --collective is %s", user,
                       gw_collective_name(algos->collective));
    for (unsigned i = 0; i < algos->count; i++)
        if (is_whole(algos->algos[i], &reason))
            return gw_fail(why, GW_ENOTSUP,
                           "--algo %.200s: %s, and %s needs their recovery",
                           plan_algo_word(algos->algos[i]), reason.text, user);
    return GW_OK;
}
