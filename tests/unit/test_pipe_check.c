/* SPDX-License-Identifier: MIT
 *
 * Every fault that a schedule can have is found, and the error text names stage
 * and pass. A cycle of waits is listed completely.
 */
#include "schedules.h"

#include <check.h>
#include <string.h>

Suite *suite_pipe_check(void);

static const struct {
    const char *text, *sentence;
} wrong[] = {
    {"schedule stages=1 micros=2\nstage 0: F0 B0", "stage 0: F1 is missing"},
    {"schedule stages=2 micros=1\nstage 0: F0 B0", "stage 1: F0 is missing"},
    {"schedule stages=1 micros=2\nstage 0: F0 B0 F1",
     "stage 0: B1 is missing, or I and W"},
    {"schedule stages=1 micros=2\nstage 0: F0 I0 W0 F1 I1",
     "stage 0: W1 is missing"},
    {"schedule stages=1 micros=2\nstage 0: F0 F0 B0",
     "stage 0: F0 occurs twice"},
    {"schedule stages=1 micros=1\nstage 0: F0 B0 B0",
     "stage 0: B0 occurs twice"},
    {"schedule stages=1 micros=1\nstage 0: F0 I0 W0 W0",
     "stage 0: W0 occurs twice"},
    {"schedule stages=1 micros=1\nstage 0: F0 B0 I0 W0",
     "stage 0: I0 is one too many: a backward is either B, or I and W"},
    {"schedule stages=1 micros=1\nstage 0: F0 I0 B0 W0",
     "stage 0: B0 is one too many: a backward is either B, or I and W"},
    {"schedule stages=1 micros=1\nstage 0: B0 F0",
     "stage 0: B0 comes before its F"},
    {"schedule stages=1 micros=1\nstage 0: F0 W0 I0",
     "stage 0: W0 comes before its I"},
    {"schedule stages=1 micros=1 chunks=2\nstage 0: F0 F0.1 B0.1",
     "stage 0: B0.0 is missing, or I and W"},
    {"schedule stages=1 micros=3 memory=2\nstage 0: F0 F1 F2 B0 B1 B2",
     "stage 0: F2 makes it hold 3 activations; memory= allows 2"},
    {"schedule stages=1 micros=2 memory=1\nstage 0: F0 I0 F1 W0 I1 W1",
     "stage 0: F1 makes it hold 2 activations; memory= allows 1"},
    {"schedule stages=2 micros=2\n"
     "stage 0: F0 B0 F1 B1\n"
     "stage 1: F0 F1 B0 B1",
     "stages wait for each other in a cycle: stage 0 at B0 for stage 1's B0, "
     "stage 1 at F1 for stage 0's F1"},
    {"schedule stages=3 micros=2\n"
     "stage 0: F0 F1 B0 B1\n"
     "stage 1: F0 F1 B1 B0\n"
     "stage 2: F0 B0 F1 B1\n",
     NULL},
    {"schedule stages=3 micros=2\n"
     "stage 0: F0 F1 B0 B1\n"
     "stage 1: F0 B0 F1 B1\n"
     "stage 2: F0 F1 B0 B1\n",
     "stages wait for each other in a cycle: stage 1 at B0 for stage 2's B0, "
     "stage 2 at F1 for stage 1's F1"},
    {"schedule stages=1 micros=1 chunks=2\nstage 0: F0.1 F0.0 B0.1 B0.0",
     "stages wait for each other in a cycle: stage 0 at F0.1 for its own F0.0"},
    {"schedule stages=2 micros=1 chunks=2\n"
     "stage 0: F0.1 F0.0 B0.1 B0.0\n"
     "stage 1: F0.0 F0.1 B0.1 B0.0\n",
     "stages wait for each other in a cycle: stage 0 at F0.1 for stage 1's "
     "F0.0, stage 1 at F0.0 for stage 0's F0.0"},
    {"schedule stages=3 micros=1 chunks=2\n"
     "stage 0: F0.1 F0.0 B0.1 B0.0\n"
     "stage 1: F0.0 F0.1 B0.1 B0.0\n"
     "stage 2: F0.0 F0.1 B0.1 B0.0\n",
     "stages wait for each other in a cycle: stage 0 at F0.1 for stage 2's "
     "F0.0, stage 2 at F0.0 for stage 1's F0.0, stage 1 at F0.0 for stage 0's "
     "F0.0"},
};

