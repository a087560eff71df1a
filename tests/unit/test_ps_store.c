/* SPDX-License-Identifier: MIT
 *
 * The store against a reference, which is a sorted list of keys with one search
 * per key: keys of all kinds, over many resizes; stable places; and copies as
 * bytes, which are equal place by place or refused.
 */
#include "ps/store/store.h"

#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_ps_store(void);

static struct gw__store *make(enum gw_ps_updater updater, unsigned width,
                              float init_range, uint64_t first, uint32_t rows)
{
    struct gw_ps_table_config config = {.name = "t",
                                        .width = width,
                                        .updater = updater,
                                        .rate = 0.1F,
                                        .momentum = 0.5F,
                                        .beta1 = 0.9F,
                                        .beta2 = 0.99F,
                                        .epsilon = 1e-3F,
                                        .beta = 1,
                                        .l1 = 0.01F,
                                        .init_range = init_range,
                                        .init_seed = 5};
    struct gw__updater bound;
    struct gw__store *store = NULL;
    struct gw_error why;
    ck_assert_msg(gw__updater_init(&bound, &config, NULL, NULL, 0, &why) ==
                          GW_OK &&
                      gw__store_new(&bound, first, rows, &store, &why) == GW_OK,
                  "%s", why.text);
    return store;
}

static void find(struct gw__store *store, const uint64_t *keys, size_t count,
                 bool make_rows, uint32_t *places)
{
    struct gw_error why;
    ck_assert_msg(gw__store_find(store, keys, count, make_rows, places, &why) ==
                      GW_OK,
                  "%s", why.text);
}

/* ---- the reference ---- */

struct known {
    uint64_t key;
    uint32_t place;
};

struct reference {
    struct known *known; /* by key */
    size_t count, room;
};

