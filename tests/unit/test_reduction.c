/* SPDX-License-Identifier: MIT
 *
 * gw_reduce_local against reduce_reference.h, bit for bit: every type and
 * reduction, any number of sources and destinations, any count, alignment and
 * instruction set, in place or not, streaming or not. Bytes around the
 * destinations must not change.
 */
#include "coll/reduce/reduce.h"
#include "reduce_reference.h"
#include "skip.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

Suite *suite_reduction(void);

static const char *const levels[] = {"scalar", "neon", "avx2", "avx512"};
enum { LEVELS = sizeof levels / sizeof *levels };

/* Each array has a margin on both sides, in which stray stores show. */
enum { SOURCES = 17, DESTS = 5, MARGIN = 64, ELEMENTS = 1000 };
enum { ROW_BYTES = 8 * ELEMENTS + 3 * MARGIN, UNTOUCHED = 0xa5 };

static _Alignas(64) char source_rows[SOURCES][ROW_BYTES];
static _Alignas(64) char dest_rows[DESTS][ROW_BYTES];
static char expected[ROW_BYTES];

enum { SEED = 20240607 };

/* ---- values ---- */

/* Bits with a special meaning in f16, bf16 and (shifted up) in f32 and f64:
 * zeros, subnormals, the largest finite value, infinities, quiet and signalling
 * NaNs, one, a value that ties. */
static const uint16_t special_bits[] = {
    0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x007f, 0x0080,
    0x7bff, 0x7c00, 0xfc00, 0x7c01, 0x7e00, 0xfe55, 0x7f7f, 0x7f80,
    0xff80, 0x7f81, 0x7fc0, 0xffff, 0x3c00, 0x3f80, 0xbf80, 0x1001,
    0x7ff0, 0xfff0, 0x7ff8, 0x7fef, 0x0010, 0x000f, 0x7fff,
};

static uint64_t special(struct gw_rng *rng, size_t bytes)
{
    enum { COUNT = sizeof special_bits / sizeof *special_bits };
    uint64_t bits = special_bits[gw_rng_below(rng, COUNT)];
    return bytes > 2 ? bits << (8 * bytes - 16) | gw_rng_below(rng, 2) : bits;
}

/* Half of the floats moderate, so that not every result is NaN. */
static void fill(struct gw_rng *rng, enum gw_dtype type, char *p, size_t count)
{
    size_t bytes = gw_dtype_size(type);
    for (size_t i = 0; i < count; i++, p += bytes) {
        uint64_t bits = gw_rng_next(rng);
        struct number moderate = {0, (double)(bits % 2048) / 64 - 16};
        if (bits >> 60 == 0)
            bits = special(rng, bytes);
        if (bits >> 63 && type_is_float(type))
            number_store(type, moderate, p);
        else
            memcpy(p, &bits, bytes);
    }
}

/* ---- one reduction against the reference ---- */

struct layout {
    const void *sources[SOURCES];
    void *dests[DESTS];
};

/* Array i begins `skew` * (i + 1) bytes after a cache line. */
static void lay_out(struct layout *layout, size_t skew)
{
    for (size_t i = 0; i < SOURCES; i++)
        layout->sources[i] = source_rows[i] + MARGIN + skew * (i + 1) % MARGIN;
    for (size_t i = 0; i < DESTS; i++)
        layout->dests[i] = dest_rows[i] + MARGIN + skew * (i + 1) % MARGIN;
}

static const char *describe(const struct gw_reduce_local *reduce)
{
    static char text[200];
    snprintf(text, sizeof text,
             "%s %s, %u sources, %u dests, count %zu, dest 0 at %u, ranks %u, "
             "stream %d, %s, seed %d",
             gw_dtype_name(reduce->type), gw_redop_name(reduce->op),
             reduce->source_count, reduce->dest_count, reduce->count,
             (unsigned)((uintptr_t)reduce->dests[0] % 64), reduce->scale_ranks,
             reduce->stream, gw_reduce_isa(), SEED);
    return text;
}

