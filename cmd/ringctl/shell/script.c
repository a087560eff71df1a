/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The splitter of script.h. A command's words are stored in one allocation
 * after the pointers to them: they are never longer than their text.
 */
#include "script.h"

#include <stdlib.h>
#include <string.h>

enum { CARRIAGE_RETURN = '\r' };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == CARRIAGE_RETURN;
}

static bool ends_command(char c)
{
    return c == '\n' || c == ';';
}

static bool is_joined_line(const char *s)
{
    return s[0] == '\\' && s[1] == '\n';
}

static void advance(struct script *s, size_t count)
{
    for (; count; count--)
        s->line += s->text[s->at++] == '\n';
}

/* Skips blanks, joined lines and comments. */
static void skip_blanks(struct script *s)
{
    for (;;) {
        const char *here = s->text + s->at;
        if (is_blank(*here))
            advance(s, 1);
        else if (is_joined_line(here))
            advance(s, 2);
        else if (*here == '#')
            advance(s, strcspn(here, "\n"));
        else
            return;
    }
}

/* Copies up to the closing quote, which is at s->at - 1 then; false: it is
 * missing. */
static bool parse_quoted(struct script *s, char quote, char **out)
{
    for (;;) {
        const char *here = s->text + s->at;
        if (!*here)
            return false;
        bool escape = quote == '"' && *here == '\\' && here[1] &&
                      strchr("\"\\$`\n", here[1]);
        advance(s, escape ? 2 : 1);
        if (!escape && *here == quote)
            return true;
        if (!escape)
            *(*out)++ = *here;
        else if (here[1] != '\n')
            *(*out)++ = here[1];
    }
}

/* One step within a word; false: a quote does not end. */
static bool parse_part(struct script *s, char **out)
{
    const char *here = s->text + s->at;
    if (*here == '\'' || *here == '"') {
        advance(s, 1);
        return parse_quoted(s, *here, out);
    }
    if (*here != '\\') {
        advance(s, 1);
        *(*out)++ = *here;
        return true;
    }
    if (!here[1])
        return false;
    advance(s, 2);
    if (here[1] != '\n')
        *(*out)++ = here[1];
    return true;
}

/* Reads a word and moves past it. If the result is false, *line is the line
 * where the open quote began. */
static bool parse_word(struct script *s, char **out, unsigned *line)
{
    for (;;) {
        char c = s->text[s->at];
        if (!c || is_blank(c) || ends_command(c))
            break;
        *line = s->line;
        if (!parse_part(s, out))
            return false;
    }
    *(*out)++ = 0;
    return true;
}

/* `out`: receives the letters of the words. */
static enum script_next parse_words(struct script *s, struct script_command *c,
                                    char *out)
{
    int count = 0;
    for (skip_blanks(s); s->text[s->at] && !ends_command(s->text[s->at]);
         skip_blanks(s)) {
        c->words[count++] = out;
        if (!parse_word(s, &out, &c->line))
            return SCRIPT_OPEN;
    }
    c->words[count] = NULL;
    c->count = count;
    c->ended = s->text[s->at] != 0;
    advance(s, c->ended);
    return SCRIPT_COMMAND;
}

/* Room for the words of the command. Quotes hide its end, so the size is
 * computed for the rest of the text, where a word has at least a character and
 * a separator. Returns the place for the letters, or NULL. */
static char *reserve_words(const struct script *s, struct script_command *c)
{
    size_t length = strlen(s->text + s->at);
    size_t words = length / 2 + 2;
    c->words = calloc(1, words * sizeof *c->words + length + 1);
    return c->words ? (char *)(c->words + words) : NULL;
}

enum script_next script_next(struct script *script,
                             struct script_command *command)
{
    *command = (struct script_command){0};
    for (skip_blanks(script); ends_command(script->text[script->at]);
         skip_blanks(script))
        advance(script, 1);
    if (!script->text[script->at])
        return SCRIPT_END;
    unsigned line = script->line;
    char *letters = reserve_words(script, command);
    if (!letters)
        return SCRIPT_MEMORY;
    enum script_next next = parse_words(script, command, letters);
    if (next == SCRIPT_COMMAND)
        command->line = line;
    else
        script_command_fini(command);
    return next;
}

void script_command_fini(struct script_command *command)
{
    free(command->words);
    command->words = NULL;
    command->count = 0;
}

char *script_quote(const char *word, char *out)
{
    static const char special[] = " \t\r\n;#'\"\\";
    if (*word && !strpbrk(word, special))
        return stpcpy(out, word);
    *out++ = '\'';
    for (; *word; word++)
        out = *word == '\'' ? stpcpy(out, "'\\''") : (*out = *word, out + 1);
    *out++ = '\'';
    *out = 0;
    return out;
}
