/* SPDX-License-Identifier: MIT
 *
 * The command line of every tool, tested with a synthetic tool: the positions
 * of options, the values that each kind accepts, the errors for typos, and that
 * errors come in the format that -o selects.
 */
#include "common/text/suggest.h"
#include "tool_run.h"

#include <check.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

Suite *suite_command(void);

static unsigned layers = 2;
static uint64_t area = 4096, drying;
static double gloss = 0.5;
static const char *color_name, *brush = "flat";
static bool primer;

static const struct option_spec paint_options[] = {
    {"layers", 'n', OPTION_UNSIGNED, &layers, "N", "coats", NULL},
    {"area", 'b', OPTION_BYTES, &area, "SIZE", "how much", NULL},
    {"drying", 0, OPTION_DURATION, &drying, "TIME", "between coats", NULL},
    {"gloss", 'g', OPTION_REAL, &gloss, "X", "how shiny", NULL},
    {"shade", 0, OPTION_TEXT, &color_name, "NAME", "what colour", "red|blue"},
    {"brush", 0, OPTION_CHOICE, &brush, "KIND", "with what",
     "flat|round|roller"},
    {"primer", 'p', OPTION_FLAG, &primer, NULL, "paint a primer first", NULL},
    {0},
};

static int paint(int operand_count, char **operands)
{
    printf("n=%u b=%" PRIu64 " d=%" PRIu64 " g=%g shade=%s brush=%s p=%d "
           "seed=%" PRIu64 ":",
           layers, area, drying, gloss, color_name ? color_name : "-", brush,
           primer, common.seed);
    for (int i = 0; i < operand_count; i++)
        printf(" %s", operands[i]);
    return 0;
}

static const struct command command_paint = {
    .name = "paint",
    .operands = "WALL|primed...",
    .help = "paint some walls",
    .examples = "tester paint north -n 3\n",
    .options = paint_options,
    .operands_min = 1,
    .operands_max = 3,
    .run = paint,
};

static int fall(int operand_count, char **operands)
{
    (void)operand_count;
    (void)operands;
    raise(SIGINT);
    return interrupted ? complain_with(GW_EINTR, "fell") : 0;
}

static const struct command command_fall = {
    .name = "fall", .help = "fall off the ladder", .run = fall};

static const struct command *const commands[] = {&command_paint, &command_fall,
                                                 NULL};
static const struct tool tester = {
    .name = "tester",
    .summary = "tests the command line",
    .commands = commands,
    .examples = "tester paint north\n",
};

static void expect_paint(const char *line, const char *out)
{
    struct tool_result r = tool_run(&tester, line);
    ck_assert_msg(r.status == 0, "\"%s\": %s", line, r.err);
    ck_assert_str_eq(r.out, out);
    ck_assert_str_eq(r.err, "");
}

static void expect_error(const char *line, int status, const char *err)
{
    struct tool_result r = tool_run(&tester, line);
    ck_assert_msg(r.status == status, "\"%s\" ended with %d", line, r.status);
    ck_assert_msg(strstr(r.err, err) != NULL, "\"%s\" said: %s", line, r.err);
    ck_assert_str_eq(r.out, "");
}

#define REST " g=0.5 shade=- brush=flat p=0 seed=1:"

START_TEST(options_stand_anywhere)
{
    const char *same = "n=3 b=4096 d=0" REST " north";
    expect_paint("paint north -n 3", same);
    expect_paint("paint -n 3 north", same);
    expect_paint("-n 3 paint north", same);
    expect_paint("-n3 paint north", same);
    expect_paint("--layers 3 paint north", same);
    expect_paint("--layers=3 paint north", same);
    expect_paint("paint north --layers=3", same);
}
END_TEST

START_TEST(option_letters_bundle)
{
    expect_paint("paint -pn5 a",
                 "n=5 b=4096 d=0 g=0.5 shade=- brush=flat p=1 seed=1: a");
    expect_paint("paint -vp -b 1M a",
                 "n=2 b=1048576 d=0 g=0.5 shade=- brush=flat p=1 seed=1: a");
}
END_TEST

START_TEST(two_dashes_end_the_options)
{
    expect_paint("paint -- -n 3", "n=2 b=4096 d=0" REST " -n 3");
    expect_paint("paint - a", "n=2 b=4096 d=0" REST " - a");
}
END_TEST

START_TEST(the_last_of_an_option_counts)
{
    expect_paint("paint a -n 3 -n 7", "n=7 b=4096 d=0" REST " a");
}
END_TEST

