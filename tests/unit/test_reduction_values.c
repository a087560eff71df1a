/* SPDX-License-Identifier: MIT
 *
 * The results that gw_reduce_local promises, by example: where integers wrap
 * and divisions truncate, how 16-bit floats round, and the results for NaNs,
 * infinities, subnormals and the two zeros. Each at every level of this CPU.
 */
#include "coll/reduce/reduce.h"
#include "reduce_reference.h"
#include "skip.h"

#include <check.h>
#include <stdlib.h>

Suite *suite_reduction_values(void);

static const char *const levels[] = {"scalar", "neon", "avx2", "avx512"};
enum { LEVELS = sizeof levels / sizeof *levels };

struct example {
    enum gw_dtype type;
    enum gw_redop op;
    unsigned ranks; /* avg divides by it */
    unsigned count; /* of sources */
    uint64_t sources[3];
    uint64_t result;
};

/* Reduces the example in every lane, and checks the first and the last. */
static void check_example(const struct example *e, size_t index)
{
    enum { LANES = 200 };
    char arrays[4][8 * LANES];
    size_t bytes = gw_dtype_size(e->type);
    for (size_t i = 0; i < e->count; i++)
        for (size_t lane = 0; lane < LANES; lane++)
            memcpy(arrays[i] + lane * bytes, &e->sources[i], bytes);
    gw_reduce_local(&(struct gw_reduce_local){
        .sources = (const void *[]){arrays[0], arrays[1], arrays[2]},
        .source_count = e->count,
        .dests = (void *[]){arrays[3]},
        .dest_count = 1,
        .count = LANES,
        .type = e->type,
        .op = e->op,
        .scale_ranks = e->ranks,
    });
    for (size_t lane = 0; lane < LANES; lane += LANES - 1) {
        uint64_t got = 0;
        memcpy(&got, arrays[3] + lane * bytes, bytes);
        ck_assert_msg(got == e->result,
                      "example %zu, %s %s on %s: %#llx, not %#llx", index,
                      gw_dtype_name(e->type), gw_redop_name(e->op),
                      gw_reduce_isa(), (unsigned long long)got,
                      (unsigned long long)e->result);
    }
}

static void check_examples(const struct example *examples, size_t count)
{
    for (int level = 0; level < LEVELS; level++)
        if (gw__reduce_select(levels[level]))
            for (size_t i = 0; i < count; i++)
                check_example(&examples[i], i);
}

#define CHECK(examples)                                                        \
    check_examples(examples, sizeof examples / sizeof *examples)

START_TEST(test_integers)
{
    static const struct example examples[] = {
        /* wrap */
        {GW_I8, GW_SUM, 0, 2, {0x7f, 1}, 0x80},
        {GW_U8, GW_SUM, 0, 3, {200, 100, 1}, 45},
        {GW_I16, GW_PROD, 0, 2, {0x4000, 2}, 0x8000},
        {GW_I32, GW_SUM, 0, 2, {0x80000000, 0xffffffff}, 0x7fffffff},
        {GW_I32, GW_PROD, 0, 2, {0x80000000, 0xffffffff}, 0x80000000},
        {GW_I64, GW_SUM, 0, 2, {INT64_MAX, 1}, (uint64_t)INT64_MIN},
        {GW_U64, GW_PROD, 0, 2, {UINT64_MAX, UINT64_MAX}, 1},
        /* order, signed and unsigned */
        {GW_I8, GW_MIN, 0, 2, {0x80, 1}, 0x80},
        {GW_U8, GW_MIN, 0, 2, {0x80, 1}, 1},
        {GW_I64, GW_MAX, 0, 2, {UINT64_MAX, 1}, 1},
        {GW_U64, GW_MAX, 0, 2, {UINT64_MAX, 1}, UINT64_MAX},
        /* logic gives 0 or 1, bits stay bits */
        {GW_I32, GW_LAND, 0, 2, {2, 4}, 1},
        {GW_I32, GW_LAND, 0, 3, {2, 0, 1}, 0},
        {GW_U16, GW_LOR, 0, 2, {0, 0x100}, 1},
        {GW_U64, GW_LOR, 0, 2, {0, 0}, 0},
        {GW_I8, GW_BAND, 0, 2, {6, 3}, 2},
        {GW_I8, GW_BOR, 0, 2, {6, 3}, 7},
        /* one source is copied */
        {GW_I32, GW_LAND, 0, 1, {7}, 7},
    };
    CHECK(examples);
}
END_TEST

