/* SPDX-License-Identifier: MIT
 *
 * A text as words and the numbers in them, for topologies, fault schedules and
 * networks. Words stand between blanks; the end of a line is a word of no
 * length; `#` begins a comment. A word is looked at before it is taken. Errors
 * are those of source.h: functions return false after one that stands in
 * `source`.
 */
#ifndef GW__BASE_WORDS_H
#define GW__BASE_WORDS_H

#include "source.h"

struct gw__words {
    struct gw__source source;
    const char *kind; /* of text, for errors */
    size_t word;      /* where the word to look at begins ... */
    size_t end;       /* ... and ends */
};

/* The byte at `at`; 0 behind the text. */
static inline char gw__byte_at(const struct gw__words *words, size_t at)
{
    return gw__source_byte(&words->source, at);
}

static inline bool gw__at_line_end(const struct gw__words *words)
{
    return words->word == words->end;
}

/* Is the word to look at `word`? */
bool gw__is_word(const struct gw__words *words, const char *word);
/* Goes on to the next word of the line. */
bool gw__next_word(struct gw__words *words);
/* Goes on to the first word of the next line. */
bool gw__next_line(struct gw__words *words);
/* Fails at `at`, in or behind the word: "expected WHAT, found ...". */
bool gw__expected(struct gw__words *words, size_t at, const char *what);

#endif
