/* SPDX-License-Identifier: MIT
 *
 * Bytes as changes of other bytes.
 */
#include <cluster/messages/delta.h>

#include <check.h>
#include <string.h>

Suite *suite_delta(void);

enum { MOST = 4096, ENTRY = 24 };

static struct list {
    size_t bytes;
    uint8_t data[MOST];
} before, after, out;

static struct gw__span span_of(const struct list *list)
{
    return (struct gw__span){list->data, list->bytes};
}

/* The bytes of the changes, which lead from `before` to `after`. */
static size_t change(void)
{
    uint8_t delta[2 * MOST];
    struct gw__writer w = gw__writer_on(delta, sizeof delta);
    gw__put_delta(&w, span_of(&before), span_of(&after));
    ck_assert(gw__writer_fits(&w));
    struct gw__reader r = gw__reader_on(delta, w.used);
    out.bytes = gw__get_delta(&r, span_of(&before), out.data, after.bytes);
    ck_assert(gw__reader_done(&r));
    ck_assert_uint_eq(out.bytes, after.bytes);
    ck_assert_mem_eq(out.data, after.data, after.bytes);
    r = gw__reader_on(delta, w.used);
    if (after.bytes > 0)
        ck_assert_uint_eq(
            gw__get_delta(&r, span_of(&before), out.data, after.bytes - 1), 0);
    return w.used;
}

static void fill(struct list *list, uint64_t seed, unsigned entries)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, seed);
    list->bytes = (size_t)entries * ENTRY;
    for (size_t i = 0; i < list->bytes; i++)
        list->data[i] = (uint8_t)gw_rng_below(&rng, 256);
}

static void splice(struct list *list, size_t at, size_t gone,
                   const uint8_t *come, size_t bytes)
{
    memmove(list->data + at + bytes, list->data + at + gone,
            list->bytes - at - gone);
    if (bytes > 0)
        memcpy(list->data + at, come, bytes);
    list->bytes += bytes - gone;
}

START_TEST(entries_that_come_and_go_cost_an_edit_each)
{
    fill(&before, 1, 100);
    after = before;
    ck_assert_uint_eq(change(), 4 + 12);
    splice(&after, 10 * ENTRY, ENTRY, NULL, 0);
    ck_assert_uint_eq(change(), 4 + 2 * 12);
    splice(&after, 50 * ENTRY, 20 * ENTRY, NULL, 0);
    ck_assert_uint_eq(change(), 4 + 3 * 12);
    uint8_t entry[ENTRY] = {1, 2, 3};
    splice(&after, 60 * ENTRY, 0, entry, ENTRY);
    ck_assert_uint_eq(change(), 4 + 4 * 12 + ENTRY);
    after.data[5] ^= 1;
    ck_assert_uint_eq(change(), 4 + 5 * 12 + ENTRY + 1);
    splice(&after, after.bytes, 0, entry, ENTRY);
    ck_assert_uint_eq(change(), 4 + 5 * 12 + 2 * ENTRY + 1);
}
END_TEST

START_TEST(any_bytes_lead_to_any_others)
{
    fill(&before, 2, 40);
    fill(&after, 3, 50);
    ck_assert_uint_le(change(), after.bytes + 64);
    before.bytes = 0;
    change();
    after.bytes = 0;
    ck_assert_uint_eq(change(), 4);
    fill(&before, 2, 40);
    ck_assert_uint_eq(change(), 4);
    memset(&before, 0, sizeof before);
    memset(&after, 0, sizeof after);
    before.bytes = 1000;
    after.bytes = 1017;
    change();
}
END_TEST

START_TEST(random_edits_return)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, 4);
    for (unsigned round = 0; round < 300; round++) {
        fill(&before, round, (unsigned)gw_rng_below(&rng, 60));
        after = before;
        for (uint64_t edits = gw_rng_below(&rng, 8); edits > 0; edits--) {
            uint8_t bytes[ENTRY];
            size_t at = gw_rng_below(&rng, after.bytes + 1);
            size_t gone = gw_rng_below(&rng, after.bytes - at + 1);
            for (unsigned i = 0; i < ENTRY; i++)
                bytes[i] = (uint8_t)gw_rng_below(&rng, 2);
            splice(&after, at, gone % 100, bytes,
                   gw_rng_below(&rng, ENTRY + 1));
        }
        change();
    }
}
END_TEST

START_TEST(changes_of_other_bytes_are_bad)
{
    uint8_t delta[64];
    fill(&before, 5, 4);
    struct gw__writer w = gw__writer_on(delta, sizeof delta);
    gw__put_delta(&w, span_of(&before), span_of(&before));
    before.bytes--;
    struct gw__reader r = gw__reader_on(delta, w.used);
    ck_assert_uint_eq(
        gw__get_delta(&r, span_of(&before), out.data, sizeof out.data), 0);
    ck_assert(r.bad);
    for (size_t cut = 0; cut < w.used; cut++) {
        r = gw__reader_on(delta, cut);
        (void)gw__get_delta(&r, span_of(&before), out.data, sizeof out.data);
        ck_assert(r.bad);
    }
}
END_TEST

Suite *suite_delta(void)
{
    Suite *suite = suite_create("delta");
    TCase *t = tcase_create("all");
    tcase_add_test(t, entries_that_come_and_go_cost_an_edit_each);
    tcase_add_test(t, any_bytes_lead_to_any_others);
    tcase_add_test(t, random_edits_return);
    tcase_add_test(t, changes_of_other_bytes_are_bad);
    suite_add_tcase(suite, t);
    return suite;
}
