/* SPDX-License-Identifier: MIT
 *
 * Errors and their texts, sizes and durations, random numbers, hashes.
 */
#include "base/whole.h"
#include "skip.h"

#include <gradwire/base.h>

#include <check.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <string.h>

Suite *suite_base(void);

/* ---- errors ---- */

START_TEST(test_error_list)
{
    ck_assert_str_eq(gw_err_name(GW_ELOST), "GW_ELOST");
    ck_assert_str_eq(gw_err_text(GW_ELOST), "peer lost");
    ck_assert_str_eq(gw_err_name((enum gw_err) - 99), "GW_?");
    ck_assert_str_eq(gw_err_text((enum gw_err) - 99), "unknown error");
}
END_TEST

/* The contract of the tools: see collrun(1), EXIT STATUS. */
START_TEST(test_exit_statuses)
{
    ck_assert_int_eq(gw_err_exit(GW_OK), 0);
    ck_assert_int_eq(gw_err_exit(GW_EWRONG), 1);
    ck_assert_int_eq(gw_err_exit(GW_ELOST), 1);
    ck_assert_int_eq(gw_err_exit(GW_EINVAL), 64);
    ck_assert_int_eq(gw_err_exit(GW_EDATA), 65);
    ck_assert_int_eq(gw_err_exit(GW_EUNREACH), 69);
    ck_assert_int_eq(gw_err_exit(GW_EINTERNAL), 70);
    ck_assert_int_eq(gw_err_exit(GW_ETIMEOUT), 124);
    ck_assert_int_eq(gw_err_exit(GW_EINTR), 130);
    ck_assert_int_eq(gw_err_exit((enum gw_err) - 99), 70);
}
END_TEST

START_TEST(test_fail_keeps_code_and_sentence)
{
    struct gw_error why;
    ck_assert_int_eq(gw_fail(&why, GW_ELOST, "rank %d is gone", 3), GW_ELOST);
    ck_assert_int_eq(why.code, GW_ELOST);
    ck_assert_str_eq(why.text, "rank 3 is gone");
    ck_assert_int_eq(gw_fail(NULL, GW_EDATA, "no process listens"), GW_EDATA);
}
END_TEST

START_TEST(test_fail_ends_with_the_text_of_its_code)
{
    static const struct {
        enum gw_err code;
        const char *expected, *whole;
    } cases[] = {
        {GW_ENOMEM, "a stage", "a stage: out of memory"},
        {GW_ENOMEM, "", "out of memory"},
        {GW_ENOMEM, "x: out of memory", "x: out of memory"},
        {GW_ELOST, "rank 3 was killed", "rank 3 was killed"},
        {GW_ETIMEOUT, "no answer in 5 s", "no answer in 5 s: timed out"},
        {GW_EINTERNAL, "rank 3", "rank 3: internal error"},
        {GW_EINVAL, "0 ranks: at least 1", "0 ranks: at least 1"},
        {GW_EDATA, "a:3:1: expected a number", "a:3:1: expected a number"},
    };
    struct gw_error why;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(gw_fail(&why, cases[i].code, "%s", cases[i].expected),
                         cases[i].code);
        ck_assert_str_eq(why.text, cases[i].whole);
        gw_wrap(&why, GW_OK, "here");
        ck_assert_ptr_nonnull(strstr(why.text, cases[i].whole));
        ck_assert_uint_le(strlen(why.text), strlen(cases[i].whole) + 6);
    }
}
END_TEST

/* For any length of the text, and any number of wraps. */
START_TEST(test_a_long_sentence_keeps_the_text_of_its_code)
{
    struct gw_error why;
    char longer[2 * sizeof why.text];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    gw_fail(&why, GW_ENOMEM, "%s", longer);
    for (int i = 0; i < 3; i++) {
        const char *end = strstr(why.text, "x: out of memory");
        ck_assert_ptr_nonnull(end);
        ck_assert_str_eq(end, "x: out of memory");
        gw_wrap(&why, GW_OK, "%s", longer);
    }
    errno = ENOMEM;
    gw_fail_errno(&why, "a map");
    ck_assert_str_eq(why.text, "a map: out of memory");
}
END_TEST

