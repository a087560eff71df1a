/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The completion script for fish: one `complete` per command and option.
 */
#include "completion.h"

static void fish_options(const char *condition, const struct option_spec *spec)
{
    for (; spec && spec->name; spec++) {
        printf("complete -c %s %s -l %s", the_tool->name, condition,
               spec->name);
        if (spec->letter)
            printf(" -s %c", spec->letter);
        if (spec->choices) {
            printf(" -x -a '");
            complete_choices(spec);
            putchar('\'');
        } else if (spec->kind != OPTION_FLAG) {
            printf(strstr(spec->value, "FILE") ? " -r" : " -x");
        }
        printf(" -d '");
        complete_quoted(spec->help);
        printf("'\n");
    }
}

static void fish_command(const struct command *command)
{
    char condition[96];
    printf("complete -c %s -f -n __fish_use_subcommand -a %s -d '",
           the_tool->name, command->name);
    complete_quoted(command->help);
    printf("'\n");
    snprintf(condition, sizeof condition, "-n '__fish_seen_subcommand_from %s'",
             command->name);
    fish_options(condition, command->options);
    printf("complete -c %s %s %s -a '", the_tool->name, condition,
           complete_files(command) ? "-F" : "-f");
    complete_operands(command, complete_word);
    printf("'\n");
}

void completion_fish(void)
{
    const struct command *command;
    printf("# fish completion for %s\n", the_tool->name);
    fish_options("", common_specs);
    fish_options("", the_tool->options);
    if (unnamed())
        fish_options("", unnamed()->options);
    for (unsigned i = 0; (command = command_at(i)); i++)
        fish_command(command);
}
