/* SPDX-License-Identifier: MIT
 *
 * The times at which messages pass a link, by the formula of
 * wire/emulation/link_profiles.h. Nothing here sleeps: the times of sending are
 * generated.
 */
#include "wire/emulation/link_profiles.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>

Suite *suite_link_profiles(void);

enum { US = 1000, MS = 1000000, SEED = 42, FROM = 3 };
static const uint64_t begin = 5000000000U;

static struct gw__link_profiles *make(const struct gw_link_profile *profile)
{
    struct gw__link_profiles *profiles;
    struct gw_error why;
    ck_assert_int_eq(gw__link_profiles_new(SEED, &profiles, &why), GW_OK);
    if (profile)
        gw__link_profiles_set(profiles, FROM, profile);
    return profiles;
}

/* A slice of a wire: never dropped, in the middle of a chunk. */
static uint64_t slice_due(struct gw__link_profiles *profiles,
                          struct gw__due *due, uint64_t sent_ns, size_t bytes)
{
    return gw__link_profiles_due(profiles, FROM, due, sent_ns, bytes, false,
                                 false);
}

START_TEST(an_empty_table_has_no_effect)
{
    static const struct gw_link_profile some[] = {{.delay_us = 1},
                                                  {.jitter_us = 1},
                                                  {.rate = 1},
                                                  {.loss_ppm = 1},
                                                  {.down = true}};
    static const struct gw_link_profile none;
    struct gw__link_profiles *profiles = make(NULL);
    ck_assert(gw__link_profiles_quiet(profiles));
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        gw__link_profiles_set(profiles, 63, &some[i]);
        ck_assert(!gw__link_profiles_quiet(profiles));
        gw__link_profiles_set(profiles, 63, &none);
        ck_assert(gw__link_profiles_quiet(profiles));
    }
    gw__link_profiles_pace(profiles, 1);
    ck_assert(!gw__link_profiles_quiet(profiles));
    gw__link_profiles_pace(profiles, 0);
    ck_assert(gw__link_profiles_quiet(profiles));
    gw__link_profiles_destroy(&profiles);
    ck_assert_ptr_null(profiles);
    gw__link_profiles_destroy(&profiles);
}
END_TEST

START_TEST(a_cut_affects_one_link)
{
    static const struct gw_link_profile down = {.down = true}, none;
    struct gw__link_profiles *profiles = make(&down);
    for (unsigned node = 0; node < GW__LINK_PROFILE_NODES; node++)
        ck_assert_int_eq(gw__link_profiles_down(profiles, node), node == FROM);
    gw__link_profiles_set(profiles, GW__LINK_PROFILE_NODES - 1, &down);
    ck_assert(gw__link_profiles_down(profiles, GW__LINK_PROFILE_NODES - 1));
    gw__link_profiles_set(profiles, FROM, &none);
    ck_assert(!gw__link_profiles_down(profiles, FROM));
    gw__link_profiles_destroy(&profiles);
}
END_TEST

START_TEST(every_change_is_counted)
{
    static const struct gw_link_profile profile = {.delay_us = 5};
    struct gw__link_profiles *profiles = make(NULL);
    uint64_t before = gw__link_profiles_changes(profiles);
    gw__link_profiles_set(profiles, 0, &profile);
    ck_assert_uint_gt(gw__link_profiles_changes(profiles), before);
    before = gw__link_profiles_changes(profiles);
    gw__link_profiles_pace(profiles, 7);
    ck_assert_uint_gt(gw__link_profiles_changes(profiles), before);
    gw__link_profiles_destroy(&profiles);
}
END_TEST

START_TEST(a_node_beyond_the_table_has_no_profile)
{
    static const struct gw_link_profile profile = {.delay_us = 5, .down = true};
    struct gw__link_profiles *profiles = make(NULL);
    struct gw__due due = {0};
    gw__link_profiles_set(profiles, GW__LINK_PROFILE_NODES, &profile);
    ck_assert(gw__link_profiles_quiet(profiles));
    ck_assert(!gw__link_profiles_down(profiles, GW__LINK_PROFILE_NODES));
    ck_assert_uint_eq(gw__link_profiles_due(profiles, GW__LINK_PROFILE_NODES,
                                            &due, begin, 9, false, false),
                      begin);
    gw__link_profiles_destroy(&profiles);
}
END_TEST

