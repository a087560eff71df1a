/* SPDX-License-Identifier: MIT
 *
 * A text that somebody wrote: its bytes, and what is wrong with it, where. The
 * readers of plans, topologies, fault schedules, networks and pipeline
 * schedules share this, so that all of them say "NAME:LINE:COLUMN: expected
 * WHAT, found ...". The first error stays; what fails returns false after an
 * error that stands in the source.
 *
 * Texts of words between blanks are read by words.h.
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

/* A whole file, or of a longer one more than `limit` bytes, so that the parser
 * says that it is too long. The caller frees *text; NULL after an error, which
 * is GW_EDATA or GW_ENOMEM. */
GW_MUST_CHECK enum gw_err gw__text_load(const char *path, size_t limit,
                                        char **text, size_t *bytes,
                                        struct gw_error *why);

/* Sets the error, if it is the first, to "NAME:LINE:COLUMN: sentence"; false.
 */
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

/* Where the word at `at` ends: at a blank, a `#` or any byte that is not
 * printable ASCII. Such bytes may stand in comments only, so that a word can be
 * shown in an error as it is. */
size_t gw__source_word_end(const struct gw__source *source, size_t at);

/* The byte at `at`; 0 behind the text. */
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
