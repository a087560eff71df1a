/* SPDX-License-Identifier: MIT
 *
 * Filters (ps/filter.h): the sent and kept values always add up to the pushed
 * ones, and the largest are sent.
 */
#include <ps/client/filter.h>

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_ps_filter(void);

enum { SEED = 31, ROWS = 400, PUSHES = 60, WIDTH_MAX = 9 };

static const struct taste {
    uint32_t width;
    float top_share, significant;
} tastes[] = {
    {1, 0, 0},        {1, 0.1F, 0}, {1, 0, 3},         {7, 0.25F, 0},
    {7, 0.01F, 0.5F}, {3, 0, 100},  {9, 0.999F, 0.1F},
};

static float pushed[ROWS][WIDTH_MAX], travelled[ROWS][WIDTH_MAX];

static struct gw__filter *make(const struct taste *taste)
{
    struct gw_error why;
    struct gw__filter *filter;
    ck_assert(!gw__filter_new(taste->width, taste->top_share,
                              taste->significant, &filter, &why));
    return filter;
}

static uint64_t key_of(unsigned row)
{
    return row * UINT64_C(0x100000001) + 5;
}

static void arrive(const uint64_t *keys, size_t count, const float *values,
                   uint32_t width)
{
    for (size_t i = 0; i < count; i++) {
        unsigned row = (unsigned)(keys[i] & 0xffffffff) - 5;
        ck_assert_uint_lt(row, ROWS);
        ck_assert(keys[i] == key_of(row));
        for (uint32_t c = 0; c < width; c++)
            travelled[row][c] += values[i * width + c];
    }
}

/* Integers, so that sums are exact. */
static size_t draw(struct gw_rng *rng, uint32_t width, uint64_t *keys,
                   float *values)
{
    size_t count = 0;
    for (unsigned row = 0; row < ROWS; row++) {
        if (gw_rng_below(rng, 3) == 0)
            continue;
        for (uint32_t c = 0; c < width; c++) {
            float value = (float)gw_rng_below(rng, 21) - 10;
            values[count * width + c] = value;
            pushed[row][c] += value;
        }
        keys[count++] = key_of(row);
    }
    return count;
}

START_TEST(nothing_is_ever_lost)
{
    static uint64_t keys[ROWS], out_keys[ROWS];
    static float values[ROWS * WIDTH_MAX], out[ROWS * WIDTH_MAX];
    const struct taste *taste = &tastes[_i];
    struct gw__filter *filter = make(taste);
    struct gw_error why;
    struct gw_rng rng;
    size_t passed;
    gw_rng_seed(&rng, SEED);
    printf("seed %d\n", SEED);
    for (unsigned i = 0; i < PUSHES; i++) {
        size_t count = draw(&rng, taste->width, keys, values);
        ck_assert(!gw__filter_pass(filter, keys, count, values, out_keys, out,
                                   &passed, &why));
        ck_assert_uint_le(passed, count);
        if (gw_rng_below(&rng, 5) == 0)
            gw__filter_return(filter, out_keys, passed, out);
        else
            arrive(out_keys, passed, out, taste->width);
    }
    passed = gw__filter_rows(filter);
    gw__filter_drain(filter, out_keys, out);
    arrive(out_keys, passed, out, taste->width);
    ck_assert_uint_eq(gw__filter_rows(filter), 0);
    ck_assert(memcmp(pushed, travelled, sizeof pushed) == 0);
    gw__filter_destroy(&filter);
}
END_TEST

START_TEST(the_largest_values_are_sent)
{
    const struct taste taste = {2, 0.25F, 0};
    const uint64_t keys[] = {10, 11, 12, 13};
    const float values[] = {1, -8, 2, 3, -4, 5, 6, -7};
    struct gw__filter *filter = make(&taste);
    struct gw_error why;
    uint64_t out_keys[4];
    float out[8];
    size_t count;
    ck_assert(
        !gw__filter_pass(filter, keys, 4, values, out_keys, out, &count, &why));
    ck_assert_uint_eq(count, 2);
    ck_assert(out_keys[0] == 10 && out[0] == 0 && out[1] == -8);
    ck_assert(out_keys[1] == 13 && out[2] == 0 && out[3] == -7);
    ck_assert_uint_eq(gw__filter_rows(filter), 4);
    gw__filter_destroy(&filter);
}
END_TEST

START_TEST(of_equal_values_no_more_are_sent_than_may)
{
    const struct taste taste = {1, 0.25F, 0};
    struct gw__filter *filter = make(&taste);
    struct gw_error why;
    uint64_t keys[100], out_keys[100];
    float values[100], out[100];
    size_t count;
    for (unsigned i = 0; i < 100; i++) {
        keys[i] = i;
        values[i] = 1;
    }
    ck_assert(!gw__filter_pass(filter, keys, 100, values, out_keys, out, &count,
                               &why));
    ck_assert_uint_eq(count, 25);
    gw__filter_destroy(&filter);
}
END_TEST

START_TEST(rows_wait_until_they_are_significant)
{
    const struct taste taste = {2, 0, 3};
    const uint64_t keys[] = {1, 2};
    const float values[] = {1, 0, 0.5F, -3};
    struct gw__filter *filter = make(&taste);
    struct gw_error why;
    uint64_t out_keys[2];
    float out[4];
    size_t count;
    for (unsigned i = 1; i <= 3; i++) {
        ck_assert(!gw__filter_pass(filter, keys, 2, values, out_keys, out,
                                   &count, &why));
        ck_assert_uint_eq(count, i < 3 ? 1 : 2);
        ck_assert(i < 3 ? out_keys[0] == 2 : out[0] == 3);
    }
    gw__filter_destroy(&filter);
}
END_TEST

Suite *suite_ps_filter(void)
{
    Suite *suite = suite_create("ps_filter");
    TCase *parts = tcase_create("ps_filter");
    tcase_add_loop_test(parts, nothing_is_ever_lost, 0,
                        sizeof tastes / sizeof *tastes);
    tcase_add_test(parts, the_largest_values_are_sent);
    tcase_add_test(parts, of_equal_values_no_more_are_sent_than_may);
    tcase_add_test(parts, rows_wait_until_they_are_significant);
    suite_add_tcase(suite, parts);
    return suite;
}
