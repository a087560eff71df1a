/* SPDX-License-Identifier: MIT
 *
 * A text as words and the numbers in them, for topologies, fault schedules and
 * networks. Words are separated by blanks; the end of a line is an empty word;
 * `#` begins a comment. A word can be checked before it is consumed. Errors are
 * those of source.h: functions return false after an error, which is then in
 * `source`.
 */
#ifndef GW__BASE_WORDS_H
#define GW__BASE_WORDS_H

#include "source.h"

struct gw__words {
    struct gw__source source;
    const char *kind; /* of text, for errors */
    size_t word;      /* the start of the current word */
    size_t end;       /* its end */
};

/* The byte at `at`; 0 after the end of the text. */
static inline char gw__byte_at(const struct gw__words *words, size_t at)
{
    return gw__source_byte(&words->source, at);
}

static inline bool gw__at_line_end(const struct gw__words *words)
{
    return words->word == words->end;
}

/* Is the current word `word`? */
bool gw__is_word(const struct gw__words *words, const char *word);
/* Moves to the next word of the line. */
bool gw__next_word(struct gw__words *words);
/* Moves to the first word of the next line. */
bool gw__next_line(struct gw__words *words);
/* Fails at `at`, in or after the word: "expected WHAT, found ...". */
bool gw__expected(struct gw__words *words, size_t at, const char *what);

#endif