START_TEST(test_integer_avg)
{
    static const struct example examples[] = {
        /* toward zero, after the sum has wrapped */
        {GW_I32, GW_AVG, 2, 2, {3, 4}, 3},
        {GW_I32, GW_AVG, 2, 2, {(uint32_t)-3, (uint32_t)-4}, (uint32_t)-3},
        {GW_U8, GW_AVG, 2, 2, {200, 100}, 22},
        {GW_I8, GW_AVG, 3, 3, {100, 100, 100}, 14},
        {GW_I8, GW_AVG, 2, 2, {0x80, 0}, 0xc0},
        {GW_I32, GW_AVG, 2, 2, {0x80000000, 0}, 0xc0000000},
        {GW_I64, GW_AVG, 3, 3, {(uint64_t)INT64_MIN}, 0xd555555555555556},
        {GW_U64, GW_AVG, 2, 2, {UINT64_MAX, 0}, INT64_MAX},
        /* more ranks than the type can count */
        {GW_I8, GW_AVG, 200, 2, {0x80, 0}, 0},
        {GW_U8, GW_AVG, 300, 2, {255, 0}, 0},
        {GW_I32, GW_AVG, 0xffffffff, 2, {0x80000000, 0}, 0},
        /* one rank or none: a sum; a single source can be divided */
        {GW_I32, GW_AVG, 1, 2, {3, 4}, 7},
        {GW_I32, GW_AVG, 0, 2, {3, 4}, 7},
        {GW_I32, GW_AVG, 2, 1, {7}, 3},
        {GW_I32, GW_AVG, 1, 1, {7}, 7},
    };
    CHECK(examples);
}
END_TEST

/* Divides `values` by `ranks`: the whole array against the reference. */
static void check_quotients(enum gw_dtype type, const void *values,
                            size_t count, unsigned ranks)
{
    static uint32_t quotients[1 << 16], expected[1 << 16];
    struct gw_reduce_local reduce = {
        .sources = &values,
        .source_count = 1,
        .dests = (void *[]){quotients},
        .dest_count = 1,
        .count = count,
        .type = type,
        .op = GW_AVG,
        .scale_ranks = ranks,
    };
    gw_reduce_local(&reduce);
    reference_reduce(&reduce, expected);
    ck_assert_msg(memcmp(quotients, expected, count * gw_dtype_size(type)) == 0,
                  "%s / %u on %s", gw_dtype_name(type), ranks, gw_reduce_isa());
}

/* Quotients truncate as exact arithmetic does: all 16-bit integers, and 32-bit
 * ones next to a multiple. */
START_TEST(test_quotients)
{
    enum { COUNT = 1 << 16 };
    static const unsigned ranks[] = {
        2,         3,         7,   10,    100,   127,   128,   129,
        255,       256,       257, 32767, 32768, 65535, 65536, (1 << 24) + 1,
        INT32_MAX, UINT32_MAX};
    static uint16_t small[COUNT];
    static uint32_t wide[COUNT];
    struct gw_rng rng;
    gw_rng_seed(&rng, 1);
    if (!gw__reduce_select(levels[_i]))
        SKIP("fold values", "this CPU has no %s", levels[_i]);
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        for (unsigned k = 0; k < COUNT; k++) {
            uint64_t multiple = gw_rng_next(&rng) % UINT32_MAX / ranks[i];
            small[k] = (uint16_t)k;
            wide[k] = (uint32_t)multiple * ranks[i] + k % 3 - 1;
        }
        check_quotients(GW_I8, small, COUNT, ranks[i]);
        check_quotients(GW_U8, small, COUNT, ranks[i]);
        check_quotients(GW_I16, small, COUNT, ranks[i]);
        check_quotients(GW_U16, small, COUNT, ranks[i]);
        check_quotients(GW_I32, wide, COUNT, ranks[i]);
        check_quotients(GW_U32, wide, COUNT, ranks[i]);
    }
}
END_TEST

#define ONE   0x3f800000
#define MINUS 0x80000000
#define INF   0x7f800000
#define QUIET 0x7fc00000
#define NAN_1 0x7f800001 /* signalling */
#define NAN_2 0xffc12345

