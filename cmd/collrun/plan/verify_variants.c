/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The plans of an algorithm that collrun verify --all checks. Arithmetic errors
 * appear at few ranks, so up to SMALL_RANKS every root is tried, each with
 * several segment counts and rack sizes; above, four roots. An option that does
 * not change the plan is not verified twice. A file has one plan for each number
 * of ranks.
 */
#include "verify.h"

#include "collrun/collrun.h"
#include "common/plan/plan_algo.h"
#include "common/plan/plan_file.h"

#include <stdio.h>

enum { SMALL_RANKS = 17, HASHES_MAX = 8 };

struct variants {
    const struct gw_algo *algo;
    unsigned link_chunks;
    struct verify_tally *tally;
    uint64_t hashes[HASHES_MAX]; /* hashes of the plans of this root */
    unsigned hash_count;
};

/* True for the first plan of this shape. */
static bool is_new(struct variants *v, const struct gw_plan *plan)
{
    uint64_t hash = gw_plan_hash(plan);
    for (unsigned i = 0; i < v->hash_count; i++)
        if (v->hashes[i] == hash)
            return false;
    if (v->hash_count < HASHES_MAX)
        v->hashes[v->hash_count++] = hash;
    return true;
}

static void record_wrong(struct variants *v, const struct gw_algo_args *args,
                         const struct gw_verdict *verdict)
{
    struct verify_tally *tally = v->tally;
    if (tally->wrong++)
        return;
    tally->verdict = *verdict;
    if (plan_file_path(v->algo)) {
        snprintf(tally->command, sizeof tally->command,
                 "collrun verify %.200s -n %u", plan_file_path(v->algo),
                 args->ranks);
        return;
    }
    snprintf(tally->command, sizeof tally->command,
             "collrun verify %s --algo %s -n %u --root %u --segments %u "
             "--group %u",
             gw_collective_name(v->algo->collective), plan_algo_word(v->algo),
             args->ranks, args->root, args->segments, args->group);
}

static void verify_plan(struct variants *v, const struct gw_algo_args *args,
                        const struct gw_plan *plan)
{
    struct gw_verdict verdict = {.fault = GW_FAULT_NONE};
    enum gw_err err =
        gw_plan_verify(plan, v->link_chunks, &verdict, &v->tally->error);
    v->tally->plans++;
    v->tally->transfers += plan->transfer_count;
    if (err != GW_EPLAN)
        return;
    v->tally->error.code = GW_OK;
    record_wrong(v, args, &verdict);
}

/* The text of a file may have no plan for this number of ranks. */
static void record_unmade(struct variants *v, const struct gw_algo_args *args)
{
    struct gw_error *error = &v->tally->error;
    struct gw_verdict verdict = {.fault = GW_FAULT_SHAPE};
    if (error->code != GW_EDATA)
        return;
    error->code = GW_OK;
    snprintf(verdict.sentence, sizeof verdict.sentence, "%.*s",
             (int)sizeof verdict.sentence - 1, error->text);
    v->tally->plans++;
    record_wrong(v, args, &verdict);
}

static void verify_variant(struct variants *v, const struct gw_algo_args *args)
{
    struct gw_plan *plan;
    if (interrupted || v->tally->error.code)
        return;
    if (plan_make(v->algo, args, &plan, &v->tally->error)) {
        record_unmade(v, args);
        return;
    }
    if (is_new(v, plan))
        verify_plan(v, args, plan);
    gw_plan_destroy(&plan);
}

/* The algorithm's own segments and racks, then some others. */
static void verify_root(struct variants *v, unsigned ranks, unsigned root)
{
    static const unsigned depths[] = {1, 2, 3}, groups[] = {2, 3, 4};
    struct gw_algo_args args = {.ranks = ranks, .root = root};
    v->hash_count = 0;
    verify_variant(v, &args);
    for (unsigned i = 0; i < 3 && ranks <= SMALL_RANKS; i++) {
        struct gw_algo_args deep = args, grouped = args;
        deep.segments = depths[i];
        grouped.group = groups[i];
        verify_variant(v, &deep);
        verify_variant(v, &grouped);
    }
}

void verify_variants(const struct gw_algo *algo, unsigned ranks,
                     unsigned link_chunks, struct verify_tally *tally)
{
    struct variants v = {
        .algo = algo, .link_chunks = link_chunks, .tally = tally};
    const unsigned some[] = {0, 1, ranks / 2, ranks - 1};
    const struct gw_algo_args plain = {.ranks = ranks};
    if (plan_file_path(algo))
        verify_variant(&v, &plain);
    else if (!gw_collective_rooted(algo->collective))
        verify_root(&v, ranks, 0);
    else if (ranks > SMALL_RANKS)
        for (unsigned i = 0; i < 4; i++)
            verify_root(&v, ranks, some[i]);
    else
        for (unsigned root = 0; root < ranks; root++)
            verify_root(&v, ranks, root);
}
