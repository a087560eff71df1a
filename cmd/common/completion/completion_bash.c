/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The completion script for bash: one function with the words of each command
 * and option in a `case`.
 */
#include "completion.h"

static void bash_values(const char *command, const struct option_spec *spec)
{
    for (; spec && spec->name; spec++) {
        if (spec->kind == OPTION_FLAG)
            continue;
        printf("    %s:--%s", command, spec->name);
        if (spec->letter)
            printf("|%s:-%c", command, spec->letter);
        printf(") words='");
        complete_choices(spec);
        printf("' ;;\n");
    }
}

static void bash_options(const struct option_spec *spec)
{
    for (; spec && spec->name; spec++)
        printf("--%s ", spec->name);
}

static void bash_command(const struct command *command)
{
    printf("    %s:-*) words='", command->name);
    bash_options(command->options);
    bash_options(the_tool->options);
    bash_options(common_specs);
    printf("' ;;\n    %s:*) words='", command->name);
    complete_operands(command, complete_word);
    printf("'%s ;;\n", complete_files(command) ? "; files=1" : "");
}

void completion_bash(void)
{
    const struct command *command;
    printf("# bash completion for %s\n_%s() {\n"
           "  local cur=${COMP_WORDS[COMP_CWORD]}\n"
           "  local prev=${COMP_WORDS[COMP_CWORD-1]}\n"
           "  local cmd='' words='' files='' w\n"
           "  for w in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
           "    case $w in ",
           the_tool->name, the_tool->name);
    for (unsigned i = 0; (command = command_at(i)); i++)
        printf("%s%s", i ? "|" : "", command->name);
    printf(") cmd=$w; break ;; esac\n  done\n  case $cmd:$prev in\n");
    bash_values("*", common_specs);
    bash_values("*", the_tool->options);
    if (unnamed())
        bash_values("", unnamed()->options);
    for (unsigned i = 0; (command = command_at(i)); i++)
        bash_values(command->name, command->options);
    printf("    *) case $cmd:$cur in\n    :-*) words='");
    bash_options(common_specs);
    bash_options(the_tool->options);
    if (unnamed())
        bash_options(unnamed()->options);
    printf("' ;;\n    :*) words='");
    for (unsigned i = 0; (command = command_at(i)); i++)
        complete_word(command->name);
    if (unnamed())
        complete_operands(unnamed(), complete_word);
    printf("'%s ;;\n",
           unnamed() && complete_files(unnamed()) ? "; files=1" : "");
    for (unsigned i = 0; (command = command_at(i)); i++)
        bash_command(command);
    printf("    esac ;;\n  esac\n"
           "  mapfile -t COMPREPLY < <(compgen -W \"$words\" "
           "${files:+-f} -- \"$cur\")\n}\n"
           "complete -o default -F _%s %s\n",
           the_tool->name, the_tool->name);
}
