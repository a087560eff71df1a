/* SPDX-License-Identifier: MIT
 *
 * The text form of schedules: printed schedules are read back equal,
 * handwritten forms are accepted, and an invalid text is refused with its
 * position and a message.
 */
#include "schedules.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_pipe_text(void);

static char *print(const struct gw_schedule *schedule)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(gw_schedule_print(schedule, file, NULL), GW_OK);
    fclose(file);
    return text;
}

static void expect_same(const struct gw_schedule *a,
                        const struct gw_schedule *b)
{
    ck_assert_str_eq(a->name, b->name);
    ck_assert_uint_eq(a->stages, b->stages);
    ck_assert_uint_eq(a->micros, b->micros);
    ck_assert_uint_eq(a->chunks, b->chunks);
    ck_assert_uint_eq(a->activations_max, b->activations_max);
    ck_assert_uint_eq(a->pass_count, b->pass_count);
    for (unsigned stage = 0; stage <= a->stages; stage++)
        ck_assert_uint_eq(a->begin[stage], b->begin[stage]);
    for (size_t i = 0; i < a->pass_count; i++) {
        ck_assert_uint_eq(a->passes[i].kind, b->passes[i].kind);
        ck_assert_uint_eq(a->passes[i].micro, b->passes[i].micro);
        ck_assert_uint_eq(a->passes[i].chunk, b->passes[i].chunk);
    }
}

static void expect_print(const char *name, unsigned stages, unsigned micros,
                         const char *wanted)
{
    struct gw_schedule *schedule;
    ck_assert_int_eq(gw_schedule_make(name, stages, micros, 0, &schedule, NULL),
                     GW_OK);
    char *text = print(schedule);
    ck_assert_str_eq(text, wanted);
    free(text);
    gw_schedule_destroy(&schedule);
}

START_TEST(schedules_are_printed_stage_by_stage)
{
    expect_print("gpipe", 2, 3,
                 "schedule stages=2 micros=3 name=gpipe\n"
                 "stage 0: F0 F1 F2 B0 B1 B2\n"
                 "stage 1: F0 F1 F2 B0 B1 B2\n");
    expect_print("1f1b", 3, 4,
                 "schedule stages=3 micros=4 name=1f1b\n"
                 "stage 0: F0 F1 F2 B0 F3 B1 B2 B3\n"
                 "stage 1: F0 F1 B0 F2 B1 F3 B2 B3\n"
                 "stage 2: F0 B0 F1 B1 F2 B2 F3 B3\n");
    expect_print("interleaved", 2, 2,
                 "schedule stages=2 micros=2 chunks=2 name=interleaved\n"
                 "stage 0: F0.0 F1.0 F0.1 F1.1 B0.1 B1.1 B0.0 B1.0\n"
                 "stage 1: F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 B0.0 B1.0\n");
    expect_print("zb-h1", 2, 3,
                 "schedule stages=2 micros=3 name=zb-h1\n"
                 "stage 0: F0 F1 I0 W0 F2 I1 W1 I2 W2\n"
                 "stage 1: F0 I0 F1 I1 W0 F2 I2 W1 W2\n");
}
END_TEST

START_TEST(what_is_printed_reads_back)
{
    for (const struct gw_schedule_kind *const *kind = gw_schedule_kinds();
         *kind; kind++)
        for (unsigned p = 1; p <= 9; p += 4)
            for (unsigned m = 1; m <= 40; m += 13) {
                struct gw_schedule *schedule, *again;
                unsigned v = (*kind)->chunks ? p : 1;
                ck_assert_int_eq(
                    gw_schedule_make((*kind)->name, p, m, v, &schedule, NULL),
                    GW_OK);
                schedule->activations_max = m % 3;
                char *text = print(schedule);
                again = schedule_read(text);
                expect_same(schedule, again);
                free(text);
                gw_schedule_destroy(&again);
                gw_schedule_destroy(&schedule);
            }
}
END_TEST

START_TEST(lines_are_not_longer_than_80_columns)
{
    struct gw_schedule *schedule;
    ck_assert_int_eq(
        gw_schedule_make("interleaved", 12, 100, 11, &schedule, NULL), GW_OK);
    char *text = print(schedule), *rest = text;
    size_t longest = 0;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (strlen(line) > longest)
            longest = strlen(line);
    ck_assert_uint_le(longest, 80);
    ck_assert_uint_ge(longest, 70);
    free(text);
    gw_schedule_destroy(&schedule);
}
END_TEST

START_TEST(a_schedule_by_hand)
{
    struct gw_schedule *schedule =
        schedule_read("# comment\n\n"
                      "  schedule  memory=2 micros=3\tstages=2 # more\r\n"
                      "stage 1 : F0 B0 # first\n"
                      "stage 0:F0 F1 B0 F2 B1 B2\n"
                      "stage 1:\n"
                      "stage 1: F1 B1 F2 B2");
    ck_assert_str_eq(schedule->name, "t");
    ck_assert_uint_eq(schedule->activations_max, 2);
    ck_assert_int_eq(gw_schedule_check(schedule, NULL), GW_OK);
    char *text = print(schedule);
    ck_assert_str_eq(text, "schedule stages=2 micros=3 memory=2 name=t\n"
                           "stage 0: F0 F1 B0 F2 B1 B2\n"
                           "stage 1: F0 B0 F1 B1 F2 B2\n");
    free(text);
    gw_schedule_destroy(&schedule);
}
END_TEST

