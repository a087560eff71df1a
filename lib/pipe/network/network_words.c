/* SPDX-License-Identifier: MIT
 *
 * Lines and widths of a network's text; see network.h.
 */
#include "network.h"

bool gw__net_next_line(struct gw__words *words)
{
    do
        if (!gw__next_line(words))
            return false;
    while (gw__at_line_end(words) && words->end < words->source.bytes);
    return true;
}

bool gw__net_expected(struct gw__words *words, size_t at, const char *what)
{
    return gw__at_line_end(words) ? gw__source_ended(&words->source, at, what)
                                  : gw__expected(words, at, what);
}

bool gw__net_width(struct gw__words *words, size_t *at, const char *what,
                   unsigned *width)
{
    size_t begin = *at;
    unsigned value = 0;
    if (begin >= words->end || !gw__is_digit(gw__byte_at(words, begin)))
        return gw__net_expected(words, begin, what);
    for (; gw__is_digit(gw__byte_at(words, *at)); ++*at) {
        value = 10 * value + (unsigned)(gw__byte_at(words, *at) - '0');
        if (value > GW_WIDTH_MAX)
            return gw__source_fail(&words->source, begin,
                                   "a width must be at most %d", GW_WIDTH_MAX);
    }
    *width = value;
    return value > 0 ||
           gw__source_fail(&words->source, begin, "a width must be at least 1");
}

bool gw__net_sizes(struct gw__words *words, const char *what, unsigned least,
                   unsigned most, unsigned *sizes, unsigned *count)
{
    size_t at = words->word;
    *count = 0;
    do {
        at += *count > 0;
        if (!gw__net_width(words, &at, what, &sizes[(*count)++]))
            return false;
    } while (*count < most && at < words->end && words->source.text[at] == 'x');
    if (at < words->end)
        return gw__net_expected(words, at,
                                *count < most ? "`x` or a blank" : "a blank");
    return *count >= least ? gw__next_word(words)
                           : gw__net_expected(words, words->word, what);
}