START_TEST(test_fail_truncates_long_text)
{
    struct gw_error why;
    char longer[2 * sizeof why.text];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    ck_assert_int_eq(gw_fail(&why, GW_EDATA, "%s", longer), GW_EDATA);
    ck_assert_uint_eq(strlen(why.text), sizeof why.text - 1);
    ck_assert_int_eq(gw_wrap(&why, GW_OK, "%s", longer), GW_EDATA);
    ck_assert_uint_lt(strlen(why.text), sizeof why.text);
    ck_assert_ptr_nonnull(strstr(why.text, "xx: xx"));
}
END_TEST

START_TEST(test_fail_errno_names_the_cause)
{
    struct gw_error why;
    errno = ENOENT;
    ck_assert_int_eq(gw_fail_errno(&why, "open %s", "a.plan"), GW_ESYS);
    ck_assert_str_eq(why.text, "open a.plan: No such file or directory");
    static const struct {
        int number;
        enum gw_err code;
    } codes[] = {
        {ENOMEM, GW_ENOMEM}, {ENOSPC, GW_ENOSPC}, {EFBIG, GW_ENOSPC},
        {EINTR, GW_EINTR},   {EPIPE, GW_ESYS},
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        errno = codes[i].number;
        ck_assert_int_eq(gw_fail_errno(&why, "x"), codes[i].code);
        errno = codes[i].number;
        ck_assert_int_eq(gw_fail_errno(NULL, "x"), codes[i].code);
    }
}
END_TEST

START_TEST(test_wrap_puts_context_before)
{
    struct gw_error why;
    gw_fail(&why, GW_ELOST, "peer lost");
    ck_assert_int_eq(gw_wrap(&why, GW_OK, "chunk %d", 5), GW_ELOST);
    ck_assert_int_eq(gw_wrap(&why, GW_OK, "allreduce op 12"), GW_ELOST);
    ck_assert_str_eq(why.text, "allreduce op 12: chunk 5: peer lost");
    ck_assert_int_eq(gw_wrap(NULL, GW_EDATA, "no process listens"), GW_EDATA);
}
END_TEST

/* ---- sizes and durations ---- */

START_TEST(test_bytes)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } sizes[] = {
        {"0", 0},
        {"64", 64},
        {"64B", 64},
        {"1K", 1024},
        {"1KiB", 1024},
        {"1kb", 1024},
        {"16MB", 16 << 20},
        {"4M", 4 << 20},
        {"1.5K", 1536},
        {".5M", 1 << 19},
        {"2G", UINT64_C(2) << 30},
        {"1e3", 1000},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t bytes = 1;
        ck_assert_msg(gw_parse_bytes(sizes[i].text, &bytes, NULL) == GW_OK &&
                          bytes == sizes[i].bytes,
                      "%s became %llu", sizes[i].text,
                      (unsigned long long)bytes);
    }
}
END_TEST

START_TEST(test_bytes_refused)
{
    static const char *const texts[] = {
        "",    "K",   "-1",  "+1",   " 1",    "1 K",  "1T",  "1KK",
        "0x1", "nan", "inf", "1e99", "1.2.3", "9e9G", "4Kx",
    };
    struct gw_error why;
    uint64_t bytes = 42;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_msg(gw_parse_bytes(texts[i], &bytes, &why) == GW_EINVAL,
                      "\"%s\" was taken for %llu", texts[i],
                      (unsigned long long)bytes);
    ck_assert_uint_eq(bytes, 42);
    ck_assert_str_eq(why.text,
                     "\"4Kx\" is not a size; write 64, 4K, 16M or 1G");
}
END_TEST

START_TEST(test_durations)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } spans[] = {
        {"0", 0},
        {"3", 3000000000},
        {"7ns", 7},
        {"5us", 5000},
        {"20ms", 20000000},
        {"1.5s", 1500000000},
        {"2m", 120000000000},
        {"1h", 3600000000000},
    };
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        uint64_t ns = 1;
        ck_assert_msg(gw_parse_duration(spans[i].text, &ns, NULL) == GW_OK &&
                          ns == spans[i].ns,
                      "%s became %llu ns", spans[i].text,
                      (unsigned long long)ns);
    }
    struct gw_error why;
    uint64_t ns = 42;
    ck_assert_int_eq(gw_parse_duration("5 minutes", &ns, &why), GW_EINVAL);
    ck_assert_str_eq(
        why.text,
        "\"5 minutes\" is not a duration; write 50us, 20ms, 1.5s or 2m");
    ck_assert_uint_eq(ns, 42);
}
END_TEST

