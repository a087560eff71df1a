/* SPDX-License-Identifier: MIT
 *
 * Words and numbers of a fault schedule or a topology: see faults_words.h.
 * Bytes that are not printable ASCII may stand in comments only, so that a word
 * can be shown in an error as it is.
 */
#include "faults_words.h"
#include "faults.h"

#include <string.h>

char gw__byte_at(const struct gw__words *words, size_t at)
{
    return at < words->source.bytes ? words->source.text[at] : 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

bool gw__is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool gw__at_line_end(const struct gw__words *words)
{
    return words->word == words->end;
}

bool gw__next_word(struct gw__words *words)
{
    size_t at = words->end;
    while (is_blank(gw__byte_at(words, at)))
        at++;
    words->word = at;
    while (gw__byte_at(words, at) > ' ' && gw__byte_at(words, at) < 127 &&
           gw__byte_at(words, at) != '#')
        at++;
    words->end = at;
    char c = gw__byte_at(words, at);
    bool ends = at >= words->source.bytes || c == '\n' || c == '#';
    return ends || is_blank(c) ||
           gw__source_fail(&words->source, at, "a %s has no byte 0x%02x",
                           words->kind ? words->kind : "schedule",
                           (unsigned)(unsigned char)c);
}

bool gw__next_line(struct gw__words *words)
{
    size_t at = words->end;
    while (at < words->source.bytes && gw__byte_at(words, at) != '\n')
        at++;
    words->end = at < words->source.bytes ? at + 1 : at;
    return gw__next_word(words);
}

bool gw__is_word(const struct gw__words *words, const char *word)
{
    size_t length = words->end - words->word;
    return length == strlen(word) &&
           memcmp(words->source.text + words->word, word, length) == 0;
}

bool gw__expected(struct gw__words *words, size_t at, const char *what)
{
    enum { SHOWN_MAX = 40 };
    struct gw__source *source = &words->source;
    size_t rest = words->end - at;
    if (gw__at_line_end(words))
        return gw__source_fail(source, at,
                               "expected %s, found the end of the line", what);
    if (rest == 0)
        return gw__source_fail(source, at,
                               "expected %s, found the end of the word", what);
    return gw__source_fail(source, at, "expected %s, found `%.*s`", what,
                           (int)(rest < SHOWN_MAX ? rest : SHOWN_MAX),
                           source->text + at);
}

bool gw__parse_span(struct gw__words *words, size_t begin, size_t end,
                    uint64_t *ns)
{
    char text[48] = "";
    struct gw_error why;
    struct gw__source *source = &words->source;
    size_t length = end - begin;
    if (length == 0)
        return gw__expected(words, begin, "a duration, such as 20ms");
    if (length >= sizeof text)
        return gw__source_fail(source, begin, "too long for a duration");
    memcpy(text, source->text + begin, length);
    if (gw_parse_duration(text, ns, &why))
        return gw__source_fail(source, begin, "%s", why.text);
    if (*ns > GW__FAULT_NS_MAX)
        return gw__source_fail(source, begin, "%s is longer than a day", text);
    return true;
}

bool gw__parse_number(struct gw__words *words, size_t *at, uint32_t most,
                      const char *what, uint32_t *number)
{
    size_t begin = *at;
    uint64_t value = 0;
    if (begin >= words->end || !gw__is_digit(gw__byte_at(words, begin)))
        return gw__expected(words, begin, what);
    for (; gw__is_digit(gw__byte_at(words, *at)); ++*at) {
        value = 10 * value + (uint64_t)(gw__byte_at(words, *at) - '0');
        if (value > most)
            return gw__source_fail(&words->source, begin,
                                   "the number is at most %u here", most);
    }
    *number = (uint32_t)value;
    return true;
}
