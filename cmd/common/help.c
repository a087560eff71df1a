/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Help in two lengths, drawn from the command table: -h fits a small terminal,
 * --help begins with examples and is complete. On a terminal, lines break
 * between words.
 */
#include "internal.h"

#include <assert.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static const char *bold(FILE *file, bool on)
{
    if (!color_on(fileno(file)))
        return "";
    return on ? "\033[1m" : "\033[m";
}

static void heading(FILE *file, const char *text)
{
    fprintf(file, "\n%s%s:%s\n", bold(file, true), text, bold(file, false));
}

/* Prints each line of `text`, indented by two blanks. */
static void indented(FILE *file, const char *text)
{
    while (text && *text) {
        size_t length = strcspn(text, "\n");
        fprintf(file, "  %.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

static int room_of(FILE *file)
{
    int fd = fileno(file);
    return is_terminal(fd) ? terminal_columns(fd) : INT_MAX;
}

/* Prints the words of `text` in lines of `room` columns. The first word starts
 * at `column`; further lines are indented by `indent`. */
static void put_words(FILE *file, const char *text, int column, int indent,
                      int room)
{
    for (bool first = true; *text; first = false) {
        int length = (int)strcspn(text, " ");
        if (!first && column + 1 + length > room)
            column = fprintf(file, "\n%*s", indent, "") - 1;
        else if (!first)
            column += fprintf(file, " ");
        column += fprintf(file, "%.*s", length, text);
        text += length + (text[length] == ' ');
    }
    fputc('\n', file);
}

static void describe_option(FILE *file, const struct option_spec *spec)
{
    enum { NAME_COLUMNS = 22, TEXT_COLUMN = 26, NARROW = 60, INDENT = 8 };
    char letter[8] = "    ", left[96], value[64], text[512];
    int room = room_of(file);
    if (spec->letter)
        snprintf(letter, sizeof letter, "-%c, ", spec->letter);
    snprintf(left, sizeof left, "%s--%s%s%s", letter, spec->name,
             spec->value ? " " : "", spec->value ? spec->value : "");
    option_default(spec, value);
    bool append = *value && !strstr(spec->help, "efault");
    snprintf(text, sizeof text, "%s%s%s%s", spec->help,
             append ? " Default: " : "", append ? value : "",
             append ? "." : "");
    int column = INDENT;
    if (room < NARROW)
        fprintf(file, "  %s\n%*s", left, INDENT, "");
    else
        column = fprintf(file, "  %-*s  ", NAME_COLUMNS, left);
    put_words(file, text, column, room < NARROW ? INDENT : TEXT_COLUMN, room);
}

static void describe_options(FILE *file, const struct option_spec *specs)
{
    for (; specs && specs->name; specs++)
        describe_option(file, specs);
}

static void describe_groups(FILE *file, const struct option_spec *specs,
                            const struct option_group *group)
{
    for (; specs->name; specs++) {
        if (group->first && strcmp(group->first, specs->name) == 0)
            heading(file, (group++)->heading);
        describe_option(file, specs);
    }
    assert(!group->first); /* every group begins with an option of its own */
}

static void describe_common(FILE *file)
{
    heading(file, "Common options");
    describe_options(file, the_tool->options);
    describe_options(file, common_specs);
}

static void end_help(FILE *file)
{
    heading(file, "Exit status");
    indented(file, "0 success, 1 wrong result or lost peer, 2 inconclusive, "
                   "64 usage,\n"
                   "65 bad input, 69 unavailable, 70 internal error, 124 "
                   "timed out,\n"
                   "130 interrupted");
    fprintf(file,
            "\n"
            "Manual: man %s\n",
            the_tool->name);
}

void help_command(FILE *file, const struct command *command, bool in_full)
{
    assert(command);
    char typed[96], usage[320];
    command_typed(command, typed);
    fprintf(file, "%sUsage:%s ", bold(file, true), bold(file, false));
    snprintf(usage, sizeof usage, "%s [OPTION]...%s%s", typed,
             command->operands ? " " : "",
             command->operands ? command->operands : "");
    put_words(file, usage, 7, 4, room_of(file));
    fprintf(file, "\n  ");
    put_words(file, command->help, 2, 2, room_of(file));
    if (in_full && command->examples) {
        heading(file, "Examples");
        indented(file, command->examples);
    }
    static const struct option_group none = {0};
    if (command->options && command->options->name) {
        if (!command->groups)
            heading(file, "Options");
        describe_groups(file, command->options,
                        command->groups ? command->groups : &none);
    }
    if (in_full) {
        describe_common(file);
        if (command_unnamed(command))
            end_help(file);
    } else {
        fprintf(file, "\n\"%s --help\" shows more.\n", typed);
    }
}

static void list_commands(FILE *file)
{
    const struct command *command;
    for (unsigned i = 0; (command = command_at(i)); i++)
        put_words(file, command->help, fprintf(file, "  %-11s ", command->name),
                  14, room_of(file));
}

static void name_commands(FILE *file)
{
    int room = room_of(file) < 80 ? room_of(file) - 2 : 78;
    const struct command *command;
    int column = fprintf(file, "\nCommands:");
    for (unsigned i = 0; (command = command_at(i)); i++) {
        if (column + (int)strlen(command->name) >= room)
            column = fprintf(file, "\n ");
        column += fprintf(file, " %s", command->name);
    }
    fprintf(file, "\n\"%s help COMMAND\" explains one, \"%s --help\" all.\n",
            the_tool->name, the_tool->name);
}

void help_tool(FILE *file, bool in_full)
{
    fprintf(file, "%s%s%s: %s\n", bold(file, true), the_tool->name,
            bold(file, false), the_tool->summary);
    heading(file, "Examples");
    indented(file, the_tool->examples);
    if (!in_full && the_tool->only)
        fprintf(file, "\n\"%s --help\" shows more.\n", the_tool->name);
    else if (!in_full)
        name_commands(file);
    if (!in_full)
        return;
    heading(file, "Commands");
    list_commands(file);
    if (the_tool->shell) {
        heading(file, "Without a command");
        describe_options(file, the_tool->shell->options);
    }
    describe_common(file);
    end_help(file);
}

static int help_run(int operand_count, char **operands)
{
    struct gw_error why;
    if (operand_count == 0 && the_tool->only)
        help_command(stdout, the_tool->only, true);
    else if (operand_count == 0)
        help_tool(stdout, true);
    if (operand_count == 0)
        return 0;
    const struct command *command;
    if (command_find(operands[0], &command, &why))
        return complain(&why);
    help_command(stdout, command, true);
    return 0;
}

const struct command command_help = {
    .name = "help",
    .operands = "[COMMAND]",
    .help = "explain a command",
    .operands_max = 1,
    .run = help_run,
};
