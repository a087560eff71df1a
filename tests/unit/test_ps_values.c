/* SPDX-License-Identifier: MIT
 *
 * Steps of every push before the updaters: the search for values that are not
 * finite, and the conversions of f16, for all values. Each at every level of
 * this CPU.
 */
#include "coll/reduce/reduce.h"
#include "ps/store/update.h"
#include "skip.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_ps_values(void);

static const char *const levels[] = {"scalar", "neon", "avx2", "avx512"};

static bool select_level(int level)
{
    return gw__reduce_select(levels[level]);
}

static float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t to_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* ---- values that are not finite ---- */

/* Neither the largest nor the smallest finite numbers are bad. */
static void fill(float *values, size_t count)
{
    static const uint32_t good[] = {0x7f7fffff, 0xff7fffff, 0x80000000,
                                    0x00000001, 0x3f800000, 0x807fffff};
    for (size_t i = 0; i < count; i++)
        values[i] = from_bits(good[i % (sizeof good / sizeof *good)]);
}

START_TEST(the_first_bad_value_is_found)
{
    enum { MOST = 200 };
    static const uint32_t bad[] = {0x7f800000, 0xff800000, 0x7fc00000,
                                   0xffc00000, 0x7f800001, 0xffffffff};
    if (!select_level(_i))
        SKIP("ps_values", "this CPU has no %s", levels[_i]);
    for (size_t count = 0; count <= MOST; count++) {
        /* A good value after the end, which a read past the end would find
         * harmless. */
        float *values = malloc((count + 1) * sizeof *values);
        ck_assert_ptr_nonnull(values);
        values[count] = 1;
        fill(values, count);
        ck_assert_uint_eq(gw__first_bad(values, count), count);
        for (size_t at = 0; at < count; at++) {
            fill(values, count);
            values[at] = from_bits(bad[at % (sizeof bad / sizeof *bad)]);
            if (at + 3 < count)
                values[at + 3] = INFINITY;
            ck_assert_uint_eq(gw__first_bad(values, count), at);
            ck_assert_uint_eq(gw__first_bad(values, at), at);
        }
        free(values);
    }
}
END_TEST

/* ---- f16 ---- */

enum { HALVES = 65536 };

/* The value of a half by definition. */
static double value_of_half(uint16_t half)
{
    int exponent = half >> 10 & 31, fraction = half & 0x3ff;
    double size = exponent == 31  ? (fraction ? (double)NAN : (double)INFINITY)
                  : exponent == 0 ? ldexp(fraction, -24)
                                  : ldexp(1024 + fraction, exponent - 25);
    return half & 0x8000 ? -size : size;
}

static bool is_nan_half(uint16_t half)
{
    return (half & 0x7fff) > 0x7c00;
}

START_TEST(all_halves_there_and_back)
{
    static uint16_t halves[HALVES], back[HALVES];
    static float values[HALVES];
    if (!select_level(_i))
        SKIP("ps_values", "this CPU has no %s", levels[_i]);
    for (size_t i = 0; i < HALVES; i++)
        halves[i] = (uint16_t)i;
    gw__from_half(values, halves, HALVES);
    gw__to_half(back, values, HALVES);
    for (size_t i = 0; i < HALVES; i++) {
        if (is_nan_half(halves[i])) {
            ck_assert(isnan(values[i]));
            ck_assert_uint_eq(back[i], halves[i] | 0x200);
            continue;
        }
        ck_assert_double_eq((double)values[i], value_of_half(halves[i]));
        ck_assert_uint_eq(back[i], halves[i]);
    }
}
END_TEST

/* The middle of two neighbouring halves rounds to the even one, and the
 * floats next to the middle to the nearer one. From 65520 on the result is
 * infinity. */
START_TEST(rounding_is_to_nearest_even)
{
    if (!select_level(_i))
        SKIP("ps_values", "this CPU has no %s", levels[_i]);
    for (unsigned low = 0; low < 0x7c00; low++) {
        float middle = low == 0x7bff
                           ? 65520
                           : (float)((value_of_half((uint16_t)low) +
                                      value_of_half((uint16_t)(low + 1))) /
                                     2);
        float in[16];
        uint16_t out[16];
        unsigned even = low + (low & 1);
        /* In all lanes of a vector, and in the remainder. */
        for (int i = 0; i < 15; i += 5) {
            in[i] = middle;
            in[i + 1] = nextafterf(middle, 0);
            in[i + 2] = nextafterf(middle, INFINITY);
            in[i + 3] = -middle;
            in[i + 4] = -nextafterf(middle, INFINITY);
        }
        gw__to_half(out, in, 15);
        for (int i = 0; i < 15; i += 5) {
            ck_assert_uint_eq(out[i], even);
            ck_assert_uint_eq(out[i + 1], low);
            ck_assert_uint_eq(out[i + 2], low + 1);
            ck_assert_uint_eq(out[i + 3], even | 0x8000);
            ck_assert_uint_eq(out[i + 4], (low + 1) | 0x8000);
        }
    }
}
END_TEST

START_TEST(far_values_and_nans)
{
    static const struct {
        uint32_t bits;
        uint16_t half;
    } examples[] = {
        {0x7f800000, 0x7c00}, {0xff800000, 0xfc00}, /* infinities */
        {0x7f7fffff, 0x7c00}, {0xff7fffff, 0xfc00}, /* too large */
        {0x00000001, 0x0000}, {0x80000001, 0x8000}, /* too small */
        {0x00800000, 0x0000}, {0x33000000, 0x0000}, /* 2^-25: a tie */
        {0x33000001, 0x0001}, {0x477fefff, 0x7bff}, /* below 65520 */
        {0x7fc00000, 0x7e00}, {0xffc00000, 0xfe00}, /* NaNs stay NaNs */
        {0x7f800001, 0x7e00}, {0x7fffffff, 0x7fff},
    };
    if (!select_level(_i))
        SKIP("ps_values", "this CPU has no %s", levels[_i]);
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        float in[9];
        uint16_t out[9];
        for (int k = 0; k < 9; k++)
            in[k] = from_bits(examples[i].bits);
        gw__to_half(out, in, 9);
        for (int k = 0; k < 9; k++)
            ck_assert_msg(out[k] == examples[i].half, "%#x: %#x, not %#x",
                          to_bits(in[k]), out[k], examples[i].half);
    }
}
END_TEST

Suite *suite_ps_values(void)
{
    Suite *suite = suite_create("ps_values");
    TCase *tcase = tcase_create("ps_values");
    int count = sizeof levels / sizeof *levels;
    tcase_add_loop_test(tcase, the_first_bad_value_is_found, 0, count);
    tcase_add_loop_test(tcase, all_halves_there_and_back, 0, count);
    tcase_add_loop_test(tcase, rounding_is_to_nearest_even, 0, count);
    tcase_add_loop_test(tcase, far_values_and_nans, 0, count);
    suite_add_tcase(suite, tcase);
    return suite;
}
