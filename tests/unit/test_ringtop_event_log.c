/* SPDX-License-Identifier: MIT
 *
 * The log of the live view: the lines that it keeps and joins, and its format
 * of times.
 */
#include "ringtop/state/event_log.h"

#include <check.h>

Suite *suite_ringtop_event_log(void);

static struct event_log event_log;

static void setup(void)
{
    event_log = (struct event_log){0};
}

static const char *line(unsigned back)
{
    return event_log_at(&event_log, back)->text;
}

START_TEST(the_event_log_forgets)
{
    for (unsigned i = 0; i < EVENT_LOG_KEPT + 10; i++)
        event_log_write(&event_log, i, WEIGHT_INFO, "line %u", i);
    ck_assert_uint_eq(event_log_count(&event_log), EVENT_LOG_KEPT);
    ck_assert_str_eq(line(0), "line 265");
    ck_assert_str_eq(line(EVENT_LOG_KEPT - 1), "line 10");
}
END_TEST

START_TEST(times_in_words)
{
    static const struct {
        uint64_t ns;
        const char *text;
    } times[] = {
        {0, "0 ns"},
        {999, "999 ns"},
        {1000, "1.00 us"},
        {12345, "12.3 us"},
        {999499, "999 us"},
        {999500, "1.00 ms"},
        {1500000, "1.50 ms"},
        {99960000, "100 ms"},
        {2000000000, "2.00 s"},
        {3600000000000, "3600 s"},
    };
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        char text[16];
        format_ns(times[i].ns, text);
        ck_assert_str_eq(text, times[i].text);
    }
}
END_TEST

START_TEST(a_few_others_do_not_break_the_line)
{
    for (uint32_t op = 1; op <= 40; op++) {
        event_log_op(&event_log, op, op, op % 20 ? "big" : "small", 1000);
        if (op == 20)
            ck_assert_str_eq(line(0),
                             "ops 1 to 20 big: 1.00 us each, and 1 other");
    }
    ck_assert_uint_eq(event_log_count(&event_log), 1);
    ck_assert_str_eq(line(0), "ops 1 to 40 big: 1.00 us each, and 2 others");
    event_log_op(&event_log, 41, 41, "small", 1000);
    ck_assert_uint_eq(event_log_count(&event_log), 2);
}
END_TEST

Suite *suite_ringtop_event_log(void)
{
    Suite *suite = suite_create("ringtop_event_log");
    TCase *tcase = tcase_create("ringtop event log");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, the_event_log_forgets);
    tcase_add_test(tcase, a_few_others_do_not_break_the_line);
    tcase_add_test(tcase, times_in_words);
    suite_add_tcase(suite, tcase);
    return suite;
}
