/* SPDX-License-Identifier: MIT
 *
 * Names and settings (KEY=VALUE) in the statements of a topology
 * (gradwire-topology(5)). A name has letters, digits, `_`, `-` and `.`; a range
 * stands for several names.
 */
#include "topology_parts.h"

#include <stdio.h>
#include <string.h>

enum { RATIO_MAX = 1000000, PORTS_MAX = 1024 };

/* ---- names ---- */

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           gw__is_digit(c) || c == '_' || c == '-' || c == '.';
}

/* The end of the name at the beginning of the word. */
static size_t name_end(const struct gw__words *words, size_t begin, size_t end)
{
    while (begin < end && is_name(gw__byte_at(words, begin)))
        begin++;
    return begin;
}

struct range {
    uint32_t first, last;
    int width; /* digits, with leading zeros; 0: no padding */
};

/* [FIRST-LAST] */
static bool read_range(struct gw__words *words, size_t at, size_t end,
                       struct range *range)
{
    size_t digits = ++at, last;
    if (!gw__parse_number(words, &at, GW_HOSTS_MAX, "a number", &range->first))
        return false;
    if (gw__byte_at(words, digits) == '0' && at - digits > 1)
        range->width = (int)(at - digits);
    if (gw__byte_at(words, at) != '-')
        return gw__expected(words, at, "`-`");
    last = ++at;
    if (!gw__parse_number(words, &at, GW_HOSTS_MAX, "a number", &range->last))
        return false;
    if (range->last < range->first)
        return gw__source_fail(
            &words->source, last,
            "a range must go from the smaller number to the larger");
    if (gw__byte_at(words, at) != ']' || at + 1 != end)
        return gw__expected(words, at, "`]` at the end of the name");
    return range->width < GW_TOPOLOGY_NAME_MAX ||
           gw__source_fail(&words->source, digits,
                           "the number has too many zeros");
}

static bool too_long(struct gw__words *words, size_t at)
{
    return gw__source_fail(&words->source, at,
                           "a name can have at most %d characters",
                           GW_TOPOLOGY_NAME_MAX - 1);
}

bool gw__names_read(struct gw__words *words, size_t begin, size_t end,
                    gw__on_name *on_name, void *context)
{
    char name[2 * GW_TOPOLOGY_NAME_MAX];
    struct range range = {0};
    size_t stop = name_end(words, begin, end);
    int length = (int)(stop - begin);
    const char *text = words->source.text + begin;
    if (stop < end && gw__byte_at(words, stop) != '[')
        return gw__expected(words, stop, "a letter, a digit, `_`, `-` or `.`");
    if (stop - begin >= GW_TOPOLOGY_NAME_MAX)
        return too_long(words, begin);
    if (stop == end) {
        snprintf(name, sizeof name, "%.*s", length, text);
        return stop > begin ? on_name(context, name, begin)
                            : gw__expected(words, begin, "a name");
    }
    if (!read_range(words, stop, end, &range))
        return false;
    for (uint32_t i = range.first; i <= range.last; i++) {
        snprintf(name, sizeof name, "%.*s%0*u", length, text, range.width, i);
        if (strlen(name) >= GW_TOPOLOGY_NAME_MAX)
            return too_long(words, begin);
        if (!on_name(context, name, begin))
            return false;
    }
    return true;
}

/* ---- settings ---- */

/* Bytes per second, with or without "/s". */
static bool read_rate(struct gw__words *words, size_t at,
                      struct gw__settings *settings)
{
    char text[48];
    size_t end = words->end;
    if (end - at > 2 && memcmp(words->source.text + end - 2, "/s", 2) == 0)
        end -= 2;
    snprintf(text, sizeof text, "%.*s", (int)(end - at),
             words->source.text + at);
    if (end - at >= sizeof text ||
        gw_parse_bytes(text, &settings->link.rate, NULL))
        return gw__source_fail(&words->source, at,
                               "`%.40s` is not a rate; write bytes per second, "
                               "such as 100M, or 0 for no limit",
                               text);
    settings->link.has_rate = true;
    return true;
}

static bool read_latency(struct gw__words *words, size_t at,
                         struct gw__settings *settings)
{
    settings->link.has_latency = true;
    return gw__parse_span(words, at, words->end, &settings->link.latency_ns);
}

