/* SPDX-License-Identifier: MIT
 *
 * Tables wider than the terminal: first numbers get less room,
 * then columns are dropped, in the given order, and a line lists them.
 */
#include "common/command.h"
#include "common/output/output_format.h"

#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

Suite *suite_output_narrow(void);

static const struct field fields[] = {
    {"rank", NULL, FIELD_INTEGER, 0, false},
    {"op", NULL, FIELD_TEXT, 0, false},
    {"time_us", "time us", FIELD_REAL, 2, false},
    {"bytes", NULL, FIELD_INTEGER, 0, false},
    {"pid", NULL, FIELD_INTEGER, 0, true},
    {"right", NULL, FIELD_BOOL, 0, false},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static const union value row[FIELDS] = {
    {.integer = 3},  {.text = "allreduce"}, {.real = 1.5},
    {.integer = 64}, {.integer = 4711},     {.boolean = true}};

/* A terminal with so many columns and without output processing; a person would
 * see the text at *other. */
static FILE *terminal(unsigned short columns, int *other)
{
    struct termios modes;
    *other = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert_int_ge(*other, 0);
    ck_assert_int_eq(grantpt(*other), 0);
    ck_assert_int_eq(unlockpt(*other), 0);
    int fd = open(ptsname(*other), O_RDWR | O_NOCTTY);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(tcgetattr(fd, &modes), 0);
    modes.c_oflag &= ~(tcflag_t)OPOST;
    ck_assert_int_eq(tcsetattr(fd, TCSANOW, &modes), 0);
    const struct winsize size = {.ws_row = 24, .ws_col = columns};
    ck_assert_int_eq(ioctl(fd, TIOCSWINSZ, &size), 0);
    return fdopen(fd, "w");
}

/* An operation that will come in a later row; NULL: none. */
static const char *expected;

/* A row after the first; NULL: none. */
static const union value *second;

/* The text of a table; in `shown` until the next call. */
static const char *table_on(unsigned short columns, const char *format,
                            const char *spare, bool collect)
{
    static char shown[1024];
    int other;
    struct output *output;
    FILE *file = terminal(columns, &other);
    output_to(file);
    ck_assert_int_eq(output_begin("t", format, fields, FIELDS, &output, NULL),
                     GW_OK);
    output_spare(output, spare);
    if (expected)
        output_reserve(output, "op", expected);
    if (collect)
        output_collect(output);
    output_row(output, row);
    if (second)
        output_row(output, second);
    output_end(&output, NULL, false);
    output_to(NULL);
    fclose(file);
    size_t length = 0;
    for (ssize_t more = 1; more > 0; length += more > 0 ? (size_t)more : 0)
        more = read(other, shown + length, sizeof shown - 1 - length);
    shown[length] = 0;
    close(other);
    return shown;
}

START_TEST(what_fits_is_whole)
{
    ck_assert_str_eq(table_on(49, "table", "op", false),
                     "    rank  op             time us     bytes  right\n"
                     "       3  allreduce         1.50        64  true\n");
    ck_assert_str_eq(table_on(38, "table", "op", true),
                     "rank  op         time us  bytes  right\n"
                     "   3  allreduce     1.50     64  true\n");
}
END_TEST

START_TEST(expected_texts_have_room)
{
    expected = "reduce_scatter";
    ck_assert_str_eq(table_on(56, "table", "op", false),
                     "    rank  op                  time us     bytes  right\n"
                     "       3  allreduce              1.50        64  true\n");
    ck_assert_str_eq(table_on(44, "table", "bytes", false),
                     " rank  op            time us  bytes  right\n"
                     "    3  allreduce        1.50     64  true\n");
    expected = NULL;
}
END_TEST

START_TEST(a_long_text_is_cut_where_the_line_would_wrap)
{
    union value later[FIELDS];
    memcpy(later, row, sizeof row);
    later[1].text = "/a/long/path/to.plan";
    second = later;
    ck_assert_str_eq(table_on(49, "table", "op", false),
                     "    rank  op             time us     bytes  right\n"
                     "       3  allreduce         1.50        64  true\n"
                     "       3  ..to.plan         1.50        64  true\n");
    later[1].text = "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc"
                    "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc";
    ck_assert_ptr_nonnull(strstr(
        table_on(49, "table", "op", false),
        "  ..\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc  "));
    later[1].text = "ring";
    later[3].integer = 123456789012; /* digits are never lost */
    ck_assert_ptr_nonnull(
        strstr(table_on(49, "table", "op", false), " 123456789012  true"));
    second = NULL;
}
END_TEST

START_TEST(numbers_get_less_room_first)
{
    ck_assert_str_eq(table_on(40, "table", "op", false),
                     " rank  op          time us  bytes  right\n"
                     "    3  allreduce      1.50     64  true\n");
}
END_TEST

START_TEST(named_columns_go_in_their_order)
{
    ck_assert_str_eq(table_on(39, "table", "op bytes", false),
                     " rank   time us  bytes  right\n"
                     "    3      1.50     64  true\n"
                     "# not shown: op (-v or -o jsonl shows\n"
                     "#   them)\n");
}
END_TEST

/* The first column names the row. */
START_TEST(then_columns_from_the_right)
{
    ck_assert_str_eq(table_on(20, "table", "op", true),
                     "rank  time us  bytes\n"
                     "   3     1.50     64\n"
                     "# not shown: op,\n"
                     "#   right (-v or -o\n"
                     "#   jsonl shows\n#   them)\n");
    ck_assert_str_eq(table_on(10, "table", NULL, true),
                     "rank\n"
                     "   3\n"
                     "# not shown:\n#   op,\n#   time_us,\n#   bytes,\n"
                     "#   right\n#   (-v or\n#   -o\n#   jsonl\n#   shows\n"
                     "#   them)\n");
}
END_TEST

START_TEST(all_columns_are_all)
{
    common.verbose = true;
    const char *shown = table_on(20, "table", "op", true);
    common.verbose = false;
    ck_assert_str_eq(shown, "rank  op         time us  bytes   pid  right\n"
                            "   3  allreduce     1.50     64  4711  true\n");
}
END_TEST

START_TEST(other_formats_do_not_care)
{
    const char *shown = table_on(20, "csv", "op", false);
    ck_assert_ptr_eq(strstr(shown, "rank,op,time_us,bytes,pid,right,"), shown);
    ck_assert_ptr_nonnull(strstr(shown, "\n3,allreduce,1.50,64,4711,true,"));
}
END_TEST

Suite *suite_output_narrow(void)
{
    const TTest *const tests[] = {
        what_fits_is_whole,
        expected_texts_have_room,
        a_long_text_is_cut_where_the_line_would_wrap,
        numbers_get_less_room_first,
        named_columns_go_in_their_order,
        then_columns_from_the_right,
        all_columns_are_all,
        other_formats_do_not_care,
    };
    Suite *suite = suite_create("output_narrow");
    TCase *tcase = tcase_create("output_narrow");
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