START_TEST(without_a_profile_a_message_passes_at_once)
{
    struct gw__link_profiles *profiles = make(NULL);
    struct gw__due due = {0};
    ck_assert_uint_eq(slice_due(profiles, &due, begin, 1 << 20), begin);
    ck_assert_uint_eq(due.last_ns, begin);
    uint64_t before = gw_now_ns();
    uint64_t at = slice_due(profiles, &due, 0, 1);
    ck_assert_uint_ge(at, before);
    ck_assert_uint_le(at, gw_now_ns());
    gw__link_profiles_destroy(&profiles);
}
END_TEST

START_TEST(delays_overlap)
{
    static const struct gw_link_profile profile = {.delay_us = 700};
    struct gw__link_profiles *profiles = make(&profile);
    struct gw__due due = {0}, other = {0};
    for (uint64_t i = 0; i < 10; i++) {
        uint64_t sent = begin + i * 5 * US;
        ck_assert_uint_eq(slice_due(profiles, &due, sent, 1 << 20),
                          sent + 700 * US);
    }
    ck_assert_uint_eq(gw__link_profiles_due(profiles, FROM + 1, &other, begin,
                                            1, false, false),
                      begin);
    gw__link_profiles_destroy(&profiles);
}
END_TEST

/* The first one, too: single messages show a rate as well. */
START_TEST(times_at_a_rate_add_up)
{
    static const struct gw_link_profile profile = {.delay_us = 100,
                                                   .rate = 1000000};
    struct gw__link_profiles *profiles = make(&profile);
    struct gw__due due = {0};
    uint64_t at = begin + 100 * US;
    for (size_t bytes = 1; bytes < 1 << 20; bytes *= 3) {
        at += bytes * US;
        ck_assert_uint_eq(slice_due(profiles, &due, begin, bytes), at);
    }
    uint64_t later = at + 50 * MS;
    ck_assert_uint_eq(slice_due(profiles, &due, later, 10),
                      later + 100 * US + 10 * US);
    gw__link_profiles_destroy(&profiles);
}
END_TEST

START_TEST(extreme_rates_do_not_overflow)
{
    struct gw_link_profile profile = {.rate = UINT64_MAX};
    struct gw__link_profiles *profiles = make(&profile);
    struct gw__due due = {0};
    ck_assert_uint_eq(slice_due(profiles, &due, begin, UINT32_MAX), begin);
    profile.rate = 1;
    gw__link_profiles_set(profiles, FROM, &profile);
    ck_assert_uint_eq(slice_due(profiles, &due, begin, UINT32_MAX),
                      begin + (uint64_t)UINT32_MAX * 1000 * MS);
    gw__link_profiles_destroy(&profiles);
}
END_TEST

START_TEST(a_stream_keeps_its_order_when_a_profile_ends)
{
    static const struct gw_link_profile slow = {.delay_us = 9000}, none;
    struct gw__link_profiles *profiles = make(&slow);
    struct gw__due due = {0};
    uint64_t first = slice_due(profiles, &due, begin, 1);
    gw__link_profiles_set(profiles, FROM, &none);
    ck_assert_uint_eq(slice_due(profiles, &due, begin + US, 1), first);
    gw__link_profiles_destroy(&profiles);
}
END_TEST

START_TEST(what_waits_may_be_queried_again)
{
    static const struct gw_link_profile slow = {.delay_us = 9000}, none;
    struct gw__link_profiles *profiles = make(&slow);
    struct gw__due before = {0}, due = before;
    ck_assert_uint_eq(slice_due(profiles, &due, begin, 1), begin + 9 * MS);
    gw__link_profiles_set(profiles, FROM, &none);
    due = before;
    ck_assert_uint_eq(slice_due(profiles, &due, begin, 1), begin);
    gw__link_profiles_destroy(&profiles);
}
END_TEST

