/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Takes a command line apart, word by word, in the manner of getopt_long with
 * options anywhere: "--name value", "--name=value", "-n value", "-n4", "-vn4",
 * "--" ends the options, "-" and "-1" are operands. It checks nothing: an
 * unknown option is an item like others, so that the first pass (command.c) can
 * skip it. After the name of a program (collrun exec) there are only operands.
 * Long names are not abbreviated: scripts would break when a new option comes,
 * and a typo gets a suggestion anyway.
 */
#include "common/internal.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

static bool spec_matches(const struct option_spec *spec, const char *name,
                         size_t length, char letter)
{
    if (letter)
        return spec->letter == letter;
    assert(name);
    return strlen(spec->name) == length &&
           strncmp(spec->name, name, length) == 0;
}

static const struct option_spec *among(const struct option_spec *specs,
                                       const char *name, size_t length,
                                       char letter)
{
    for (; specs && specs->name; specs++)
        if (spec_matches(specs, name, length, letter))
            return specs;
    return NULL;
}

static const struct option_spec *find_option(const struct words *words,
                                             const char *name, size_t length,
                                             char letter)
{
    const struct option_spec *spec = among(common_specs, name, length, letter);
    if (spec)
        return spec;
    spec = among(the_tool->options, name, length, letter);
    if (spec)
        return spec;
    if (words->command)
        return among(words->command->options, name, length, letter);
    const struct command *command =
        the_tool->only ? the_tool->only : the_tool->shell;
    if (command)
        spec = among(command->options, name, length, letter);
    for (unsigned i = 0; !spec && (command = command_at(i)); i++)
        spec = among(command->options, name, length, letter);
    return spec;
}

/* The value is `attached`, or else the next word. */
static enum item_kind value_of(struct words *words, struct item *item,
                               const char *attached)
{
    if (!item->spec)
        return ITEM_UNKNOWN;
    if (item->spec->kind == OPTION_FLAG)
        return attached ? ITEM_UNWANTED : ITEM_OPTION;
    if (!attached && words->next < words->count)
        attached = words->list[words->next++];
    item->value = attached;
    return attached ? ITEM_OPTION : ITEM_NO_VALUE;
}

static enum item_kind by_letter(struct words *words, struct item *item)
{
    char letter = *words->cluster++;
    item->spec = find_option(words, NULL, 0, letter);
    item->by_letter = true;
    snprintf(item->typed, sizeof item->typed, "-%c", letter);
    const char *rest = *words->cluster ? words->cluster : NULL;
    bool rest_is_value = item->spec && item->spec->kind != OPTION_FLAG;
    if (rest_is_value || !rest)
        words->cluster = NULL;
    return value_of(words, item, rest_is_value ? rest : NULL);
}

static enum item_kind by_name(struct words *words, struct item *item,
                              const char *name)
{
    size_t length = strcspn(name, "=");
    item->spec = find_option(words, name, length, 0);
    snprintf(item->typed, sizeof item->typed, "--%.*s",
             (int)(length < 60 ? length : 60), name);
    return value_of(words, item, name[length] ? name + length + 1 : NULL);
}

/* "-" is not one, nor is "-1": no option has a digit for its letter. */
static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] && !isdigit((unsigned char)word[1]);
}

static enum item_kind next_kind(struct words *words, struct item *item)
{
    if (words->cluster)
        return by_letter(words, item);
    if (words->next >= words->count)
        return ITEM_END;
    const char *word = words->list[words->next++];
    if (words->options_ended || !is_option(word)) {
        item->value = word;
        return ITEM_OPERAND;
    }
    if (word[1] != '-') {
        words->cluster = word + 1;
        return by_letter(words, item);
    }
    if (word[2])
        return by_name(words, item, word + 2);
    words->options_ended = true;
    return next_kind(words, item);
}

static const struct command *find(const char *name)
{
    const struct command *command;
    for (unsigned i = 0; (command = command_at(i)); i++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

/* Does a program begin with this operand, or after it? */
static bool is_program(const struct words *words, const char *operand)
{
    const struct command *found = words->found;
    return found &&
           (found->program || (found->program_after &&
                               strcmp(found->program_after, operand) == 0));
}

enum item_kind words_next(struct words *words, struct item *item)
{
    *item = (struct item){0};
    item->kind = next_kind(words, item);
    if (item->kind != ITEM_OPERAND)
        return item->kind;
    words->operands++;
    if (words->operands == 1)
        words->found = find(item->value);
    else if (is_program(words, item->value))
        words->options_ended = true;
    return item->kind;
}
