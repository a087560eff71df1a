/* SPDX-License-Identifier: MIT
 *
 * Words and widths of a network's text: see network.h. Bytes that are not
 * printable ASCII may stand in comments only, so that a word can be shown in an
 * error as it is.
 */
#include "network.h"

#include <string.h>

static char byte_at(const struct gw__net_words *words, size_t at)
{
    return at < words->source.bytes ? words->source.text[at] : 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool gw__net_line_end(const struct gw__net_words *words)
{
    return words->word == words->end;
}

bool gw__net_is(const struct gw__net_words *words, const char *word)
{
    size_t length = words->end - words->word;
    return length == strlen(word) &&
           memcmp(words->source.text + words->word, word, length) == 0;
}

bool gw__net_next(struct gw__net_words *words)
{
    size_t at = words->end;
    while (is_blank(byte_at(words, at)))
        at++;
    words->word = at;
    while (byte_at(words, at) > ' ' && byte_at(words, at) < 127 &&
           byte_at(words, at) != '#')
        at++;
    words->end = at;
    char c = byte_at(words, at);
    bool ends = at >= words->source.bytes || c == '\n' || c == '#';
    return ends || is_blank(c) ||
           gw__source_fail(&words->source, at, "a network has no byte 0x%02x",
                           (unsigned)(unsigned char)c);
}

bool gw__net_next_line(struct gw__net_words *words)
{
    do {
        size_t at = words->end;
        while (at < words->source.bytes && words->source.text[at] != '\n')
            at++;
        words->end = at < words->source.bytes ? at + 1 : at;
        if (!gw__net_next(words))
            return false;
    } while (gw__net_line_end(words) && words->end < words->source.bytes);
    return true;
}

bool gw__net_expected(struct gw__net_words *words, size_t at, const char *what)
{
    enum { SHOWN_MAX = 40 };
    struct gw__source *source = &words->source;
    size_t rest = words->end - at;
    if (gw__net_line_end(words))
        return gw__source_fail(source, at,
                               "expected %s, found the end of the %s", what,
                               at < source->bytes ? "line" : "text");
    if (rest == 0)
        return gw__source_fail(source, at,
                               "expected %s, found the end of the word", what);
    return gw__source_fail(source, at, "expected %s, found `%.*s`", what,
                           (int)(rest < SHOWN_MAX ? rest : SHOWN_MAX),
                           source->text + at);
}

bool gw__net_width(struct gw__net_words *words, size_t *at, const char *what,
                   unsigned *width)
{
    size_t begin = *at;
    unsigned value = 0;
    if (begin >= words->end || !is_digit(byte_at(words, begin)))
        return gw__net_expected(words, begin, what);
    for (; is_digit(byte_at(words, *at)); ++*at) {
        value = 10 * value + (unsigned)(byte_at(words, *at) - '0');
        if (value > GW_WIDTH_MAX)
            return gw__source_fail(&words->source, begin,
                                   "a width is at most %d", GW_WIDTH_MAX);
    }
    *width = value;
    return value > 0 ||
           gw__source_fail(&words->source, begin, "a width is at least 1");
}
