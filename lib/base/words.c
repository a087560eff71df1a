/* SPDX-License-Identifier: MIT
 *
 * Words of a text: see words.h.
 */
#include "words.h"

#include <string.h>

bool gw__is_word(const struct gw__words *words, const char *word)
{
    size_t length = words->end - words->word;
    return length == strlen(word) &&
           memcmp(words->source.text + words->word, word, length) == 0;
}

bool gw__next_word(struct gw__words *words)
{
    struct gw__source *source = &words->source;
    size_t at = words->end;
    while (gw__is_blank(gw__source_byte(source, at)))
        at++;
    words->word = at;
    at = words->end = gw__source_word_end(source, at);
    char c = gw__source_byte(source, at);
    bool ends = at >= source->bytes || c == '\n' || c == '#';
    return ends || gw__is_blank(c) ||
           gw__source_fail(source, at, "a %s cannot contain byte 0x%02x",
                           words->kind, (unsigned)(unsigned char)c);
}

bool gw__next_line(struct gw__words *words)
{
    size_t at = words->end;
    while (at < words->source.bytes && gw__byte_at(words, at) != '\n')
        at++;
    words->end = at < words->source.bytes ? at + 1 : at;
    return gw__next_word(words);
}

bool gw__expected(struct gw__words *words, size_t at, const char *what)
{
    if (gw__at_line_end(words))
        return gw__source_fail(&words->source, at,
                               "expected %s, found the end of the line", what);
    return gw__source_expected(&words->source, at, words->end - at, what);
}
