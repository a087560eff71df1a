/* SPDX-License-Identifier: MIT
 *
 * Stores as bytes: a copy is equal place by place, truncated and altered bytes
 * are refused, and the digest depends on the content only.
 */
#include "ps/store/store_parts.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_ps_save(void);

enum { DENSE = 50 };

static struct gw__store *make(enum gw_ps_updater updater, unsigned width,
                              uint64_t first, uint32_t rows)
{
    struct gw_ps_table_config config = {.name = "t",
                                        .width = width,
                                        .updater = updater,
                                        .rate = 0.1F,
                                        .beta1 = 0.9F,
                                        .beta2 = 0.99F,
                                        .epsilon = 1e-3F,
                                        .beta = 1,
                                        .init_range = 0.5F};
    struct gw__updater bound;
    struct gw__store *store = NULL;
    ck_assert(gw__updater_init(&bound, &config, NULL, NULL, 0, NULL) == GW_OK);
    ck_assert(gw__store_new(&bound, first, rows, &store, NULL) == GW_OK);
    return store;
}

/* Pushes gradients that are functions of the keys. */
static void push(struct gw__store *store, const uint64_t *keys, size_t count)
{
    unsigned width = gw__store_updater(store)->config.width;
    float *gradient = malloc(width * sizeof *gradient);
    ck_assert_ptr_nonnull(gradient);
    for (size_t i = 0; i < count; i++) {
        uint32_t place;
        for (unsigned j = 0; j < width; j++)
            gradient[j] = (float)((keys[i] + j) % 17) - 8;
        ck_assert(gw__store_find(store, keys + i, 1, true, &place, NULL) ==
                  GW_OK);
        gw__store_update(store, &place, 1, gradient, 0.5F);
    }
    free(gradient);
}

/* Allocates exactly the bytes needed, so that sanitizers find reads past the
 * end. */
static void *save(const struct gw__store *store, size_t *bytes)
{
    char little[8] = "untouch";
    *bytes = gw__store_save(store, little, sizeof little);
    ck_assert_str_eq(little, "untouch");
    void *data = malloc(*bytes);
    ck_assert_ptr_nonnull(data);
    ck_assert_uint_eq(gw__store_save(store, data, *bytes), *bytes);
    return data;
}

static void check_equal(const struct gw__store *a, const struct gw__store *b)
{
    const struct gw__updater *updater = gw__store_updater(a);
    size_t bytes =
        (updater->config.width + updater->state_floats) * sizeof(float);
    ck_assert_uint_eq(gw__store_rows(a), gw__store_rows(b));
    ck_assert_uint_eq(gw__store_digest(a), gw__store_digest(b));
    for (uint32_t place = 0; place < gw__store_rows(a); place++)
        ck_assert_mem_eq(gw__store_row(a, place), gw__store_row(b, place),
                         bytes);
}

static void draw_keys(uint64_t seed, uint64_t *keys, size_t count)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, seed);
    for (size_t i = 0; i < count; i++)
        keys[i] = gw_rng_next(&rng);
}

START_TEST(a_copy_is_equal_place_by_place)
{
    static const size_t counts[] = {0, 1, 13, 2000, 20000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        static uint64_t keys[20000];
        static uint32_t places[20000];
        struct gw__store *store = make(GW_PS_FTRL, 3, 0, 0);
        struct gw__store *copy = make(GW_PS_FTRL, 3, 0, 0);
        size_t bytes;
        draw_keys(i, keys, counts[i]);
        push(store, keys, counts[i]);
        void *data = save(store, &bytes);
        ck_assert(gw__store_load(copy, data, bytes, NULL) == GW_OK);
        check_equal(store, copy);
        ck_assert(gw__store_find(copy, keys, counts[i], false, places, NULL) ==
                  GW_OK);
        for (uint32_t k = 0; k < counts[i]; k++)
            ck_assert_uint_eq(places[k], k);
        /* And goes on like the first. */
        uint64_t more[] = {1, 2, 3};
        push(store, more, 3);
        push(copy, more, 3);
        check_equal(store, copy);
        free(data);
        gw__store_destroy(&store);
        gw__store_destroy(&copy);
    }
}
END_TEST

START_TEST(dense_tables_are_copied_too)
{
    uint64_t keys[] = {100, 149, 120};
    struct gw__store *store = make(GW_PS_ADAM, 7, 100, DENSE);
    struct gw__store *copy = make(GW_PS_ADAM, 7, 100, DENSE);
    size_t bytes;
    push(store, keys, 3);
    ck_assert_uint_ne(gw__store_digest(store), gw__store_digest(copy));
    void *data = save(store, &bytes);
    ck_assert(gw__store_load(copy, data, bytes, NULL) == GW_OK);
    check_equal(store, copy);
    free(data);
    gw__store_destroy(&store);
    gw__store_destroy(&copy);
}
END_TEST

static void refuse(struct gw__store *store, const void *data, size_t bytes,
                   enum gw_err expected)
{
    struct gw_error why = {.code = GW_OK};
    uint64_t digest = gw__store_digest(store);
    size_t rows = gw__store_rows(store);
    ck_assert_int_eq(gw__store_load(store, data, bytes, &why), expected);
    ck_assert_int_eq(why.code, expected);
    ck_assert_uint_eq(gw__store_digest(store), digest);
    ck_assert_uint_eq(gw__store_rows(store), rows);
}

