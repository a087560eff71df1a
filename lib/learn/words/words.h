/* SPDX-License-Identifier: MIT
 *
 * A text as word2vec sees it: a stream of words, separated by spaces, tabs and
 * newlines, which mean the same. Words that occur less than a minimum are taken
 * out; the others are numbered by frequency, equal ones by their bytes, so that
 * a text has one numbering.
 */
#ifndef GW__WORDS_H
#define GW__WORDS_H

#include <gradwire/base.h>

struct gw__word {
    const char *text; /* within gw__words.text, not terminated */
    size_t bytes;
    uint64_t count;
};

struct gw__word_table {
    char *text;
    struct gw__word *word; /* the most frequent first */
    size_t word_count;
    uint32_t *stream; /* the text, as numbers of words */
    size_t length;
    size_t sentence; /* words of each, which no window leaves; 0: one of all */
    uint32_t *cells; /* hash from word to number */
    size_t cell_count;
};

struct gw__words_form {
    uint64_t min_count; /* rarer words are taken out */
    /* 0: lines mean nothing. Else each has so many words, but for empty ones and
     * those that begin with '#'. */
    size_t line_words;
};

/* GW_EDATA: the file cannot be read, has no words, or less than two different
 * ones that occur `min_count` times, or a line of another form. On failure
 * *words is empty. */
GW_MUST_CHECK enum gw_err gw__words_load(struct gw__word_table *words,
                                         const char *path,
                                         const struct gw__words_form *form,
                                         struct gw_error *why);
void gw__words_fini(struct gw__word_table *words);
/* The number of a word, or word_count when it has none. */
size_t gw__words_number(const struct gw__word_table *words, const char *text,
                        size_t bytes);

#endif
