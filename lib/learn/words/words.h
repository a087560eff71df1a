/* SPDX-License-Identifier: MIT
 *
 * A text for word2vec: a stream of words, separated by spaces, tabs and
 * newlines, which are equivalent. Words below a minimum count are removed. The
 * others are numbered by frequency, then by their bytes, so the numbering is
 * unique.
 */
#ifndef GW__WORDS_H
#define GW__WORDS_H

#include <gradwire/base.h>

struct gw__word {
    const char *text; /* in gw__words.text, not terminated */
    size_t bytes;
    uint64_t count;
};

struct gw__word_table {
    char *text;
    struct gw__word *word; /* in descending order of frequency */
    size_t word_count;
    uint32_t *stream; /* the text, as numbers of words */
    size_t length;
    /* words per sentence, the limit of windows; 0: one sentence */
    size_t sentence;
    uint32_t *cells; /* hash from word to number */
    size_t cell_count;
};

struct gw__words_format {
    uint64_t min_count; /* rarer words are removed */
    /* 0: lines are not significant. Otherwise each line has this number of
     * words, except empty lines and those that begin with '#'. */
    size_t line_words;
};

/* GW_EDATA: the file cannot be read, has fewer than two distinct words that
 * occur `min_count` times, or a line has another form. On failure *words is
 * empty. */
GW_MUST_CHECK enum gw_err gw__words_load(struct gw__word_table *words,
                                         const char *path,
                                         const struct gw__words_format *format,
                                         struct gw_error *why);
void gw__words_fini(struct gw__word_table *words);
/* The number of a word; word_count: unknown. */
size_t gw__words_number(const struct gw__word_table *words, const char *text,
                        size_t bytes);

#endif
