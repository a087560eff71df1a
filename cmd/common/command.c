/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One run of a tool, from argv to the exit status.
 *
 * The command line is walked twice. The first walk knows the options of all
 * commands and looks at no value; it finds the command wherever it stands, what
 * -o says (so that an error about another option comes out in that format), and
 * whether help was asked for. The second walk knows the command, assigns the
 * values and collects the operands. Read on in words.c, options.c, help.c.
 */
#include "internal.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

const struct tool *the_tool;
const struct command *the_command;

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

const struct command *command_find(const char *name)
{
    const struct command *command;
    for (unsigned i = 0; (command = command_at(i)); i++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

const char *command_typed(const struct command *command, char out[96])
{
    if (command == the_tool->only)
        snprintf(out, 96, "%s", the_tool->name);
    else
        snprintf(out, 96, "%s %s", the_tool->name, command->name);
    return out;
}

static void list_commands(char *out, size_t size)
{
    const struct command *command;
    size_t used = 0;
    *out = 0;
    for (unsigned i = 0; (command = command_at(i)) && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "",
                                 command->name);
}

enum gw_err command_unknown(const char *name, struct gw_error *why)
{
    struct suggestion near;
    char hint[96], valid[256];
    const struct command *command;
    suggestion_begin(&near, name);
    for (unsigned i = 0; (command = command_at(i)); i++)
        suggestion_offer(&near, command->name);
    list_commands(valid, sizeof valid);
    return gw_fail(why, GW_EINVAL, "no command \"%.60s\"%s (commands: %s)",
                   name, suggestion_text(&near, hint), valid);
}

/* ---- the first walk ---- */

/* Returns the command's name, or NULL when the line has no operand. */
static const char *survey(int count, char **list)
{
    struct words words = {.count = count, .list = list};
    struct item item;
    const char *name = NULL;
    while (words_next(&words, &item) != ITEM_END) {
        if (item.kind == ITEM_OPERAND && !name)
            name = item.value;
        if (item.kind != ITEM_OPTION)
            continue;
        if (item.spec->target == &common.output) {
            struct gw_error ignored; /* the second walk reports it */
            if (option_assign(item.spec, item.typed, item.value, &ignored))
                continue;
        }
        asked.version |= item.spec->target == &asked.version;
        if (item.spec->target == &asked.help_long)
            *(item.by_letter ? &asked.help_short : &asked.help_long) = true;
    }
    return name;
}

static int say_version(void)
{
    int major, minor, patch;
    zmq_version(&major, &minor, &patch);
    printf("%s %s (libzmq %d.%d.%d)\n", the_tool->name, GW_VERSION, major,
           minor, patch);
    return 0;
}

/* ---- the second walk ---- */

static enum gw_err unknown_option(const struct item *item, struct gw_error *why)
{
    struct suggestion near;
    char hint[96], words[96];
    const struct option_spec *specs[] = {the_command->options, common_specs};
    suggestion_begin(&near, item->typed);
    for (int i = 0; i < 2; i++)
        for (const struct option_spec *s = specs[i]; s && s->name; s++) {
            char dashed[64];
            snprintf(dashed, sizeof dashed, "--%s", s->name);
            suggestion_offer(&near, dashed);
        }
    bool only = the_command == the_tool->only;
    return gw_fail(
        why, GW_EINVAL, "%s%s no option %s%s (\"%s --help\" lists them)",
        only ? "there is" : the_command->name, only ? "" : " has", item->typed,
        suggestion_text(&near, hint), command_typed(the_command, words));
}

static enum gw_err take(const struct item *item, struct gw_error *why)
{
    switch (item->kind) {
    case ITEM_UNKNOWN:
        return unknown_option(item, why);
    case ITEM_NO_VALUE:
        return gw_fail(why, GW_EINVAL, "%s wants a value: %s %s", item->typed,
                       item->typed, item->spec->value);
    case ITEM_UNWANTED:
        return gw_fail(why, GW_EINVAL, "%s takes no value", item->typed);
    default:
        return option_assign(item->spec, item->typed, item->value, why);
    }
}

static enum gw_err check_operands(unsigned count, char **operands,
                                  struct gw_error *why)
{
    const struct command *c = the_command;
    char words[96];
    if (count > c->operands_max)
        return gw_fail(why, GW_EINVAL, "%s: \"%.60s\" is one operand too many",
                       c->name, operands[c->operands_max]);
    if (count < c->operands_min)
        return gw_fail(why, GW_EINVAL, "%s: something is missing: %s %s",
                       c->name, command_typed(c, words), c->operands);
    return GW_OK;
}

/* `operands` has room for all words. */
static enum gw_err parse(int count, char **list, char **operands,
                         unsigned *operand_count, struct gw_error *why)
{
    struct words words = {.count = count, .list = list, .command = the_command};
    struct item item;
    bool command_seen = the_command == the_tool->only;
    *operand_count = 0;
    while (words_next(&words, &item) != ITEM_END) {
        if (item.kind == ITEM_OPERAND && !command_seen)
            command_seen = true;
        else if (item.kind == ITEM_OPERAND)
            operands[(*operand_count)++] = list[words.next - 1];
        else if (take(&item, why))
            return why->code;
    }
    return check_operands(*operand_count, operands, why);
}

/* ---- */

static int run_command(int count, char **list)
{
    struct gw_error why;
    unsigned operand_count;
    char **operands = calloc((size_t)count + 1, sizeof *operands);
    if (!operands)
        return complain_with(GW_ENOMEM, "%d words", count);
    int status = parse(count, list, operands, &operand_count, &why)
                     ? complain(&why)
                     : the_command->run((int)operand_count, operands);
    free(operands);
    return status;
}

static int nothing_to_do(int count)
{
    if (count > 0)
        return complain_with(GW_EINVAL, "say what to do; \"%s help\" tells",
                             the_tool->name);
    help_tool(stdout, false);
    return 0;
}

static int dispatch(int count, char **list)
{
    const char *name = survey(count, list);
    struct gw_error why;
    if (asked.version)
        return say_version();
    if (name)
        the_command = command_find(name);
    if (!the_command && count > 0)
        the_command = the_tool->only;
    if (name && !the_command) {
        (void)command_unknown(name, &why);
        return complain(&why);
    }
    if (asked.help_long || asked.help_short) {
        if (the_command)
            help_command(stdout, the_command, asked.help_long);
        else
            help_tool(stdout, asked.help_long);
        return 0;
    }
    return the_command ? run_command(count, list) : nothing_to_do(count);
}

int tool_main(const struct tool *tool, int argc, char **argv)
{
    the_tool = tool;
    the_command = NULL;
    asked = (struct asked){0};
    setlocale(LC_CTYPE, ""); /* widths of UTF-8; numbers stay as in C */
    signals_catch();
    int status = dispatch(argc - 1, argv + 1);
    progress("%s", "");
    return output_finish(status);
}
