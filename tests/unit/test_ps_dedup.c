/* SPDX-License-Identifier: MIT
 *
 * The pushes that a slot has applied (ps/seen.h): against a plain set, with all
 * orders in which 64 pushes under way may arrive, and through bytes.
 */
#include <ps/slot/dedup.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_ps_dedup(void);

START_TEST(numbers_are_seen_once)
{
    enum { PUSHES = 2000 };
    struct gw__dedup dedup = {.count = 0};
    struct gw_rng rng;
    bool applied[PUSHES + 1] = {false}, acked[PUSHES + 1] = {false};
    uint64_t low_watermark = 0;
    gw_rng_seed(&rng, 7);
    acked[0] = true;
    while (low_watermark < PUSHES) {
        uint64_t sequence = low_watermark + 1 + gw_rng_below(&rng, 64);
        if (sequence > PUSHES)
            continue;
        struct gw__dedup_worker *w = gw__dedup_make(&dedup, 3, 99, sequence);
        ck_assert(gw__dedup_is_sound(low_watermark, sequence));
        ck_assert_int_eq(gw__dedup_has(w, sequence), applied[sequence]);
        gw__dedup_add(w, low_watermark, sequence);
        applied[sequence] = true;
        ck_assert(gw__dedup_has(w, sequence));
        acked[sequence] |= gw_rng_below(&rng, 2) == 0;
        while (low_watermark < PUSHES && acked[low_watermark + 1])
            low_watermark++;
    }
    for (unsigned i = 1; i <= PUSHES; i++)
        ck_assert(gw__dedup_has(gw__dedup_find(&dedup, 3, 99), i));
    ck_assert_ptr_null(gw__dedup_find(&dedup, 3, 98));
    gw__dedup_fini(&dedup);
}
END_TEST

START_TEST(what_cannot_be_is_not_sound)
{
    ck_assert(gw__dedup_is_sound(0, 1));
    ck_assert(gw__dedup_is_sound(10, 74));
    ck_assert(!gw__dedup_is_sound(10, 75));
    ck_assert(!gw__dedup_is_sound(10, 10));
    ck_assert(!gw__dedup_is_sound(0, 0));
}
END_TEST

START_TEST(the_idle_are_forgotten_first)
{
    struct gw__dedup dedup = {.count = 0};
    uint64_t index = 0;
    for (unsigned i = 0; i < GW__DEDUP_MAX; i++)
        gw__dedup_add(gw__dedup_make(&dedup, i % 64, i, ++index), 0, 1);
    /* Worker 0 comes again, so 1 has been idle longest. */
    gw__dedup_make(&dedup, 0, 0, ++index);
    gw__dedup_make(&dedup, 5, 5000, ++index);
    ck_assert_uint_eq(dedup.count, GW__DEDUP_MAX);
    ck_assert_ptr_nonnull(gw__dedup_find(&dedup, 0, 0));
    ck_assert_ptr_null(gw__dedup_find(&dedup, 1, 1));
    ck_assert_ptr_nonnull(gw__dedup_find(&dedup, 2, 2));
    ck_assert(!gw__dedup_has(gw__dedup_find(&dedup, 5, 5000), 1));
    gw__dedup_fini(&dedup);
}
END_TEST

START_TEST(bytes_and_back)
{
    struct gw__dedup dedup = {.count = 0}, again = {.count = 0};
    uint8_t bytes[8192], twice[8192];
    for (unsigned i = 0; i < 40; i++) {
        struct gw__dedup_worker *w = gw__dedup_make(&dedup, i, i * 7, i + 1);
        gw__dedup_add(w, i, i + 3);
        w->over[i % GW_PS_GROUPS_MAX] = i;
    }
    struct gw__writer out = gw__writer_on(bytes, sizeof bytes);
    gw__put_dedup(&out, &dedup);
    ck_assert(gw__writer_fits(&out));
    struct gw__reader in = gw__reader_on(bytes, out.used);
    gw__get_dedup(&in, &again);
    ck_assert(gw__reader_done(&in));
    struct gw__writer second = gw__writer_on(twice, sizeof twice);
    gw__put_dedup(&second, &again);
    ck_assert_uint_eq(second.used, out.used);
    ck_assert_mem_eq(bytes, twice, out.used);
    gw__dedup_fini(&again);
    in = gw__reader_on(bytes, out.used - 1);
    gw__get_dedup(&in, &again);
    ck_assert(in.bad);
    gw__dedup_fini(&again);
    gw__dedup_fini(&dedup);
}
END_TEST

Suite *suite_ps_dedup(void)
{
    Suite *suite = suite_create("ps_dedup");
    TCase *tcase = tcase_create("ps_seen");
    tcase_add_test(tcase, numbers_are_seen_once);
    tcase_add_test(tcase, what_cannot_be_is_not_sound);
    tcase_add_test(tcase, the_idle_are_forgotten_first);
    tcase_add_test(tcase, bytes_and_back);
    suite_add_tcase(suite, tcase);
    return suite;
}
