/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One run of a tool, from argv to the exit status. The lines of a shell take
 * the same way as the words of argv.
 *
 * The command line is read twice. The first pass knows the options of all
 * commands and checks no value. It finds the command wherever it is, the output
 * format (so that an error about another option is printed in that format), and
 * whether help was requested. The second pass knows the command, assigns the
 * values and collects the operands. Read on in words.c, options.c, help.c;
 * find.c finds a command by its name.
 */
#include "internal.h"
#include "key.h"

#include <base/log.h>

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

const struct tool *the_tool;
const struct command *the_command;
struct typed_words typed_words;
static bool in_shell;

/* ---- the first pass ---- */

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
            struct gw_error ignored; /* the second pass reports it */
            if (option_assign(item.spec, item.typed, item.value, &ignored))
                continue;
        }
        requested.version |= item.spec->target == &requested.version;
        requested.question |= item.spec->target == the_tool->question;
        if (item.spec->target == &requested.help_long)
            *(item.by_letter ? &requested.help_short : &requested.help_long) =
                true;
    }
    return name;
}

static int print_version(void)
{
    int major, minor, patch;
    zmq_version(&major, &minor, &patch);
    printf("%s %s (libzmq %d.%d.%d)\n", the_tool->name, GW_VERSION, major,
           minor, patch);
    return 0;
}

/* ---- the second pass ---- */

static enum gw_err unknown_option(const struct item *item, struct gw_error *why)
{
    struct suggestion suggestion;
    char hint[96], words[96];
    const struct option_spec *s;
    suggestion_begin(&suggestion, item->typed);
    for (unsigned i = 0; (s = command_options(the_command, i)); i++)
        for (; s->name; s++) {
            char dashed[64];
            snprintf(dashed, sizeof dashed, "--%s", s->name);
            suggestion_offer(&suggestion, dashed);
        }
    bool unnamed = command_unnamed(the_command);
    return gw_fail(why, GW_EINVAL,
                   "%s%sunknown option %s%s (\"%s --help\" lists the options)",
                   unnamed ? "" : the_command->name, unnamed ? "" : ": ",
                   item->typed, suggestion_text(&suggestion, hint),
                   command_typed(the_command, words));
}