/* The index of the key, or its place in the order if absent. */
static size_t locate(const struct reference *reference, uint64_t key)
{
    size_t low = 0, high = reference->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (reference->known[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t place_of(const struct reference *reference, uint64_t key)
{
    size_t at = locate(reference, key);
    bool is_known = at < reference->count && reference->known[at].key == key;
    return is_known ? reference->known[at].place : GW__NO_PLACE;
}

/* Places are assigned in the order of first pushes. */
static uint32_t enter(struct reference *reference, uint64_t key)
{
    size_t at = locate(reference, key);
    if (at < reference->count && reference->known[at].key == key)
        return reference->known[at].place;
    if (reference->count == reference->room) {
        reference->room = reference->room ? 2 * reference->room : 64;
        reference->known =
            realloc(reference->known, reference->room * sizeof(struct known));
        ck_assert_ptr_nonnull(reference->known);
    }
    memmove(reference->known + at + 1, reference->known + at,
            (reference->count - at) * sizeof(struct known));
    reference->known[at] = (struct known){key, (uint32_t)reference->count};
    return (uint32_t)reference->count++;
}

/* ---- keys of all kinds ---- */

enum { MOST = 300 };

static uint64_t draw_key(struct gw_rng *rng, int kind)
{
    static const uint64_t special[] = {0,          1,          UINT64_MAX,
                                       1ULL << 63, UINT32_MAX, 1ULL << 32};
    switch (kind) {
    case 0:
        return gw_rng_next(rng);
    case 1: /* a few clusters */
        return gw_rng_below(rng, 5) << 40 | gw_rng_below(rng, 4000);
    case 2: /* roughly Zipf's law: density 1/x */
        return (uint64_t)exp(gw_rng_unit(rng) * 12);
    case 3: /* the low bits are all equal */
        return gw_rng_below(rng, 20000) << 44;
    default:
        return special[gw_rng_below(rng, 6)];
    }
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sorted or not, with repeated keys or without. */
static size_t draw_keys(struct gw_rng *rng, uint64_t *keys)
{
    size_t count = gw_rng_below(rng, MOST + 1);
    int kind = (int)gw_rng_below(rng, 5);
    for (size_t i = 0; i < count; i++)
        keys[i] = draw_key(rng, gw_rng_below(rng, 50) ? kind : 4);
    if (gw_rng_below(rng, 2))
        qsort(keys, count, sizeof *keys, by_value);
    return count;
}

static void check_round(struct gw__store *store, struct reference *reference,
                        struct gw_rng *rng, uint64_t seed)
{
    uint64_t keys[MOST];
    uint32_t places[MOST];
    bool make_rows = gw_rng_below(rng, 3) > 0;
    size_t count = draw_keys(rng, keys);
    find(store, keys, count, make_rows, places);
    for (size_t i = 0; i < count; i++) {
        uint32_t expected = make_rows ? enter(reference, keys[i])
                                      : place_of(reference, keys[i]);
        ck_assert_msg(places[i] == expected,
                      "key %" PRIu64 " is at %" PRIu32 ", not %" PRIu32
                      "; seed %" PRIu64,
                      keys[i], places[i], expected, seed);
    }
    ck_assert_uint_eq(gw__store_rows(store), reference->count);
}

START_TEST(places_are_those_of_the_reference)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct gw__store *store = make(GW_PS_ADD, 1, 0, 0, 0);
        struct reference reference = {0};
        struct gw_rng rng;
        gw_rng_seed(&rng, seed);
        for (int round = 0; round < 300; round++)
            check_round(store, &reference, &rng, seed);
        free(reference.known);
        gw__store_destroy(&store);
        ck_assert_ptr_null(store);
    }
}
END_TEST

/* ---- many rows ---- */

START_TEST(rows_keep_their_place_while_the_store_grows)
{
    enum { ROWS = 200000, STEP = 1000, WIDTH = 3 };
    struct gw__store *store = make(GW_PS_ADD, WIDTH, 0, 0, 0);
    static uint64_t keys[ROWS];
    static uint32_t places[ROWS];
    static float ones[WIDTH * ROWS], values[WIDTH * ROWS];
    struct gw_rng rng;
    gw_rng_seed(&rng, 3);
    for (size_t i = 0; i < ROWS; i++)
        keys[i] = gw_rng_next(&rng);
    for (size_t i = 0; i < WIDTH * ROWS; i++)
        ones[i] = (float)i;
    find(store, keys, 1, true, places);
    const float *first = gw__store_row(store, 0);
    for (size_t i = 0; i < ROWS; i += STEP) {
        find(store, keys + i, STEP, true, places + i);
        gw__store_update(store, places + i, STEP, ones + WIDTH * i, 1);
    }
    ck_assert_ptr_eq(gw__store_row(store, 0), first);
    for (uint32_t i = 0; i < ROWS; i++)
        ck_assert_uint_eq(places[i], i);
    gw__store_read(store, keys, places, ROWS, values);
    ck_assert_mem_eq(values, ones, sizeof ones);
    find(store, keys, ROWS, false, places);
    gw__store_update(store, places, ROWS, ones, 1);
    for (size_t i = 0; i < ROWS; i += 997)
        ck_assert(gw__store_row(store, places[i])[1] ==
                  2 * ones[WIDTH * i + 1]);
    /* The overhead of the store is at most 20 bytes per row. */
    ck_assert_uint_le(gw__store_bytes(store), ROWS * (12 + 20));
    gw__store_destroy(&store);
}
END_TEST

/* In runs, in any order, with gaps, and one by one. */
START_TEST(updates_of_any_order_are_those_of_single_rows)
{
    enum { ROWS = 3000, WIDTH = 5 };
    struct gw__store *store = make(GW_PS_ADAM, WIDTH, 0.5F, 0, 0);
    struct gw__store *single = make(GW_PS_ADAM, WIDTH, 0.5F, 0, 0);
    uint64_t keys[ROWS];
    uint32_t places[ROWS];
    static float gradients[WIDTH * ROWS];
    struct gw_rng rng;
    gw_rng_seed(&rng, 4);
    for (uint64_t i = 0; i < ROWS; i++)
        keys[i] = i * i;
    find(single, keys, ROWS, true, places);
    find(store, keys, ROWS, true, places);
    for (int round = 0; round < 20; round++) {
        size_t count = 0;
        for (uint32_t i = 0; i < ROWS; i++)
            if (round == 0 || gw_rng_below(&rng, 8))
                places[count++] = i;
        for (size_t i = 0; i < count && round % 3 == 2; i++) {
            size_t other = gw_rng_below(&rng, count);
            uint32_t place = places[i];
            places[i] = places[other];
            places[other] = place;
        }
        for (size_t i = 0; i < count * WIDTH; i++)
            gradients[i] = (float)gw_rng_unit(&rng) - 0.5F;
        gw__store_update(store, places, count, gradients, 0.5F);
        for (size_t i = 0; i < count; i++)
            gw__updater_apply(gw__store_updater(single),
                              gw__store_row(single, places[i]),
                              gradients + i * WIDTH, 0.5F);
    }
    ck_assert_uint_eq(gw__store_digest(store), gw__store_digest(single));
    gw__store_destroy(&store);
    gw__store_destroy(&single);
}
END_TEST

START_TEST(what_was_never_pushed_has_its_initial_value)
{
    enum { WIDTH = 6 };
    struct gw__store *store = make(GW_PS_SGD, WIDTH, 0.5F, 0, 0);
    uint64_t keys[] = {7, UINT64_MAX, 0, 12};
    uint32_t places[4];
    float before[4 * WIDTH], after[4 * WIDTH];
    find(store, keys + 1, 2, true, places);
    find(store, keys, 4, false, places);
    ck_assert_uint_eq(places[0], GW__NO_PLACE);
    ck_assert_uint_eq(places[1], 0);
    ck_assert_uint_eq(places[2], 1);
    ck_assert_uint_eq(places[3], GW__NO_PLACE);
    gw__store_read(store, keys, places, 4, before);
    find(store, keys, 4, true, places);
    ck_assert_uint_eq(places[0], 2);
    gw__store_read(store, keys, places, 4, after);
    ck_assert_mem_eq(before, after, sizeof before);
    ck_assert(after[0] != after[WIDTH]);
    gw__store_destroy(&store);
}
END_TEST

/* ---- dense ---- */

START_TEST(a_dense_table_is_its_range_of_keys)
{
    enum { ROWS = 1000, WIDTH = 3, FIRST = 5000 };
    struct gw__store *store = make(GW_PS_MOMENTUM, WIDTH, 0.25F, FIRST, ROWS);
    uint64_t keys[ROWS], outside[] = {FIRST - 1, FIRST + ROWS, 0, UINT64_MAX};
    uint32_t places[ROWS];
    static float values[WIDTH * ROWS], again[WIDTH * ROWS];
    float initial[2 * WIDTH];
    for (uint64_t i = 0; i < ROWS; i++)
        keys[i] = FIRST + i;
    find(store, keys, ROWS, false, places);
    for (uint32_t i = 0; i < ROWS; i++)
        ck_assert_uint_eq(places[i], i);
    ck_assert_uint_eq(gw__store_rows(store), ROWS);
    gw__store_read(store, keys, places, ROWS, values);
    gw__updater_begin(gw__store_updater(store), FIRST + 999, initial);
    ck_assert_mem_eq(values + (size_t)WIDTH * 999, initial,
                     WIDTH * sizeof *initial);
    gw__store_update(store, places, ROWS, values, 1);
    gw__store_read(store, keys, places, ROWS, again);
    ck_assert_mem_ne(values, again, sizeof values);
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        struct gw_error why;
        ck_assert_int_eq(
            gw__store_find(store, outside + i, 1, i % 2, places, &why),
            GW_EDATA);
        ck_assert_ptr_nonnull(strstr(why.text, "5000 to 5999"));
    }
    gw__store_destroy(&store);
}
END_TEST

START_TEST(dense_tables_of_all_sizes)
{
    for (uint32_t rows = 1; rows < 70; rows++) {
        struct gw__store *store = make(GW_PS_ADD, 2000, 0, 0, rows);
        for (uint32_t i = 0; i < rows; i++)
            ck_assert_ptr_eq(gw__store_row(store, i),
                             gw__store_row(store, 0) + (size_t)2000 * i);
        gw__store_row(store, rows - 1)[1999] = 1;
        gw__store_destroy(&store);
    }
}
END_TEST

Suite *suite_ps_store(void)
{
    Suite *suite = suite_create("ps_store");
    TCase *tcase = tcase_create("ps_store");
    tcase_add_test(tcase, places_are_those_of_the_reference);
    tcase_add_test(tcase, rows_keep_their_place_while_the_store_grows);
    tcase_add_test(tcase, updates_of_any_order_are_those_of_single_rows);
    tcase_add_test(tcase, what_was_never_pushed_has_its_initial_value);
    tcase_add_test(tcase, a_dense_table_is_its_range_of_keys);
    tcase_add_test(tcase, dense_tables_of_all_sizes);
    suite_add_tcase(suite, tcase);
    return suite;
}
