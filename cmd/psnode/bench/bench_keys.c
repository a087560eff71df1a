/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The keys of a benchmark. The key of row number i of the universe is an
 * invertible mix of i (the finalizer of splitmix64), so keys are distinct and
 * spread over all 64 bits without being stored.
 */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ZIPF_LISTS = 8, ZIPF_UNIVERSE = 16, STEPS = 4 };

static uint64_t mix_hash(uint64_t i, uint64_t seed)
{
    uint64_t x = i * 0x9e3779b97f4a7c15U + seed;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
    x = (x ^ x >> 27) * 0x94d049bb133111ebU;
    return x ^ x >> 31;
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* `count` distinct rows of a universe, by popularity: the inverse of the
 * distribution function of 1/x. */
static enum gw_err draw_zipf(uint64_t *list, size_t count, uint64_t seed,
                             struct gw_rng *rng, struct gw_error *why)
{
    size_t universe = count * ZIPF_UNIVERSE, drawn = 0;
    unsigned char *used = calloc(universe / 8 + 1, 1);
    if (!used)
        return gw_fail(why, GW_ENOMEM, "%zu keys", universe);
    while (drawn < count) {
        double rank = exp(gw_rng_unit(rng) * log((double)universe + 1)) - 1;
        size_t i = (size_t)rank;
        if (i >= universe || used[i / 8] >> i % 8 & 1)
            continue;
        used[i / 8] |= (unsigned char)(1 << i % 8);
        list[drawn++] = mix_hash(i, seed);
    }
    free(used);
    return GW_OK;
}

enum gw_err bench_keys_init(struct bench_keys *keys, const struct bench *bench,
                            struct gw_error *why)
{
    struct gw_rng rng;
    enum gw_err code = GW_OK;
    *keys = (struct bench_keys){.count = bench->keys,
                                .floats = bench->floats,
                                .list_count = bench->zipf ? ZIPF_LISTS : 1};
    gw_rng_seed(&rng, bench->seed);
    for (unsigned l = 0; l < keys->list_count && !code; l++) {
        uint64_t *list = keys->lists[l] = calloc(keys->count, sizeof *list);
        if (!list)
            return gw_fail(why, GW_ENOMEM, "%zu keys", keys->count);
        if (bench->zipf)
            code = draw_zipf(list, keys->count, bench->seed, &rng, why);
        for (size_t i = 0; i < keys->count && !bench->zipf; i++)
            list[i] = mix_hash(i, bench->seed);
        if (!bench->unsorted)
            qsort(list, keys->count, sizeof *list, compare_keys);
    }
    return code;
}

void bench_keys_fini(struct bench_keys *keys)
{
    for (unsigned l = 0; l < BENCH_LISTS_MAX; l++)
        free(keys->lists[l]);
}

/* ---- values ---- */

/* 1 to STEPS. */
static float value_of(uint64_t key, unsigned j)
{
    return (float)(1 + (key + j) % STEPS);
}

void bench_values(const struct bench_keys *keys, unsigned list, float *values)
{
    for (size_t i = 0; i < keys->count; i++)
        for (unsigned j = 0; j < keys->floats; j++)
            *values++ = value_of(keys->lists[list][i], j);
}

/* f32 counts to 2^24; every list may hold the same key. */
uint64_t bench_rounds_max(const struct bench *bench)
{
    return (UINT64_C(1) << 24) / STEPS / bench->workers;
}

/* How often each key of `list` was pushed, by any list. */
static void count_pushes(const struct bench_keys *keys, unsigned list,
                         const uint64_t *pushed, uint64_t *const *sorted,
                         uint64_t *times)
{
    for (size_t i = 0; i < keys->count; i++) {
        const uint64_t *key = &keys->lists[list][i];
        times[i] = 0;
        for (unsigned l = 0; l < keys->list_count; l++)
            if (l == list ||
                bsearch(key, sorted[l], keys->count, sizeof *key, compare_keys))
                times[i] += pushed[l];
    }
}

enum gw_err bench_count_wrong(const struct bench_keys *keys, unsigned list,
                              const float *rows, const uint64_t *pushed,
                              uint64_t *wrong, struct gw_error *why)
{
    uint64_t *sorted[BENCH_LISTS_MAX] = {NULL};
    uint64_t *times = calloc(keys->count, sizeof *times);
    bool there = times != NULL;
    for (unsigned l = 0; l < keys->list_count && there; l++) {
        sorted[l] = malloc(keys->count * sizeof *sorted[l]);
        there = sorted[l] != NULL;
        if (!there)
            break;
        memcpy(sorted[l], keys->lists[l], keys->count * sizeof *sorted[l]);
        qsort(sorted[l], keys->count, sizeof *sorted[l], compare_keys);
    }
    if (there)
        count_pushes(keys, list, pushed, sorted, times);
    for (size_t i = 0; i < keys->count && there; i++)
        for (unsigned j = 0; j < keys->floats; j++)
            *wrong += !(*rows++ ==
                        (float)times[i] * value_of(keys->lists[list][i], j));
    for (unsigned l = 0; l < keys->list_count; l++)
        free(sorted[l]);
    free(times);
    return there ? GW_OK : gw_fail(why, GW_ENOMEM, "%zu keys", keys->count);
}
