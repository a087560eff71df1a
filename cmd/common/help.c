/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Help in two lengths, drawn from the command table: -h fits a small terminal,
 * --help begins with examples and is complete. On a terminal, lines break
 * between words.
 */
#include "internal.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *bold(bool on)
{
    if (!color_on(STDOUT_FILENO))
        return "";
    return on ? "\033[1m" : "\033[m";
}

static void heading(FILE *file, const char *text)
{
    fprintf(file, "\n%s%s:%s\n", bold(true), text, bold(false));
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

static int help_room(void)
{
    return is_terminal(STDOUT_FILENO) ? terminal_columns(STDOUT_FILENO)
                                      : INT_MAX;
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
    int room = help_room();
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

static void help_command(FILE *file, const struct command *command,
                         bool in_full)
{
    assert(command);
    char typed[96], usage[320];
    command_typed(command, typed);
    fprintf(file, "%sUsage:%s ", bold(true), bold(false));
    snprintf(usage, sizeof usage, "%s [OPTION]...%s%s", typed,
             command->operands ? " " : "",
             command->operands ? command->operands : "");
    put_words(file, usage, 7, 4, help_room());
    fprintf(file, "\n  ");
    put_words(file, command->help, 2, 2, help_room());
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

/* The heading of the group that begins with this command, or NULL. */
static const char *group_heading(const struct command *command)
{
    const struct option_group *group = the_tool->groups;
    while (group && group->first && strcmp(group->first, command->name) != 0)
        group++;
    return group ? group->heading : NULL;
}

static void list_commands(FILE *file)
{
    const struct command *command;
    if (!the_tool->groups)
        heading(file, "Commands");
    for (unsigned i = 0; (command = command_at(i)); i++) {
        if (group_heading(command))
            heading(file, group_heading(command));
        put_words(file, command->help, fprintf(file, "  %-11s ", command->name),
                  14, help_room());
    }
}

/* Only the names, one line per group. */
static void name_commands(FILE *file)
{
    enum { INDENT = 12 };
    int room = help_room() < 80 ? help_room() - 2 : 78;
    int indent = the_tool->groups ? INDENT : 1;
    const struct command *command;
    int column = fprintf(file, "\nCommands:");
    for (unsigned i = 0; (command = command_at(i)); i++) {
        const char *group = group_heading(command);
        if (group)
            column = fprintf(file, "\n  %-*s", INDENT - 2, group) - 1;
        else if (column + (int)strlen(command->name) >= room)
            column = fprintf(file, "\n%*s", indent, "") - 1;
        column += fprintf(file, " %s", command->name);
    }
    const char *tool = person_types ? "" : the_tool->name;
    const char *blank = person_types ? "" : " ";
    fprintf(file, "\n\"%s%shelp COMMAND\" explains one, \"%s%s--help\" all.\n",
            tool, blank, tool, blank);
}

static void help_tool(FILE *file, bool in_full)
{
    fprintf(file, "%s%s%s: %s\n", bold(true), the_tool->name, bold(false),
            the_tool->summary);
    heading(file, "Examples");
    indented(file, the_tool->examples);
    if (!in_full && the_tool->only)
        fprintf(file, "\n\"%s --help\" shows more.\n", the_tool->name);
    else if (!in_full)
        name_commands(file);
    if (!in_full)
        return;
    list_commands(file);
    if (the_tool->shell) {
        heading(file, "Without a command");
        describe_options(file, the_tool->shell->options);
    }
    describe_common(file);
    end_help(file);
}

void help_show(const struct command *command, bool in_full)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *page = person_types ? open_memstream(&text, &bytes) : NULL;
    FILE *file = page ? page : stdout;
    if (command)
        help_command(file, command, in_full);
    else
        help_tool(file, in_full);
    if (!page)
        return;
    fclose(page);
    print_pages(text ? text : "");
    free(text);
}

static int help_run(int operand_count, char **operands)
{
    const struct command *command = the_tool->only;
    struct gw_error why;
    if (operand_count > 0 && command_find(operands[0], &command, &why))
        return complain(&why);
    help_show(command, command || !person_types);
    return 0;
}

const struct command command_help = {
    .name = "help",
    .operands = "[COMMAND]",
    .help = "explain a command",
    .operands_max = 1,
    .run = help_run,
};