START_TEST(every_fault_has_its_sentence)
{
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct gw_schedule *schedule = schedule_read(wrong[i].text);
        struct gw_error why = {0};
        enum gw_err err = gw_schedule_check(schedule, &why);
        const char *sentence = wrong[i].sentence ? wrong[i].sentence : "";
        ck_assert_msg(err == (wrong[i].sentence ? GW_EPLAN : GW_OK),
                      "%d for\n%s", err, wrong[i].text);
        ck_assert_msg(strcmp(why.text, sentence) == 0,
                      "%s\nexpected: %s\nfor\n%s", why.text, sentence,
                      wrong[i].text);
        gw_schedule_destroy(&schedule);
    }
}
END_TEST

/* Simulating an unchecked schedule gives the same error. */
START_TEST(a_simulation_that_stands_still)
{
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (!wrong[i].sentence || !strstr(wrong[i].sentence, "circle"))
            continue;
        struct gw_schedule *schedule = schedule_read(wrong[i].text);
        struct gw_pipe_costs costs = {.forward_us = 1};
        struct gw_timeline *timeline;
        struct gw_error why = {0};
        ck_assert_int_eq(gw_pipe_simulate(schedule, &costs, &timeline, &why),
                         GW_EPLAN);
        ck_assert_ptr_null(timeline);
        ck_assert_str_eq(why.text, wrong[i].sentence);
        gw_schedule_destroy(&schedule);
    }
}
END_TEST

static enum gw_err check_file(const char *path, struct gw_error *why)
{
    struct gw_schedule *schedule;
    ck_assert_msg(gw_schedule_load(path, &schedule, why) == GW_OK, "%s",
                  why->text);
    enum gw_err err = gw_schedule_check(schedule, why);
    gw_schedule_destroy(&schedule);
    return err;
}

START_TEST(the_examples)
{
    struct gw_error why;
    ck_assert_int_eq(check_file("labs/plans/1f1b-3.pipe", &why), GW_OK);
    ck_assert_int_eq(check_file("labs/plans/wrong-deadlock.pipe", &why),
                     GW_EPLAN);
    ck_assert_str_eq(why.text,
                     "stages wait for each other in a cycle: stage 0 at B0 for "
                     "stage 1's B0, stage 1 at F1 for stage 0's F1");
}
END_TEST

/* The peak is exactly the value that memory= must allow. */
START_TEST(memory_is_the_peak)
{
    for (const struct gw_schedule_kind *const *kind = gw_schedule_kinds();
         *kind; kind++) {
        struct gw_schedule *schedule;
        struct gw_error why = {0};
        ck_assert_int_eq(
            gw_schedule_make((*kind)->name, 4, 9, 0, &schedule, NULL), GW_OK);
        schedule->activations_max = gw_schedule_peak(schedule, 0);
        ck_assert_int_eq(gw_schedule_check(schedule, NULL), GW_OK);
        schedule->activations_max--;
        ck_assert_int_eq(gw_schedule_check(schedule, &why), GW_EPLAN);
        ck_assert_ptr_nonnull(strstr(why.text, "stage 0: F"));
        gw_schedule_destroy(&schedule);
    }
}
END_TEST

/* Numbers that the parser would refuse. */
START_TEST(numbers_out_of_range)
{
    struct gw_schedule *schedule =
        schedule_read("schedule stages=1 micros=1\nstage 0: F0 B0");
    struct gw_error why = {0};
    schedule->passes[1].micro = 7;
    ck_assert_int_eq(gw_schedule_check(schedule, &why), GW_EPLAN);
    ck_assert_str_eq(why.text, "stage 0: B7 has a micro-batch out of 0..0");
    schedule->passes[1].chunk = 2;
    ck_assert_int_eq(gw_schedule_check(schedule, &why), GW_EPLAN);
    ck_assert_str_eq(
        why.text,
        "stage 0: B7 has chunk 2; a stage has 1 chunks, numbered from 0");
    schedule->passes[1].kind = 9;
    ck_assert_int_eq(gw_schedule_check(schedule, &why), GW_EPLAN);
    ck_assert_str_eq(why.text, "stage 0: unknown kind of pass 9");
    schedule->begin[1] = 9;
    ck_assert_int_eq(gw_schedule_check(schedule, &why), GW_EPLAN);
    gw_schedule_destroy(&schedule);
}
END_TEST

