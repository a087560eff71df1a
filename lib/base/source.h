/* SPDX-License-Identifier: MIT
 *
 * A text written by the user: its bytes, and its first error with its place.
 * The readers of plans, topologies, fault schedules, networks and pipeline
 * schedules share this, so that all of them report "NAME:LINE:COLUMN: expected
 * WHAT, found ...". The first error is kept. A function that can fail returns
 * false after an error, which is then in the source.
 *
 * words.h reads texts of words between blanks.
 */
#ifndef GW__BASE_SOURCE_H
#define GW__BASE_SOURCE_H

#include <gradwire/base.h>

struct gw__source {
    const char *name;
    const char *text;
    size_t bytes;
    struct gw_error error; /* the first one */
};

/* Loads a whole file, or of a longer one more than `limit` bytes, so that the
 * parser reports that it is too long. A 0 follows the text. The caller frees
 * *text; NULL after an error: GW_EDATA or GW_ENOMEM. */
GW_MUST_CHECK enum gw_err gw__text_load(const char *path, size_t limit,
                                        char **text, size_t *bytes,
                                        struct gw_error *why);

/* Sets the error, if it is the first, to "NAME:LINE:COLUMN: message"; false. */
GW_PRINTF(3, 4)
bool gw__source_fail(struct gw__source *source, size_t offset,
                     const char *format, ...);
/* Out of memory; false. */
bool gw__source_exhausted(struct gw__source *source);
/* "expected WHAT, found `...`", the `length` bytes at `at`; false. */
bool gw__source_expected(struct gw__source *source, size_t at, size_t length,
                         const char *what);
/* "expected WHAT, found the end of the line", or of the text; false. */
bool gw__source_ended(struct gw__source *source, size_t at, const char *what);

/* The end of the word at `at`: a blank, a `#` or any byte that is not printable
 * ASCII. Such bytes are allowed only in comments, so that an error can show a
 * word unchanged. */
size_t gw__source_word_end(const struct gw__source *source, size_t at);

/* The byte at `at`; 0 after the end of the text. */
static inline char gw__source_byte(const struct gw__source *source, size_t at)
{
    return at < source->bytes ? source->text[at] : 0;
}

static inline bool gw__is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static inline bool gw__is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

#endif
