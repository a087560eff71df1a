/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Values whose reduction is exact in every type and in any order, so that a
 * result can be compared bit for bit:
 *
 *   data that is only moved   any bits
 *   integers                  any bits for sum, avg, min, max, which wrap;
 *                             odd numbers for prod, so that it does not end in
 *                             0; for the others, bits that are rare enough to
 *                             decide the result now and then
 *   f16, bf16, f32, f64       small integers: every partial sum stays within
 *                             256, which bf16 still holds exactly; for avg
 *                             the sum is a multiple of the ranks: a common
 *                             part, and differences that cancel in pairs;
 *                             for prod, signs and few twos
 *
 * In a counting pattern every element is its number in the whole vector, so
 * that a person can follow it; the caller keeps the sums exact.
 *
 * A value is an int64_t until it is encoded (pattern_element.c).
 */
#include "pattern_values.h"

#include "pattern_element.h"

#include <assert.h>
#include <string.h>

enum { EXACT_MAX = 256 };

static void encode(struct values *table, unsigned i, uint64_t bits)
{
    uint8_t u8 = (uint8_t)bits;
    uint16_t u16 = (uint16_t)bits;
    uint32_t u32 = (uint32_t)bits;
    const void *from = table->elem_bytes == 1   ? (const void *)&u8
                       : table->elem_bytes == 2 ? (const void *)&u16
                       : table->elem_bytes == 4 ? (const void *)&u32
                                                : (const void *)&bits;
    memcpy(table->bytes + i * table->elem_bytes, from, table->elem_bytes);
}

/* Random streams: the rank's own, its pair's, and one common to all. */
struct streams {
    struct gw_rng own, pair, common;
};

static void streams_begin(struct streams *s, const struct pattern *p,
                          unsigned rank)
{
    enum { OWN = 1, PAIR = 2, COMMON = 3 };
    uint64_t seed = p->seed << 20;
    gw_rng_seed(&s->own, seed + rank * 4u + OWN);
    gw_rng_seed(&s->pair, seed + rank / 2 * 4u + PAIR);
    gw_rng_seed(&s->common, seed + COMMON);
}

static int64_t between(struct gw_rng *rng, int64_t low, int64_t high)
{
    return low + (int64_t)gw_rng_below(rng, (uint64_t)(high - low + 1));
}

/* Above 256 ranks only some contribute, because 256 must hold the sum. */
static bool contributes(const struct pattern *p, unsigned rank, unsigned i)
{
    unsigned turns = (p->ranks + EXACT_MAX - 1) / EXACT_MAX;
    return rank % turns == i % turns;
}

static int64_t float_value(const struct pattern *p, struct streams *s,
                           unsigned rank, unsigned i)
{
    enum { FEW = 8 };
    int64_t share = p->ranks < EXACT_MAX ? EXACT_MAX / p->ranks : 1;
    int64_t common = between(&s->common, -share / 2, share / 2);
    int64_t pair = between(&s->pair, 0, share / 2);
    unsigned rarity = p->ranks < FEW * FEW ? FEW : p->ranks / FEW + 1;
    switch (p->op) {
    case GW_SUM:
        return contributes(p, rank, i) ? between(&s->own, -share, share) : 0;
    case GW_AVG:
        if (rank + 1 == p->ranks && rank % 2 == 0)
            return common;
        return rank % 2 ? common - pair : common + pair;
    case GW_PROD:
        return ((rank + i) % rarity == 0 ? 2 : 1) *
               (gw_rng_next(&s->own) & 1 ? 1 : -1);
    default:
        return between(&s->own, -100, 100);
    }
}

static uint64_t rare_bits(struct gw_rng *rng)
{
    uint64_t bits = gw_rng_next(rng) & gw_rng_next(rng);
    return bits & gw_rng_next(rng) & gw_rng_next(rng);
}

static int64_t integer_value(const struct pattern *p, struct gw_rng *own)
{
    bool rare = gw_rng_below(own, 2 * (uint64_t)p->ranks) == 0;
    int64_t truth_max = p->ranks > 1 ? 100 : 1; /* one rank reduces nothing */
    switch (p->op) {
    case GW_PROD:
        return (int64_t)(gw_rng_next(own) | 1);
    case GW_LAND:
        return rare ? 0 : between(own, 1, truth_max);
    case GW_LOR:
        return rare ? between(own, 1, truth_max) : 0;
    case GW_BAND:
        return (int64_t)~rare_bits(own);
    case GW_BOR:
        return (int64_t)rare_bits(own);
    default:
        return (int64_t)gw_rng_next(own);
    }
}

