/* SPDX-License-Identifier: MIT
 *
 * The text form of plans: its meaning, and that printing and parsing are
 * inverse to each other. The examples of the man page and of labs/plans verify.
 * test_plan_text_errors.c has the errors.
 */
#include "skip.h"

#include <gradwire/plan.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_plan_text(void);

static struct gw_plan *parse(const char *text, unsigned ranks)
{
    struct gw_plan *plan;
    struct gw_error why = {0};
    enum gw_err err =
        gw_plan_parse(text, strlen(text), "t", ranks, &plan, &why);
    ck_assert_msg(err == GW_OK, "%s\n%s", why.text, text);
    return plan;
}

static uint64_t hash_of(const char *text, unsigned ranks)
{
    struct gw_plan *plan = parse(text, ranks);
    uint64_t hash = gw_plan_hash(plan);
    gw_plan_destroy(&plan);
    return hash;
}

static void verify(const struct gw_plan *plan, const char *what)
{
    struct gw_verdict verdict;
    enum gw_err err = gw_plan_verify(plan, 0, &verdict, NULL);
    ck_assert_msg(err == GW_OK, "%s, %u ranks: %s\n%s", what, plan->ranks,
                  verdict.sentence, verdict.history);
}

static struct gw_plan *built_ring(unsigned p)
{
    struct gw_builder *b;
    struct gw_plan *plan;
    ck_assert_int_eq(gw_builder_new(GW_ALLREDUCE, p, p, 0, &b, NULL), GW_OK);
    for (unsigned s = 0; s + 1 < p; s++) {
        gw_builder_step(b);
        for (unsigned i = 0; i < p; i++)
            gw_builder_add(b, i, (i + 1) % p, (i + p - s) % p, GW_ADD);
    }
    for (unsigned s = 0; s + 1 < p; s++) {
        gw_builder_step(b);
        for (unsigned i = 0; i < p; i++)
            gw_builder_add(b, i, (i + 1) % p, (i + 1 + p - s) % p, GW_REPLACE);
    }
    ck_assert_int_eq(gw_builder_finish(&b, &plan, NULL), GW_OK);
    return plan;
}

static const char ring_text[] =
    "allreduce ranks=P chunks=P\n"
    "for s in 0..P-2:\n"
    "    step for i in 0..P-1: i>(i+1)%P c(i-s)%P +\n"
    "for s in 0..P-2:\n"
    "    step for i in 0..P-1: i>(i+1)%P c(i+1-s)%P =\n";

/* ---- the meaning of a text ---- */

START_TEST(loops_make_a_ring_of_any_size)
{
    for (unsigned p = 1; p <= 17; p++) {
        struct gw_plan *plan = built_ring(p);
        ck_assert_msg(hash_of(ring_text, p) == gw_plan_hash(plan), "p=%u", p);
        gw_plan_destroy(&plan);
    }
}
END_TEST

START_TEST(header_entries_use_those_before)
{
    struct gw_plan *plan = parse("gather ranks=2*2 root=P-2 chunks=P*3 "
                                 "ports=C/P name=my-plan.1 # rest",
                                 4);
    ck_assert_int_eq(plan->collective, GW_GATHER);
    ck_assert_uint_eq(plan->ranks, 4);
    ck_assert_uint_eq(plan->root, 2);
    ck_assert_uint_eq(plan->chunks, 12);
    ck_assert_uint_eq(plan->ports, 3);
    ck_assert_str_eq(plan->algo, "my-plan.1");
    ck_assert_uint_eq(plan->steps, 0);
    gw_plan_destroy(&plan);
}
END_TEST

/* Several layouts of one plan: two steps, of three transfers and of one. */
START_TEST(layout_is_free)
{
    static const char *const layouts[] = {
        "reduce ranks=4 chunks=1\n"
        "step 1>0 c0 + 2>0 c0 +\n"
        "step 3>0 c0 +\n",
        "# a comment\r\n\r\nreduce ranks=4 chunks=1 # and another\r\n"
        "step\r\n  1>0 c0 +\r\n\r\n# between\r\n  2>0 c0 +\r\n"
        "step 3>0 c0 +",
        "reduce  chunks = 1 ranks = 4\n"
        "step 1 > 0 c 0 +\n"
        "\t \n"
        "     2>0 c0+   # carries on\n"
        "step 3>0 c0 +\n",
        "reduce ranks=4 chunks=1\n"
        "step for i in 1..2: i>0 c0 +\n"
        "for i in 3..3: step i>0 c0 +\n",
        "reduce ranks=4 chunks=1\n"
        "for none in 1..0:\n"
        "  step 1>0 c0 +\n"
        "step for i in 1..2:\n"
        "       i>0 c0 +\n"
        "step\n"
        "   for none in 2..1: 1>0 c0 +\n"
        "for i in 2..2: step 3>0 c0 +\n",
        "reduce ranks=any chunks=1\n"
        "step 1>0 c0 + for i in 2..P-2: i>0 c0 +\n"
        "step\n"
        " for i in P-1..P-1:\n"
        "  for j in root..0:\n"
        "   i>j cj +\n",
        "reduce ranks=P chunks=1\n"
        "step for i in 1..1: i>0 c0 +\n"
        "     2>0 c0 +\n"
        "for s in 3..P-1: step\n"
        "  s>0 c0 +\n",
    };
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        ck_assert_msg(hash_of(layouts[i], 4) == hash_of(layouts[0], 4),
                      "layout %zu", i);
}
END_TEST