START_TEST(each_kind_of_value)
{
    expect_paint("paint a -b 64K --drying 20ms -g 2.5 --shade any --brush "
                 "roller --seed 0x10",
                 "n=2 b=65536 d=20000000 g=2.5 shade=any brush=roller p=0 "
                 "seed=16: a");
}
END_TEST

START_TEST(a_random_seed_is_drawn)
{
    struct tool_result a = tool_run(&tester, "paint a --seed random");
    struct tool_result b = tool_run(&tester, "paint a --seed random");
    ck_assert_int_eq(a.status, 0);
    ck_assert_str_ne(a.out, b.out);
}
END_TEST

START_TEST(bad_values_name_what_is_wanted)
{
    expect_error("paint a -n x", 64, "-n must be a whole number, not \"x\"");
    expect_error("paint a -n -1", 64, "-n must be a whole number, not \"-1\"");
    expect_error("paint a -n 4294967296", 64, "-n must be a whole number");
    expect_error("paint a --layers= ", 64, "--layers must be a whole number");
    expect_error("paint a --area 1Q", 64,
                 "--area must be a size such as 64, 1K, 4M, not \"1Q\"");
    expect_error("paint a --drying soon", 64,
                 "--drying must be a time such as");
    expect_error("paint a --gloss nan", 64, "--gloss must be a number");
    expect_error("paint a --gloss 1x", 64, "--gloss must be a number");
    expect_error("paint a --seed -1", 64, "--seed must be a whole number or");
    expect_error("paint a -n", 64, "-n needs a value: -n N");
    expect_error("paint a --primer=yes", 64, "--primer takes no value");
    expect_error(
        "paint a --brush rollre", 64,
        "--brush must be one of flat|round|roller, not \"rollre\"; did you "
        "mean \"roller\"?");
}
END_TEST

START_TEST(typos_get_a_suggestion)
{
    expect_error(
        "piant a", 64,
        "unknown command \"piant\"; did you mean \"paint\"? (commands: "
        "paint, fall, help, completion)");
    expect_error("zzz", 64, "unknown command \"zzz\" (commands: paint");
    expect_error("paint a --layres 3", 64,
                 "paint: unknown option --layres; did you mean \"--layers\"?");
    expect_error("paint a --outptu json", 64, "did you mean \"--output\"?");
    expect_error("paint a -q", 64, "paint: unknown option -q (");
}
END_TEST

START_TEST(operands_are_counted)
{
    expect_error("paint", 64,
                 "paint: missing operand; usage: tester paint WALL|primed...");
    expect_error("paint a b c d", 64, "paint: unexpected operand \"d\"");
    expect_error("-v", 64, "no command given");
}
END_TEST

START_TEST(errors_come_as_json_too)
{
    static const char *const lines[] = {
        "paint a --layres 3 -o json", "-o json paint a --layres 3",
        "paint --nonsense -ojson a", "paint a -n x --output=json",
        "paint a -n x -o jsonl"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct tool_result r = tool_run(&tester, lines[i]);
        ck_assert_int_eq(r.status, 64);
        ck_assert_msg(strncmp(r.out, "{\"schema\":\"tester paint\",", 25) == 0,
                      "\"%s\" printed: %s", lines[i], r.out);
        ck_assert_ptr_nonnull(strstr(r.out, "\"status\":64,"));
        ck_assert_ptr_nonnull(strstr(r.out, "\"code\":\"GW_EINVAL\""));
    }
    expect_error("paint a -o jsno", 64, "did you mean \"json\"?");
}
END_TEST

START_TEST(no_words_give_a_short_help)
{
    struct tool_result r = tool_run(&tester, "");
    ck_assert_int_eq(r.status, 0);
    ck_assert_ptr_nonnull(strstr(r.out, "Examples:\n  tester paint north\n"));
    ck_assert_ptr_nonnull(strstr(r.out, "Commands: paint fall help"));
    ck_assert_str_eq(r.err, "");
}
END_TEST

