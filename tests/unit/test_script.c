/* SPDX-License-Identifier: MIT
 *
 * How a script is split into commands and words. Expectations have "|" between
 * words and "/" between commands, each after its line number.
 */
#include "ringctl/shell/script.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

Suite *suite_script(void);

/* "1:up|4/2:kill|2", and "?LINE" at the end for an unterminated construct. */
static void split(const char *text, char out[1024])
{
    struct script script = {.text = text, .line = 1};
    struct script_command command;
    enum script_next next;
    size_t used = 0;
    *out = 0;
    while ((next = script_next(&script, &command)) == SCRIPT_COMMAND) {
        used += (size_t)snprintf(out + used, 1024 - used,
                                 "%s%u:", used ? "/" : "", command.line);
        for (int i = 0; i < command.count; i++)
            used += (size_t)snprintf(out + used, 1024 - used, "%s%s",
                                     i ? "|" : "", command.words[i]);
        ck_assert_ptr_null(command.words[command.count]);
        script_command_fini(&command);
        ck_assert_ptr_null(command.words);
    }
    if (next == SCRIPT_OPEN)
        snprintf(out + used, 1024 - used, "?%u", command.line);
}

static const struct {
    const char *text, *commands;
} cases[] = {
    {"", ""},
    {"  \n\n ; ;\n", ""},
    {"up 4", "1:up|4"},
    {"up 4\n", "1:up|4"},
    {"up 4; kill 2", "1:up|4/1:kill|2"},
    {"up 4;kill 2;;\nring", "1:up|4/1:kill|2/2:ring"},
    {"\n\nup\t4 \r\nls\r\n", "3:up|4/4:ls"},
    /* only ";" and newlines end a command */
    {"wait alive==4 && step>3; ls", "1:wait|alive==4|&&|step>3/1:ls"},
    {"wait a || !b&&(c)", "1:wait|a||||!b&&(c)"},
    {"cut 0,1|2,3", "1:cut|0,1|2,3"},
    {"kill $HOME * ~ `x`", "1:kill|$HOME|*|~|`x`"},
    /* comments begin where words may */
    {"# nothing\nup 4 # four\nls", "2:up|4/3:ls"},
    {"up 4 #; kill 2", "1:up|4"},
    {"up a#b", "1:up|a#b"},
    {"up 4;# x\nls", "1:up|4/2:ls"},
    {"#", ""},
    /* quotes */
    {"up 'a b' \"c d\"", "1:up|a b|c d"},
    {"up '' \"\"", "1:up||"},
    {"up a'b c'd\"e f\"", "1:up|ab cde f"},
    {"up 'a;b#c\\'", "1:up|a;b#c\\"},
    {"up \"a\\\"b\\\\c\\$d\\`e\\x\"", "1:up|a\"b\\c$d`e\\x"},
    {"up '\"' \"'\"", "1:up|\"|'"},
    {"up 'a\nb'\nls", "1:up|a\nb/3:ls"},
    /* backslashes */
    {"up a\\ b \\# \\; \\' \\\\", "1:up|a b|#|;|'|\\"},
    {"up 4 \\\n train\nls", "1:up|4|train/3:ls"},
    {"up \"a\\\nb\"\nls", "1:up|ab/3:ls"},
    {"kil\\\nl 2", "1:kill|2"},
    {"\\\n\\\nls", "3:ls"},
    /* unterminated */
    {"up 'a", "?1"},
    {"ls\nup \"a\n\nb", "1:ls?2"},
    {"ls; up a\\", "1:ls?1"},
    {"\\", "?1"},
    {"up \"a\\", "?1"},
};

START_TEST(commands_and_words)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char commands[1024];
        split(cases[i].text, commands);
        ck_assert_msg(strcmp(commands, cases[i].commands) == 0,
                      "<%s> is <%s>, not <%s>", cases[i].text, commands,
                      cases[i].commands);
    }
}
END_TEST

/* Completion must know whether the cursor is in the last command. */
START_TEST(it_is_notified_what_ended_a_command)
{
    static const struct {
        const char *text;
        bool ended;
    } ends[] = {{"kill 2", false},
                {"kill 2 ", false},
                {"kill 2;", true},
                {"kill 2\n", true},
                {"kill 2 #", false}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct script script = {.text = ends[i].text, .line = 1};
        struct script_command command;
        ck_assert_int_eq(script_next(&script, &command), SCRIPT_COMMAND);
        ck_assert_msg(command.ended == ends[i].ended, "<%s>", ends[i].text);
        script_command_fini(&command);
    }
}
END_TEST

/* For any bytes it terminates, and no word is longer than its text. */
START_TEST(any_text_can_be_split)
{
    static const char letters[] = "a \\'\";#\n\r\t$|";
    struct gw_rng rng;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        char text[24], commands[1024];
        gw_rng_seed(&rng, seed);
        size_t length = gw_rng_below(&rng, sizeof text);
        for (size_t i = 0; i < length; i++)
            text[i] = letters[gw_rng_below(&rng, sizeof letters - 1)];
        text[length] = 0;
        split(text, commands);
        ck_assert_msg(strlen(commands) < 200, "seed %lu: <%s>",
                      (unsigned long)seed, text);
    }
}
END_TEST

Suite *suite_script(void)
{
    Suite *suite = suite_create("script");
    TCase *tcase = tcase_create("scripts");
    tcase_add_test(tcase, commands_and_words);
    tcase_add_test(tcase, it_is_notified_what_ended_a_command);
    tcase_add_test(tcase, any_text_can_be_split);
    suite_add_tcase(suite, tcase);
    return suite;
}
