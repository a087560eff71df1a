/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Splits text into commands, and commands into words, with a subset of sh's
 * rules: commands end at a newline or ";", "#" begins a comment where a word
 * could begin, blanks separate words, a backslash quotes the next character
 * (and removes a newline), '...' quotes everything, "..." too except a
 * backslash before " \ $ `. All other signs are letters of a word, so
 *
 *     wait alive==4 && step>3; cut 0,1|2,3
 *
 * are two commands that need no quotes. Pure.
 */
#ifndef SCRIPT_H
#define SCRIPT_H

#include <gradwire/gradwire.h>

struct script {
    const char *text;
    size_t at;     /* 0 to begin */
    unsigned line; /* 1 to begin */
};

struct script_command {
    unsigned line; /* of its first word */
    int count;
    char **words; /* NULL-terminated */
    bool ended;   /* by a newline or ";", not by the end of the text */
};

enum script_next {
    SCRIPT_COMMAND, /* *command has at least one word; give it to
                       script_command_fini */
    SCRIPT_END,
    SCRIPT_OPEN,  /* a quote or a last backslash needs more text; *command has
                     the line where it began */
    SCRIPT_MEMORY /* out of memory */
};
enum script_next script_next(struct script *script,
                             struct script_command *command);
void script_command_fini(struct script_command *command);

/* Appends a word, in a form that script_next reads as this word, and a null
 * byte. At most 4 * strlen(word) + 3 bytes. Returns the place of the null. */
char *script_quote(const char *word, char *out);

#endif
