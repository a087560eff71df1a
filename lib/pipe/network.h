/* SPDX-License-Identifier: MIT
 *
 * Between the parts that know networks:
 *   network.c        names, parameters, the file, the way back to text
 *   network_words.c  a text's words and numbers, and errors with their place
 *   network_parse.c  the text form, in
 *
 * What is read is not trusted: the text, the operators and their widths are
 * bounded, and the first error ends it all. Functions return false after an
 * error that stands in the source. A word is looked at before it is taken.
 */
#ifndef GW__PIPE_NETWORK_H
#define GW__PIPE_NETWORK_H

#include <gradwire/layout.h>
#include <plan/text.h>

enum { GW__NETWORK_BYTES_MAX = 1 << 20 };

/* Words stand between blanks; the end of a line is a word of no length; `#`
 * begins a comment. */
struct gw__net_words {
    struct gw__source source;
    size_t word; /* where the word to look at begins ... */
    size_t end;  /* ... and ends */
};

bool gw__net_line_end(const struct gw__net_words *words);
bool gw__net_is(const struct gw__net_words *words, const char *word);
/* Goes on to the next word of the line. */
bool gw__net_next(struct gw__net_words *words);
/* Goes on to the first word of the next line that has one; at the end of the
 * text it is the end of a line. */
bool gw__net_next_line(struct gw__net_words *words);
/* Fails at `at`, in the word: "expected WHAT, found ...". */
bool gw__net_expected(struct gw__net_words *words, size_t at, const char *what);
/* The digits at *at, a number from 1 to GW_WIDTH_MAX; goes on behind them. */
bool gw__net_width(struct gw__net_words *words, size_t *at, const char *what,
                   unsigned *width);

#endif