static enum gw_err apply_option(const struct item *item, struct gw_error *why)
{
    switch (item->kind) {
    case ITEM_UNKNOWN:
        return unknown_option(item, why);
    case ITEM_NO_VALUE:
        return gw_fail(why, GW_EINVAL, "%s needs a value: %s %s", item->typed,
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
        return gw_fail(why, GW_EINVAL, "%s: unexpected operand \"%.60s\"",
                       c->name, operands[c->operands_max]);
    if (count < c->operands_min && !requested.question)
        return gw_fail(why, GW_EINVAL, "%s: missing operand; usage: %s %s",
                       c->name, command_typed(c, words), c->operands);
    return GW_OK;
}

/* `operands` has room for all words. */
static enum gw_err parse(int count, char **list, char **operands,
                         unsigned *operand_count, struct gw_error *why)
{
    struct words words = {.count = count, .list = list, .command = the_command};
    struct item item;
    bool has_command = command_unnamed(the_command);
    *operand_count = 0;
    while (words_next(&words, &item) != ITEM_END) {
        if (item.kind == ITEM_OPERAND && !has_command)
            has_command = true;
        else if (item.kind == ITEM_OPERAND)
            operands[(*operand_count)++] = list[words.next - 1];
        else if (apply_option(&item, why))
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
    bool wrong = parse(count, list, operands, &operand_count, &why) ||
                 (!requested.question && key_check(the_command, &why)) ||
                 (!requested.question && gw_kernels_check(&why)) ||
                 (!requested.question && gw__log_check(&why));
    if (!wrong && the_command->computes && !in_shell)
        computing_begin();
    int status =
        wrong ? complain(&why) : the_command->run((int)operand_count, operands);
    free(operands);
    return status;
}

/* Without a command: an unknown option is reported as such. */
static int nothing_to_do(int count, char **list)
{
    struct words words = {.count = count, .list = list};
    struct item item;
    while (words_next(&words, &item) != ITEM_END)
        if (item.kind == ITEM_UNKNOWN)
            return complain_with(GW_EINVAL,
                                 "unknown option %s (\"%s --help\" lists the "
                                 "commands and the common options)",
                                 item.typed, the_tool->name);
    if (count > 0)
        return complain_with(GW_EINVAL,
                             "no command given; \"%s help\" lists the commands",
                             the_tool->name);
    help_show(NULL, false);
    return 0;
}

static bool is_file(const char *word)
{
    return strpbrk(word, "./") || strcmp(word, "-") == 0 ||
           access(word, F_OK) == 0;
}

/* Sets the_command: to the named command, or to the one that runs unnamed; to
 * NULL when there are no words and no such command. */
static enum gw_err choose_command(const char *name, int count,
                                  const struct command *unnamed,
                                  struct gw_error *why)
{
    bool silence = !name && count == 0 && unnamed == the_tool->only;
    the_command = silence                       ? NULL
                  : !name && requested.question ? the_tool->answer
                                                : unnamed;
    if (!name || !command_find(name, &the_command, why))
        return GW_OK;
    bool is_operand = unnamed && (unnamed == the_tool->only || is_file(name));
    the_command = is_operand ? unnamed : NULL;
    return is_operand ? GW_OK : why->code;
}

/* `unnamed` runs when no command is named. */
static int dispatch(int count, char **list, const struct command *unnamed)
{
    typed_words = (struct typed_words){count, list};
    const char *name = survey(count, list);
    struct gw_error why;
    if (requested.version)
        return print_version();
    if (choose_command(name, count, unnamed, &why))
        return complain(&why);
    if (requested.help_long || requested.help_short) {
        if (the_command && (name || the_command != the_tool->shell))
            help_show(the_command, requested.help_long);
        else
            help_show(NULL, requested.help_long);
        return 0;
    }
    return the_command ? run_command(count, list) : nothing_to_do(count, list);
}

int tool_main(const struct tool *tool, int argc, char **argv)
{
    the_tool = tool;
    the_command = NULL;
    requested = (struct requested){0};
    setlocale(LC_CTYPE, ""); /* widths of UTF-8; numbers stay as in C */
    signals_catch();
    files_allow();
    notices_on_stderr();
    int status =
        dispatch(argc - 1, argv + 1, tool->only ? tool->only : tool->shell);
    progress("%s", "");
    status = output_finish(status);
    computing_end();
    return status;
}

bool tool_line_fails(int count, char **list)
{
    const struct command *command;
    struct gw_error why;
    const char *name = count > 0 ? list[0] : "";
    if (command_find(name, &command, &why) || !command->check)
        return false;
    char **operands = calloc((size_t)count + 1, sizeof *operands);
    struct words words = {.count = count, .list = list, .command = command};
    struct item item;
    int operand_count = 0;
    while (operands && words_next(&words, &item) != ITEM_END)
        if (item.kind == ITEM_OPERAND && words.next > 1)
            operands[operand_count++] = list[words.next - 1];
    bool fails =
        operand_count > 0 && command->check(operand_count, operands, &why);
    free(operands);
    return fails;
}

int tool_line(int count, char **words)
{
    const struct command *caller = the_command;
    const struct typed_words typed = typed_words;
    in_shell = true;
    options_keep();
    options_restore();
    the_command = NULL;
    complaint_clear();
    int status = dispatch(count, words, NULL);
    progress("%s", "");
    status = output_finish(status);
    complaint_clear(); /* it was printed in full */
    options_restore(); /* `words` may be freed now */
    the_command = caller;
    typed_words = typed;
    return status;
}
