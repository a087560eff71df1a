/* SPDX-License-Identifier: MIT
 *
 * Texts that are not plans: each is refused with its position and a message,
 * and no text does harm, however long its loops or deep its nesting.
 */
#include <gradwire/plan.h>
#include <plan/text.h>

#include <check.h>
#include <stdio.h>
#include <string.h>

Suite *suite_plan_text_errors(void);

static void expect(const char *text, unsigned ranks, const char *sentence)
{
    struct gw_plan *plan = NULL;
    struct gw_error why = {0};
    enum gw_err err =
        gw_plan_parse(text, strlen(text), "t", ranks, &plan, &why);
    ck_assert_msg(err == GW_EDATA, "%d for\n%s", err, text);
    ck_assert_int_eq(why.code, GW_EDATA);
    ck_assert_ptr_null(plan);
    ck_assert_msg(strcmp(why.text, sentence) == 0, "%s\nexpected: %s\nfor\n%s",
                  why.text, sentence, text);
    ck_assert_int_eq(gw_plan_parse(text, strlen(text), "t", ranks, &plan, NULL),
                     GW_EDATA);
}

struct wrong {
    const char *text;
    unsigned ranks;
    const char *sentence;
};

static const struct wrong wrong_headers[] = {
    {"", 0,
     "t:1:1: expected a collective, such as allreduce, found the end of the "
     "text"},
    {"\n\n  reduct ranks=2", 0,
     "t:3:3: expected a collective, such as allreduce, found `reduct`"},
    {"sum ranks=2 chunks=1", 0,
     "t:1:1: expected a collective, such as allreduce, found `sum`"},
    {"reduce chunks=1\n", 0,
     "t:1:16: expected ranks=, found the end of the line"},
    {"reduce ranks=2", 0,
     "t:1:15: expected chunks=, found the end of the text"},
    {"reduce ranks=0 chunks=1", 0, "t:1:14: ranks must be in 1..16384, not 0"},
    {"reduce ranks=16385 chunks=1", 0,
     "t:1:14: ranks must be in 1..16384, not 16385"},
    {"reduce ranks=P chunks=1", 0,
     "t:1:14: the plan is for any number of ranks; give the number"},
    {"reduce ranks=any chunks=1", 20000,
     "t:1:14: ranks must be in 1..16384, not 20000"},
    {"reduce ranks=3 chunks=1", 4,
     "t:1:14: the plan is for 3 ranks, not for 4"},
    {"reduce ranks=2 chunks=1-1", 0,
     "t:1:23: chunks must be in 1..16777216, not 0"},
    {"reduce chunks=2*P ranks=2", 0,
     "t:1:17: `P` is not known yet; put its header entry before this one"},
    {"reduce root=1 ranks=2 chunks=1", 0,
     "t:1:12: root= must come after ranks="},
    {"reduce ranks=2 chunks=1 root=2", 0,
     "t:1:30: root must be in 0..1, not 2"},
    {"allreduce ranks=2 chunks=1 root=0", 0,
     "t:1:32: allreduce does not use a root"},
    {"reduce ranks=2 chunks=1 ports=3", 0,
     "t:1:31: ports must be in 0..2, not 3"},
    {"reduce ranks=2 ranks=2 chunks=1", 0, "t:1:16: ranks= occurs twice"},
    {"reduce ranks=2 chunks=1 colour=1", 0,
     "t:1:25: expected ranks=, chunks=, root=, ports= or name=, found "
     "`colour`"},
    {"reduce ranks 2", 0, "t:1:14: expected `=`, found `2`"},
    {"reduce ranks=2 chunks=1 name= x", 0, "t:1:30: name= needs a word"},
    {"reduce ranks=2 chunks=1 "
     "name=0123456789012345678901234567890123456789",
     0, "t:1:30: the name must have at most 39 characters"},
    {"allgather ranks=4 chunks=6", 0,
     "t:1:26: 6 chunks do not suit allgather of 4 ranks"},
    {"alltoall ranks=4 chunks=4", 0,
     "t:1:25: 4 chunks do not suit alltoall of 4 ranks"},
    {"barrier ranks=4 chunks=2", 0,
     "t:1:24: 2 chunks do not suit barrier of 4 ranks"},
};

