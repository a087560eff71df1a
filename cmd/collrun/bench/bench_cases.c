/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The cases of `collrun bench`: collectives x algorithms x sizes, with the
 * predictions of the cost model. Computed before any rank is started.
 */
#include "bench.h"

#include "bench_baseline.h"
#include "collrun/plan/plan_list.h"
#include "collrun/plan/plan_source.h"
#include "common/plan/plan_file.h"
#include "sizes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Fills in the algorithm and its predicted time; `algo` NULL: the library's
 * choice for this size. */
static enum gw_err predict(const struct bench *b, struct bench_case *item,
                           const struct gw_algo *algo, struct gw_error *why)
{
    struct gw_candidate best;
    size_t elem_bytes = gw_dtype_size(b->type);
    if (!algo && gw_choose(b->wire, item->collective, b->ranks, item->count,
                           elem_bytes, &best, 1) == 0)
        return gw_fail(why, GW_ENOMEM, "prediction for %zu elements",
                       item->count);
    item->algo = algo ? algo : best.algo;
    item->predicted_us =
        algo ? plan_predict_us(b->wire, algo, b->ranks, item->count, elem_bytes)
             : best.predicted_us;
    if (item->predicted_us < 0)
        item->predicted_us = (double)NAN;
    item->baseline_us =
        b->baseline ? bench_baseline_us(b->baseline, b, item) : (double)NAN;
    item->bound_us = gw_wire_bound_us(b->wire, item->collective, b->ranks,
                                      item->count, elem_bytes);
    item->optimum_us =
        b->topology ? plan_optimum_us(b->topology, item->collective, b->ranks,
                                      item->root,
                                      plan_bytes(item->collective, b->ranks,
                                                 item->count, elem_bytes))
                    : (double)NAN;
    return GW_OK;
}

/* The case of one size. With `before`, the size is omitted if it equals the
 * last one: two may round down to the same. */
static enum gw_err list_size(struct bench *b, enum gw_collective collective,
                             const struct gw_algo *algo, unsigned root,
                             uint64_t bytes, uint64_t *before,
                             struct gw_error *why)
{
    size_t elem_bytes = gw_dtype_size(b->type);
    struct bench_case item = {.wire = b->wire,
                              .ranks = b->ranks,
                              .root = root,
                              .collective = collective};
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

/* Every size of one collective by one algorithm. Explicitly listed sizes are
 * never omitted. */
static enum gw_err list_sizes(struct bench *b, enum gw_collective collective,
                              const struct gw_algo *algo, unsigned root,
                              struct gw_error *why)
{
    uint64_t before = UINT64_MAX, bytes = b->bytes_min;
    enum gw_err err = check_redop(b, collective, why);
    for (size_t i = 0; i < b->size_count && !err; i++)
        err = list_size(b, collective, algo, root, b->sizes[i], NULL, why);
    if (b->size_count > 0)
        return err;
    while (!err && bytes <= b->bytes_max) {
        err = list_size(b, collective, algo, root, bytes, &before, why);
        if (bytes > b->bytes_max / b->factor)
            break;
        bytes *= b->factor;
    }
    return err;
}

static enum gw_err refuse_custom(struct gw_error *why)
{
    return gw_fail(why, GW_EINVAL,
                   "bench compares the algorithms of a collective, and custom "
                   "has no meaning of its own; use collrun run or sim");
}

/* The root of a file is its own. */
static enum gw_err list_algo(struct bench *b, const struct gw_algo *algo,
                             struct gw_error *why)
{
    struct gw_algo_args args = {.ranks = b->ranks, .root = b->root};
    if (algo->collective == GW_CUSTOM)
        return refuse_custom(why);
    if (plan_prove(algo, &args, why))
        return why->code;
    return list_sizes(b, algo->collective, algo, args.root, why);
}

/* `others`: words for other collectives are ignored. */
static enum gw_err list_named(struct bench *b, enum gw_collective collective,
                              bool others, struct gw_error *why)
{
    struct plan_list list;
    const struct plan_wanted wanted = {.collective = collective,
                                       .words = b->algo,
                                       .ranks = b->ranks,
                                       .others = others};
    size_t before = b->case_count;
    enum gw_err err = plan_list(&wanted, &list, why);
    for (size_t i = 0; i < list.count && !err; i++)
        err = plan_leave_out(&list, list_algo(b, list.algos[i], why), why);
    if (!err && !others && b->case_count == before)
        err = gw_fail(why, GW_EINVAL, "no algorithm of %s is left",
                      gw_collective_name(collective));
    return err;
}

static enum gw_err list_one(struct bench *b, enum gw_collective collective,
                            bool others, struct gw_error *why)
{
    return strcmp(b->algo, "auto") == 0
               ? list_sizes(b, collective, NULL, b->root, why)
               : list_named(b, collective, others, why);
}

/* All collectives that have the named algorithms for this number of ranks. */
static enum gw_err list_every(struct bench *b, struct gw_error *why)
{
    size_t before = b->case_count;
    for (unsigned c = 0; c < GW_COLLECTIVES; c++)
        if (c != GW_CUSTOM && list_one(b, (enum gw_collective)c, true, why))
            return why->code;
    if (b->case_count == before)
        return gw_fail(why, GW_EINVAL,
                       "--ranks %u: no collective has an algorithm \"%s\" for "
                       "so many ranks",
                       b->ranks, b->algo);
    return GW_OK;
}

static enum gw_err list_file(struct bench *b, const char *path,
                             struct gw_error *why)
{
    const struct gw_algo *algo;
    enum gw_err err = plan_file(path, b->ranks, &algo, why);
    return err ? err : list_algo(b, algo, why);
}

enum gw_err bench_list(struct bench *b, const char *operand,
                       struct gw_error *why)
{
    bool is_file;
    enum gw_collective collective;
    if (strcmp(operand, "all") == 0)
        return list_every(b, why);
    if (plan_operand(operand, &is_file, &collective, why))
        return why->code;
    if (!is_file && collective == GW_CUSTOM)
        return refuse_custom(why);
    if (is_file && strcmp(b->algo, "auto") != 0)
        return gw_fail(why, GW_EINVAL,
                       "%.100s defines its own algorithm; use --algo only "
                       "with a collective",
                       operand);
    return is_file ? list_file(b, operand, why)
                   : list_one(b, collective, false, why);
}