START_TEST(pace_is_what_a_chunk_takes)
{
    enum { CHUNKS = 4, SLICES = 5 };
    struct gw__link_profiles *profiles = make(NULL);
    struct gw__due due = {0};
    gw__link_profiles_pace(profiles, 200 * MS);
    for (uint64_t chunk = 0; chunk < CHUNKS; chunk++)
        for (int slice = 0; slice < SLICES; slice++)
            ck_assert_uint_eq(gw__link_profiles_due(profiles, FROM, &due, begin,
                                                    1000, false, slice == 0),
                              begin + (chunk + 1) * 200 * MS);
    gw__link_profiles_pace(profiles, 0);
    uint64_t later = begin + 5000ULL * MS;
    ck_assert_uint_eq(
        gw__link_profiles_due(profiles, FROM, &due, later, 1000, false, true),
        later);
    gw__link_profiles_destroy(&profiles);
}
END_TEST

START_TEST(a_slice_that_is_lost_is_due_a_resend_later)
{
    static const struct {
        uint32_t delay_us;
        uint64_t resend_ns;
    } cases[] = {{0, 2 * MS}, {999, 2 * MS}, {1000, 2 * MS}, {5000, 10 * MS}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_link_profile profile = {.delay_us = cases[i].delay_us,
                                          .loss_ppm = 1000000};
        struct gw__link_profiles *profiles = make(&profile);
        struct gw__due due = {0};
        uint64_t lost =
            begin + profile.delay_us * (uint64_t)US + cases[i].resend_ns;
        ck_assert_uint_eq(slice_due(profiles, &due, begin, 1), lost);
        profile.loss_ppm = 0;
        gw__link_profiles_set(profiles, FROM, &profile);
        ck_assert_uint_eq(slice_due(profiles, &due, begin, 1), lost);
        gw__link_profiles_destroy(&profiles);
    }
}
END_TEST

START_TEST(a_message_that_is_lost_is_gone_and_nothing_else)
{
    static const struct gw_link_profile always = {.loss_ppm = 1000000,
                                                  .rate = 1000};
    struct gw__link_profiles *profiles = make(&always);
    struct gw__due due = {.last_ns = begin};
    ck_assert_uint_eq(
        gw__link_profiles_due(profiles, FROM, &due, begin, 1, true, false),
        UINT64_MAX);
    ck_assert_uint_eq(due.last_ns, begin);
    gw__link_profiles_destroy(&profiles);
}
END_TEST

/* Within five standard deviations of a binomial. */
START_TEST(as_many_are_lost_as_the_profile_has)
{
    enum { MESSAGES = 100000, EXPECTED = 10000, SPREAD = 475 };
    static const struct gw_link_profile profile = {.loss_ppm = 100000};
    struct gw__link_profiles *profiles = make(&profile);
    struct gw__due due = {0};
    unsigned lost = 0;
    for (unsigned i = 0; i < MESSAGES; i++)
        lost += gw__link_profiles_due(profiles, FROM, &due, begin, 1, true,
                                      false) == UINT64_MAX;
    ck_assert_msg(lost > EXPECTED - SPREAD && lost < EXPECTED + SPREAD,
                  "%u of %d lost (seed %d)", lost, MESSAGES, SEED);
    gw__link_profiles_destroy(&profiles);
}
END_TEST

START_TEST(jitter_is_evenly_between_nothing_and_its_most)
{
    enum { MESSAGES = 20000, MOST = 300 * US };
    static const struct gw_link_profile profile = {.delay_us = 50,
                                                   .jitter_us = 300};
    struct gw__link_profiles *profiles = make(&profile);
    uint64_t least = UINT64_MAX, most = 0, sum = 0;
    for (unsigned i = 0; i < MESSAGES; i++) {
        struct gw__due due = {0};
        uint64_t jitter = slice_due(profiles, &due, begin, 1) - begin - 50 * US;
        ck_assert_uint_le(jitter, MOST);
        least = jitter < least ? jitter : least;
        most = jitter > most ? jitter : most;
        sum += jitter;
    }
    ck_assert_uint_lt(least, MOST / 100);
    ck_assert_uint_gt(most, MOST - MOST / 100);
    ck_assert_uint_gt(sum / MESSAGES, MOST / 2 - MOST / 50);
    ck_assert_uint_lt(sum / MESSAGES, MOST / 2 + MOST / 50);
    gw__link_profiles_destroy(&profiles);
}
END_TEST

