/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The completion script for zsh: `_arguments` for each command.
 */
#include "completion.h"

static void zsh_spec(const char *dashes, const struct option_spec *spec)
{
    printf(" \\\n      '%s[", dashes);
    complete_quoted(spec->help);
    putchar(']');
    if (spec->kind != OPTION_FLAG) {
        printf(":%s:", spec->value);
        if (spec->choices) {
            putchar('(');
            complete_choices(spec);
            putchar(')');
        } else if (strstr(spec->value, "FILE")) {
            printf("_files");
        }
    }
    putchar('\'');
}

static void zsh_options(const struct option_spec *spec)
{
    for (; spec && spec->name; spec++) {
        char dashes[64];
        snprintf(dashes, sizeof dashes, "--%s", spec->name);
        zsh_spec(dashes, spec);
        snprintf(dashes, sizeof dashes, "-%c", spec->letter);
        if (spec->letter)
            zsh_spec(dashes, spec);
    }
}

static void zsh_command(const struct command *command)
{
    printf("    %s) _arguments", command->name);
    zsh_options(command->options);
    zsh_options(the_tool->options);
    zsh_options(common_specs);
    printf(" \\\n      '*:operand:_alternative \"words:word:(");
    complete_operands(command, complete_word);
    printf(")\"%s' ;;\n",
           complete_files(command) ? " \"files:file:_files\"" : "");
}

static void zsh_commands(void)
{
    const struct command *command;
    printf("  local -a commands\n  commands=(\n");
    for (unsigned i = 0; (command = command_at(i)); i++) {
        printf("    '%s:", command->name);
        complete_quoted(command->help);
        printf("'\n");
    }
    printf("  )\n  if (( CURRENT == 2 )); then\n"
           "    _describe command commands\n    return\n  fi\n"
           "  local cmd=$words[2]\n  shift words\n  (( CURRENT-- ))\n"
           "  case $cmd in\n");
    for (unsigned i = 0; (command = command_at(i)); i++)
        zsh_command(command);
    printf("  esac\n");
}

void completion_zsh(void)
{
    printf("#compdef %s\n_%s() {\n", the_tool->name, the_tool->name);
    if (the_tool->only) {
        printf("  case %s in\n", the_tool->only->name);
        zsh_command(the_tool->only);
        printf("  esac\n");
    } else {
        zsh_commands();
    }
    printf("}\ncompdef _%s %s\n", the_tool->name, the_tool->name);
}
