/* SPDX-License-Identifier: MIT
 *
 * The conditions of `wait` and `expect`, by tables: true and false ones, and
 * the errors for mistakes.
 */
#include "run/condition.h"

#include <check.h>
#include <math.h>
#include <string.h>

Suite *suite_condition(void);

/* alive 4, epoch 2, step 20, loss 0.35, lost 0, done 0; the rest is 1 or
 * unknown. */
static struct condition_values values(void)
{
    struct condition_values v;
    for (unsigned i = 0; i < COND_NAMES; i++)
        v.of[i] = 1;
    v.of[COND_alive] = 4;
    v.of[COND_epoch] = 2;
    v.of[COND_step] = 20;
    v.of[COND_loss] = 0.35;
    v.of[COND_lost] = 0;
    v.of[COND_done] = 0;
    v.of[COND_clock] = (double)NAN;
    return v;
}

static bool holds(const char *text)
{
    struct condition *condition;
    struct gw_error why;
    const struct condition_values v = values();
    ck_assert_msg(condition_parse(text, &condition, &why) == GW_OK, "%s: %s",
                  text, why.text);
    bool result = condition_holds(condition, &v);
    condition_destroy(&condition);
    ck_assert_ptr_null(condition);
    return result;
}

START_TEST(true_conditions)
{
    static const char *const texts[] = {
        "alive",
        "alive==4",
        " alive == 4 ",
        "alive!=3",
        "alive<5",
        "alive<=4",
        "alive>3",
        "alive>=4",
        "loss<0.36",
        "loss<3.6e-1",
        "loss>.34",
        "loss>-1",
        "step==2e1",
        "!done",
        "! done",
        "!!alive",
        "!(done || lost)",
        "alive==4&&epoch==2",
        "alive==3 || epoch>=2",
        "(alive==4)",
        "((alive==4) && (epoch>=2))",
        "epoch>=2 && alive==4 && !done",
        "lost==0 && doubled==1",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_msg(holds(texts[i]), "%s", texts[i]);
}
END_TEST

START_TEST(false_conditions)
{
    static const char *const texts[] = {
        "done",       "lost",
        "alive==3",   "alive!=4",
        "alive<4",    "alive>4",
        "!alive",     "alive==4 && done",
        "done||lost", "!(alive || done)",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_msg(!holds(texts[i]), "%s", texts[i]);
}
END_TEST

/* As in C: "&&" binds closer than "||", "!" closest. */
START_TEST(and_binds_closer_than_or)
{
    ck_assert(holds("alive || done && lost"));
    ck_assert(!holds("(alive || done) && lost"));
    ck_assert(holds("done && lost || alive"));
    ck_assert(!holds("!alive || done"));
    ck_assert(holds("!done && alive"));
}
END_TEST

START_TEST(what_is_unknown_compares_with_nothing)
{
    static const char *const texts[] = {"clock",    "clock==0", "clock!=0",
                                        "clock<1",  "clock<=1", "clock>1",
                                        "clock>=1", "clock!=7"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_msg(!holds(texts[i]), "%s", texts[i]);
}
END_TEST

START_TEST(mistakes_are_reported_with_their_column)
{
    static const struct {
        const char *text, *expected;
    } slips[] = {
        {"", "column 1: expected a name such as alive or epoch, but the "
             "condition ends here"},
        {"   ", "column 4: expected a name"},
        {"alive=4", "column 6: expected == (two equal signs)"},
        {"alive==", "column 8: expected a number, but the condition ends"},
        {"alive==four", "column 8: expected a number, not \"four\""},
        {"alive==0x4", "column 8: expected a number, not \"0x4\""},
        {"alive==4x", "column 8: expected a number, not \"4x\""},
        {"alive==nan", "column 8: expected a number, not \"nan\""},
        {"alive==4 &", "column 10: expected \"&&\", \"||\" or the end, not "
                       "\"&\""},
        {"alive==4 epoch", "column 10: expected \"&&\", \"||\" or the end"},
        {"alive==4 && ", "column 13: expected a name"},
        {"(alive==4", "column 10: expected \")\""},
        {"alive==4)", "column 9: expected \"&&\""},
        {"4==alive", "column 1: expected a name such as alive or epoch, not "
                     "\"4\""},
        {"alvie==4", "column 1: unknown name \"alvie\"; did you mean "
                     "\"alive\"? (names: alive, epoch, data_epoch"},
        {"alive==4 && stpe>3", "column 13: unknown name \"stpe\"; did you mean "
                               "\"step\"?"},
        {"xyz==4", "column 1: unknown name \"xyz\" (names:"},
        {"alive = = 4", "column 7: expected =="},
        {"alive => 4", "column 7: expected =="},
    };
    for (size_t i = 0; i < sizeof slips / sizeof *slips; i++) {
        struct condition *condition;
        struct gw_error why;
        ck_assert_int_eq(condition_parse(slips[i].text, &condition, &why),
                         GW_EINVAL);
        ck_assert_ptr_null(condition);
        ck_assert_msg(strncmp(why.text, slips[i].expected,
                              strlen(slips[i].expected)) == 0,
                      "\"%s\": %s", slips[i].text, why.text);
    }
}
END_TEST

/* A request must not exhaust the memory or the stack. */
START_TEST(size_and_depth_have_limits)
{
    struct condition *condition;
    struct gw_error why;
    char deep[4096], wide[4096] = "done";
    memset(deep, '(', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    ck_assert_int_eq(condition_parse(deep, &condition, &why), GW_EINVAL);
    ck_assert_ptr_nonnull(strstr(why.text, "too deep"));
    memset(deep, '!', sizeof deep - 1);
    ck_assert_int_eq(condition_parse(deep, &condition, &why), GW_EINVAL);
    for (unsigned i = 0; i < 60; i++)
        strcat(wide, "||done");
    ck_assert_int_eq(condition_parse(wide, &condition, &why), GW_EINVAL);
    ck_assert_ptr_nonnull(strstr(why.text, "too long"));
    ck_assert_int_eq(condition_parse("done)", &condition, NULL), GW_EINVAL);
}
END_TEST

START_TEST(values_are_explained_once_each)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"alive==3 && epoch>=2", "alive is 4, epoch is 2"},
        {"alive>2 && alive<4", "alive is 4"},
        {"!(loss<0.1) || clock>3", "loss is 0.35, clock is not known yet"},
    };
    const struct condition_values v = values();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct condition *condition;
        char printed[256];
        ck_assert_int_eq(condition_parse(cases[i].text, &condition, NULL),
                         GW_OK);
        condition_explain(condition, &v, printed, sizeof printed);
        ck_assert_str_eq(printed, cases[i].expected);
        condition_explain(condition, &v, printed, 8);
        ck_assert_uint_le(strlen(printed), 7);
        condition_destroy(&condition);
    }
}
END_TEST

START_TEST(every_name_is_known_and_explained)
{
    for (unsigned i = 0; i < COND_NAMES; i++) {
        struct condition *condition;
        const char *name = condition_name((enum condition_name)i);
        ck_assert_int_eq(condition_parse(name, &condition, NULL), GW_OK);
        condition_destroy(&condition);
        ck_assert_uint_gt(strlen(condition_help((enum condition_name)i)), 5);
    }
}
END_TEST

Suite *suite_condition(void)
{
    const TTest *const tests[] = {
        true_conditions,
        false_conditions,
        and_binds_closer_than_or,
        what_is_unknown_compares_with_nothing,
        mistakes_are_reported_with_their_column,
        size_and_depth_have_limits,
        values_are_explained_once_each,
        every_name_is_known_and_explained,
    };
    Suite *suite = suite_create("condition");
    TCase *tcase = tcase_create("conditions");
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
