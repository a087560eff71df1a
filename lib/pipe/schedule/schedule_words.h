/* SPDX-License-Identifier: MIT
 *
 * What a schedule's text is made of: words, numbers, signs and lines. Functions
 * return false after an error that stands in the source; the first one stays.
 */
#ifndef GW__PIPE_SCHEDULE_WORDS_H
#define GW__PIPE_SCHEDULE_WORDS_H

#include <base/source.h>

enum { GW__SCHEDULE_BYTES_MAX = 1 << 28 }; /* of a text */

/* `at` is where the reader is. Passes are read sign by sign, not by words as in
 * base/words.h. */
struct gw__schedule_words {
    struct gw__source source;
    size_t at;
};

/* The byte there, 0 behind the text. */
char gw__words_byte(const struct gw__schedule_words *words);
/* Nothing is left of the line. */
bool gw__words_line_end(const struct gw__schedule_words *words);
/* Goes on by so many bytes, and over the blanks and the comment behind. */
void gw__words_skip(struct gw__schedule_words *words, size_t bytes);
/* Goes on to the next line that says something; false when there is none. */
bool gw__words_next_line(struct gw__schedule_words *words);
/* Goes on behind `word`, but not over blanks, if that is what stands there. */
bool gw__words_take(struct gw__schedule_words *words, const char *word);
/* Characters up to a blank or a comment. */
size_t gw__words_length(const struct gw__schedule_words *words);
/* Digits, from `at` on; goes on behind them but not over blanks. A number of
 * more than nine digits is too large for anything here. */
bool gw__words_digits(struct gw__schedule_words *words, const char *what,
                      unsigned *number);
/* "expected WHAT, found ..."; false. */
bool gw__words_expected(struct gw__schedule_words *words, const char *what);

#endif
