/* SPDX-License-Identifier: MIT
 *
 * Runs every suite of this folder, or those named on the command line: the
 * Makefile collects all functions `Suite *suite_NAME(void)` in unit_suites.h.
 * Check's own variables select, too (CK_RUN_SUITE, CK_RUN_CASE), and set limits
 * (CK_DEFAULT_TIMEOUT). For each failure it prints the command that repeats its
 * test case.
 */
#include <gradwire/parallel.h>

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUITE(name) Suite *suite_##name(void);
#include "unit_suites.h"
#undef SUITE

static const struct {
    const char *name;
    Suite *(*make)(void);
} suites[] = {
#define SUITE(name) {#name, suite_##name},
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

static bool is_wanted(const char *name, int argc, char **argv)
{
    bool wanted = argc < 2;
    for (int i = 1; i < argc; i++)
        wanted |= strcmp(argv[i], name) == 0;
    return wanted;
}

int main(int argc, char **argv)
{
    struct gw_error why;
    if (gw_kernels_check(&why)) {
        fprintf(stderr, "unit: %s\n", why.text);
        return EXIT_FAILURE;
    }
    SRunner *runner = srunner_create(NULL);
    int wanted = 0;
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++) {
        if (!is_wanted(suites[i].name, argc, argv))
            continue;
        srunner_add_suite(runner, suites[i].make());
        wanted++;
    }
    if (wanted < argc - 1) {
        fprintf(stderr, "%s: an unknown suite among the operands\n", argv[0]);
        srunner_free(runner);
        return 64;
    }
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    if (argc > 0)
        print_repeats(runner, argv[0]);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
