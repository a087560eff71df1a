/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Finding a command by a word: by its name or, in a tool with a shell, by an
 * unambiguous beginning of it. For any other word the error names the valid
 * ones.
 */
#include "internal.h"

#include <string.h>

const struct command *command_at(unsigned index)
{
    static const struct command *const built_in[] = {&command_help,
                                                     &command_completion};
    unsigned own = 0;
    while (the_tool->commands && the_tool->commands[own])
        own++;
    if (index < own)
        return the_tool->commands[index];
    return index - own < 2 ? built_in[index - own] : NULL;
}

bool command_unnamed(const struct command *command)
{
    return command == the_tool->only || command == the_tool->shell;
}

const char *command_typed(const struct command *command, char out[96])
{
    if (command_unnamed(command))
        snprintf(out, 96, "%s", the_tool->name);
    else
        snprintf(out, 96, "%s %s", the_tool->name, command->name);
    return out;
}

const struct option_spec *command_options(const struct command *command,
                                          unsigned group)
{
    static const struct option_spec none[] = {{0}};
    const struct option_spec *groups[] = {command ? command->options : NULL,
                                          the_tool->options, common_specs};
    if (group >= sizeof groups / sizeof *groups)
        return NULL;
    return groups[group] ? groups[group] : none;
}

/* The first name after `last` in the alphabet that begins with `name`; NULL:
 * none. */
static const char *next_name(const char *name, const char *last)
{
    const struct command *command;
    const char *next = NULL;
    for (unsigned i = 0; (command = command_at(i)); i++)
        if (strncmp(command->name, name, strlen(name)) == 0 &&
            strcmp(command->name, last) > 0 &&
            (!next || strcmp(command->name, next) < 0))
            next = command->name;
    return next;
}

/* Writes "pace, pause": those that begin with `name`. Returns how many. */
static unsigned list_beginning(const char *name, char *out, size_t size)
{
    unsigned count = 0;
    size_t used = 0;
    *out = 0;
    for (const char *next = ""; (next = next_name(name, next)); count++)
        if (used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s",
                                     count ? ", " : "", next);
    return count;
}

static void list_all(char *out, size_t size)
{
    const struct command *command;
    size_t used = 0;
    *out = 0;
    for (unsigned i = 0; (command = command_at(i)) && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "",
                                 command->name);
}

static const struct command *find_command(const char *name, bool whole)
{
    const struct command *command;
    size_t length = strlen(name) + whole;
    for (unsigned i = 0; (command = command_at(i)); i++)
        if (strncmp(command->name, name, length) == 0)
            return command;
    return NULL;
}

static enum gw_err unknown(const char *name, struct gw_error *why)
{
    struct suggestion suggestion;
    char hint[96], valid[400];
    const struct command *command;
    for (const struct absent *a = the_tool->absent; a && a->name; a++)
        if (strcmp(a->name, name) == 0)
            return gw_fail(why, GW_EINVAL, "unknown command %s: %s", name,
                           a->instead);
    suggestion_begin(&suggestion, name);
    for (unsigned i = 0; (command = command_at(i)); i++)
        suggestion_offer(&suggestion, command->name);
    list_all(valid, sizeof valid);
    return gw_fail(why, GW_EINVAL, "unknown command \"%.60s\"%s (commands: %s)",
                   name, suggestion_text(&suggestion, hint), valid);
}

enum gw_err command_find(const char *name, const struct command **command,
                         struct gw_error *why)
{
    char several[400];
    *command = find_command(name, true);
    if (*command)
        return GW_OK;
    unsigned count = *name && the_tool->shell
                         ? list_beginning(name, several, sizeof several)
                         : 0;
    if (count > 1)
        return gw_fail(why, GW_EINVAL, "ambiguous command %s: %s", name,
                       several);
    if (count == 0)
        return unknown(name, why);
    *command = find_command(name, false);
    return GW_OK;
}
