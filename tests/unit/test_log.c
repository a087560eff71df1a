/* SPDX-License-Identifier: MIT
 *
 * The log of GRADWIRE_LOG. The variable is read once per process, so each test
 * runs in a process of its own (as all tests of Check do here).
 */
#include <base/failpoint.h>
#include <base/log.h>
#include <gradwire/event.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *suite_log(void);

static char path[64];

static void log_to(const char *level)
{
    char value[96];
    snprintf(path, sizeof path, "/tmp/gradwire-log.%ld", (long)getpid());
    snprintf(value, sizeof value, "%s:%s", level, path);
    unlink(path);
    ck_assert_int_eq(setenv("GRADWIRE_LOG", value, 1), 0);
}

/* The whole file; its end is where `text` ends. */
static void read_log(char *text, size_t room)
{
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, room - 1, file)] = 0;
    fclose(file);
    unlink(path);
}

START_TEST(without_the_variable_nothing_is_logged)
{
    unsetenv("GRADWIRE_LOG");
    ck_assert(!gw__log_has(GW__LOG_INFO));
    ck_assert_int_eq(gw__log_check(NULL), GW_OK);
}
END_TEST

START_TEST(a_line_has_time_process_and_module)
{
    char text[1024], module[16], word[16];
    unsigned long long seconds, micros;
    long pid;
    log_to("info");
    ck_assert(!gw__log_has(GW__LOG_DEBUG));
    gw__log_info("coll", "node %d", 3);
    read_log(text, sizeof text);
    ck_assert_int_eq(sscanf(text, "%llu.%6llu %ld %15s %15s 3\n", &seconds,
                            &micros, &pid, module, word),
                     5);
    ck_assert_int_eq(pid, getpid());
    ck_assert_str_eq(module, "coll:");
    ck_assert_str_eq(word, "node");
}
END_TEST

START_TEST(a_long_line_is_truncated_and_ends)
{
    char text[2048], filler[1024];
    memset(filler, 'x', sizeof filler - 1);
    filler[sizeof filler - 1] = 0;
    log_to("info");
    gw__log_info("coll", "%s", filler);
    gw__log_info("coll", "next");
    read_log(text, sizeof text);
    char *end = strchr(text, '\n');
    ck_assert_ptr_nonnull(end);
    ck_assert_int_eq(end - text, 510);
    ck_assert_ptr_nonnull(strstr(end, "coll: next\n"));
}
END_TEST

/* Changes are decisions; a chunk in transit is a detail. */
START_TEST(events_that_are_decisions_are_logged_without_a_sink)
{
    char text[1024];
    log_to("info");
    gw_emit(NULL, &(struct gw_event){.kind = GW_EV_MEMBER,
                                     .rank = 2,
                                     .value = GW_MEMBER_DEAD});
    gw_emit(NULL, &(struct gw_event){.kind = GW_EV_SEND, .rank = 1});
    read_log(text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "member: node 2 is dead\n"));
    ck_assert_ptr_null(strstr(text, "send"));
}
END_TEST

START_TEST(debug_has_each_step_of_the_protocols)
{
    char text[1024];
    struct gw_error why = {0};
    log_to("debug");
    ck_assert_int_eq(gw__failpoints_begin(&why), GW_OK);
    gw__failpoint(GW__AT_RING_CONNECT);
    gw_emit(NULL, &(struct gw_event){.kind = GW_EV_SEND, .rank = 1});
    read_log(text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "step: ring.connect: "));
    ck_assert_ptr_nonnull(strstr(text, "send: node 1 sends to"));
}
END_TEST

START_TEST(other_values_are_refused)
{
    static const char *const bad[] = {"loud", "info:", "debug,x", ":file",
                                      "info:/nonexistent/folder/log"};
    struct gw_error why = {0};
    ck_assert_int_eq(setenv("GRADWIRE_LOG", bad[_i], 1), 0);
    ck_assert_int_ne(gw__log_check(&why), GW_OK);
    ck_assert_ptr_nonnull(strstr(why.text, "GRADWIRE_LOG"));
    ck_assert(!gw__log_has(GW__LOG_INFO));
}
END_TEST

Suite *suite_log(void)
{
    Suite *suite = suite_create("log");
    TCase *tests = tcase_create("log");
    tcase_add_test(tests, without_the_variable_nothing_is_logged);
    tcase_add_test(tests, a_line_has_time_process_and_module);
    tcase_add_test(tests, a_long_line_is_truncated_and_ends);
    tcase_add_test(tests, events_that_are_decisions_are_logged_without_a_sink);
    tcase_add_test(tests, debug_has_each_step_of_the_protocols);
    tcase_add_loop_test(tests, other_values_are_refused, 0, 5);
    suite_add_tcase(suite, tests);
    return suite;
}
