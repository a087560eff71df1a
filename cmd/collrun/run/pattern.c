/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The layout of the values of pattern_values.c: a rank's input is a section of
 * one table, repeated; a result is one section of the table of sums, or of each
 * rank's table. The period is a prime, so that a chunk in a wrong place is
 * noticed. Filling and comparing is memcpy and memcmp, so that checking 64 MiB
 * takes as long as reading them.
 */
#include "pattern.h"

#include "pattern_values.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { GUARD_BYTES = 64, RUBBISH = 0xa5 };

static bool holds_whole(const struct pattern *p)
{
    return p->collective == GW_SCATTER || p->collective == GW_REDUCE_SCATTER ||
           p->collective == GW_ALLTOALL;
}

static bool wants_whole(const struct pattern *p)
{
    return p->collective == GW_GATHER || p->collective == GW_ALLGATHER ||
           p->collective == GW_ALLTOALL;
}

static bool is_in_place(const struct pattern *p, unsigned rank)
{
    return p->in_place &&
           (!gw_collective_rooted(p->collective) || rank == p->root);
}

/* Elements of the rank's input. */
static size_t input_count(const struct pattern *p, unsigned rank)
{
    bool from_root =
        p->collective == GW_BROADCAST || p->collective == GW_SCATTER;
    if (p->collective == GW_BARRIER || (from_root && rank != p->root))
        return 0;
    return holds_whole(p) ? p->count * p->ranks : p->count;
}

/* Elements of the rank's result. */
static size_t result_count(const struct pattern *p, unsigned rank)
{
    bool to_root = p->collective == GW_REDUCE || p->collective == GW_GATHER;
    if (p->collective == GW_BARRIER || (to_root && rank != p->root) ||
        (p->collective == GW_EXSCAN && rank == 0))
        return 0;
    return wants_whole(p) ? p->count * p->ranks : p->count;
}

/* The offset of the input in `out` of a rank in place. */
static size_t input_at(const struct pattern *p, unsigned rank)
{
    return wants_whole(p) && !holds_whole(p) ? p->count * rank : 0;
}

/* The offset of the result in `out`. */
static size_t result_at(const struct pattern *p, unsigned rank)
{
    bool own_block = holds_whole(p) && !wants_whole(p);
    return own_block && is_in_place(p, rank) ? p->count * rank : 0;
}

/* Elements of `out`, without the guard. */
static size_t out_count(const struct pattern *p, unsigned rank)
{
    size_t result = result_at(p, rank) + result_count(p, rank);
    size_t input =
        is_in_place(p, rank) ? input_at(p, rank) + input_count(p, rank) : 0;
    return result > input ? result : input;
}

const void *pattern_in(const struct pattern *p, unsigned rank, const void *in)
{
    return is_in_place(p, rank) ? GW_IN_PLACE : in;
}

const void *pattern_input(const struct pattern *p, unsigned rank,
                          const void *in, const void *out, size_t *count)
{
    const unsigned char *whole = out;
    *count = input_count(p, rank);
    return is_in_place(p, rank)
               ? whole + input_at(p, rank) * gw_dtype_size(p->type)
               : in;
}

const void *pattern_result(const struct pattern *p, unsigned rank,
                           const void *out, size_t *count)
{
    const unsigned char *whole = out;
    *count = result_count(p, rank);
    return whole + result_at(p, rank) * gw_dtype_size(p->type);
}

size_t pattern_in_bytes(const struct pattern *p, unsigned rank)
{
    size_t count = is_in_place(p, rank) ? 0 : input_count(p, rank);
    return count * gw_dtype_size(p->type) + GUARD_BYTES;
}

size_t pattern_out_bytes(const struct pattern *p, unsigned rank)
{
    return out_count(p, rank) * gw_dtype_size(p->type) + GUARD_BYTES;
}

/* Copies elements begin, begin + 1, ... of the repeated table to `out`. */
static void repeat(const struct values *table, size_t begin, size_t count,
                   unsigned char *out)
{
    for (size_t at = begin % VALUES_PERIOD; count > 0; at = 0) {
        size_t run = VALUES_PERIOD - at < count ? VALUES_PERIOD - at : count;
        memcpy(out, table->bytes + at * table->elem_bytes,
               run * table->elem_bytes);
        out += run * table->elem_bytes;
        count -= run;
    }
}

/* Counts differences; `index` is the element's number for *first. */
static size_t differ(const struct values *table, size_t begin, size_t count,
                     const unsigned char *data, size_t index, size_t *first)
{
    size_t wrong = 0, bytes = table->elem_bytes;
    for (size_t at = begin % VALUES_PERIOD; count > 0; at = 0) {
        size_t run = VALUES_PERIOD - at < count ? VALUES_PERIOD - at : count;
        const unsigned char *good = table->bytes + at * bytes;
        bool same = memcmp(data, good, run * bytes) == 0;
        for (size_t i = 0; !same && i < run; i++)
            if (memcmp(data + i * bytes, good + i * bytes, bytes) != 0) {
                wrong++;
                *first = index + i < *first ? index + i : *first;
            }
        data += run * bytes;
        index += run;
        count -= run;
    }
    return wrong;
}