START_TEST(test_format_bytes)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } sizes[] = {
        {0, "0"},
        {512, "512"},
        {1023, "1023"},
        {1024, "1K"},
        {1536, "1.50K"},
        {10240 + 512, "10.5K"},
        {1 << 20, "1M"},
        {16 << 20, "16M"},
        {123456789, "118M"},
        {UINT64_MAX, "16E"},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char text[16];
        gw_format_bytes(sizes[i].bytes, text);
        ck_assert_str_eq(text, sizes[i].text);
    }
}
END_TEST

/* Powers of two are printed exactly, everything else to three digits. */
START_TEST(test_format_parses_back)
{
    for (unsigned shift = 0; shift < 40; shift++)
        for (uint64_t times = 1; times < 64; times++) {
            char text[16];
            uint64_t bytes, meant = times << shift;
            gw_format_bytes(meant, text);
            if (strchr(text, 'T'))
                continue;
            ck_assert_int_eq(gw_parse_bytes(text, &bytes, NULL), GW_OK);
            double off = fabs((double)bytes - (double)meant);
            ck_assert_msg(off <= (times == 1 ? 0 : 0.005 * (double)meant),
                          "%llu was printed as %s", (unsigned long long)meant,
                          text);
        }
}
END_TEST

/* A host program may have any locale. */
static void check_quantities(const char *locale)
{
    uint64_t number;
    char text[16];
    if (!setlocale(LC_ALL, locale))
        SKIP("base", "the locale %s is not installed", locale);
    ck_assert_int_eq(gw_parse_duration("1.5s", &number, NULL), GW_OK);
    ck_assert_uint_eq(number, 1500000000);
    ck_assert_int_eq(gw_parse_bytes("2MIB", &number, NULL), GW_OK);
    ck_assert_uint_eq(number, 2 << 20);
    ck_assert_int_eq(gw_parse_bytes("1,5K", &number, NULL), GW_EINVAL);
    gw_format_bytes(1536, text);
    ck_assert_str_eq(text, "1.50K");
}

START_TEST(test_quantities_in_german)
{
    check_quantities("de_DE.UTF-8");
}
END_TEST

START_TEST(test_quantities_in_turkish)
{
    check_quantities("tr_TR.UTF-8");
}
END_TEST

/* ---- random numbers, hashes, time ---- */

/* The first outputs of the authors' xoshiro256starstar.c after splitmix64.c
 * has filled the state from 0 and from 42. */
START_TEST(test_rng_is_xoshiro256starstar)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, 0);
    ck_assert_uint_eq(rng.state[0], 0xe220a8397b1dcdafU);
    ck_assert_uint_eq(rng.state[1], 0x6e789e6aa1b965f4U);
    ck_assert_uint_eq(gw_rng_next(&rng), 0x99ec5f36cb75f2b4U);
    ck_assert_uint_eq(gw_rng_next(&rng), 0xbf6e1f784956452aU);
    gw_rng_seed(&rng, 42);
    ck_assert_uint_eq(gw_rng_next(&rng), 0x15780b2e0c2ec716U);
}
END_TEST

START_TEST(test_rng_below_is_fair)
{
    enum { BOUND = 7, DRAWS = 70000 };
    unsigned counts[BOUND] = {0};
    struct gw_rng rng;
    gw_rng_seed(&rng, 1);
    for (int i = 0; i < DRAWS; i++)
        counts[gw_rng_below(&rng, BOUND)]++;
    for (int i = 0; i < BOUND; i++) /* 10000 +- 5 standard deviations */
        ck_assert_msg(counts[i] > 9530 && counts[i] < 10470,
                      "seed 1: %d came %u times", i, counts[i]);
    ck_assert_uint_eq(gw_rng_below(&rng, 1), 0);
}
END_TEST

