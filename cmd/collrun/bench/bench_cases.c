/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The cases of `collrun bench`: collectives x algorithms x sizes, with the
 * predictions of the cost model. Computed before any rank is started.
 */
#include "bench.h"

#include "collrun/plan/plan_file.h"
#include "collrun/plan/plan_plugin.h"
#include "collrun/plan/plan_source.h"
#include "sizes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CANDIDATES_MAX = 64 };

/* No algorithm's bytes on all links wrap below this size. */
#define BYTES_MAX (UINT64_C(1) << 48)

static enum gw_err add_case(struct bench *b, const struct bench_case *item,
                            struct gw_error *why)
{
    if (b->case_count == b->case_room) {
        size_t room = b->case_room ? 2 * b->case_room : 64;
        struct bench_case *moved = realloc(b->cases, room * sizeof *moved);
        if (!moved)
            return gw_fail(why, GW_ENOMEM, "%zu cases", room);
        b->cases = moved;
        b->case_room = room;
    }
    b->cases[b->case_count++] = *item;
    return GW_OK;
}

/* For an algorithm that the library never chooses by itself. */
static double predict_added(const struct bench *b,
                            const struct bench_case *item, size_t elem_bytes)
{
    struct gw_wire_costs costs;
    bool measured;
    gw_costs_among(b->wire, b->ranks, &costs, &measured);
    double us = gw_predict_us(b->wire, &costs, item->algo, b->ranks,
                              item->count, elem_bytes);
    return us >= 0 ? us : (double)NAN;
}

/* Fills in the algorithm and its predicted time; `algo` NULL: the library's
 * choice for this size. */
static enum gw_err predict(const struct bench *b, struct bench_case *item,
                           const struct gw_algo *algo, struct gw_error *why)
{
    struct gw_candidate candidates[CANDIDATES_MAX];
    size_t elem_bytes = gw_dtype_size(b->type);
    size_t count = gw_choose(b->wire, item->collective, b->ranks, item->count,
                             elem_bytes, candidates, CANDIDATES_MAX);
    if (count == 0 && !algo)
        return gw_fail(why, GW_ENOMEM, "prediction for %zu elements",
                       item->count);
    count = count < CANDIDATES_MAX ? count : CANDIDATES_MAX;
    item->algo = algo ? algo : candidates[0].algo;
    item->predicted_us = (double)NAN;
    for (size_t i = 0; i < count; i++)
        if (candidates[i].algo == item->algo)
            item->predicted_us = candidates[i].predicted_us;
    if (isnan(item->predicted_us))
        item->predicted_us = predict_added(b, item, elem_bytes);
    item->bound_us = gw_wire_bound_us(b->wire, item->collective, b->ranks,
                                      item->count, elem_bytes);
    return GW_OK;
}

/* The case of one size. With `before`, the size is omitted if it equals the
 * last one: two may round down to the same. */
static enum gw_err list_size(struct bench *b, enum gw_collective collective,
                             const struct gw_algo *algo, uint64_t bytes,
                             uint64_t *before, struct gw_error *why)
{
    size_t elem_bytes = gw_dtype_size(b->type);
    struct bench_case item = {.collective = collective};
    if (collective != GW_BARRIER)
        item.count = plan_count(collective, b->ranks, bytes, elem_bytes);
    item.bytes = size_bytes(collective, b->ranks, item.count, elem_bytes);
    if (before && item.bytes == *before)
        return GW_OK;
    if (before)
        *before = item.bytes;
    if (item.bytes > BYTES_MAX)
        return gw_fail(why, GW_EINVAL,
                       "a size of %" PRIu64 " bytes is too large: use at most "
                       "256T",
                       item.bytes);
    enum gw_err err = predict(b, &item, algo, why);
    return err ? err : add_case(b, &item, why);
}

/* Every size of one collective by one algorithm. Explicitly listed sizes are
 * never omitted. */
static enum gw_err list_sizes(struct bench *b, enum gw_collective collective,
                              const struct gw_algo *algo, struct gw_error *why)
{
    uint64_t before = UINT64_MAX, bytes = b->bytes_min;
    enum gw_err err = GW_OK;
    for (size_t i = 0; i < b->size_count && !err; i++)
        err = list_size(b, collective, algo, b->sizes[i], NULL, why);
    if (b->size_count > 0)
        return err;
    while (!err && bytes <= b->bytes_max) {
        err = list_size(b, collective, algo, bytes, &before, why);
        if (bytes > b->bytes_max / b->factor)
            break;
        bytes *= b->factor;
    }
    return err;
}