static size_t guard_wrong(const unsigned char *guard)
{
    for (int i = 0; i < GUARD_BYTES; i++)
        if (guard[i] != RUBBISH)
            return 1;
    return 0;
}

void pattern_fill(const struct pattern *p, unsigned rank, void *in, void *out)
{
    struct values table;
    size_t elem_bytes = gw_dtype_size(p->type);
    bool in_place = is_in_place(p, rank);
    unsigned char *input =
        in_place ? (unsigned char *)out + input_at(p, rank) * elem_bytes : in;
    memset(in, RUBBISH, pattern_in_bytes(p, rank));
    memset(out, RUBBISH, pattern_out_bytes(p, rank));
    values_of_rank(p, rank, &table);
    repeat(&table, 0, input_count(p, rank), input);
}

/* The result of a rank is the reduction of so many ranks' inputs. */
static unsigned reduced_ranks(const struct pattern *p, unsigned rank)
{
    if (p->collective == GW_SCAN)
        return rank + 1;
    return p->collective == GW_EXSCAN ? rank : p->ranks;
}

/* Counts the elements that are no longer as pattern_fill left them. */
static size_t written(const unsigned char *data, size_t count,
                      size_t elem_bytes)
{
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t byte = 0; byte < elem_bytes; byte++)
            if (data[i * elem_bytes + byte] != RUBBISH) {
                wrong++;
                break;
            }
    return wrong;
}

/* The chunks that the rank wants: each has its own contributors. Between two
 * buffers the others are not touched. */
static size_t custom_wrong(const struct pattern *p, unsigned rank,
                           const unsigned char *result, size_t *first)
{
    struct values table;
    size_t wrong = 0, elem_bytes = gw_dtype_size(p->type);
    for (unsigned chunk = 0; chunk < p->plan->chunks; chunk++) {
        size_t offset, length;
        gw_plan_extent(p->plan, chunk, p->count, elem_bytes, &offset, &length);
        if (!gw_plan_wants(p->plan, rank, chunk)) {
            wrong +=
                is_in_place(p, rank)
                    ? 0
                    : written(result + offset * elem_bytes, length, elem_bytes);
            continue;
        }
        values_of_chunk(p, chunk, &table);
        wrong += differ(&table, offset, length, result + offset * elem_bytes,
                        offset, first);
    }
    return wrong;
}

/* The result is one section of `table`, or a block of each rank. */
static size_t result_wrong(const struct pattern *p, unsigned rank,
                           const unsigned char *result, size_t *first)
{
    struct values table;
    size_t wrong = 0, count = result_count(p, rank);
    bool from_each = wants_whole(p);
    /* scatter, reduce-scatter, all-to-all: my block of the others' input */
    size_t begin = holds_whole(p) ? rank * p->count : 0;
    if (count == 0)
        return 0;
    if (p->collective == GW_CUSTOM)
        return custom_wrong(p, rank, result, first);
    if (gw_collective_reduces(p->collective))
        values_reduced(p, reduced_ranks(p, rank), &table);
    else if (!from_each)
        values_of_rank(p, p->root, &table);
    if (!from_each)
        return differ(&table, begin, count, result, 0, first);
    for (unsigned peer = 0; peer < p->ranks; peer++) {
        size_t at = peer * p->count;
        values_of_rank(p, peer, &table);
        wrong += differ(&table, begin, p->count, result + at * table.elem_bytes,
                        at, first);
    }
    return wrong;
}

size_t pattern_wrong(const struct pattern *p, unsigned rank, const void *in,
                     const void *out, size_t *first)
{
    struct values table;
    const unsigned char *input = in, *output = out;
    size_t elem_bytes = gw_dtype_size(p->type), ignored = SIZE_MAX;
    size_t found = SIZE_MAX;
    size_t in_bytes = pattern_in_bytes(p, rank) - GUARD_BYTES;
    size_t out_bytes = pattern_out_bytes(p, rank) - GUARD_BYTES;
    assert(in_bytes % elem_bytes == 0);
    values_of_rank(p, rank, &table);
    size_t wrong = differ(&table, 0, in_bytes / elem_bytes, input, 0, &ignored);
    wrong += guard_wrong(input + in_bytes) + guard_wrong(output + out_bytes);
    wrong +=
        result_wrong(p, rank, output + result_at(p, rank) * elem_bytes, &found);
    if (first)
        *first = found;
    return wrong;
}

void pattern_report(uint64_t wrong, uint64_t first, char out[96])
{
    enum { ROOM = 96 };
    if (first < SIZE_MAX)
        snprintf(out, ROOM,
                 "%" PRIu64 " elements are wrong, the first is %" PRIu64, wrong,
                 first);
    else
        snprintf(out, ROOM,
                 "%" PRIu64 " elements outside the result were "
                 "written",
                 wrong);
}
