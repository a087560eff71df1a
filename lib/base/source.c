/* SPDX-License-Identifier: MIT
 *
 * A text and its errors: see source.h. Readers know only the offset of a place;
 * line and column are counted when an error needs them.
 */
#include "source.h"

#include <stdarg.h>
#include <stdio.h>

bool gw__source_fail(struct gw__source *source, size_t offset,
                     const char *format, ...)
{
    if (source->error.code)
        return false;
    size_t line = 1, begin = 0;
    for (size_t i = 0; i < offset && i < source->bytes; i++)
        if (source->text[i] == '\n') {
            line++;
            begin = i + 1;
        }
    char sentence[256];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    gw_fail(&source->error, GW_EDATA, "%.200s:%zu:%zu: %s", source->name, line,
            offset - begin + 1, sentence);
    return false;
}

bool gw__source_exhausted(struct gw__source *source)
{
    if (!source->error.code)
        gw_fail(&source->error, GW_ENOMEM, "%.200s: out of memory",
                source->name);
    return false;
}

bool gw__source_expected(struct gw__source *source, size_t at, size_t length,
                         const char *what)
{
    enum { SHOWN_MAX = 40 };
    if (length == 0)
        return gw__source_fail(source, at,
                               "expected %s, found the end of the word", what);
    return gw__source_fail(source, at, "expected %s, found `%.*s`", what,
                           length < SHOWN_MAX ? (int)length : SHOWN_MAX,
                           source->text + at);
}

bool gw__source_ended(struct gw__source *source, size_t at, const char *what)
{
    return gw__source_fail(source, at, "expected %s, found the end of the %s",
                           what, at < source->bytes ? "line" : "text");
}

size_t gw__source_word_end(const struct gw__source *source, size_t at)
{
    while (gw__source_byte(source, at) > ' ' &&
           gw__source_byte(source, at) < 127 &&
           gw__source_byte(source, at) != '#')
        at++;
    return at;
}