START_TEST(empty_steps_are_left_out)
{
    struct gw_plan *plan = parse("broadcast ranks=2 chunks=1\n"
                                 "step for i in 1..0: i>0 c0 =\n"
                                 "step 0>1 c0 =\n"
                                 "step for i in 1..0: i>0 c0 =\n",
                                 0);
    ck_assert_uint_eq(plan->steps, 1);
    ck_assert_uint_eq(plan->transfer_count, 1);
    gw_plan_destroy(&plan);
}
END_TEST

START_TEST(expressions_have_values)
{
    static const struct {
        const char *text;
        unsigned value;
    } cases[] = {
        {"7", 7},
        {"2+3*4", 14},
        {"(2+3)*4", 20},
        {"20-5-4", 11},
        {"40/4/5", 2},
        {"(-7)/2+10", 6}, /* rounds down */
        {"(-7)%3", 2},
        {"-7%3+5", 7}, /* the sign binds tighter */
        {"(-3)%3", 0},
        {"2**3**2", 512},
        {"-2**2+10", 6},
        {"2**-0", 1},
        {"0**0", 1},
        {"(-1)**5+3", 2},
        {"1-(-2)**3", 9},
        {"5^3", 6},
        {"1+4^3", 6}, /* (1+4)^3 */
        {"min(3, 2+2)", 3},
        {"max(3,2+2)", 4},
        {"log2(1)", 0},
        {"log2(8)", 3},
        {"log2(9)", 4},
        {"P*100+C/100+root", 311},
        {"min(9223372036854775807, 5)", 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        snprintf(text, sizeof text,
                 "reduce ranks=3 chunks=1000 root=1 \n"
                 "step 0>1 c(%s) +\n",
                 cases[i].text);
        struct gw_plan *plan = parse(text, 0);
        ck_assert_msg(plan->transfers[0].chunk == cases[i].value, "%s is %u",
                      cases[i].text, plan->transfers[0].chunk);
        gw_plan_destroy(&plan);
    }
}
END_TEST

START_TEST(deep_right_sides_keep_all_operands)
{
#define FIVE(text) text text text text text
    struct gw_plan *plan =
        parse("reduce ranks=2 chunks=100\n"
              "step 0>1 c(" FIVE("0^0+1*min(1,1**(")
                  FIVE("0^0+1*min(1,1**(") "1" FIVE("))") FIVE("))") ") +\n",
              0);
    ck_assert_uint_eq(plan->transfers[0].chunk, 1);
    gw_plan_destroy(&plan);
}
END_TEST

/* ---- printing ---- */

static char *print(const struct gw_plan *plan)
{
    char *text = NULL;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(gw_plan_print(plan, file, NULL), GW_OK);
    fclose(file);
    return text;
}

START_TEST(prints_what_the_design_shows)
{
    struct gw_plan *plan = parse(ring_text, 3);
    char *text = print(plan);
    ck_assert_str_eq(text, "allreduce ranks=3 chunks=3\n"
                           "step   0>1 c0 +   1>2 c1 +   2>0 c2 +\n"
                           "step   0>1 c2 +   1>2 c0 +   2>0 c1 +\n"
                           "step   0>1 c1 =   1>2 c2 =   2>0 c0 =\n"
                           "step   0>1 c0 =   1>2 c1 =   2>0 c2 =\n");
    free(text);
    gw_plan_destroy(&plan);
}
END_TEST

START_TEST(printed_plans_parse_back)
{
    static const char *const texts[] = {
        "barrier ranks=7 chunks=1 ports=2\n"
        "for s in 0..log2(P)-1: step for i in 0..P-1: i>(i+2**s)%P c0 |",
        "gather ranks=5 chunks=10 root=3 name=two\n"
        "step for i in 0..4: for k in 0..(i^3)/(i^3+1*0+8): (i+1)%P>i ck =",
        "broadcast ranks=300 chunks=3\n"
        "step for i in 1..299: for k in 0..2: 0>i ck =",
        "reduce ranks=1 chunks=1",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct gw_plan *plan = parse(texts[i], 0);
        char *text = print(plan);
        struct gw_plan *again = parse(text, plan->ranks);
        ck_assert_msg(gw_plan_hash(again) == gw_plan_hash(plan), "%s", text);
        ck_assert_str_eq(again->algo, plan->algo);
        for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
            ck_assert_uint_le(strcspn(line, "\n"), 80);
        free(text);
        gw_plan_destroy(&again);
        gw_plan_destroy(&plan);
    }
}
END_TEST

START_TEST(odd_names_print_as_one_word)
{
    struct gw_builder *b;
    struct gw_plan *plan;
    ck_assert_int_eq(gw_builder_new(GW_REDUCE, 2, 1, 1, &b, NULL), GW_OK);
    gw_builder_name(b, "my own #1");
    ck_assert_int_eq(gw_builder_finish(&b, &plan, NULL), GW_OK);
    char *text = print(plan);
    ck_assert_str_eq(text, "reduce ranks=2 chunks=1 root=1 name=my_own__1\n");
    free(text);
    gw_plan_destroy(&plan);
}
END_TEST

START_TEST(printing_to_a_full_disk_fails)
{
    FILE *file = fopen("/dev/full", "we");
    if (!file)
        SKIP("plan_text", "there is no /dev/full");
    struct gw_plan *plan = parse(ring_text, 3);
    struct gw_error why = {0};
    ck_assert_int_eq(gw_plan_print(plan, file, &why), GW_ENOSPC);
    fclose(file);
    gw_plan_destroy(&plan);
}
END_TEST

/* ---- files ---- */

START_TEST(lab_plans_match_their_comments)
{
    struct gw_plan *plan;
    struct gw_error why = {0};
    ck_assert_msg(gw_plan_load("labs/plans/ring-allreduce-3.plan", 0, &plan,
                               &why) == GW_OK,
                  "%s", why.text);
    verify(plan, "ring-allreduce-3.plan");
    ck_assert_uint_eq(gw_plan_hash(plan), hash_of(ring_text, 3));
    gw_plan_destroy(&plan);
    for (unsigned p = 1; p <= 17; p++) {
        ck_assert_msg(gw_plan_load("labs/plans/ring-allreduce.plan", p, &plan,
                                   &why) == GW_OK,
                      "%s", why.text);
        verify(plan, "ring-allreduce.plan");
        gw_plan_destroy(&plan);
    }
}
END_TEST

START_TEST(files_that_cannot_be_read_are_bad_input)
{
    struct gw_plan *plan;
    struct gw_error why = {0};
    ck_assert_int_eq(gw_plan_load("labs/plans/none.plan", 0, &plan, &why),
                     GW_EDATA);
    ck_assert_str_eq(why.text,
                     "labs/plans/none.plan: No such file or directory");
    ck_assert_int_eq(gw_plan_load("labs", 0, &plan, &why), GW_EDATA);
    ck_assert_str_eq(why.text, "labs: Is a directory");
    ck_assert_int_eq(gw_plan_load("/dev/zero", 0, &plan, &why), GW_EDATA);
    ck_assert_str_eq(why.text,
                     "/dev/zero: is a device; use a regular file or a pipe");
}
END_TEST

static char *read_file(const char *path)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "re");
    ck_assert_msg(file != NULL, "%s", path);
    size_t bytes = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[bytes] = 0;
    return text;
}

