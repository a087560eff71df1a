/* SPDX-License-Identifier: MIT
 *
 * The sources of events: complete, truncated and broken recordings, pipes that
 * are followed; and a show, which combines all parts.
 */
#include "ringtop/show.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *suite_ringtop_source(void);

static struct gw_error why;
static char path[64];

static void write_file(const char *text)
{
    strcpy(path, "/tmp/ringtop-test-XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

#define LINE(step) "{\"kind\":\"send\",\"rank\":0,\"step\":" #step "}\n"

static void expect(struct source *source, enum gw_err code, unsigned step)
{
    struct gw_event event;
    enum gw_err err;
    do /* one read at a time */
        err = source->next(source, 0, &event, &why);
    while (err == GW_PENDING && code != GW_PENDING);
    ck_assert_int_eq(err, code);
    if (code == GW_OK)
        ck_assert_uint_eq(event.step, step);
}

START_TEST(lines_with_flaws)
{
    struct source *source;
    char sentence[128];
    write_file(LINE(1) "\n  \n"
                       "nonsense\n" LINE(2) "{\"kind\":\"se");
    ck_assert_int_eq(source_lines(path, &source, &why), GW_OK);
    expect(source, GW_OK, 1);
    expect(source, GW_EDATA, 0);
    snprintf(sentence, sizeof sentence, "%s:4: ", path);
    ck_assert_ptr_eq(strstr(why.text, sentence), why.text);
    expect(source, GW_OK, 2);
    expect(source, GW_EDATA, 0);
    snprintf(sentence, sizeof sentence,
             "%s:6: incomplete line at the end of the file", path);
    ck_assert_str_eq(why.text, sentence);
    expect(source, GW_ECLOSED, 0);
    expect(source, GW_ECLOSED, 0);
    source_close(&source);
    unlink(path);
}
END_TEST

START_TEST(the_last_line_may_lack_its_end)
{
    struct source *source;
    write_file(LINE(1) "{\"kind\":\"send\",\"step\":2}");
    ck_assert_int_eq(source_lines(path, &source, &why), GW_OK);
    expect(source, GW_OK, 1);
    expect(source, GW_OK, 2);
    expect(source, GW_ECLOSED, 0);
    source_close(&source);
    unlink(path);
}
END_TEST

START_TEST(a_line_that_is_too_long)
{
    enum { LONG = 300000 };
    struct source *source;
    char *text = malloc(LONG + 256);
    memset(text, 'x', LONG);
    strcpy(text + LONG, "\n" LINE(5));
    write_file(text);
    ck_assert_int_eq(source_lines(path, &source, &why), GW_OK);
    expect(source, GW_EDATA, 0);
    ck_assert_ptr_nonnull(
        strstr(why.text, ":1: the line is longer than 65536 bytes"));
    expect(source, GW_OK, 5);
    expect(source, GW_ECLOSED, 0);
    source_close(&source);
    free(text);
    unlink(path);
}
END_TEST

START_TEST(a_pipe_is_followed)
{
    int ends[2];
    struct source *source;
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    ck_assert_int_eq(source_lines("-", &source, &why), GW_OK);
    ck_assert(source->live);
    expect(source, GW_PENDING, 0);
    static const char half[] = "{\"kind\":\"send\",", rest[] = "\"step\":3}\n";
    ck_assert_int_eq(write(ends[1], half, sizeof half - 1), sizeof half - 1);
    expect(source, GW_PENDING, 0);
    ck_assert_int_eq(write(ends[1], rest, sizeof rest - 1), sizeof rest - 1);
    expect(source, GW_OK, 3);
    expect(source, GW_PENDING, 0);
    close(ends[1]);
    expect(source, GW_ECLOSED, 0);
    source_close(&source);
    close(ends[0]);
}
END_TEST

START_TEST(what_cannot_be_read_ends)
{
    struct source *source;
    ck_assert_int_eq(source_lines("/", &source, &why), GW_EDATA);
    ck_assert_str_eq(why.text, "/: Is a directory");
    ck_assert_int_eq(source_lines("/dev/zero", &source, &why), GW_EDATA);
    ck_assert_str_eq(why.text,
                     "/dev/zero: is a device; use a regular file or a pipe");
    ck_assert_ptr_null(source);
}
END_TEST

START_TEST(no_such_file)
{
    struct source *source;
    ck_assert_int_eq(source_lines("/no/such/file", &source, &why), GW_EDATA);
    ck_assert_str_eq(why.text, "/no/such/file: No such file or directory");
    ck_assert_ptr_null(source);
}
END_TEST

/* ---- a show ---- */

static enum gw_err open_show(struct show *show)
{
    const struct show_options options = {.path = path};
    return show_init(show, &options, &why);
}

START_TEST(what_could_be_read_is_shown)
{
    struct show show;
    write_file(LINE(1) LINE(2) "{\"kind\":\"se");
    ck_assert_int_eq(open_show(&show), GW_OK);
    ck_assert_uint_eq(show.player.count, 2);
    ck_assert(show.player.complete);
    ck_assert_ptr_nonnull(strstr(
        show.notice, ":3: incomplete line at the end of the file; 2 events are "
                     "shown"));
    show_events(&show, 1);
    ck_assert_uint_eq(show.state->events, 1);
    show_fini(&show);
    unlink(path);
}
END_TEST

START_TEST(nothing_could_be_read)
{
    struct show show;
    write_file("what\nis\nthis\n");
    ck_assert_int_eq(open_show(&show), GW_EDATA);
    ck_assert_ptr_nonnull(
        strstr(why.text, "(and 2 more lines); 0 events are shown"));
    unlink(path);
    write_file("");
    ck_assert_int_eq(open_show(&show), GW_EDATA);
    ck_assert_str_eq(why.text, "no event in the recording");
    unlink(path);
}
END_TEST

START_TEST(a_showing_in_time)
{
    struct show show;
    write_file("{\"kind\":\"send\",\"rank\":0,\"peer\":1,\"time_ns\":1000}\n"
               "{\"kind\":\"send\",\"rank\":1,\"peer\":0,\"time_ns\":3000}\n");
    ck_assert_int_eq(open_show(&show), GW_OK);
    ck_assert_double_eq(show.player.speed, 1e-6); /* the slowest possible */
    ck_assert_int_eq(grid_size(&show.grid, 80, 24, &why), GW_OK);
    show_advance(&show, 1);
    ck_assert_uint_eq(show.state->events, 1);
    show_advance(&show, 1 + 1000000000); /* time also passes between events */
    ck_assert_uint_eq(show.state->events, 1);
    ck_assert_uint_eq(show.state->now_ns, 2000);
    show_advance(&show, 1 + 2000000000);
    ck_assert_uint_eq(show.state->events, 2);
    show_draw(&show);
    show_fini(&show);
    unlink(path);
}
END_TEST

Suite *suite_ringtop_source(void)
{
    const TTest *const tests[] = {
        lines_with_flaws,
        the_last_line_may_lack_its_end,
        a_line_that_is_too_long,
        a_pipe_is_followed,
        no_such_file,
        what_cannot_be_read_ends,
        what_could_be_read_is_shown,
        nothing_could_be_read,
        a_showing_in_time,
    };
    Suite *suite = suite_create("ringtop_source");
    TCase *tcase = tcase_create("ringtop source");
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