START_TEST(test_f32)
{
    static const struct example examples[] = {
        /* the result of any NaN is the quiet NaN */
        {GW_F32, GW_SUM, 0, 2, {NAN_1, ONE}, QUIET},
        {GW_F32, GW_SUM, 0, 2, {ONE, NAN_2}, QUIET},
        {GW_F32, GW_SUM, 0, 2, {NAN_2, NAN_1}, QUIET},
        {GW_F32, GW_SUM, 0, 2, {INF, INF | MINUS}, QUIET},
        {GW_F32, GW_PROD, 0, 2, {0, INF}, QUIET},
        {GW_F32, GW_MIN, 0, 3, {NAN_1, 0, ONE}, QUIET},
        {GW_F32, GW_MIN, 0, 3, {0, ONE, NAN_2}, QUIET},
        {GW_F32, GW_MAX, 0, 3, {NAN_2, INF, ONE}, QUIET},
        {GW_F32, GW_MAX, 0, 3, {INF, NAN_1, ONE}, QUIET},
        {GW_F32, GW_AVG, 2, 1, {NAN_2}, QUIET},
        /* except in a copy */
        {GW_F32, GW_SUM, 0, 1, {NAN_2}, NAN_2},
        {GW_F32, GW_MIN, 0, 1, {NAN_1}, NAN_1},
        /* -0 < +0 */
        {GW_F32, GW_MIN, 0, 2, {0, MINUS}, MINUS},
        {GW_F32, GW_MIN, 0, 2, {MINUS, 0}, MINUS},
        {GW_F32, GW_MAX, 0, 2, {0, MINUS}, 0},
        {GW_F32, GW_MAX, 0, 2, {MINUS, 0}, 0},
        {GW_F32, GW_MAX, 0, 2, {MINUS, MINUS}, MINUS},
        /* subnormals count; 1/3 of 1 */
        {GW_F32, GW_SUM, 0, 2, {1, 1}, 2},
        {GW_F32, GW_AVG, 2, 2, {1, 1}, 1},
        {GW_F32, GW_AVG, 3, 2, {ONE, 0}, 0x3eaaaaab},
    };
    CHECK(examples);
}
END_TEST

START_TEST(test_f64)
{
    static const struct example examples[] = {
        {GW_F64, GW_SUM, 0, 2, {0xfff8000000000001, 0}, 0x7ff8000000000000},
        {GW_F64, GW_MIN, 0, 2, {0, 1ULL << 63}, 1ULL << 63},
        {GW_F64, GW_MAX, 0, 2, {1ULL << 63, 0}, 0},
        {GW_F64, GW_MAX, 0, 2, {0x7ff0000000000001, 0}, 0x7ff8000000000000},
        {GW_F64, GW_AVG, 3, 1, {0x3ff0000000000000}, 0x3fd5555555555555},
    };
    CHECK(examples);
}
END_TEST

START_TEST(test_small_floats)
{
    static const struct example examples[] = {
        /* f16: ties go to even: 2048+1, 2048+2+1 */
        {GW_F16, GW_SUM, 0, 2, {0x6800, 0x3c00}, 0x6800},
        {GW_F16, GW_SUM, 0, 2, {0x6801, 0x3c00}, 0x6802},
        /* rounded once, at the end: 2048+1+1 */
        {GW_F16, GW_SUM, 0, 3, {0x6800, 0x3c00, 0x3c00}, 0x6801},
        /* 65504 + 16 is half way to 65536: infinity; + 15.9 is not */
        {GW_F16, GW_SUM, 0, 2, {0x7bff, 0x4c00}, 0x7c00},
        {GW_F16, GW_SUM, 0, 2, {0x7bff, 0x4bf3}, 0x7bff},
        {GW_F16, GW_SUM, 0, 2, {0xfbff, 0xfbff}, 0xfc00},
        /* intermediate results are f32, which does not overflow */
        {GW_F16, GW_SUM, 0, 3, {0x7bff, 0x7bff, 0xfbff}, 0x7bff},
        {GW_F16, GW_SUM, 0, 2, {0x7c00, 0xfc00}, 0x7e00},
        {GW_F16, GW_MAX, 0, 2, {0xfe01, 0x3c00}, 0x7e00},
        /* subnormals: 2^-24, and half of it tied to even */
        {GW_F16, GW_SUM, 0, 2, {0x0001, 0x0001}, 0x0002},
        {GW_F16, GW_SUM, 0, 2, {0x03ff, 0x0001}, 0x0400},
        {GW_F16, GW_AVG, 2, 2, {0x0001, 0x0000}, 0x0000},
        {GW_F16, GW_AVG, 2, 2, {0x0003, 0x0000}, 0x0002},
        {GW_F16, GW_AVG, 2, 1, {0x8400}, 0x8200},
        {GW_F16, GW_MIN, 0, 2, {0x0000, 0x8000}, 0x8000},
        /* bf16: ties 256+1, 258+1; once: 256+1+1 */
        {GW_BF16, GW_SUM, 0, 2, {0x4380, 0x3f80}, 0x4380},
        {GW_BF16, GW_SUM, 0, 2, {0x4381, 0x3f80}, 0x4382},
        {GW_BF16, GW_SUM, 0, 3, {0x4380, 0x3f80, 0x3f80}, 0x4381},
        {GW_BF16, GW_SUM, 0, 2, {0x7f7f, 0x7f7f}, 0x7f80},
        {GW_BF16, GW_SUM, 0, 2, {0x7f80, 0xff80}, 0x7fc0},
        {GW_BF16, GW_SUM, 0, 2, {0x7f81, 0x0000}, 0x7fc0},
        {GW_BF16, GW_SUM, 0, 2, {0x0001, 0x0001}, 0x0002},
        {GW_BF16, GW_AVG, 2, 2, {0x0003, 0x0000}, 0x0002},
        {GW_BF16, GW_MAX, 0, 2, {0x8000, 0x0000}, 0x0000},
    };
    CHECK(examples);
}
END_TEST