static bool untouched(const char *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)p[i] != UNTOUCHED)
            return false;
    return true;
}

/* Does `dest` hold `expected`? */
static void check_dest(const struct gw_reduce_local *reduce, const char *dest)
{
    size_t size = gw_dtype_size(reduce->type), wrong = 0;
    if (memcmp(dest, expected, reduce->count * size) == 0)
        return;
    while (dest[wrong] == expected[wrong])
        wrong++;
    ck_abort_msg("element %zu: %s", wrong / size, describe(reduce));
}

static void check_reduce(const struct gw_reduce_local *reduce)
{
    size_t bytes = reduce->count * gw_dtype_size(reduce->type);
    for (unsigned i = 0; i < reduce->dest_count; i++)
        memset(dest_rows[i], UNTOUCHED, bytes + 3 * MARGIN);
    gw_reduce_local(reduce);
    for (unsigned i = 0; i < reduce->dest_count; i++) {
        const char *dest = reduce->dests[i];
        check_dest(reduce, dest);
        if (!untouched(dest - MARGIN, MARGIN) ||
            !untouched(dest + bytes, MARGIN))
            ck_abort_msg("beside dest %u: %s", i, describe(reduce));
    }
}

/* With several numbers of destinations, streaming and not, at every level. */
static void check_everywhere(struct gw_reduce_local *reduce)
{
    static const unsigned dest_counts[] = {1, 2, 3, DESTS};
    reference_reduce(reduce, expected);
    for (int i = 0; i < LEVELS; i++) {
        if (!gw__reduce_select(levels[i]))
            continue;
        for (int k = 0; k < 8; k++) {
            reduce->dest_count = dest_counts[k / 2];
            reduce->stream = k % 2;
            check_reduce(reduce);
        }
    }
    ck_assert(gw__reduce_select(NULL));
}

/* ---- every type, reduction, shape, count and alignment ---- */

static void check_shapes(struct gw_reduce_local *reduce)
{
    static const unsigned source_counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 17};
    static const size_t counts[] = {0,  1,  2,  3,  15,      16,
                                    17, 63, 64, 65, ELEMENTS};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t k = 0; k < sizeof source_counts / sizeof(unsigned); k++) {
            reduce->count = counts[i];
            reduce->source_count = source_counts[k];
            reduce->scale_ranks = reduce->source_count;
            check_everywhere(reduce);
        }
}

START_TEST(test_shapes)
{
    enum gw_dtype type = (enum gw_dtype)_i;
    size_t skews[] = {0, 1, gw_dtype_size(type)};
    struct layout layout;
    struct gw_rng rng;
    gw_rng_seed(&rng, SEED);
    for (unsigned op = 0; op < GW_REDOP_COUNT; op++) {
        if (!gw_redop_allowed(op, type))
            continue;
        for (size_t i = 0; i < sizeof skews / sizeof *skews; i++) {
            lay_out(&layout, skews[i]);
            for (size_t k = 0; k < SOURCES; k++)
                fill(&rng, type, source_rows[k] + MARGIN, ELEMENTS);
            check_shapes(&(struct gw_reduce_local){
                .sources = layout.sources,
                .dests = layout.dests,
                .type = type,
                .op = op,
            });
        }
    }
}
END_TEST

START_TEST(test_most_arrays)
{
    const void *sources[GW_SOURCES_MAX];
    void *dests[GW_DESTS_MAX];
    float results[GW_DESTS_MAX][37], ones[37];
    for (size_t i = 0; i < 37; i++)
        ones[i] = 1;
    for (size_t i = 0; i < GW_SOURCES_MAX; i++)
        sources[i] = ones;
    for (size_t i = 0; i < GW_DESTS_MAX; i++)
        dests[i] = results[i];
    gw_reduce_local(&(struct gw_reduce_local){
        .sources = sources,
        .source_count = GW_SOURCES_MAX,
        .dests = dests,
        .dest_count = GW_DESTS_MAX,
        .count = 37,
        .type = GW_F32,
    });
    for (size_t i = 0; i < GW_DESTS_MAX; i++)
        for (size_t k = 0; k < 37; k++)
            ck_assert(results[i][k] == GW_SOURCES_MAX);
}
END_TEST

