/* SPDX-License-Identifier: MIT
 *
 * Text with control sequences, which a terminal must not execute.
 */
#include "common/text/visible.h"

#include <check.h>
#include <string.h>

Suite *suite_visible(void);

static void expect(const char *text, const char *seen)
{
    char out[128];
    ck_assert_str_eq(visible(text, out, sizeof out), seen);
}

START_TEST(what_can_be_inspected_stays)
{
    expect("", "");
    expect("unknown command \"x\"", "unknown command \"x\"");
    expect("na\xc3\xafve \xe2\x9f\xb3 \xf0\x9f\x90\x87",
           "na\xc3\xafve \xe2\x9f\xb3 \xf0\x9f\x90\x87");
    expect("a\\x1b", "a\\x1b");
}
END_TEST

START_TEST(controls_are_shown)
{
    expect("\033[31mfoo", "\\x1b[31mfoo");
    expect("a\nb\tc\r\x7f", "a\\x0ab\\x09c\\x0d\\x7f");
    expect("\xc2\x9b"
           "2J\xc2\xa0",
           "\\xc2\\x9b2J\xc2\xa0");
}
END_TEST

START_TEST(what_is_no_character_is_shown)
{
    expect("\x9b"
           "2J",
           "\\x9b2J");
    expect("\xff\xfe", "\\xff\\xfe");
    expect("cut \xe2\x9f", "cut \\xe2\\x9f");
    expect("\xc0\x9b", "\\xc0\\x9b");          /* overlong */
    expect("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* half of a surrogate pair */
}
END_TEST

/* At every size: terminated, and no character cut. */
START_TEST(what_does_not_fit_is_left_out)
{
    static const char text[] = "a\xc3\xaf\033b", whole[] = "a\xc3\xaf\\x1bb";
    for (size_t room = 1; room <= sizeof whole; room++) {
        char out[sizeof whole + 1];
        memset(out, '#', sizeof out);
        visible(text, out, room);
        size_t length = strlen(out);
        ck_assert_uint_lt(length, room);
        ck_assert_int_eq(out[room], '#');
        ck_assert_int_eq(memcmp(out, whole, length), 0);
        ck_assert(length == 0 || length == 1 || length == 3 || length == 7 ||
                  length == 8);
        ck_assert(room < sizeof whole || length == sizeof whole - 1);
    }
}
END_TEST

Suite *suite_visible(void)
{
    Suite *suite = suite_create("visible");
    TCase *tcase = tcase_create("texts");
    tcase_add_test(tcase, what_can_be_inspected_stays);
    tcase_add_test(tcase, controls_are_shown);
    tcase_add_test(tcase, what_is_no_character_is_shown);
    tcase_add_test(tcase, what_does_not_fit_is_left_out);
    suite_add_tcase(suite, tcase);
    return suite;
}