/* Truncated at any byte, and with any bit flipped. */
static void check_refusals(struct gw__store *store, struct gw__store *copy)
{
    size_t bytes;
    unsigned char *data = save(store, &bytes);
    for (size_t length = 0; length < bytes; length++) {
        unsigned char *part = malloc(length ? length : 1);
        ck_assert_ptr_nonnull(part);
        memcpy(part, data, length);
        refuse(copy, part, length, GW_EDATA);
        free(part);
    }
    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        unsigned char flip = (unsigned char)(1U << bit % 8);
        data[bit / 8] ^= flip;
        refuse(copy, data, bytes, GW_EDATA);
        data[bit / 8] ^= flip;
    }
    /* It still accepts the correct bytes. */
    ck_assert(gw__store_load(copy, data, bytes, NULL) == GW_OK);
    check_equal(store, copy);
    free(data);
}

START_TEST(what_was_truncated_or_altered_is_refused)
{
    uint64_t keys[] = {5, 0, UINT64_MAX, 77, 78, 79};
    struct gw__store *store = make(GW_PS_ADAGRAD, 3, 0, 0);
    struct gw__store *copy = make(GW_PS_ADAGRAD, 3, 0, 0);
    push(store, keys, 6);
    check_refusals(store, copy);
    /* The copy has rows now. */
    size_t bytes;
    void *data = save(store, &bytes);
    refuse(copy, data, bytes, GW_EINVAL);
    free(data);
    gw__store_destroy(&store);
    gw__store_destroy(&copy);
    store = make(GW_PS_SGD, 2, 9, 8);
    copy = make(GW_PS_SGD, 2, 9, 8);
    push(store, (uint64_t[]){9, 16}, 2);
    check_refusals(store, copy);
    gw__store_destroy(&store);
    gw__store_destroy(&copy);
}
END_TEST

/* The checksum is correct, but no store has such content. */
START_TEST(a_key_twice_is_refused)
{
    uint64_t keys[] = {5, 6, 7};
    struct gw__store *store = make(GW_PS_SGD, 2, 0, 0);
    struct gw__store *copy = make(GW_PS_SGD, 2, 0, 0);
    size_t bytes;
    push(store, keys, 3);
    unsigned char *data = save(store, &bytes);
    unsigned char *third = data + sizeof(struct gw__store_head) + 2 * 8;
    memcpy(third, &keys[0], sizeof keys[0]);
    gw__store_seal(data, bytes);
    refuse(copy, data, bytes, GW_EDATA);
    memcpy(third, &keys[2], sizeof keys[2]);
    gw__store_seal(data, bytes);
    ck_assert(gw__store_load(copy, data, bytes, NULL) == GW_OK);
    check_equal(store, copy);
    free(data);
    gw__store_destroy(&store);
    gw__store_destroy(&copy);
}
END_TEST

START_TEST(another_tables_rows_are_refused)
{
    uint64_t keys[] = {100, 101};
    struct gw__store *store = make(GW_PS_MOMENTUM, 4, 0, 0);
    struct gw__store *others[] = {
        make(GW_PS_MOMENTUM, 5, 0, 0),   make(GW_PS_ADAGRAD, 4, 0, 0),
        make(GW_PS_MOMENTUM, 8, 0, 0),   make(GW_PS_SGD, 8, 0, 0),
        make(GW_PS_MOMENTUM, 4, 100, 2),
    };
    size_t bytes;
    push(store, keys, 2);
    void *data = save(store, &bytes);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        refuse(others[i], data, bytes, GW_EDATA);
        gw__store_destroy(&others[i]);
    }
    free(data);
    gw__store_destroy(&store);
}
END_TEST

START_TEST(the_digest_is_of_the_content)
{
    uint64_t keys[] = {4, 9, 1, 30}, turned[] = {30, 1, 9, 4};
    struct gw__store *a = make(GW_PS_FTRL, 2, 0, 0);
    struct gw__store *b = make(GW_PS_FTRL, 2, 0, 0);
    ck_assert_uint_eq(gw__store_digest(a), gw__store_digest(b));
    push(a, keys, 4);
    push(b, turned, 3);
    ck_assert_uint_ne(gw__store_digest(a), gw__store_digest(b));
    push(b, turned + 3, 1);
    ck_assert_uint_eq(gw__store_digest(a), gw__store_digest(b));
    /* Two equal rows in exchanged places make stores different. */
    float kept[6], *one = gw__store_row(b, 0), *two = gw__store_row(b, 1);
    memcpy(kept, one, sizeof kept);
    memcpy(one, two, sizeof kept);
    memcpy(two, kept, sizeof kept);
    ck_assert_uint_ne(gw__store_digest(a), gw__store_digest(b));
    gw__store_destroy(&a);
    gw__store_destroy(&b);
}
END_TEST

Suite *suite_ps_save(void)
{
    Suite *suite = suite_create("ps_save");
    TCase *tcase = tcase_create("ps_save");
    tcase_add_test(tcase, a_copy_is_equal_place_by_place);
    tcase_add_test(tcase, dense_tables_are_copied_too);
    tcase_add_test(tcase, what_was_truncated_or_altered_is_refused);
    tcase_add_test(tcase, a_key_twice_is_refused);
    tcase_add_test(tcase, another_tables_rows_are_refused);
    tcase_add_test(tcase, the_digest_is_of_the_content);
    suite_add_tcase(suite, tcase);
    return suite;
}
