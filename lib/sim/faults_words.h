/* SPDX-License-Identifier: MIT
 *
 * Between faults_words.c and who reads with it (faults_parse.c, topology_*.c):
 * a text as words, and the numbers in them. Words stand between blanks; the end
 * of a line is a word of no length; `#` begins a comment. Errors are those of
 * plan/text.h, with line and column. Functions return false after an error that
 * stands in `source`.
 */
#ifndef GW__SIM_FAULTS_WORDS_H
#define GW__SIM_FAULTS_WORDS_H

#include <plan/text.h>

struct gw__words {
    struct gw__source source;
    const char *kind; /* of text, for errors; NULL: "schedule" */
    unsigned nodes;
    size_t word; /* where the word to look at begins ... */
    size_t end;  /* ... and ends */
};

/* The byte at `at`; 0 behind the text. */
char gw__byte_at(const struct gw__words *words, size_t at);
bool gw__is_digit(char c);
bool gw__at_line_end(const struct gw__words *words);
/* Is the word to look at `word`? */
bool gw__is_word(const struct gw__words *words, const char *word);
/* Goes on to the next word of the line. */
bool gw__next_word(struct gw__words *words);
/* Goes on to the first word of the next line. */
bool gw__next_line(struct gw__words *words);
/* Fails at `at`, in or behind the word: "expected WHAT, found ...". */
bool gw__expected(struct gw__words *words, size_t at, const char *what);
/* The duration that stands from `begin` to `end`, at most a day. */
bool gw__parse_span(struct gw__words *words, size_t begin, size_t end,
                    uint64_t *ns);
/* The digits at *at, a number up to `most`; goes on behind them. */
bool gw__parse_number(struct gw__words *words, size_t *at, uint32_t most,
                      const char *what, uint32_t *number);

#endif