START_TEST(help_in_two_lengths)
{
    struct tool_result brief = tool_run(&tester, "paint -h");
    struct tool_result full = tool_run(&tester, "--help paint -n 9 -q");
    struct tool_result same = tool_run(&tester, "help paint");
    ck_assert_int_eq(brief.status, 0);
    ck_assert_int_eq(full.status, 0);
    ck_assert_ptr_nonnull(strstr(brief.out, "-n, --layers N"));
    ck_assert_ptr_null(strstr(brief.out, "Examples"));
    ck_assert_str_eq(full.out, same.out);
    ck_assert_ptr_nonnull(strstr(full.out, "coats Default: 2."));
    ck_assert_ptr_nonnull(strstr(full.out, "how much Default: 4K."));
    ck_assert_ptr_nonnull(strstr(full.out, "how shiny Default: 0.5."));
    ck_assert_ptr_nonnull(strstr(full.out, "--timeout TIME"));
    expect_error("help piant", 64, "did you mean \"paint\"?");
}
END_TEST

START_TEST(version_names_libzmq)
{
    struct tool_result r = tool_run(&tester, "--version");
    ck_assert_int_eq(r.status, 0);
    ck_assert_ptr_nonnull(strstr(r.out, "tester " GW_VERSION " (libzmq "));
}
END_TEST

START_TEST(completion_knows_the_table)
{
    struct tool_result r = tool_run(&tester, "completion words");
    ck_assert_ptr_nonnull(strstr(r.out, "\npaint --brush\n"));
    ck_assert_ptr_nonnull(strstr(r.out, "\nfall\n"));
    r = tool_run(&tester, "completion bash");
    ck_assert_ptr_nonnull(strstr(r.out, "paint:--brush) words='flat round"));
    ck_assert_ptr_nonnull(strstr(r.out, "complete -o default -F _tester"));
    r = tool_run(&tester, "completion zsh");
    ck_assert_ptr_nonnull(strstr(r.out, "'--brush[with what]:KIND:(flat "));
    r = tool_run(&tester, "completion fish");
    ck_assert_ptr_nonnull(strstr(r.out, "-l brush -x -a 'flat round"));
    expect_error("completion ksh", 64,
                 "unknown shell \"ksh\"; use bash, zsh or fish");
}
END_TEST

START_TEST(an_interruption_is_seen)
{
    struct tool_result r = tool_run(&tester, "fall -o json");
    ck_assert_int_eq(r.status, 130);
    ck_assert_ptr_nonnull(
        strstr(r.out, "\"status\":130,\"code\":\"GW_EINTR\""));
}
END_TEST

START_TEST(distance_counts_edits)
{
    ck_assert_uint_eq(edit_distance("ring", "ring"), 0);
    ck_assert_uint_eq(edit_distance("", "ring"), 4);
    ck_assert_uint_eq(edit_distance("rign", "ring"), 1); /* a swap */
    ck_assert_uint_eq(edit_distance("rng", "ring"), 1);
    ck_assert_uint_eq(edit_distance("rings", "ring"), 1);
    ck_assert_uint_eq(edit_distance("king", "ring"), 1);
    ck_assert_uint_eq(edit_distance("kitten", "sitting"), 3);
}
END_TEST

START_TEST(only_similar_words_are_suggested)
{
    struct suggestion suggested;
    char text[96];
    suggestion_begin(&suggested, "al");
    suggestion_offer(&suggested, "tcp");
    ck_assert_str_eq(suggestion_text(&suggested, text), "");
    suggestion_offer(&suggested, "allreduce"); /* cut short */
    ck_assert_str_eq(suggestion_text(&suggested, text),
                     "; did you mean \"allreduce\"?");
    suggestion_begin(&suggested, "tpc");
    suggestion_offer(&suggested, "ipc");
    suggestion_offer(&suggested,
                     "tcp"); /* as near, but with the same beginning */
    ck_assert_str_eq(suggestion_text(&suggested, text),
                     "; did you mean \"tcp\"?");
    suggestion_begin(&suggested, "x");
    suggestion_offer(&suggested, "y");
    ck_assert_str_eq(suggestion_text(&suggested, text), "");
}
END_TEST

Suite *suite_command(void)
{
    const TTest *const tests[] = {
        options_stand_anywhere,
        option_letters_bundle,
        two_dashes_end_the_options,
        the_last_of_an_option_counts,
        each_kind_of_value,
        a_random_seed_is_drawn,
        bad_values_name_what_is_wanted,
        typos_get_a_suggestion,
        operands_are_counted,
        errors_come_as_json_too,
        no_words_give_a_short_help,
        help_in_two_lengths,
        version_names_libzmq,
        completion_knows_the_table,
        an_interruption_is_seen,
        distance_counts_edits,
        only_similar_words_are_suggested,
    };
    Suite *suite = suite_create("command");
    TCase *tcase = tcase_create("command line");
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