#define HEAD "allreduce ranks=4 chunks=4\n"

static const struct wrong wrong_lines[] = {
    {HEAD " step 0>1 c0 +", 0,
     "t:2:2: the first step or loop must begin at the left margin"},
    {HEAD "0>1 c0 +", 0,
     "t:2:1: a transfer must be inside a step; write `step` before it"},
    {HEAD "for i in 0..2: i>(i+1) c0 +", 0,
     "t:2:16: a transfer must be inside a step; write `step` before it"},
    {HEAD "step 0>1 c0 + step 1>2 c0 +", 0,
     "t:2:15: a step cannot contain another step"},
    {HEAD "step\nstep 0>1 c0 +", 0, "t:2:1: this step is empty"},
    {HEAD "for i in 0..3: step\n\n", 0, "t:2:16: this step is empty"},
    {HEAD "for i in 0..3:\n", 0, "t:2:5: this loop is empty"},
    {HEAD "for i in 0..3: step 0>1 c0 +\n  step 1>2 c0 +", 0,
     "t:3:3: a step cannot contain another step"},
    {HEAD "step\n  for i in 0..0: 0>1 c0 +\n    1>2 c0 +", 0,
     "t:4:5: the line must not be indented deeper than the one above"},
    {HEAD "step\n    0>1 c0 +\n  1>2 c0 +", 0,
     "t:4:3: the indentation must equal that of a line above"},
    {HEAD "step\n\t0>1 c0 +", 0, "t:3:1: indent with blanks, not tabs"},
    {HEAD "step 0 1 c0 +", 0,
     "t:2:8: expected `>` (a sum before it needs parentheses), found `1`"},
    {HEAD "step 0+1>2 c0 +", 0,
     "t:2:7: expected `>` (a sum before it needs parentheses), found `+`"},
    {HEAD "step 0>1 0 +", 0, "t:2:10: expected a chunk, such as c0, found `0`"},
    {HEAD "step 0>1 c0 1>2 c0 +", 0,
     "t:2:13: expected `+` (add) or `=` (replace), found `1`"},
    {HEAD "step 0>1 c0", 0,
     "t:2:12: expected `+` (add) or `=` (replace), found the end of the "
     "text"},
    {HEAD "step 0>1 c0 |", 0,
     "t:2:13: `|` passes a token; only a barrier allows it"},
    {"barrier ranks=2 chunks=1\nstep 0>1 c0 +", 0,
     "t:2:13: a barrier allows only tokens (`|`)"},
    {HEAD "step 0>1 c0 + 0>1 c0 & 1", 0, "t:2:22: a plan cannot contain `&`"},
    {HEAD "step 0>1 c\xc3\xa9 +", 0, "t:2:11: a plan cannot contain byte 0xc3"},
    {HEAD "for P in 0..1: step 0>1 c0 +", 0,
     "t:2:5: the name is already in use"},
    {HEAD "for step in 0..1: step 0>1 c0 +", 0,
     "t:2:5: the name is already in use"},
    {HEAD "for i in 0..1: for i in 0..1: step 0>1 c0 +", 0,
     "t:2:20: the name is already in use"},
    {HEAD "for 1 in 0..1: step 0>1 c0 +", 0,
     "t:2:5: expected the name of a variable, found `1`"},
    {HEAD "for abcdefghijklmnopqrstuvwxyzabcdef in 0..1: step 0>1 c0 +", 0,
     "t:2:5: the name must have at most 31 characters"},
    {HEAD "for i = 0..1: step 0>1 c0 +", 0, "t:2:7: expected `in`, found `=`"},
    {HEAD "for i in 0 1: step 0>1 c0 +", 0, "t:2:12: expected `..`, found `1`"},
    {HEAD "for i in 0..1 step 0>1 c0 +", 0,
     "t:2:15: expected `:`, found `step`"},
};