/* Interleaved, with the pieces of every stage in reverse order: a cycle through
 * more stages than the error text can hold. */
START_TEST(a_long_cycle)
{
    struct gw_schedule *schedule;
    struct gw_error why = {0};
    ck_assert_int_eq(
        gw_schedule_make("interleaved", 1000, 1, 2, &schedule, NULL), GW_OK);
    struct gw_pass first = schedule->passes[0];
    schedule->passes[0] = schedule->passes[1];
    schedule->passes[1] = first;
    ck_assert_int_eq(gw_schedule_check(schedule, &why), GW_EPLAN);
    static const char begin[] =
        "stages wait for each other in a cycle: stage 0 at F0.1 for stage "
        "999's F0.0, stage 999 at F0.0 for stage 998's F0.0, ";
    static const char end[] = ", and so on in a cycle of 1000 stages";
    ck_assert_msg(strncmp(why.text, begin, strlen(begin)) == 0, "%s", why.text);
    ck_assert_str_eq(why.text + strlen(why.text) - strlen(end), end);
    gw_schedule_destroy(&schedule);
}
END_TEST

START_TEST(what_cannot_be_made)
{
    static const struct {
        const char *name;
        unsigned stages, micros, chunks;
        const char *sentence;
    } cases[] = {
        {"dualpipe", 2, 2, 1,
         "unknown schedule \"dualpipe\"; use gpipe, 1f1b, interleaved, zb-h1"},
        {"1f1b", 0, 2, 1, "1f1b: stages must be from 1 to 1024, not 0"},
        {"1f1b", 1025, 2, 1, "1f1b: stages must be from 1 to 1024, not 1025"},
        {"1f1b", 2, 0, 1, "1f1b: micro-batches must be from 1 to 65535, not 0"},
        {"gpipe", 2, 65536, 1,
         "gpipe: micro-batches must be from 1 to 65535, not 65536"},
        {"gpipe", 2, 2, 2,
         "gpipe: a stage has one chunk, not 2; use interleaved for more"},
        {"interleaved", 2, 2, 65,
         "interleaved: chunks must be from 1 to 64, not 65"},
        {"gpipe", 1024, 65535, 1,
         "gpipe: 134215680 passes are more than 16777216; use fewer stages or "
         "micro-batches"},
    };
    struct gw_pipe_costs costs = {.forward_us = 1};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_schedule *schedule;
        struct gw_pipe_price price;
        struct gw_error why = {0};
        ck_assert_int_eq(gw_schedule_make(cases[i].name, cases[i].stages,
                                          cases[i].micros, cases[i].chunks,
                                          &schedule, &why),
                         GW_EINVAL);
        ck_assert_str_eq(why.text, cases[i].sentence);
        ck_assert_ptr_null(schedule);
        ck_assert_int_eq(gw_pipe_price(cases[i].name, cases[i].stages,
                                       cases[i].micros, cases[i].chunks, &costs,
                                       &price, &why),
                         GW_EINVAL);
        ck_assert_str_eq(why.text, cases[i].sentence);
    }
    ck_assert_ptr_null(gw_schedule_find("dualpipe"));
    ck_assert_str_eq(gw_schedule_find("zb-h1")->name, "zb-h1");
    ck_assert(gw_schedule_find("zb-h1")->splits);
    ck_assert(gw_schedule_find("interleaved")->chunks);
}
END_TEST

Suite *suite_pipe_check(void)
{
    Suite *suite = suite_create("pipe_check");
    TCase *t = tcase_create("pipe_check");
    tcase_add_test(t, every_fault_has_its_sentence);
    tcase_add_test(t, a_simulation_that_stands_still);
    tcase_add_test(t, the_examples);
    tcase_add_test(t, memory_is_the_peak);
    tcase_add_test(t, numbers_out_of_range);
    tcase_add_test(t, a_long_cycle);
    tcase_add_test(t, what_cannot_be_made);
    suite_add_tcase(suite, t);
    return suite;
}
