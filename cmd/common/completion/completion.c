/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `TOOL completion bash|zsh|fish` prints a script drawn from the command table;
 * `completion words` prints the table itself, one line per option, which the
 * tests compare with the man page. The possible operands come from the usage
 * text: words in small letters are offered as they are, OP means the
 * collectives, and a word with FILE or DATA in it means files.
 */
#include "completion.h"

#include <ctype.h>
#include <string.h>

const struct command *unnamed(void)
{
    return the_tool->only ? the_tool->only : the_tool->shell;
}

void complete_operands(const struct command *command,
                       void (*visit)(const char *word))
{
    const char *rest = command->operands ? command->operands : "";
    while (*rest) {
        char word[64];
        size_t length = strcspn(rest, " |[].");
        snprintf(word, sizeof word, "%.*s", (int)length, rest);
        if (islower((unsigned char)*word))
            visit(word);
        if (strcmp(word, "OP") == 0)
            for (unsigned i = 0; i < GW_COLLECTIVES; i++)
                visit(gw_collective_name((enum gw_collective)i));
        rest += length + (rest[length] != 0);
    }
    const struct command *other;
    if (command == &command_help)
        for (unsigned i = 0; (other = command_at(i)); i++)
            visit(other->name);
}

bool complete_files(const struct command *command)
{
    const char *operands = command->operands ? command->operands : "";
    return strstr(operands, "FILE") || strstr(operands, "DATA");
}

void complete_word(const char *word)
{
    printf("%s ", word);
}

void complete_choices(const struct option_spec *spec)
{
    char word[64];
    for (const char *rest = spec->choices; choice_next(&rest, word);)
        complete_word(word);
}

void complete_quoted(const char *text)
{
    for (; *text; text++)
        putchar(strchr("'[]:\\\"", *text) ? ' ' : *text);
}

static void words_of(const char *command, const struct option_spec *spec)
{
    for (; spec && spec->name; spec++)
        printf("%s%s--%s\n", command, *command ? " " : "", spec->name);
}

static void print_words(void)
{
    const struct command *command;
    words_of("", common_specs);
    words_of("", the_tool->options);
    if (unnamed())
        words_of("", unnamed()->options);
    for (unsigned i = 0; (command = command_at(i)); i++) {
        printf("%s\n", command->name);
        words_of(command->name, command->options);
    }
}

static int run_completion(int operand_count, char **operands)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {{"bash", completion_bash},
                  {"zsh", completion_zsh},
                  {"fish", completion_fish},
                  {"words", print_words}};
    (void)operand_count;
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(operands[0], shells[i].name) == 0) {
            shells[i].print();
            return 0;
        }
    return complain_with(GW_EINVAL,
                         "completion: unknown shell \"%.60s\"; use bash, zsh "
                         "or fish",
                         operands[0]);
}

const struct command command_completion = {
    .name = "completion",
    .operands = "bash|zsh|fish|words",
    .help = "print a completion script for a shell",
    .operands_min = 1,
    .operands_max = 1,
    .run = run_completion,
};
