/* SPDX-License-Identifier: MIT
 *
 * The elements of a schedule's text: words, numbers, signs and lines. Functions
 * return false after an error that is recorded in the source; the first one is
 * kept.
 */
#ifndef GW__PIPE_SCHEDULE_WORDS_H
#define GW__PIPE_SCHEDULE_WORDS_H

#include <base/source.h>

enum { GW__SCHEDULE_BYTES_MAX = 1 << 28 }; /* size of a text */

/* `at` is the reader's position. Passes are read character by character, not by
 * words as in base/words.h. */
struct gw__schedule_words {
    struct gw__source source;
    size_t at;
};

/* The byte at the position; 0 at the end of the text. */
char gw__words_byte(const struct gw__schedule_words *words);
/* Is the rest of the line empty? */
bool gw__words_line_end(const struct gw__schedule_words *words);
/* Skips `bytes` bytes, and the following blanks and comment. */
void gw__words_skip(struct gw__schedule_words *words, size_t bytes);
/* Advances to the next line that is not empty. False: none. */
bool gw__words_next_line(struct gw__schedule_words *words);
/* Skips `word`, but not blanks. False: another word follows. */
bool gw__words_accept(struct gw__schedule_words *words, const char *word);
/* The number of characters before a blank or a comment. */
size_t gw__words_length(const struct gw__schedule_words *words);
/* Reads digits from `at` on, without the following blanks. A number of more
 * than nine digits is always too large. */
bool gw__words_digits(struct gw__schedule_words *words, const char *what,
                      unsigned *number);
/* Fails with "expected WHAT, found ..."; returns false. */
bool gw__words_expected(struct gw__schedule_words *words, const char *what);

#endif