/* "4:1" */
static bool read_ratio(struct gw__words *words, size_t at,
                       struct gw__settings *settings)
{
    size_t begin = at;
    struct gw__link_settings *link = &settings->link;
    if (!gw__parse_number(words, &at, RATIO_MAX, "a ratio, such as 4:1",
                          &link->over))
        return false;
    if (gw__byte_at(words, at) != ':' || at >= words->end)
        return gw__expected(words, at, "`:`, as in 4:1");
    at++;
    if (!gw__parse_number(words, &at, RATIO_MAX, "a number, as in 4:1",
                          &link->under))
        return false;
    if (at != words->end)
        return gw__expected(words, at, "the end of the ratio");
    return (link->over > 0 && link->under > 0) ||
           gw__source_fail(&words->source, begin, "a ratio cannot have a 0");
}

static bool read_ranks(struct gw__words *words, size_t at,
                       struct gw__settings *settings)
{
    size_t begin = at;
    if (!gw__parse_number(words, &at, GW_HOSTS_MAX, "a number of ranks",
                          &settings->ranks))
        return false;
    if (at != words->end)
        return gw__expected(words, at, "a blank");
    return settings->ranks > 0 ||
           gw__source_fail(&words->source, begin,
                           "a host must have at least one rank");
}

/* Reads a number that is the whole rest of the word. */
static bool read_alone(struct gw__words *words, size_t at, uint32_t most,
                       const char *what, uint32_t *number)
{
    if (!gw__parse_number(words, &at, most, what, number))
        return false;
    return at == words->end || gw__expected(words, at, "a blank");
}

static bool read_ports(struct gw__words *words, size_t at,
                       struct gw__settings *settings)
{
    if (!read_alone(words, at, PORTS_MAX, "a number of ports",
                    &settings->ports))
        return false;
    return (settings->ports >= 2 && settings->ports % 2 == 0) ||
           gw__source_fail(&words->source, at,
                           "k must be even: half of a switch's ports lead up");
}

static bool read_levels(struct gw__words *words, size_t at,
                        struct gw__settings *settings)
{
    if (!read_alone(words, at, 3, "a number of levels", &settings->levels))
        return false;
    return settings->levels >= 2 ||
           gw__source_fail(&words->source, at,
                           "a fat tree must have 2 or 3 levels");
}

static const struct key {
    const char *name;
    bool (*read)(struct gw__words *, size_t, struct gw__settings *);
} keys[] = {
    {"rate=", read_rate},
    {"latency=", read_latency},
    {"oversubscription=", read_ratio},
    {"ranks=", read_ranks},
    {"k=", read_ports},
    {"levels=", read_levels},
};
enum { KEYS = sizeof keys / sizeof *keys };

static bool is_key(const struct gw__words *words, const char *name)
{
    size_t length = strlen(name);
    return words->end - words->word >= length &&
           memcmp(words->source.text + words->word, name, length) == 0;
}

bool gw__is_setting(const struct gw__words *words)
{
    return memchr(words->source.text + words->word, '=',
                  words->end - words->word) != NULL;
}

/* "rate= or latency=" */
static bool expected_key(struct gw__words *words, unsigned allowed)
{
    char what[80] = "";
    for (unsigned i = 0; i < KEYS; i++) {
        size_t used = strlen(what);
        if (allowed & 1u << i)
            snprintf(what + used, sizeof what - used, "%s%s",
                     used == 0                 ? ""
                     : allowed >> (i + 1) == 0 ? " or "
                                               : ", ",
                     keys[i].name);
    }
    return gw__expected(words, words->word, what);
}

bool gw__settings_read(struct gw__words *words, unsigned allowed,
                       struct gw__settings *settings)
{
    *settings = (struct gw__settings){0};
    do {
        unsigned i = 0, rates = GW__RATE | GW__OVERSUBSCRIPTION;
        while (i < KEYS && !(allowed & 1u << i && is_key(words, keys[i].name)))
            i++;
        if (i == KEYS)
            return expected_key(words, allowed);
        if (settings->present & 1u << i)
            return gw__source_fail(&words->source, words->word,
                                   "%s is set twice", keys[i].name);
        settings->present |= 1u << i;
        if ((settings->present & rates) == rates)
            return gw__source_fail(
                &words->source, words->word,
                "an uplink can have a rate or an oversubscription, not both");
        if (!keys[i].read(words, words->word + strlen(keys[i].name),
                          settings) ||
            !gw__next_word(words))
            return false;
    } while (!gw__at_line_end(words));
    return true;
}