START_TEST(a_name_of_its_own_or_of_its_file)
{
    struct gw_schedule *schedule;
    static const char text[] = "schedule stages=1 micros=1\nstage 0: F0 B0";
    ck_assert_int_eq(
        gw_schedule_parse(text, strlen(text), "dir/mine.pipe", &schedule, NULL),
        GW_OK);
    ck_assert_str_eq(schedule->name, "mine.pipe");
    gw_schedule_destroy(&schedule);
    schedule = schedule_read("schedule name=own stages=1 micros=1");
    ck_assert_str_eq(schedule->name, "own");
    gw_schedule_destroy(&schedule);
}
END_TEST

#define HEAD "schedule stages=2 micros=3\n"

static const struct {
    const char *text, *sentence;
} wrong[] = {
    {"", "t:1:1: expected `schedule`, found the end of the text"},
    {"\n # x\n  plan", "t:3:3: expected `schedule`, found `plan`"},
    {"schedule2 stages=1 micros=1",
     "t:1:1: expected `schedule`, found `schedule2`"},
    {"schedule", "t:1:9: expected stages=, found the end of the text"},
    {"schedule stages=2\n",
     "t:1:18: expected micros=, found the end of the line"},
    {"schedule stages=0 micros=1", "t:1:17: stages must be in 1..1024, not 0"},
    {"schedule stages=1025", "t:1:17: stages must be in 1..1024, not 1025"},
    {"schedule stages=2 micros=65536",
     "t:1:26: micros must be in 1..65535, not 65536"},
    {"schedule stages=2 micros=1 chunks=65",
     "t:1:35: chunks must be in 1..64, not 65"},
    {"schedule stages=2 micros=1 memory=0",
     "t:1:35: memory must be in 1..16777216, not 0"},
    {"schedule stages=9999999999", "t:1:17: the number is too large"},
    {"schedule stages= 2",
     "t:1:17: expected a number, found the end of the word"},
    {"schedule stages=two", "t:1:17: expected a number, found `two`"},
    {"schedule stages=2x",
     "t:1:18: expected a blank after the number, found `x`"},
    {"schedule stages=2 stages=2", "t:1:19: stages= occurs twice"},
    {"schedule stage=2",
     "t:1:10: expected stages=, micros=, chunks=, memory= or name=, found "
     "`stage=2`"},
    {"schedule name= stages=2", "t:1:15: name= needs a word"},
    {"schedule name=0123456789012345678901234567890123456789",
     "t:1:15: the name must have at most 39 characters"},
    {"schedule stages=1024 micros=65535\n",
     "t:1:34: the schedule needs 134215680 passes, but can have at most "
     "16777216"},
    {HEAD "F0 B0", "t:2:1: expected `stage`, found `F0`"},
    {HEAD "stage0: F0", "t:2:1: expected `stage`, found `stage0:`"},
    {HEAD "stage: F0", "t:2:6: expected the number of a stage, found `:`"},
    {HEAD "stage 2: F0", "t:2:7: stage 2 is out of 0..1"},
    {HEAD "stage 0 F0", "t:2:9: expected `:`, found `F0`"},
    {HEAD "stage 0: F0 G1", "t:2:13: expected a pass, such as F0, found `G1`"},
    {HEAD "stage 0: F", "t:2:11: expected the number of a micro-batch, found "
                        "the end of the text"},
    {HEAD "stage 0: F B0",
     "t:2:11: expected the number of a micro-batch, found the end of the word"},
    {HEAD "stage 0: F3", "t:2:10: micro-batch 3 is out of 0..2"},
    {HEAD "stage 0: F0.1", "t:2:10: chunk 1 is out of 0..0"},
    {HEAD "stage 0: F0. B0",
     "t:2:13: expected the number of a chunk, found the end of the word"},
    {HEAD "stage 0: F0,F1", "t:2:12: expected a blank between passes, found "
                            "`,F1`"},
    {HEAD "stage 0: \xc3\xa9", "t:2:10: expected a pass, such as F0, found "
                               "byte 0xc3"},
};

START_TEST(wrong_texts_are_refused_with_their_place)
{
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct gw_schedule *schedule = NULL;
        struct gw_error why = {0};
        const char *text = wrong[i].text;
        enum gw_err err =
            gw_schedule_parse(text, strlen(text), "t", &schedule, &why);
        ck_assert_msg(err == GW_EDATA, "%d for\n%s", err, text);
        ck_assert_ptr_null(schedule);
        ck_assert_msg(strcmp(why.text, wrong[i].sentence) == 0,
                      "%s\nexpected: %s\nfor\n%s", why.text, wrong[i].sentence,
                      text);
        ck_assert_int_eq(
            gw_schedule_parse(text, strlen(text), "t", &schedule, NULL),
            GW_EDATA);
    }
}
END_TEST

START_TEST(a_file_that_cannot_be_read)
{
    struct gw_schedule *schedule;
    struct gw_error why;
    ck_assert_int_eq(gw_schedule_load("/nonexistent/x.pipe", &schedule, &why),
                     GW_EDATA);
    ck_assert_str_eq(why.text,
                     "/nonexistent/x.pipe: No such file or directory");
    ck_assert_int_eq(gw_schedule_load("/", &schedule, &why), GW_EDATA);
    ck_assert_str_eq(why.text, "/: Is a directory");
}
END_TEST

Suite *suite_pipe_text(void)
{
    Suite *suite = suite_create("pipe_text");
    TCase *t = tcase_create("pipe_text");
    tcase_add_test(t, schedules_are_printed_stage_by_stage);
    tcase_add_test(t, what_is_printed_reads_back);
    tcase_add_test(t, lines_are_not_longer_than_80_columns);
    tcase_add_test(t, a_schedule_by_hand);
    tcase_add_test(t, a_name_of_its_own_or_of_its_file);
    tcase_add_test(t, wrong_texts_are_refused_with_their_place);
    tcase_add_test(t, a_file_that_cannot_be_read);
    suite_add_tcase(suite, t);
    return suite;
}