/* Tries an example for every P, or for powers of two if the text requires
 * them. */
static void try_example(const char *text)
{
    bool any = strstr(text, "ranks=P") != NULL;
    bool power = strstr(text, "power of two") != NULL;
    for (unsigned p = 1; p <= 17; p++) {
        if (power && (p & (p - 1)) != 0)
            continue;
        struct gw_plan *plan = parse(text, any ? p : 0);
        verify(plan, text);
        gw_plan_destroy(&plan);
    }
}

START_TEST(examples_of_the_man_page_verify)
{
    enum { EXAMPLES = 10 };
    static const char begin[] = ".Bd -literal -offset indent\n";
    char *at = strstr(read_file("man/gradwire-plan.5"), ".Sh EXAMPLES");
    ck_assert_ptr_nonnull(at);
    char *end = strstr(at, ".Sh DIAGNOSTICS");
    ck_assert_ptr_nonnull(end);
    *end = 0;
    unsigned examples = 0;
    while ((at = strstr(at, begin)) != NULL) {
        at += sizeof begin - 1;
        char *done = strstr(at, ".Ed");
        ck_assert_ptr_nonnull(done);
        *done = 0;
        try_example(at);
        at = done + 1;
        examples++;
    }
    ck_assert_uint_eq(examples, EXAMPLES);
}
END_TEST

Suite *suite_plan_text(void)
{
    Suite *suite = suite_create("plan_text");
    TCase *t = tcase_create("meaning");
    tcase_add_test(t, loops_make_a_ring_of_any_size);
    tcase_add_test(t, header_entries_use_those_before);
    tcase_add_test(t, layout_is_free);
    tcase_add_test(t, empty_steps_are_left_out);
    tcase_add_test(t, expressions_have_values);
    tcase_add_test(t, deep_right_sides_keep_all_operands);
    suite_add_tcase(suite, t);
    t = tcase_create("printing");
    tcase_add_test(t, prints_what_the_design_shows);
    tcase_add_test(t, printed_plans_parse_back);
    tcase_add_test(t, odd_names_print_as_one_word);
    tcase_add_test(t, printing_to_a_full_disk_fails);
    suite_add_tcase(suite, t);
    t = tcase_create("files");
    tcase_add_test(t, lab_plans_match_their_comments);
    tcase_add_test(t, files_that_cannot_be_read_are_bad_input);
    tcase_add_test(t, examples_of_the_man_page_verify);
    suite_add_tcase(suite, t);
    return suite;
}