/* All 65536 values of f16 and bf16: copied, and with -0 added, which changes
 * nothing but NaNs. */
static void check_all_values(enum gw_dtype type, int fraction)
{
    enum { COUNT = 1 << 16 };
    static uint16_t values[COUNT], zeros[COUNT], copied[COUNT], summed[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        values[i] = (uint16_t)i;
        zeros[i] = 0x8000;
    }
    struct gw_reduce_local reduce = {
        .sources = (const void *[]){values, zeros},
        .source_count = 1,
        .dests = (void *[]){copied},
        .dest_count = 1,
        .count = COUNT,
        .type = type,
    };
    gw_reduce_local(&reduce);
    reduce.source_count = 2;
    reduce.dests = (void *[]){summed};
    gw_reduce_local(&reduce);
    uint16_t quiet = small_encode(NAN, fraction);
    for (unsigned i = 0; i < COUNT; i++) {
        bool nan = isnan(small_decode((uint16_t)i, fraction));
        if (copied[i] != i || summed[i] != (nan ? quiet : i))
            ck_abort_msg("%s %#x on %s: copied %#x, plus zero %#x",
                         gw_dtype_name(type), i, gw_reduce_isa(), copied[i],
                         summed[i]);
    }
}

START_TEST(test_all_small_values)
{
    if (!gw__reduce_select(levels[_i]))
        SKIP("fold values", "this CPU has no %s", levels[_i]);
    check_all_values(GW_F16, F16_FRACTION);
    check_all_values(GW_BF16, BF16_FRACTION);
}
END_TEST

START_TEST(test_refuses)
{
    float one = 1, result = 5;
    struct gw_reduce_local reduce = {
        .sources = (const void *[]){&one, &one},
        .source_count = 2,
        .dests = (void *[]){&result},
        .dest_count = 1,
        .count = 1,
        .type = GW_F32,
        .op = GW_LAND,
    };
    gw_reduce_local(&reduce);
    reduce.op = GW_SUM;
    reduce.source_count = 0;
    gw_reduce_local(&reduce);
    reduce.source_count = GW_SOURCES_MAX + 1;
    gw_reduce_local(&reduce);
    reduce.source_count = 2;
    reduce.dest_count = GW_DESTS_MAX + 1;
    gw_reduce_local(&reduce);
    ck_assert(result == 5);
    reduce.dest_count = 1;
    gw_reduce_local(&reduce);
    ck_assert(result == 2);
}
END_TEST

START_TEST(test_levels)
{
    ck_assert(!gw__reduce_select("abacus"));
    for (int i = 0; i < LEVELS; i++)
        if (gw__reduce_select(levels[i]))
            ck_assert_str_eq(gw_reduce_isa(), levels[i]);
    ck_assert_int_eq(unsetenv("GRADWIRE_CPU"), 0);
    ck_assert(gw__reduce_select(NULL));
    const char *best = gw_reduce_isa();
    for (int i = 0; i < LEVELS; i++) {
        ck_assert_int_eq(setenv("GRADWIRE_CPU", levels[i], 1), 0);
        bool has = gw__reduce_select(levels[i]);
        ck_assert(gw__reduce_select(NULL));
        ck_assert_str_eq(gw_reduce_isa(), has ? levels[i] : best);
    }
}
END_TEST

Suite *suite_reduction_values(void)
{
    Suite *suite = suite_create("reduction values");
    TCase *all = tcase_create("all");
    tcase_add_test(all, test_integers);
    tcase_add_test(all, test_integer_avg);
    tcase_add_loop_test(all, test_quotients, 0, LEVELS);
    tcase_add_test(all, test_f32);
    tcase_add_test(all, test_f64);
    tcase_add_test(all, test_small_floats);
    tcase_add_loop_test(all, test_all_small_values, 0, LEVELS);
    tcase_add_test(all, test_refuses);
    tcase_add_test(all, test_levels);
    suite_add_tcase(suite, all);
    return suite;
}
