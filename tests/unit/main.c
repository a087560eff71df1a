/* SPDX-License-Identifier: MIT
 *
 * Runs every suite of this folder: the Makefile collects all functions
 * `Suite *suite_NAME(void)` in unit_suites.h. Check's own variables choose
 * (CK_RUN_SUITE, CK_RUN_CASE) and set limits (CK_DEFAULT_TIMEOUT). For each
 * failure the command that repeats its test case is printed.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define SUITE(name) Suite *suite_##name(void);
#include "unit_suites.h"
#undef SUITE

static Suite *(*const suites[])(void) = {
#define SUITE(name) suite_##name,
#include "unit_suites.h"
#undef SUITE
};

static void print_repeats(SRunner *runner, const char *program)
{
    TestResult **failures = srunner_failures(runner);
    for (int i = 0; i < srunner_ntests_failed(runner); i++)
        printf("repeat with: CK_RUN_CASE=\"%s\" %s\n", tr_tcname(failures[i]),
               program);
    free(failures);
}

int main(int argc, char **argv)
{
    SRunner *runner = srunner_create(NULL);
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
        srunner_add_suite(runner, suites[i]());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    if (argc > 0)
        print_repeats(runner, argv[0]);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