START_TEST(test_rng_uniform)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, 1);
    double sum = 0;
    for (int i = 0; i < 10000; i++) {
        double value = gw_rng_unit(&rng);
        ck_assert(value >= 0 && value < 1);
        sum += value;
    }
    ck_assert_double_eq_tol(sum / 10000, 0.5, 0.015);
}
END_TEST

/* The reference values of the FNV page by Landon Curt Noll. */
START_TEST(test_hash_is_fnv1a)
{
    ck_assert_uint_eq(gw_hash("", 0, 0), 0xcbf29ce484222325U);
    ck_assert_uint_eq(gw_hash("a", 1, 0), 0xaf63dc4c8601ec8cU);
    ck_assert_uint_eq(gw_hash("foobar", 6, 0), 0x85944171f73967e8U);
    ck_assert_uint_eq(gw_hash("bar", 3, gw_hash("foo", 3, 0)),
                      gw_hash("foobar", 6, 0));
}
END_TEST

START_TEST(test_clock_advances)
{
    uint64_t before = gw_now_ns(), after;
    do
        after = gw_now_ns();
    while (after == before);
    ck_assert_uint_gt(after, before);
}
END_TEST

START_TEST(test_whole_numbers)
{
    const char *text = "42..18446744073709551615x";
    uint64_t number;
    ck_assert(gw__whole_read(&text, UINT64_MAX, &number));
    ck_assert_uint_eq(number, 42);
    text += 2;
    const char *here = text;
    ck_assert(!gw__whole_read(&text, UINT64_MAX - 1, &number));
    ck_assert_ptr_eq(text, here);
    ck_assert_uint_eq(number, 42);
    ck_assert(gw__whole_read(&text, UINT64_MAX, &number));
    ck_assert_uint_eq(number, UINT64_MAX);
    ck_assert_str_eq(text, "x");
}
END_TEST

START_TEST(test_whole_numbers_refused)
{
    static const char *const texts[] = {"",
                                        "x",
                                        "-1",
                                        "+1",
                                        " 1",
                                        "18446744073709551616",
                                        "99999999999999999999",
                                        "184467440737095516150"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *text = texts[i];
        uint64_t number = 7;
        ck_assert_msg(!gw__whole_read(&text, UINT64_MAX, &number), "%s",
                      texts[i]);
        ck_assert_ptr_eq(text, texts[i]);
        ck_assert_uint_eq(number, 7);
    }
}
END_TEST

Suite *suite_base(void)
{
    Suite *suite = suite_create("base");
    TCase *errors = tcase_create("errors");
    tcase_add_test(errors, test_error_list);
    tcase_add_test(errors, test_exit_statuses);
    tcase_add_test(errors, test_fail_keeps_code_and_sentence);
    tcase_add_test(errors, test_fail_ends_with_the_text_of_its_code);
    tcase_add_test(errors, test_a_long_sentence_keeps_the_text_of_its_code);
    tcase_add_test(errors, test_fail_truncates_long_text);
    tcase_add_test(errors, test_fail_errno_names_the_cause);
    tcase_add_test(errors, test_wrap_puts_context_before);
    suite_add_tcase(suite, errors);
    TCase *quantities = tcase_create("quantities");
    tcase_add_test(quantities, test_bytes);
    tcase_add_test(quantities, test_bytes_refused);
    tcase_add_test(quantities, test_durations);
    tcase_add_test(quantities, test_format_bytes);
    tcase_add_test(quantities, test_format_parses_back);
    tcase_add_test(quantities, test_quantities_in_german);
    tcase_add_test(quantities, test_quantities_in_turkish);
    suite_add_tcase(suite, quantities);
    TCase *numbers = tcase_create("numbers");
    tcase_add_test(numbers, test_rng_is_xoshiro256starstar);
    tcase_add_test(numbers, test_rng_below_is_fair);
    tcase_add_test(numbers, test_rng_uniform);
    tcase_add_test(numbers, test_hash_is_fnv1a);
    tcase_add_test(numbers, test_clock_advances);
    tcase_add_test(numbers, test_whole_numbers);
    tcase_add_test(numbers, test_whole_numbers_refused);
    suite_add_tcase(suite, numbers);
    return suite;
}
