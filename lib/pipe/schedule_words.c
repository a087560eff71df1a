/* SPDX-License-Identifier: MIT
 *
 * See schedule_words.h. Bytes that are not printable ASCII may stand in
 * comments only, so that a word can be shown in an error as it is.
 */
#include "schedule_words.h"

#include <string.h>

static char byte_at(const struct gw__words *words, size_t at)
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

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

char gw__words_byte(const struct gw__words *words)
{
    return byte_at(words, words->at);
}

bool gw__words_line_end(const struct gw__words *words)
{
    return words->at >= words->source.bytes || gw__words_byte(words) == '\n';
}

void gw__words_skip(struct gw__words *words, size_t bytes)
{
    words->at += bytes;
    while (is_blank(gw__words_byte(words)))
        words->at++;
    if (gw__words_byte(words) == '#')
        while (!gw__words_line_end(words))
            words->at++;
}

bool gw__words_next_line(struct gw__words *words)
{
    while (gw__words_line_end(words) && words->at < words->source.bytes)
        gw__words_skip(words, 1);
    return words->at < words->source.bytes;
}

bool gw__words_take(struct gw__words *words, const char *word)
{
    size_t length = strlen(word);
    if (length > words->source.bytes - words->at ||
        memcmp(words->source.text + words->at, word, length) != 0)
        return false;
    char last = word[length - 1], next = byte_at(words, words->at + length);
    if (is_letter(last) && (is_letter(next) || is_digit(next)))
        return false;
    words->at += length;
    return true;
}

size_t gw__words_length(const struct gw__words *words)
{
    size_t end = words->at;
    while (byte_at(words, end) > ' ' && byte_at(words, end) < 127 &&
           byte_at(words, end) != '#')
        end++;
    return end - words->at;
}

bool gw__words_digits(struct gw__words *words, const char *what,
                      unsigned *number)
{
    enum { DIGITS_MAX = 9 };
    size_t begin = words->at, end = begin;
    while (is_digit(byte_at(words, end)))
        end++;
    if (end == begin)
        return gw__words_expected(words, what);
    if (end - begin > DIGITS_MAX)
        return gw__source_fail(&words->source, begin,
                               "the number is too large");
    *number = 0;
    for (size_t i = begin; i < end; i++)
        *number = 10 * *number + (unsigned)(byte_at(words, i) - '0');
    words->at = end;
    return true;
}

bool gw__words_expected(struct gw__words *words, const char *what)
{
    enum { SHOWN_MAX = 40 };
    struct gw__source *source = &words->source;
    size_t length = gw__words_length(words);
    if (words->at >= source->bytes || gw__words_byte(words) == '\n')
        return gw__source_fail(source, words->at,
                               "expected %s, found the end of the %s", what,
                               words->at < source->bytes ? "line" : "text");
    if (length == 0)
        return gw__source_fail(
            source, words->at,
            is_blank(gw__words_byte(words)) || gw__words_byte(words) == '#'
                ? "expected %s, found the end of the word"
                : "expected %s, found byte 0x%02x",
            what, (unsigned)(unsigned char)gw__words_byte(words));
    return gw__source_fail(source, words->at, "expected %s, found `%.*s`", what,
                           length < SHOWN_MAX ? (int)length : SHOWN_MAX,
                           source->text + words->at);
}