static enum gw_err list_all_algos(struct bench *b,
                                  enum gw_collective collective,
                                  struct gw_error *why)
{
    size_t count;
    const struct gw_algo *const *algos = gw_algo_list(&count);
    for (size_t i = 0; i < count; i++)
        if (algos[i]->collective == collective && algos[i]->valid(b->ranks) &&
            list_sizes(b, collective, algos[i], why))
            return why->code;
    return GW_OK;
}

static enum gw_err check_redop(const struct bench *b,
                               enum gw_collective collective,
                               struct gw_error *why)
{
    if (!gw_collective_reduces(collective) || gw_redop_allowed(b->op, b->type))
        return GW_OK;
    return gw_fail(why, GW_EINVAL,
                   "the reduction %s does not support the type %s",
                   gw_redop_name(b->op), gw_dtype_name(b->type));
}

static enum gw_err list_algo(struct bench *b, const struct gw_algo *algo,
                             struct gw_error *why)
{
    if (!algo->valid(b->ranks))
        return gw_fail(why, GW_EINVAL, "%s %s does not support %u ranks",
                       gw_collective_name(algo->collective), algo->name,
                       b->ranks);
    const struct gw_algo_args args = {.ranks = b->ranks, .root = b->root};
    if (plan_prove(algo, &args, why))
        return why->code;
    return list_sizes(b, algo->collective, algo, why);
}

/* The root is the file's. */
static enum gw_err list_file(struct bench *b, const char *path,
                             const enum gw_collective *collective,
                             struct gw_error *why)
{
    const struct gw_algo *algo;
    unsigned root = b->root;
    if (plan_file(path, b->ranks, &algo, &b->root, why))
        return why->code;
    if (collective && algo->collective != *collective)
        return gw_fail(why, GW_EINVAL, "%.100s is a plan for %s, not for %s",
                       path, gw_collective_name(algo->collective),
                       gw_collective_name(*collective));
    if (root != 0 && root != b->root)
        return gw_fail(why, GW_EINVAL, "--root: %.100s has root %u, not %u",
                       path, b->root, root);
    if (check_redop(b, algo->collective, why))
        return why->code;
    return list_algo(b, algo, why);
}

static enum gw_err list_named(struct bench *b, enum gw_collective collective,
                              struct gw_error *why)
{
    const struct gw_algo *algo;
    if (plan_names_file(b->algo))
        return list_file(b, b->algo, &collective, why);
    if (plan_algo(collective, b->algo, &algo, why))
        return why->code;
    return list_algo(b, algo, why);
}

static enum gw_err list_one(struct bench *b, enum gw_collective collective,
                            struct gw_error *why)
{
    if (check_redop(b, collective, why))
        return why->code;
    if (strcmp(b->algo, "auto") == 0)
        return list_sizes(b, collective, NULL, why);
    if (strcmp(b->algo, "all") == 0)
        return list_all_algos(b, collective, why);
    return list_named(b, collective, why);
}

/* All collectives that have the named algorithm for this number of ranks. */
static enum gw_err list_every(struct bench *b, struct gw_error *why)
{
    const struct gw_algo *plugin;
    if (plan_names_plugin(b->algo))
        return plan_plugin(b->algo, &plugin, why)
                   ? why->code
                   : list_one(b, plugin->collective, why);
    bool named = strcmp(b->algo, "auto") != 0 && strcmp(b->algo, "all") != 0;
    for (unsigned c = 0; c < GW_COLLECTIVES; c++) {
        enum gw_collective collective = (enum gw_collective)c;
        const struct gw_algo *algo = gw_algo_find(collective, b->algo);
        if (named && (!algo || !algo->valid(b->ranks)))
            continue;
        if (list_one(b, collective, why))
            return why->code;
    }
    if (b->case_count == 0)
        return gw_fail(why, GW_EINVAL,
                       "--ranks %u: no collective has an algorithm \"%s\" for "
                       "so many ranks",
                       b->ranks, b->algo);
    return GW_OK;
}

enum gw_err bench_list(struct bench *b, const char *operand,
                       struct gw_error *why)
{
    bool is_file;
    enum gw_collective collective;
    b->cases = NULL;
    b->case_count = b->case_room = 0;
    if (strcmp(operand, "all") == 0)
        return list_every(b, why);
    if (plan_operand(operand, &is_file, &collective, why))
        return why->code;
    if (is_file && strcmp(b->algo, "auto") != 0)
        return gw_fail(why, GW_EINVAL,
                       "%.100s defines its own algorithm; use --algo only "
                       "with a collective",
                       operand);
    return is_file ? list_file(b, operand, NULL, why)
                   : list_one(b, collective, why);
}