/* Arrays larger than the caches take another loop. */
START_TEST(test_large)
{
    enum { COUNT = 400001 };
    char *memory = malloc(5 * (size_t)COUNT * 4 + 4 + COUNT * 4);
    struct gw_rng rng;
    gw_rng_seed(&rng, SEED);
    ck_assert_ptr_nonnull(memory);
    char *result = memory + 5 * (size_t)COUNT * 4 + 4;
    fill(&rng, GW_F32, memory, 3 * (size_t)COUNT);
    struct gw_reduce_local reduce = {
        .sources = (const void *[]){memory, memory + COUNT * 4,
                                    memory + 2 * (size_t)COUNT * 4},
        .source_count = 3,
        .dests = (void *[]){memory + 3 * (size_t)COUNT * 4,
                            memory + 4 * (size_t)COUNT * 4 + 4},
        .dest_count = 2,
        .count = COUNT,
        .type = GW_F32,
    };
    reference_reduce(&reduce, result);
    for (int i = 0; i < 2 * LEVELS; i++) {
        if (!gw__reduce_select(levels[i / 2]))
            continue;
        reduce.stream = i % 2;
        memset(reduce.dests[0], 0, 2 * COUNT * 4 + 4);
        gw_reduce_local(&reduce);
        for (int k = 0; k < 2; k++)
            if (memcmp(reduce.dests[k], result, COUNT * 4) != 0)
                ck_abort_msg("dest %d: %s", k, describe(&reduce));
    }
    ck_assert(gw__reduce_select(NULL));
    free(memory);
}
END_TEST

/* ---- in place ---- */

/* Bit i of `places`: source i is a destination. */
static void check_in_place(struct gw_reduce_local *reduce, unsigned places)
{
    void *dests[SOURCES];
    struct gw_rng rng;
    gw_rng_seed(&rng, SEED);
    reduce->dests = dests;
    reduce->dest_count = 0;
    for (unsigned i = 0; i < reduce->source_count; i++) {
        char *source = source_rows[i] +
                       ((const char *)reduce->sources[i] - source_rows[i]);
        fill(&rng, reduce->type, source, reduce->count);
        if (places >> i & 1)
            dests[reduce->dest_count++] = source;
    }
    reference_reduce(reduce, expected);
    gw_reduce_local(reduce);
    for (unsigned i = 0; i < reduce->dest_count; i++)
        check_dest(reduce, dests[i]);
}

static void check_places(enum gw_dtype type, unsigned sources, bool stream)
{
    struct layout layout;
    for (size_t skew = 0; skew < 8; skew += 4) {
        lay_out(&layout, skew);
        for (unsigned places = 1; places < 1U << sources; places++)
            check_in_place(
                &(struct gw_reduce_local){
                    .sources = layout.sources,
                    .source_count = sources,
                    .count = 333,
                    .type = type,
                    .stream = stream,
                },
                places);
    }
}

START_TEST(test_in_place)
{
    if (!gw__reduce_select(levels[_i]))
        SKIP("fold", "this CPU has no %s", levels[_i]);
    for (unsigned sources = 1; sources <= 5; sources++)
        for (int stream = 0; stream < 2; stream++) {
            check_places(GW_F32, sources, stream);
            check_places(GW_BF16, sources, stream);
            check_places(GW_I64, sources, stream);
        }
}
END_TEST

Suite *suite_reduction(void)
{
    Suite *suite = suite_create("reduction");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_loop_test(all, test_shapes, 0, GW_DTYPE_COUNT);
    tcase_add_test(all, test_most_arrays);
    tcase_add_test(all, test_large);
    tcase_add_loop_test(all, test_in_place, 0, LEVELS);
    suite_add_tcase(suite, all);
    return suite;
}
