/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * From operands and options to a plan (plan_source.h).
 */
#include "plan_source.h"

#include "common/plan/plan_plugin.h"
#include "common/text/suggest.h"
#include "plan_list.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Letters only: "all-reduce", "all_reduce" and "allreduce" are one. */
static void plain(const char *word, char out[32])
{
    size_t length = 0;
    for (; *word && length < 31; word++)
        if (*word != '-' && *word != '_')
            out[length++] = *word;
    out[length] = 0;
}

static bool same_word(const char *a, const char *b)
{
    char plain_a[32], plain_b[32];
    plain(a, plain_a);
    plain(b, plain_b);
    return strcmp(plain_a, plain_b) == 0;
}

static enum gw_err neither(const char *operand, struct gw_error *why)
{
    struct suggestion suggestion;
    char hint[96], valid[160] = "";
    suggestion_begin(&suggestion, operand);
    for (unsigned i = 0; i < GW_COLLECTIVES; i++) {
        const char *name = gw_collective_name((enum gw_collective)i);
        size_t used = strlen(valid);
        suggestion_offer(&suggestion, name);
        snprintf(valid + used, sizeof valid - used, "%s%s", i ? ", " : "",
                 name);
    }
    return gw_fail(why, GW_EINVAL,
                   "\"%.60s\" is neither a collective nor a file%s; the "
                   "collectives are %s",
                   operand, suggestion_text(&suggestion, hint), valid);
}

enum gw_err plan_operand(const char *operand, bool *is_file,
                         enum gw_collective *collective, struct gw_error *why)
{
    *is_file = false;
    for (unsigned i = 0; i < GW_COLLECTIVES; i++)
        if (same_word(operand, gw_collective_name((enum gw_collective)i))) {
            *collective = (enum gw_collective)i;
            return GW_OK;
        }
    *is_file = strpbrk(operand, "./") || access(operand, F_OK) == 0;
    return *is_file ? GW_OK : neither(operand, why);
}

static enum gw_err which_algo(enum gw_collective collective, unsigned ranks,
                              struct gw_error *why)
{
    char valid[256] = "";
    size_t count;
    const struct gw_algo *const *list = gw_algo_list(&count);
    for (size_t i = 0; i < count; i++) {
        if (list[i]->collective != collective || !list[i]->valid(ranks))
            continue;
        size_t used = strlen(valid);
        snprintf(valid + used, sizeof valid - used, "%s%s", used ? ", " : "",
                 list[i]->name);
    }
    return gw_fail(why, GW_EINVAL,
                   "%s of %u ranks has several algorithms (%s); add --algo "
                   "NAME",
                   gw_collective_name(collective), ranks, valid);
}

static enum gw_err load_plan(const char *path, const struct plan_source *source,
                             struct gw_plan **plan, struct gw_error *why)
{
    if (source->algo || source->root || source->segments || source->group)
        return gw_fail(why, GW_EINVAL,
                       "%.100s defines its own algorithm and root; use "
                       "--algo, --root, --segments and --group only with a "
                       "collective",
                       path);
    if (plan_names_plugin(path))
        return gw_fail(why, GW_EINVAL,
                       "%.100s is a plug-in; name its collective, for "
                       "example: allreduce --algo %.100s",
                       path, path);
    enum gw_err err = gw_plan_load(path, source->ranks, plan, why);
    /* A text for any number of ranks needs a given number. */
    if (err && source->ranks == 0 &&
        gw_plan_load(path, PLAN_RANKS_DEFAULT, plan, NULL) == GW_OK)
        return GW_OK;
    return err;
}

unsigned plan_ranks(const struct plan_source *source)
{
    unsigned own = source->ranks ? 0 : plan_list_ranks(source->algo);
    return source->ranks ? source->ranks : own ? own : PLAN_RANKS_DEFAULT;
}

enum gw_err plan_get(const char *operand, const struct plan_source *source,
                     struct gw_plan **plan, struct gw_error *why)
{
    bool is_file;
    enum gw_collective collective;
    const struct gw_algo *algo;
    struct gw_algo_args args = {
        .ranks = plan_ranks(source),
        .root = source->root,
        .segments = source->segments,
        .group = source->group,
    };
    *plan = NULL;
    if (plan_operand(operand, &is_file, &collective, why))
        return why->code;
    if (is_file)
        return load_plan(operand, source, plan, why);
    if (!source->algo)
        return which_algo(collective, args.ranks, why);
    if (plan_algo(collective, source->algo, args.ranks, &algo, why))
        return why->code;
    return plan_make(algo, &args, plan, why);
}

enum gw_err plan_source_list(const struct plan_source *source,
                             enum gw_collective collective, unsigned ranks,
                             struct plan_list *list, struct gw_error *why)
{
    const struct plan_wanted wanted = {
        .collective = collective, .words = source->algo, .ranks = ranks};
    if (source->root < ranks)
        return plan_list(&wanted, list, why);
    return gw_fail(
        why, GW_EINVAL,
        "the root is %u, but there are only %u ranks, numbered from 0",
        source->root, ranks);
}

double plan_predict_us(const char *wire, const struct gw_algo *algo,
                       unsigned ranks, size_t count, size_t elem_bytes)
{
    enum { CANDIDATES = 64 };
    struct gw_candidate list[CANDIDATES];
    struct gw_wire_costs costs;
    bool measured;
    size_t found = gw_choose(wire, algo->collective, ranks, count, elem_bytes,
                             list, CANDIDATES);
    for (size_t i = 0; i < found && i < CANDIDATES; i++)
        if (list[i].algo == algo)
            return list[i].predicted_us;
    gw_costs_among(wire, ranks, &costs, &measured);
    return gw_predict_us(wire, &costs, algo, ranks, count, elem_bytes);
}

/* The blocks of a rank's buffer. */
static size_t blocks_of(enum gw_collective collective, unsigned ranks)
{
    bool blocks = collective == GW_GATHER || collective == GW_SCATTER ||
                  collective == GW_ALLGATHER ||
                  collective == GW_REDUCE_SCATTER || collective == GW_ALLTOALL;
    return blocks ? ranks : 1;
}

size_t plan_count(enum gw_collective collective, unsigned ranks, uint64_t bytes,
                  size_t elem_bytes)
{
    size_t share = elem_bytes * blocks_of(collective, ranks);
    size_t count = (size_t)bytes / share;
    return count || bytes == 0 ? count : 1;
}

uint64_t plan_bytes(enum gw_collective collective, unsigned ranks, size_t count,
                    size_t elem_bytes)
{
    return (uint64_t)count * elem_bytes * blocks_of(collective, ranks);
}

double plan_optimum_us(const struct gw_topology *topology,
                       enum gw_collective collective, unsigned ranks,
                       unsigned root, uint64_t bytes)
{
    struct gw_error ignored;
    struct gw_optimum optimum;
    if (gw_optimum_find(topology, collective, ranks, root, &optimum, &ignored))
        return (double)NAN;
    return gw_optimum_us(&optimum, bytes);
}
