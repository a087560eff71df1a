/* SPDX-License-Identifier: MIT
 *
 * A tool with a single command: it is not typed, and help, completion,
 * suggestions and errors are adapted.
 */
#include "tool_run.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

Suite *suite_command_only(void);

static unsigned times = 1;

static const struct option_spec ring_options[] = {
    {"times", 'n', OPTION_UNSIGNED, &times, "N", "how often", NULL},
    {0},
};

static int ring(int operand_count, char **operands)
{
    printf("ring %u:", times);
    for (int i = 0; i < operand_count; i++)
        printf(" %s", operands[i]);
    return 0;
}

static const struct command command_ring = {
    .name = "bell",
    .operands = "[-|twice]",
    .help = "ring the bell",
    .examples = "bell -n 3\n",
    .options = ring_options,
    .operands_max = 1,
    .run = ring,
};
static const struct tool bell = {
    .name = "bell",
    .summary = "rings",
    .only = &command_ring,
    .examples = "bell -n 3\n",
};

static void expect(const char *line, int status, const char *out,
                   const char *err)
{
    tool_expect(&bell, line, status, out, err);
}

START_TEST(it_runs_without_its_name)
{
    expect("-n 3", 0, "ring 3:", "");
    expect("-n3 -", 0, "ring 3: -", "");
    expect("twice --times=2", 0, "ring 2: twice", "");
    expect("-- -n", 0, "ring 1: -n", "");
    expect("bell", 0, "ring 1: bell", "");
}
END_TEST

START_TEST(no_words_give_help)
{
    expect("", 0, "Examples:\n  bell -n 3\n\n\"bell --help\" shows more.\n",
           "");
    expect("-h", 0, "Usage: bell [OPTION]... [-|twice]\n", "");
    expect("--help", 0, "how often Default: 1.", "");
    expect("--help", 0, "Manual: man bell", "");
    expect("help", 0, "how often Default: 1.", "");
    expect("--version", 0, "bell ", "");
}
END_TEST

START_TEST(errors_name_the_tool_once)
{
    expect("--tims 3", 64, "",
           "bell: unknown option --tims; did you mean \"--times\"? "
           "(\"bell --help\" lists the options)\n");
    expect("a b", 64, "", "bell: unexpected operand \"b\"");
    expect("-n x -o json", 64, "{\"schema\":\"bell\",", "whole number");
}
END_TEST

START_TEST(completion_knows_it)
{
    expect("completion words", 0, "--version\n--times\nhelp\n", "");
    expect("completion bash", 0, "    :--times|:-n) words=''", "");
    expect("completion bash", 0, "--version --times ' ;;", "");
    expect("completion bash", 0, ":*) words='help completion twice '", "");
    expect("completion zsh", 0, "    bell) _arguments", "");
    expect("completion fish", 0, "complete -c bell  -l times -s n -x", "");
    expect("help completion", 0, "Usage: bell completion [OPTION]...", "");
}
END_TEST

Suite *suite_command_only(void)
{
    Suite *suite = suite_create("command_only");
    TCase *tcase = tcase_create("one command");
    tcase_add_test(tcase, it_runs_without_its_name);
    tcase_add_test(tcase, no_words_give_help);
    tcase_add_test(tcase, errors_name_the_tool_once);
    tcase_add_test(tcase, completion_knows_it);
    suite_add_tcase(suite, tcase);
    return suite;
}
