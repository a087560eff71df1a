/* SPDX-License-Identifier: MIT
 *
 * A tool with a shell: commands can be abbreviated, files run without a verb,
 * and each line begins with the defaults given to the shell.
 */
#include "common/output.h"
#include "tool_run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_command_shell(void);

static unsigned times = 2;
static const char *where = "here", *run_name;

static const struct option_spec paint_options[] = {
    {"times", 'n', OPTION_UNSIGNED, &times, "N", "how often", NULL},
    {"where", 'w', OPTION_CHOICE, &where, "PLACE", "where", "here|there"},
    {0},
};

static int paint(int operand_count, char **operands)
{
    if (operand_count && strcmp(operands[0], "fail") == 0)
        return complain_with(GW_ELOST, "no paint");
    printf("[%s %u %s %s %s]", operand_count ? operands[0] : "-", times, where,
           run_name ? run_name : "-", common.output);
    return 0;
}

static const struct command command_paint = {.name = "paint",
                                             .help = "paint",
                                             .options = paint_options,
                                             .operands = "WALL",
                                             .operands_max = 1,
                                             .run = paint};
static const struct command command_pause = {
    .name = "pause", .help = "rest", .run = paint};

/* The lines as words, with commas instead of blanks. */
static int run_lines(int operand_count, char **operands)
{
    int last = 0;
    for (int i = 0; i < operand_count; i++) {
        char *words[8];
        int count = 0;
        char *line = strdup(operands[i]);
        for (char *w = strtok(line, ","); w; w = strtok(NULL, ","))
            words[count++] = w;
        char place[32];
        snprintf(place, sizeof place, "%s:%d", "script", i + 1);
        const char *before = complain_at(place);
        last = tool_line(count, words);
        ck_assert_ptr_eq(complain_at(before), place);
        free(line);
    }
    return last;
}

static const struct option_spec shell_options[] = {{0}};
static const struct option_spec tool_options[] = {
    {"run", 0, OPTION_TEXT, &run_name, "RUN", "which run", NULL},
    {0},
};
static const struct command command_shell = {.name = "shell",
                                             .help = "run lines",
                                             .options = shell_options,
                                             .operands = "FILE",
                                             .operands_max = 8,
                                             .run = run_lines};
static const struct command *const commands[] = {&command_paint, &command_pause,
                                                 NULL};
static const struct absent absent[] = {{"sleep", "use pause"}, {0}};
static const struct tool painter = {.name = "painter",
                                    .summary = "paints",
                                    .commands = commands,
                                    .shell = &command_shell,
                                    .options = tool_options,
                                    .absent = absent,
                                    .examples = "painter paint\n"};

static void expect(const char *line, int status, const char *out,
                   const char *err)
{
    tool_expect(&painter, line, status, out, err);
}

START_TEST(commands_may_be_abbreviated)
{
    expect("paint", 0, "[- 2 here - table]", "");
    expect("pai wall", 0, "[wall 2", "");
    expect("pau", 0, "[-", "");
    expect("pa", 64, "", "painter: ambiguous command pa: paint, pause\n");
    expect("p wall", 64, "", "ambiguous command p: paint, pause");
    expect("paimt", 64, "", "did you mean \"paint\"?");
    expect("help pai", 0, "Usage: painter paint", "");
    expect("help pa", 64, "", "ambiguous command pa: paint, pause");
}
END_TEST

START_TEST(absent_words_are_answered)
{
    expect("sleep 3", 64, "", "painter: unknown command sleep: use pause\n");
    expect("help sleep", 64, "", "unknown command sleep: use pause");
    expect("./x,sleep", 64, "", "script:1: ");
}
END_TEST

START_TEST(what_looks_like_a_file_is_one)
{
    expect("./paint", 64, "", "script:1: unknown command \"./paint\"");
    expect("a.ring", 64, "", "script:1: unknown command \"a.ring\"");
    expect("-", 64, "", "script:1: unknown command \"-\"");
}
END_TEST

/* A first word that is not a command is the name of a script. */
#define LINES "./x "

START_TEST(lines_begin_with_the_defaults)
{
    expect(LINES "paint,a,-n,5,--where,there paint,b", 0,
           "[a 5 there - table][b 2 here - table]", "");
    expect("--run r " LINES "paint,a paint,b,--run,s paint,c", 0,
           "[a 2 here r table][b 2 here s table][c 2 here r table]", "");
    expect("-o csv " LINES "paint,a,-o,json paint,b", 0,
           "[a 2 here - json][b 2 here - csv]", "");
}
END_TEST

START_TEST(each_line_is_a_document_of_its_own)
{
    setenv("GRADWIRE_CALIBRATION", "/no/such/file", 1);
    struct tool_result r =
        tool_run(&painter, "-o json " LINES "paint,fail paint,fail");
    static const char document[] =
        "\"calibration_date\":null},\"partial\":false,\"status\":1,\"code\":"
        "\"GW_ELOST\",\"error\":"
        "\"script:2: no paint\"}\n{\"schema\":\"painter paint\",";
    ck_assert_int_eq(r.status, 1);
    const char *at = strstr(r.out, document);
    ck_assert_msg(at != NULL, "%s", r.out);
    ck_assert_ptr_nonnull(strstr(r.err, "painter: script:2: no paint\n"));
    ck_assert_ptr_nonnull(strstr(r.err, "painter: script:3: no paint\n"));
    ck_assert_ptr_null(strstr(at + sizeof document, "script:2"));
    ck_assert_ptr_nonnull(strstr(at, "\"command\":\"painter paint fail\""));
}
END_TEST

START_TEST(numbers_below_zero_are_operands)
{
    expect("paint -1", 0, "[-1 2", "");
    expect("paint -x", 64, "", "paint: unknown option -x");
}
END_TEST

START_TEST(help_and_completion_know_all_options)
{
    expect("--help", 0, "--run RUN", "");
    expect("paint --help", 0, "--run RUN", "");
    expect("paint --rnu x", 64, "", "did you mean \"--run\"?");
    expect("completion words", 0, "--run\n", "");
    expect("completion bash", 0, "--where --run --output", "");
    expect("completion zsh", 0, "--run[which run]", "");
    expect("completion fish", 0, "-l run", "");
}
END_TEST

Suite *suite_command_shell(void)
{
    const TTest *const tests[] = {
        commands_may_be_abbreviated,          absent_words_are_answered,
        what_looks_like_a_file_is_one,        lines_begin_with_the_defaults,
        each_line_is_a_document_of_its_own,   numbers_below_zero_are_operands,
        help_and_completion_know_all_options,
    };
    Suite *suite = suite_create("command_shell");
    TCase *tcase = tcase_create("shells");
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
