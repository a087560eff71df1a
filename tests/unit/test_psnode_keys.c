/* SPDX-License-Identifier: MIT
 *
 * The keys of psnode bench: distinct, in the requested order, with Zipf's
 * popularity; and the check of stored values, which must find a single wrong
 * float.
 */
#include "psnode/bench/bench.h"

#include <check.h>
#include <stdlib.h>

enum { KEYS = 500, FLOATS = 3 };

static const struct bench uniform = {
    .keys = KEYS, .floats = FLOATS, .workers = 2, .seed = 7};

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static struct bench_keys make(bool zipf, bool unsorted)
{
    struct bench bench = uniform;
    struct bench_keys keys;
    struct gw_error why;
    bench.zipf = zipf;
    bench.unsorted = unsorted;
    ck_assert_int_eq(bench_keys_init(&keys, &bench, &why), GW_OK);
    return keys;
}

/* The number of neighbours that do not ascend. */
static unsigned descents(const uint64_t *list)
{
    unsigned count = 0;
    for (unsigned i = 1; i < KEYS; i++)
        count += list[i] <= list[i - 1];
    return count;
}

START_TEST(sorted_keys_ascend)
{
    struct bench_keys keys = make(_i == 1, false);
    for (unsigned l = 0; l < keys.list_count; l++)
        ck_assert_uint_eq(descents(keys.lists[l]), 0);
    bench_keys_fini(&keys);
}
END_TEST

START_TEST(unsorted_keys_are_distinct)
{
    struct bench_keys keys = make(_i == 1, true);
    for (unsigned l = 0; l < keys.list_count; l++) {
        ck_assert_uint_gt(descents(keys.lists[l]), 0);
        qsort(keys.lists[l], KEYS, sizeof(uint64_t), compare);
        ck_assert_uint_eq(descents(keys.lists[l]), 0);
    }
    bench_keys_fini(&keys);
}
END_TEST

/* From 16 times as many keys, two lists drawn evenly would share a 16th. */
START_TEST(popular_keys_are_in_many_lists)
{
    struct bench_keys keys = make(true, false);
    unsigned common = 0;
    ck_assert_uint_gt(keys.list_count, 1);
    for (unsigned i = 0; i < KEYS; i++)
        common += bsearch(&keys.lists[0][i], keys.lists[1], KEYS,
                          sizeof(uint64_t), compare) != NULL;
    ck_assert_uint_gt(common, KEYS / 4);
    ck_assert_uint_lt(common, KEYS);
    bench_keys_fini(&keys);
}
END_TEST

/* The stored values of list 0 after pushed[l] pushes of each list. */
static float *store(const struct bench_keys *keys, const uint64_t *pushed)
{
    float *rows = calloc((size_t)KEYS * FLOATS, sizeof *rows);
    float *values = calloc((size_t)KEYS * FLOATS, sizeof *values);
    for (unsigned l = 0; l < keys->list_count; l++) {
        bench_values(keys, l, values);
        for (unsigned i = 0; i < KEYS; i++) {
            const uint64_t *there = bsearch(&keys->lists[0][i], keys->lists[l],
                                            KEYS, sizeof(uint64_t), compare);
            size_t from = there ? (size_t)(there - keys->lists[l]) : 0;
            for (unsigned j = 0; j < FLOATS && there; j++)
                rows[i * FLOATS + j] +=
                    (float)pushed[l] * values[from * FLOATS + j];
        }
    }
    free(values);
    return rows;
}

START_TEST(verdicts_find_what_is_wrong)
{
    static const uint64_t pushed[BENCH_LISTS_MAX] = {3, 1, 4, 1, 5, 9, 2, 6};
    struct bench_keys keys = make(_i == 1, false);
    struct gw_error why;
    uint64_t wrong = 0;
    float *rows = store(&keys, pushed);
    ck_assert_int_eq(bench_count_wrong(&keys, 0, rows, pushed, &wrong, &why),
                     GW_OK);
    ck_assert_uint_eq(wrong, 0);
    rows[KEYS] += 1;
    ck_assert_int_eq(bench_count_wrong(&keys, 0, rows, pushed, &wrong, &why),
                     GW_OK);
    ck_assert_uint_eq(wrong, 1);
    free(rows);
    bench_keys_fini(&keys);
}
END_TEST

Suite *suite_psnode_keys(void);
Suite *suite_psnode_keys(void)
{
    Suite *suite = suite_create("psnode_keys");
    TCase *tests = tcase_create("all");
    tcase_add_loop_test(tests, sorted_keys_ascend, 0, 2);
    tcase_add_loop_test(tests, unsorted_keys_are_distinct, 0, 2);
    tcase_add_test(tests, popular_keys_are_in_many_lists);
    tcase_add_loop_test(tests, verdicts_find_what_is_wrong, 0, 2);
    suite_add_tcase(suite, tests);
    return suite;
}