static const struct wrong wrong_values[] = {
    {HEAD "for s in 0..1:\n  step for i in 0..3: i>(i+1) c(i-s)%P +", 0,
     "t:3:26: rank 4 must be in 0..3 (s=0, i=3)"},
    {HEAD "step 0>1 c(P) +", 0, "t:2:12: c4 must be in 0..3"},
    {HEAD "step 0>1 c-1 +", 0, "t:2:11: c-1 must be in 0..3"},
    {HEAD "step 0>1 c4 +", 0, "t:2:11: c4 must be in 0..3"},
    {HEAD "step 0>-1 c0 +", 0, "t:2:8: rank -1 must be in 0..3"},
    {HEAD "for i in 0..1: step i>1 c0 +", 0,
     "t:2:21: rank 1 sends to itself (i=1)"},
    {HEAD "step x>1 c0 +", 0, "t:2:6: `x` is not a variable here"},
    {HEAD "step for i in 0..0: i>1 c0 +\n     i>2 c0 +", 0,
     "t:3:6: `i` is not a variable here"},
    {HEAD "step 0>(1/(P-4)) c0 +", 0, "t:2:9: division by zero"},
    {HEAD "step 0>1%0 c0 +", 0,
     "t:2:8: `%` needs a positive number on its right"},
    {HEAD "step 0>2**(-1) c0 +", 0,
     "t:2:8: a power needs an exponent of 0 or more"},
    {HEAD "step 0>2**63 c0 +", 0, "t:2:8: the number is too large"},
    {HEAD "step 0>99999999999999999999 c0 +", 0,
     "t:2:8: the number is too large"},
    {HEAD "step 0>log2(0) c0 +", 0, "t:2:8: log2 needs a positive number"},
    {HEAD "step 0>((-2)**63/-1) c0 +", 0, "t:2:9: the number is too large"},
    {HEAD "step 0>(1 c0 +", 0, "t:2:11: expected `)`, found `c0`"},
    {HEAD "step 0>min(1) c0 +", 0, "t:2:13: expected `,`, found `)`"},
    {HEAD "step 0>() c0 +", 0,
     "t:2:9: expected a number, a variable or `(`, found `)`"},
};

START_TEST(wrong_texts_are_refused_with_their_place)
{
    for (size_t i = 0; i < sizeof wrong_headers / sizeof *wrong_headers; i++)
        expect(wrong_headers[i].text, wrong_headers[i].ranks,
               wrong_headers[i].sentence);
    for (size_t i = 0; i < sizeof wrong_lines / sizeof *wrong_lines; i++)
        expect(wrong_lines[i].text, wrong_lines[i].ranks,
               wrong_lines[i].sentence);
    for (size_t i = 0; i < sizeof wrong_values / sizeof *wrong_values; i++)
        expect(wrong_values[i].text, wrong_values[i].ranks,
               wrong_values[i].sentence);
}
END_TEST

START_TEST(nesting_is_bounded)
{
    char parens[256] = HEAD "step 0>";
    memset(parens + strlen(parens), '(', 70);
    expect(parens, 0,
           "t:2:40: the expression is nested more than 32 levels deep");
    char loops[512] = HEAD;
    for (int i = 0; i < 17; i++)
        sprintf(loops + strlen(loops), "for i%d in 0..0: ", i);
    expect(loops, 0, "t:2:267: loops are nested more than 16 levels deep");
}
END_TEST

static void expect_within(const struct gw__text_limits *limits,
                          const char *text, const char *sentence)
{
    struct gw_plan *plan;
    struct gw_error why = {0};
    ck_assert_int_eq(
        gw__plan_parse_within(limits, text, strlen(text), "t", 0, &plan, &why),
        GW_EDATA);
    ck_assert_str_eq(why.text, sentence);
}

