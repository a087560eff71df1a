/* SPDX-License-Identifier: MIT
 *
 * Words, numbers and lines of a schedule's text; see schedule_words.h.
 */
#include "schedule_words.h"

#include <string.h>

static bool is_symbol(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

char gw__words_byte(const struct gw__schedule_words *words)
{
    return gw__source_byte(&words->source, words->at);
}

bool gw__words_line_end(const struct gw__schedule_words *words)
{
    return words->at >= words->source.bytes || gw__words_byte(words) == '\n';
}

void gw__words_skip(struct gw__schedule_words *words, size_t bytes)
{
    words->at += bytes;
    while (gw__is_blank(gw__words_byte(words)))
        words->at++;
    if (gw__words_byte(words) == '#')
        while (!gw__words_line_end(words))
            words->at++;
}

bool gw__words_next_line(struct gw__schedule_words *words)
{
    while (gw__words_line_end(words) && words->at < words->source.bytes)
        gw__words_skip(words, 1);
    return words->at < words->source.bytes;
}

bool gw__words_accept(struct gw__schedule_words *words, const char *word)
{
    size_t length = strlen(word);
    if (length > words->source.bytes - words->at ||
        memcmp(words->source.text + words->at, word, length) != 0)
        return false;
    char last = word[length - 1],
         next = gw__source_byte(&words->source, words->at + length);
    if (is_symbol(last) && (is_symbol(next) || gw__is_digit(next)))
        return false;
    words->at += length;
    return true;
}

size_t gw__words_length(const struct gw__schedule_words *words)
{
    return gw__source_word_end(&words->source, words->at) - words->at;
}

bool gw__words_digits(struct gw__schedule_words *words, const char *what,
                      unsigned *number)
{
    enum { DIGITS_MAX = 9 };
    size_t begin = words->at, end = begin;
    while (gw__is_digit(gw__source_byte(&words->source, end)))
        end++;
    if (end == begin)
        return gw__words_expected(words, what);
    if (end - begin > DIGITS_MAX)
        return gw__source_fail(&words->source, begin,
                               "the number is too large");
    *number = 0;
    for (size_t i = begin; i < end; i++)
        *number =
            10 * *number + (unsigned)(gw__source_byte(&words->source, i) - '0');
    words->at = end;
    return true;
}

bool gw__words_expected(struct gw__schedule_words *words, const char *what)
{
    struct gw__source *source = &words->source;
    size_t length = gw__words_length(words);
    char c = gw__words_byte(words);
    if (gw__words_line_end(words))
        return gw__source_ended(source, words->at, what);
    if (length == 0 && !gw__is_blank(c) && c != '#')
        return gw__source_fail(source, words->at,
                               "expected %s, found byte 0x%02x", what,
                               (unsigned)(unsigned char)c);
    return gw__source_expected(source, words->at, length, what);
}
