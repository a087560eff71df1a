/* SPDX-License-Identifier: MIT
 *
 * The recorder: events of all ranks in order of time, in every requested file.
 */
#include "common/recorder.h"
#include "skip.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *suite_recorder(void);

static struct gw_error why;
static char folder[] = "/tmp/gw-test-recorder-XXXXXX";
static char path[128];

static void begin(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/events.jsonl", folder);
}

static void end(void)
{
    unlink(path);
    rmdir(folder);
}

/* Two ranks, each in its own order, the second's batch first. */
static void add_events(struct recorder *recorder)
{
    for (unsigned i = 0; i < 2000; i++) {
        struct gw_event event = {
            .kind = GW_EV_APPLY,
            .time_ns = i < 1000 ? 2 * i + 1 : 2 * (i - 1000),
            .rank = i < 1000,
            .peer = i >= 1000,
        };
        recorder_add(recorder, &event);
    }
}

START_TEST(events_in_order_of_time)
{
    struct recorder recorder = {.jsonl = path};
    char line[512];
    uint64_t lines = 0;
    ck_assert(recorder_wanted(&recorder));
    add_events(&recorder);
    ck_assert_int_eq(recorder_write(&recorder, &why), GW_OK);
    recorder_fini(&recorder);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file)) {
        struct gw_event event;
        ck_assert_int_eq(gw_event_parse(line, &event, &why), GW_OK);
        ck_assert_uint_eq(event.time_ns, lines++);
    }
    fclose(file);
    ck_assert_uint_eq(lines, 2000);
}
END_TEST

START_TEST(nothing_requested_writes_nothing)
{
    struct recorder recorder = {0};
    ck_assert(!recorder_wanted(&recorder));
    ck_assert_int_eq(recorder_write(&recorder, &why), GW_OK);
    recorder_fini(&recorder);
}
END_TEST

START_TEST(a_file_that_cannot_be_made_is_named)
{
    struct recorder recorder = {.trace = "/nowhere/trace.json"};
    ck_assert_int_eq(recorder_write(&recorder, &why), GW_ESYS);
    ck_assert_str_eq(why.text,
                     "/nowhere/trace.json: No such file or directory");
}
END_TEST

START_TEST(a_full_disk_is_an_error)
{
    struct recorder recorder = {.jsonl = "/dev/full"};
    add_events(&recorder);
    if (access("/dev/full", W_OK) == 0)
        ck_assert_int_ne(recorder_write(&recorder, &why), GW_OK);
    recorder_fini(&recorder);
    if (access("/dev/full", W_OK) != 0)
        SKIP("recorder", "there is no /dev/full");
}
END_TEST

Suite *suite_recorder(void)
{
    Suite *suite = suite_create("recorder");
    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, begin, end);
    tcase_add_test(files, events_in_order_of_time);
    tcase_add_test(files, nothing_requested_writes_nothing);
    tcase_add_test(files, a_file_that_cannot_be_made_is_named);
    tcase_add_test(files, a_full_disk_is_an_error);
    suite_add_tcase(suite, files);
    return suite;
}
