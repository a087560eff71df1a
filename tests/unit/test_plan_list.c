/* SPDX-License-Identifier: MIT
 *
 * Lists of algorithms, with plan files among them: a file is an algorithm for
 * each number of ranks that its text supports, and one that fails is left out.
 */
#include "collrun/plan/plan_list.h"
#include "common/command.h"
#include "common/plan/plan_file.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

Suite *suite_plan_list(void);

static struct gw_error why;
static struct plan_list list;
static char dir[64];

/* Each test runs in a process of its own, so no file is registered yet. */
static void begin(void)
{
    snprintf(dir, sizeof dir, "/tmp/gw-test-plans-%d", (int)getpid());
    ck_assert_int_eq(mkdir(dir, 0700), 0);
    ck_assert_int_eq(chdir(dir), 0);
    complain_quietly();
}

static void end(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    ck_assert_int_eq(system(command), 0);
}

static void write_plan(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static const char star[] = "broadcast ranks=P chunks=1 root=P-1\n"
                           "step for i in 0..P-2: (P-1)>i c0 =\n";

static enum gw_err list_words(const char *words, unsigned ranks, bool others)
{
    const struct plan_wanted wanted = {.collective = GW_BROADCAST,
                                       .words = words,
                                       .ranks = ranks,
                                       .others = others};
    return plan_list(&wanted, &list, &why);
}

START_TEST(a_file_is_an_algorithm_of_each_number_of_ranks)
{
    write_plan("star.plan", star);
    ck_assert_uint_eq(plan_file_ranks("star.plan"), 0);
    for (unsigned ranks = 2; ranks <= 5; ranks++) {
        struct gw_plan *plan;
        const struct gw_algo_args args = {.ranks = ranks};
        ck_assert_int_eq(list_words("star.plan", ranks, false), GW_OK);
        ck_assert_int_eq(plan_make(list.algos[0], &args, &plan, &why), GW_OK);
        ck_assert_uint_eq(plan->root, ranks - 1);
        ck_assert_uint_eq(plan->transfer_count, ranks - 1);
        gw_plan_destroy(&plan);
    }
    ck_assert_ptr_eq(gw_algo_find(GW_BROADCAST, "star"), list.algos[0]);
    ck_assert_str_eq(plan_algo_label(list.algos[0]), "star.plan");
}
END_TEST

START_TEST(the_root_of_a_file_is_its_own)
{
    struct gw_algo_args args = {.ranks = 4};
    write_plan("star.plan", star);
    ck_assert_int_eq(list_words("star.plan", 4, false), GW_OK);
    ck_assert_int_eq(plan_prove(list.algos[0], &args, &why), GW_OK);
    ck_assert_uint_eq(args.root, 3);
    args.root = 1;
    ck_assert_int_eq(plan_prove(list.algos[0], &args, &why), GW_EINVAL);
    ck_assert_str_eq(why.text, "--root: star.plan has root 3, not 1");
}
END_TEST

START_TEST(all_and_words_each_once)
{
    write_plan("star.plan", star);
    ck_assert_int_eq(list_words(NULL, 4, false), GW_OK);
    size_t all = list.count;
    ck_assert_int_eq(
        list_words("binomial,star.plan,all,star.plan,binomial", 4, false),
        GW_OK);
    ck_assert_uint_eq(list.count, all + 1);
    ck_assert_str_eq(list.algos[0]->name, "binomial");
    ck_assert_str_eq(plan_algo_label(list.algos[1]), "star.plan");
    ck_assert_int_eq(list_words("binomial,bionmial", 4, false), GW_EINVAL);
}
END_TEST

/* A name that exists gets an ending. */
START_TEST(files_with_one_name)
{
    ck_assert_int_eq(mkdir("a", 0700), 0);
    write_plan("binomial.plan", star);
    write_plan("a/binomial.plan", star);
    ck_assert_int_eq(
        list_words("binomial.plan,a/binomial.plan,binomial", 3, false), GW_OK);
    ck_assert_uint_eq(list.count, 3);
    ck_assert_str_eq(list.algos[0]->name, "binomial_plan");
    ck_assert_str_eq(list.algos[1]->name, "binomial_plan2");
    ck_assert_str_eq(list.algos[2]->name, "binomial");
}
END_TEST

START_TEST(one_that_fails_is_left_out_of_several)
{
    write_plan("two.plan", "broadcast ranks=2 chunks=1\nstep 0>1 c0 =\n");
    write_plan("bad.plan", "broadcast ranks=P chunks=1\nstep 0>1 c0 ?\n");
    ck_assert_int_eq(list_words("two.plan,binomial", 3, false), GW_OK);
    ck_assert_uint_eq(list.count, 1);
    ck_assert_ptr_null(complaint());
    ck_assert_int_eq(list_words("bad.plan,binomial", 3, false), GW_OK);
    ck_assert_uint_eq(list.count, 1);
    ck_assert_ptr_nonnull(strstr(complaint()->text, "bad.plan:2:13: "));
    ck_assert_int_eq(complaint_status(), gw_err_exit(GW_EDATA));
    ck_assert_int_eq(list_words("bad.plan", 3, false), GW_EDATA);
    ck_assert_int_eq(list_words("two.plan", 3, false), GW_EDATA);
    ck_assert_int_eq(list_words("two.plan,two.plan", 3, false), GW_EINVAL);
}
END_TEST

START_TEST(words_of_other_collectives)
{
    write_plan("star.plan", star);
    write_plan("ring.plan", "reduce ranks=2 chunks=1\nstep 1>0 c0 +\n");
    ck_assert_int_eq(list_words("swing,ring.plan,star.plan", 4, true), GW_OK);
    ck_assert_uint_eq(list.count, 1);
    ck_assert_int_eq(list_words("swing", 4, true), GW_OK);
    ck_assert_uint_eq(list.count, 0);
    ck_assert_int_eq(list_words("swing", 4, false), GW_EINVAL);
    ck_assert_int_eq(list_words("swnig", 4, true), GW_EINVAL);
    ck_assert_int_eq(list_words("ring.plan,star.plan", 2, false), GW_EINVAL);
    ck_assert_str_eq(why.text,
                     "ring.plan is a plan for reduce, not for broadcast");
}
END_TEST

START_TEST(eight_files)
{
    char words[64] = "", path[16];
    for (unsigned i = 0; i < 9; i++) {
        snprintf(path, sizeof path, "%u.plan", i);
        write_plan(path, star);
        snprintf(words + strlen(words), sizeof words - strlen(words), "%s%s",
                 i ? "," : "", path);
    }
    ck_assert_int_eq(list_words(words, 4, false), GW_EINVAL);
    ck_assert_str_eq(why.text, "8.plan: too many plan files; use at most 8");
    *strrchr(words, ',') = 0;
    ck_assert_int_eq(list_words(words, 4, false), GW_OK);
    ck_assert_uint_eq(list.count, 8);
    for (unsigned i = 0; i < 8; i++) {
        struct gw_algo_args args = {.ranks = 4};
        snprintf(path, sizeof path, "%u.plan", i);
        ck_assert_str_eq(plan_algo_label(list.algos[i]), path);
        ck_assert_int_eq(plan_prove(list.algos[i], &args, &why), GW_OK);
    }
}
END_TEST

Suite *suite_plan_list(void)
{
    Suite *suite = suite_create("plan_list");
    TCase *tests = tcase_create("lists");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, a_file_is_an_algorithm_of_each_number_of_ranks);
    tcase_add_test(tests, the_root_of_a_file_is_its_own);
    tcase_add_test(tests, all_and_words_each_once);
    tcase_add_test(tests, files_with_one_name);
    tcase_add_test(tests, one_that_fails_is_left_out_of_several);
    tcase_add_test(tests, words_of_other_collectives);
    tcase_add_test(tests, eight_files);
    suite_add_tcase(suite, tests);
    return suite;
}