START_TEST(loops_and_transfers_are_bounded)
{
    const struct gw__text_limits limits = {
        .bytes = 90, .transfers = 100, .work = 1000};
    expect_within(
        &limits,
        HEAD "for a in 0..9223372036854775807: step for i in 1..0: 0>1 c0 +",
        "t:2:43: the loops execute more than 1000 statements");
    expect_within(&limits, HEAD "step for a in 0..100: 0>1 c0 +",
                  "t:2:23: a plan can have at most 100 transfers");
    expect_within(
        &limits,
        HEAD "################################################################",
        "t:1:1: the text has more than 90 bytes");
}
END_TEST

START_TEST(a_loop_may_end_at_the_largest_number)
{
    static const char text[] =
        HEAD "for a in 9223372036854775806..9223372036854775807: "
             "step 0>1 c0 =";
    struct gw_plan *plan;
    ck_assert_int_eq(gw_plan_parse(text, sizeof text - 1, "t", 0, &plan, NULL),
                     GW_OK);
    ck_assert_uint_eq(plan->steps, 2);
    gw_plan_destroy(&plan);
}
END_TEST

START_TEST(a_zero_byte_is_no_end)
{
    static const char text[] = HEAD "step 0>1 c0 =";
    struct gw_plan *plan;
    struct gw_error why;
    ck_assert_int_eq(gw_plan_parse(text, sizeof text, "t", 0, &plan, &why),
                     GW_EDATA);
    ck_assert_str_eq(why.text, "t:2:14: a plan cannot contain byte 0x00");
}
END_TEST

/* Any text is refused or makes a plan that survives printing. */
START_TEST(rubbish_does_no_harm)
{
    enum { ROUNDS = 20000 };
    static const char ring[] =
        "allreduce ranks=P chunks=P\n"
        "for s in 0..P-2:\n"
        "    step for i in 0..P-1: i>(i+1)%P c(i-s)%P +\n"
        "for s in 0..P-2:\n"
        "    step for i in 0..P-1: i>(i+1)%P c(i+1-s)%P =\n";
    static const char alphabet[] = "0123456789cPCi  \n\n+-*/%^()=|>:,.#\t"
                                   "forstep in..~";
    const struct gw__text_limits limits = {
        .bytes = 4096, .transfers = 5000, .work = 20000};
    struct gw_rng rng;
    uint64_t seed = 20240607;
    gw_rng_seed(&rng, seed);
    unsigned plans = 0;
    for (int i = 0; i < ROUNDS; i++) {
        char text[sizeof ring];
        memcpy(text, ring, sizeof text);
        for (uint64_t k = gw_rng_below(&rng, 4); k < 4; k++)
            text[gw_rng_below(&rng, sizeof text - 1)] =
                alphabet[gw_rng_below(&rng, sizeof alphabet - 1)];
        struct gw_plan *plan = NULL;
        struct gw_error why = {0};
        enum gw_err err = gw__plan_parse_within(
            &limits, text, sizeof text - 1, "t",
            1 + (unsigned)gw_rng_below(&rng, 5), &plan, &why);
        ck_assert_msg((err == GW_OK) == (plan != NULL) &&
                          (err == GW_OK || err == GW_EDATA) &&
                          (err == GW_OK || strncmp(why.text, "t:", 2) == 0),
                      "seed %llu round %d: %d %s\n%s", (unsigned long long)seed,
                      i, err, why.text, text);
        plans += plan != NULL;
        gw_plan_destroy(&plan);
    }
    ck_assert_msg(plans > ROUNDS / 100 && plans < ROUNDS, "%u plans", plans);
}
END_TEST

Suite *suite_plan_text_errors(void)
{
    Suite *suite = suite_create("plan_text_errors");
    TCase *t = tcase_create("all");
    tcase_add_test(t, wrong_texts_are_refused_with_their_place);
    tcase_add_test(t, nesting_is_bounded);
    tcase_add_test(t, loops_and_transfers_are_bounded);
    tcase_add_test(t, a_loop_may_end_at_the_largest_number);
    tcase_add_test(t, a_zero_byte_is_no_end);
    tcase_add_test(t, rubbish_does_no_harm);
    suite_add_tcase(suite, t);
    return suite;
}