/* The number of a rank's first element: blocks are contiguous. */
static size_t first_number(const struct pattern *p, unsigned rank)
{
    switch (p->collective) {
    case GW_GATHER:
    case GW_ALLGATHER:
        return p->count * rank;
    case GW_ALLTOALL:
        return p->count * p->ranks * rank;
    default:
        return 0;
    }
}

static int64_t value(const struct pattern *p, struct streams *s, unsigned rank,
                     unsigned i)
{
    if (p->counting)
        return element_wrap(p->type, (int64_t)(first_number(p, rank) + i));
    return element_is_float(p->type)
               ? float_value(p, s, rank, i)
               : element_wrap(p->type, integer_value(p, &s->own));
}

void values_of_rank(const struct pattern *p, unsigned rank,
                    struct values *table)
{
    struct streams s;
    bool reduces = gw_collective_reduces(p->collective);
    streams_begin(&s, p, rank);
    table->elem_bytes = gw_dtype_size(p->type);
    for (unsigned i = 0; i < VALUES_PERIOD; i++)
        encode(table, i,
               reduces || p->counting
                   ? element_bits(p->type, value(p, &s, rank, i))
                   : gw_rng_next(&s.own));
}

static bool less(enum gw_dtype type, int64_t a, int64_t b)
{
    return element_is_unsigned(type) ? (uint64_t)a < (uint64_t)b : a < b;
}

static int64_t reduce_two(const struct pattern *p, int64_t a, int64_t b)
{
    switch (p->op) {
    case GW_PROD:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case GW_MIN:
        return less(p->type, b, a) ? b : a;
    case GW_MAX:
        return less(p->type, a, b) ? b : a;
    case GW_LAND:
        return a && b;
    case GW_LOR:
        return a || b;
    case GW_BAND:
        return a & b;
    case GW_BOR:
        return a | b;
    default:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    }
}

/* The sum has wrapped before avg divides it, toward zero. */
static int64_t finish_value(const struct pattern *p, int64_t v)
{
    v = element_wrap(p->type, v);
    if (p->op != GW_AVG)
        return v;
    assert(p->ranks > 0);
    return element_is_unsigned(p->type) ? (int64_t)((uint64_t)v / p->ranks)
                                        : v / (int64_t)p->ranks;
}

/* Reduces the values of a rank into the totals; `alone`: it is the first. */
static void add_rank(const struct pattern *p, unsigned rank, bool alone,
                     int64_t total[VALUES_PERIOD])
{
    struct streams s;
    streams_begin(&s, p, rank);
    for (unsigned i = 0; i < VALUES_PERIOD; i++) {
        int64_t v = value(p, &s, rank, i);
        total[i] = alone ? v : reduce_two(p, total[i], v);
    }
}

static void encode_totals(const struct pattern *p,
                          const int64_t total[VALUES_PERIOD],
                          struct values *table)
{
    table->elem_bytes = gw_dtype_size(p->type);
    for (unsigned i = 0; i < VALUES_PERIOD; i++)
        encode(table, i, element_bits(p->type, finish_value(p, total[i])));
}

void values_reduced(const struct pattern *p, unsigned ranks,
                    struct values *table)
{
    int64_t total[VALUES_PERIOD];
    assert(ranks > 0);
    for (unsigned rank = 0; rank < ranks; rank++)
        add_rank(p, rank, rank == 0, total);
    encode_totals(p, total, table);
}

void values_of_chunk(const struct pattern *p, unsigned chunk,
                     struct values *table)
{
    int64_t total[VALUES_PERIOD] = {0};
    bool alone = true;
    for (unsigned rank = 0; rank < p->ranks; rank++) {
        if (!gw_plan_holds(p->plan, rank, chunk))
            continue;
        add_rank(p, rank, alone, total);
        alone = false;
    }
    encode_totals(p, total, table);
}