START_TEST(jitter_lets_nothing_overtake)
{
    static const struct gw_link_profile profile = {.jitter_us = 1000};
    struct gw__link_profiles *profiles = make(&profile);
    struct gw__due due = {0};
    uint64_t last = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t at = slice_due(profiles, &due, begin + i * US, 1);
        ck_assert_uint_ge(at, last);
        last = at;
    }
    gw__link_profiles_destroy(&profiles);
}
END_TEST

START_TEST(a_seed_is_a_fate)
{
    static const struct gw_link_profile profile = {.jitter_us = 900,
                                                   .loss_ppm = 300000};
    struct gw__link_profiles *profiles[2] = {make(&profile), make(&profile)};
    struct gw__due due[2] = {{0}};
    for (unsigned i = 0; i < 200; i++)
        ck_assert_uint_eq(gw__link_profiles_due(profiles[0], FROM, &due[0],
                                                begin, 1, true, false),
                          gw__link_profiles_due(profiles[1], FROM, &due[1],
                                                begin, 1, true, false));
    for (unsigned i = 0; i < 2; i++)
        gw__link_profiles_destroy(&profiles[i]);
}
END_TEST

/* ---- one writes, others read ---- */

enum { BYTES = 1000 };
static const struct gw_link_profile one = {.delay_us = 1000};
static const struct gw_link_profile other = {.delay_us = 2000,
                                             .rate = 1000000000};

struct reader {
    pthread_t thread;
    struct gw__link_profiles *profiles;
    const _Atomic bool *over;
    bool torn;
};

static void *read_profiles(void *context)
{
    struct reader *reader = context;
    while (!atomic_load(reader->over)) {
        struct gw__due due = {0};
        uint64_t ns = slice_due(reader->profiles, &due, begin, BYTES) - begin;
        reader->torn |= ns != 1 * MS && ns != 2 * MS + BYTES;
        reader->torn |= gw__link_profiles_quiet(reader->profiles);
        reader->torn |= gw__link_profiles_down(reader->profiles, FROM);
    }
    return NULL;
}

START_TEST(readers_see_a_profile_whole)
{
    enum { CHANGES = 20000 };
    _Atomic bool over = false;
    struct gw__link_profiles *profiles = make(&one);
    struct reader readers[2];
    for (unsigned i = 0; i < 2; i++) {
        readers[i] = (struct reader){.profiles = profiles, .over = &over};
        pthread_create(&readers[i].thread, NULL, read_profiles, &readers[i]);
    }
    for (unsigned i = 0; i < CHANGES; i++)
        gw__link_profiles_set(profiles, FROM, i % 2 ? &one : &other);
    atomic_store(&over, true);
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(readers[i].thread, NULL);
        ck_assert(!readers[i].torn);
    }
    gw__link_profiles_destroy(&profiles);
}
END_TEST

Suite *suite_link_profiles(void)
{
    Suite *suite = suite_create("link_profiles");
    TCase *tests = tcase_create("due times");
    tcase_add_test(tests, an_empty_table_has_no_effect);
    tcase_add_test(tests, a_cut_affects_one_link);
    tcase_add_test(tests, every_change_is_counted);
    tcase_add_test(tests, a_node_beyond_the_table_has_no_profile);
    tcase_add_test(tests, without_a_profile_a_message_passes_at_once);
    tcase_add_test(tests, delays_overlap);
    tcase_add_test(tests, times_at_a_rate_add_up);
    tcase_add_test(tests, extreme_rates_do_not_overflow);
    tcase_add_test(tests, a_stream_keeps_its_order_when_a_profile_ends);
    tcase_add_test(tests, what_waits_may_be_queried_again);
    tcase_add_test(tests, pace_is_what_a_chunk_takes);
    tcase_add_test(tests, a_slice_that_is_lost_is_due_a_resend_later);
    tcase_add_test(tests, a_message_that_is_lost_is_gone_and_nothing_else);
    tcase_add_test(tests, as_many_are_lost_as_the_profile_has);
    tcase_add_test(tests, jitter_is_evenly_between_nothing_and_its_most);
    tcase_add_test(tests, jitter_lets_nothing_overtake);
    tcase_add_test(tests, a_seed_is_a_fate);
    tcase_add_test(tests, readers_see_a_profile_whole);
    suite_add_tcase(suite, tests);
    return suite;
}
