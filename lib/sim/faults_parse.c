/* SPDX-License-Identifier: MIT
 *
 * Fault schedules, in: see faults.h for the form. A line is words between
 * blanks, `#` begins a comment. The first error ends it all, and names line and
 * column. Functions return false after an error that stands in the source.
 *
 *     [at TIME] VERB [NODES or LINK] [AMOUNT] [for TIME]
 */
#include "faults.h"

#include <plan/text.h>

#include <string.h>

struct reader {
    struct gw__source source;
    unsigned nodes;
    size_t word; /* where the word begins ... */
    size_t end;  /* ... and ends; nothing between: the end of the line */
};

/* The byte at `at`; 0 at the end of the text, which ends a word too. */
static char byte_at(const struct reader *reader, size_t at)
{
    return at < reader->source.bytes ? reader->source.text[at] : 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool at_line_end(const struct reader *reader)
{
    return reader->word == reader->end;
}

/* Goes on to the next word of the line, which the parser looks at. */
static bool next_word(struct reader *reader)
{
    size_t at = reader->end;
    while (is_blank(byte_at(reader, at)))
        at++;
    reader->word = at;
    while (byte_at(reader, at) > ' ' && byte_at(reader, at) < 127 &&
           byte_at(reader, at) != '#')
        at++;
    reader->end = at;
    char c = byte_at(reader, at);
    bool ends = at >= reader->source.bytes || c == '\n' || c == '#';
    return ends || is_blank(c) ||
           gw__source_fail(&reader->source, at, "a schedule has no byte 0x%02x",
                           (unsigned)(unsigned char)c);
}

/* From the end of a line to the first word of the next. */
static bool next_line(struct reader *reader)
{
    size_t at = reader->end;
    while (at < reader->source.bytes && byte_at(reader, at) != '\n')
        at++;
    reader->end = at < reader->source.bytes ? at + 1 : at;
    return next_word(reader);
}

static bool is_word(const struct reader *reader, const char *word)
{
    size_t length = reader->end - reader->word;
    return length == strlen(word) &&
           memcmp(reader->source.text + reader->word, word, length) == 0;
}

/* Fails at `at`, in or behind the word. */
static bool expected(struct reader *reader, size_t at, const char *what)
{
    enum { SHOWN_MAX = 40 };
    struct gw__source *source = &reader->source;
    size_t rest = reader->end - at;
    if (at_line_end(reader))
        return gw__source_fail(source, at,
                               "expected %s, found the end of the line", what);
    if (rest == 0)
        return gw__source_fail(source, at,
                               "expected %s, found the end of the word", what);
    return gw__source_fail(source, at, "expected %s, found `%.*s`", what,
                           (int)(rest < SHOWN_MAX ? rest : SHOWN_MAX),
                           source->text + at);
}

static bool parse_span(struct reader *reader, size_t begin, size_t end,
                       uint64_t *ns)
{
    char text[48] = "";
    struct gw_error why;
    struct gw__source *source = &reader->source;
    size_t length = end - begin;
    if (length == 0)
        return expected(reader, begin, "a duration, such as 20ms");
    length = length < sizeof text ? length : sizeof text - 1;
    memcpy(text, source->text + begin, length);
    if (gw_parse_duration(text, ns, &why))
        return gw__source_fail(source, begin, "%s", why.text);
    if (*ns > GW__FAULT_NS_MAX)
        return gw__source_fail(source, begin, "%s is longer than a day", text);
    return true;
}

static bool parse_time(struct reader *reader, uint64_t *ns)
{
    return parse_span(reader, reader->word, reader->end, ns) &&
           next_word(reader);
}

/* Digits at *at, up to `most`. */
static bool parse_number(struct reader *reader, size_t *at, uint32_t most,
                         const char *what, uint32_t *number)
{
    size_t begin = *at;
    uint64_t value = 0;
    if (begin >= reader->end || !is_digit(byte_at(reader, begin)))
        return expected(reader, begin, what);
    for (; is_digit(byte_at(reader, *at)); ++*at) {
        value = 10 * value + (uint64_t)(byte_at(reader, *at) - '0');
        if (value > most)
            return gw__source_fail(&reader->source, begin,
                                   "%s is at most %u here", what, most);
    }
    *number = (uint32_t)value;
    return true;
}

static bool parse_nodes(struct reader *reader, size_t *at, uint64_t *nodes)
{
    *nodes = 0;
    if (byte_at(reader, *at) == '*') {
        *nodes = GW__ALL_NODES;
        ++*at;
        return true;
    }
    for (;; ++*at) {
        uint32_t node;
        if (!parse_number(reader, at, reader->nodes - 1, "a node's number",
                          &node))
            return false;
        *nodes |= UINT64_C(1) << node;
        if (byte_at(reader, *at) != ',')
            return true;
    }
}

/* A node has no link to itself; a link needs two. */
static bool check_link(struct reader *reader, const struct gw__fault *fault)
{
    uint64_t all = GW__ALL_NODES >> (GW__NODES_MAX - reader->nodes);
    uint64_t from = fault->nodes & all, to = fault->to & all;
    bool one = (from & (from - 1)) == 0;
    return !(one && from == to) ||
           gw__source_fail(&reader->source, reader->word,
                           "a link joins two different nodes");
}

static bool parse_operand(struct reader *reader, struct gw__fault *fault)
{
    enum gw__fault_operand operand = gw__fault_verbs[fault->kind].operand;
    size_t at = reader->word;
    if (operand == GW__OF_NONE)
        return true;
    if (!parse_nodes(reader, &at, &fault->nodes))
        return false;
    if (operand == GW__OF_LINK) {
        char sign = byte_at(reader, at);
        if (sign != '>' && sign != '|')
            return expected(reader, at, "`>` (one way) or `|` (both ways)");
        fault->both_ways = sign == '|';
        at++;
        if (!parse_nodes(reader, &at, &fault->to) || !check_link(reader, fault))
            return false;
    }
    if (at != reader->end)
        return expected(reader, at, "a blank");
    return next_word(reader);
}

/* 0 to 1 with up to six decimals, so that millionths hold it. */
static bool parse_chance(struct reader *reader, uint32_t *millionths)
{
    size_t at = reader->word;
    uint32_t scale = 1000000;
    if (!parse_number(reader, &at, 1, "a chance, such as 0.1,", millionths))
        return false;
    *millionths *= scale;
    if (byte_at(reader, at) == '.')
        for (at++; is_digit(byte_at(reader, at)) && scale > 1; at++) {
            scale /= 10;
            *millionths += (uint32_t)(byte_at(reader, at) - '0') * scale;
        }
    if (at != reader->end)
        return expected(reader, at, "at most six decimals");
    if (*millionths > 1000000)
        return gw__source_fail(&reader->source, reader->word,
                               "a chance is at most 1");
    return next_word(reader);
}

/* LEAST or LEAST..MOST */
static bool parse_delay(struct reader *reader, struct gw__fault *fault)
{
    size_t dots = reader->word;
    while (dots < reader->end &&
           !(byte_at(reader, dots) == '.' && byte_at(reader, dots + 1) == '.'))
        dots++;
    if (!parse_span(reader, reader->word, dots, &fault->least_ns))
        return false;
    fault->most_ns = fault->least_ns;
    if (dots < reader->end &&
        !parse_span(reader, dots + 2, reader->end, &fault->most_ns))
        return false;
    if (fault->most_ns < fault->least_ns)
        return gw__source_fail(&reader->source, reader->word,
                               "the longer delay comes second");
    return next_word(reader);
}

static bool parse_ppm(struct reader *reader, int32_t *ppm)
{
    enum { HALF = 500000 }; /* GW__CLOCK_PPM_MAX */
    size_t at = reader->word;
    char sign = byte_at(reader, at);
    uint32_t number;
    at += sign == '+' || sign == '-';
    if (!parse_number(reader, &at, HALF, "a rate, such as +2000ppm,", &number))
        return false;
    if (reader->end - at != 3 ||
        memcmp(reader->source.text + at, "ppm", 3) != 0)
        return expected(reader, at, "`ppm`");
    *ppm = sign == '-' ? -(int32_t)number : (int32_t)number;
    return next_word(reader);
}

static bool parse_after(struct reader *reader, uint16_t *after)
{
    uint32_t number;
    *after = GW__AT_ONCE;
    if (!is_word(reader, "after"))
        return true;
    if (!next_word(reader))
        return false;
    size_t at = reader->word;
    if (!parse_number(reader, &at, GW__CRASH_AFTER_MAX, "a count of actions",
                      &number))
        return false;
    *after = (uint16_t)number;
    return at == reader->end ? next_word(reader)
                             : expected(reader, at, "a blank");
}

static bool parse_amount(struct reader *reader, struct gw__fault *fault)
{
    switch (fault->kind) {
    case GW__CRASH:
        return parse_after(reader, &fault->after);
    case GW__DROP:
    case GW__DUP:
        return parse_chance(reader, &fault->chance);
    case GW__DELAY:
        return parse_delay(reader, fault);
    case GW__CLOCK:
        return parse_ppm(reader, &fault->ppm);
    default:
        return true;
    }
}

static bool parse_for(struct reader *reader, struct gw__fault *fault)
{
    if (!gw__fault_verbs[fault->kind].lasts || !is_word(reader, "for"))
        return true;
    if (!next_word(reader))
        return false;
    size_t at = reader->word;
    if (!parse_time(reader, &fault->for_ns))
        return false;
    return fault->for_ns > 0 ||
           gw__source_fail(&reader->source, at,
                           "a fault lasts longer than nothing");
}

static bool parse_verb(struct reader *reader, struct gw__fault *fault)
{
    for (unsigned kind = 0; kind < GW__FAULT_KINDS; kind++)
        if (is_word(reader, gw__fault_verbs[kind].name)) {
            fault->kind = (uint8_t)kind;
            return next_word(reader);
        }
    return expected(reader, reader->word,
                    "crash, restart, pause, resume, cut, drop, dup, delay, "
                    "clock or heal");
}

static bool parse_fault(struct reader *reader, struct gw__fault *fault)
{
    *fault = (struct gw__fault){0};
    if (is_word(reader, "at") &&
        (!next_word(reader) || !parse_time(reader, &fault->at_ns)))
        return false;
    if (!parse_verb(reader, fault) || !parse_operand(reader, fault) ||
        !parse_amount(reader, fault) || !parse_for(reader, fault))
        return false;
    return at_line_end(reader) ||
           expected(reader, reader->word, "the end of the line");
}

static bool parse_all(struct reader *reader, struct gw__faults *faults)
{
    bool right = next_word(reader);
    while (right && (!at_line_end(reader) ||
                     reader->end < reader->source.bytes)) {
        if (at_line_end(reader)) {
            right = next_line(reader);
            continue;
        }
        if (faults->count == GW__FAULTS_MAX)
            return gw__source_fail(&reader->source, reader->word,
                                   "a schedule has at most %d faults",
                                   GW__FAULTS_MAX);
        right = parse_fault(reader, &faults->items[faults->count++]);
    }
    return right;
}

enum gw_err gw__faults_parse(const char *text, size_t bytes, const char *name,
                             unsigned nodes, struct gw__faults *faults,
                             struct gw_error *why)
{
    struct reader reader = {
        .source = {.name = name, .text = text, .bytes = bytes},
        .nodes = nodes,
    };
    faults->count = 0;
    if (nodes == 0 || nodes > GW__NODES_MAX)
        return gw_fail(why, GW_EINVAL, "a network has 1 to %d nodes, not %u",
                       GW__NODES_MAX, nodes);
    if (parse_all(&reader, faults))
        return GW_OK;
    faults->count = 0;
    return gw_fail(why, reader.source.error.code, "%s",
                   reader.source.error.text);
}
