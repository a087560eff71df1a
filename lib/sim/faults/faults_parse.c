/* SPDX-License-Identifier: MIT
 *
 * Parser of fault schedules; faults.h has the form. A line has words separated
 * by blanks, with one word of lookahead. The first error ends the parsing:
 * functions return false after an error that is recorded in the source.
 *
 *     [at TIME or PLACE] VERB [NODES or LINK] [AMOUNT] [for TIME]
 */
#include "faults.h"
#include "faults_words.h"
#include "sim/node_clock.h"

#include <string.h>

static bool parse_time(struct gw__words *words, uint64_t *ns)
{
    return gw__parse_span(words, words->word, words->end, ns) &&
           gw__next_word(words);
}

/* "WORD N", if it is there. */
static bool parse_count(struct gw__words *words, const char *word,
                        uint32_t *number)
{
    if (!gw__is_word(words, word))
        return true;
    if (!gw__next_word(words))
        return false;
    size_t at = words->word;
    if (!gw__parse_number(words, &at, GW__FAULT_OP_MAX, "a number", number))
        return false;
    return at == words->end ? gw__next_word(words)
                            : gw__expected(words, at, "a blank");
}

/* TIME, or "op N [chunk N] [transfer N]" */
static bool parse_at(struct gw__words *words, struct gw__fault *fault)
{
    fault->by_op = gw__is_word(words, "op");
    return fault->by_op ? parse_count(words, "op", &fault->op) &&
                              parse_count(words, "chunk", &fault->chunk) &&
                              parse_count(words, "transfer", &fault->transfer)
                        : parse_time(words, &fault->at_ns);
}

/* NODE or FIRST-LAST */
static bool parse_row(struct gw__words *words, size_t *at, unsigned node_count,
                      struct gw_nodes *nodes)
{
    uint32_t first, last;
    size_t begin = *at;
    if (!gw__parse_number(words, at, node_count - 1, "a node's number", &first))
        return false;
    last = first;
    if (gw__byte_at(words, *at) == '-') {
        ++*at;
        if (!gw__parse_number(words, at, node_count - 1, "a node's number",
                              &last))
            return false;
    }
    if (last < first)
        return gw__source_fail(&words->source, begin,
                               "a range of nodes must begin with the lower "
                               "number");
    for (; first <= last; first++)
        gw__nodes_add(nodes, first);
    return true;
}

static bool parse_nodes(struct gw__words *words, size_t *at,
                        unsigned node_count, struct gw_nodes *nodes)
{
    *nodes = (struct gw_nodes){{0}};
    if (gw__byte_at(words, *at) == '*') {
        *nodes = GW__ALL_NODES;
        ++*at;
        return true;
    }
    for (;; ++*at) {
        if (!parse_row(words, at, node_count, nodes))
            return false;
        if (gw__byte_at(words, *at) != ',')
            return true;
    }
}

static bool parse_operand(struct gw__words *words, unsigned node_count,
                          struct gw__fault *fault)
{
    enum gw__fault_operand operand = gw__fault_verbs[fault->kind].operand;
    size_t at = words->word;
    if (operand == GW__OF_NONE)
        return true;
    if (!parse_nodes(words, &at, node_count, &fault->nodes))
        return false;
    if (operand == GW__OF_LINK) {
        char sign = gw__byte_at(words, at);
        if (sign != '>' && sign != '|')
            return gw__expected(words, at, "`>` (one way) or `|` (both ways)");
        fault->both_ways = sign == '|';
        at++;
        if (!parse_nodes(words, &at, node_count, &fault->to))
            return false;
        if (!gw__fault_joins(fault, node_count))
            return gw__source_fail(&words->source, words->word,
                                   "a link must join two different nodes");
    }
    if (at != words->end)
        return gw__expected(words, at, "a blank");
    return gw__next_word(words);
}

/* 0 to 1 with up to six decimals, an exact number of millionths. */
static bool parse_chance(struct gw__words *words, uint32_t *millionths)
{
    size_t at = words->word;
    uint32_t scale = 1000000;
    if (!gw__parse_number(words, &at, 1, "a chance, such as 0.1", millionths))
        return false;
    *millionths *= scale;
    if (gw__byte_at(words, at) == '.')
        for (at++; gw__is_digit(gw__byte_at(words, at)) && scale > 1; at++) {
            scale /= 10;
            *millionths += (uint32_t)(gw__byte_at(words, at) - '0') * scale;
        }
    if (at != words->end)
        return gw__expected(words, at, "at most six decimals");
    if (*millionths > 1000000)
        return gw__source_fail(&words->source, words->word,
                               "a chance must be at most 1");
    return gw__next_word(words);
}

/* LEAST or LEAST..MOST */
static bool parse_delay(struct gw__words *words, struct gw__fault *fault)
{
    size_t dots = words->word;
    while (dots < words->end && !(gw__byte_at(words, dots) == '.' &&
                                  gw__byte_at(words, dots + 1) == '.'))
        dots++;
    if (!gw__parse_span(words, words->word, dots, &fault->least_ns))
        return false;
    fault->most_ns = fault->least_ns;
    if (dots < words->end &&
        !gw__parse_span(words, dots + 2, words->end, &fault->most_ns))
        return false;
    if (fault->most_ns < fault->least_ns)
        return gw__source_fail(&words->source, words->word,
                               "the second delay must be the longer one");
    return gw__next_word(words);
}

static bool parse_ppm(struct gw__words *words, int32_t *ppm)
{
    size_t at = words->word;
    char sign = gw__byte_at(words, at);
    uint32_t number;
    at += sign == '+' || sign == '-';
    if (!gw__parse_number(words, &at, GW__CLOCK_PPM_MAX,
                          "a rate, such as +2000ppm", &number))
        return false;
    if (words->end - at != 3 || memcmp(words->source.text + at, "ppm", 3) != 0)
        return gw__expected(words, at, "`ppm`");
    *ppm = sign == '-' ? -(int32_t)number : (int32_t)number;
    return gw__next_word(words);
}

static bool parse_after(struct gw__words *words, uint16_t *after)
{
    uint32_t number;
    *after = GW__AT_ONCE;
    if (!gw__is_word(words, "after"))
        return true;
    if (!gw__next_word(words))
        return false;
    size_t at = words->word;
    if (!gw__parse_number(words, &at, GW__CRASH_AFTER_MAX, "a count of actions",
                          &number))
        return false;
    *after = (uint16_t)number;
    return at == words->end ? gw__next_word(words)
                            : gw__expected(words, at, "a blank");
}

static bool parse_amount(struct gw__words *words, struct gw__fault *fault)
{
    switch (fault->kind) {
    case GW__CRASH:
        return parse_after(words, &fault->after);
    case GW__DROP:
    case GW__DUP:
        return parse_chance(words, &fault->chance);
    case GW__DELAY:
        return parse_delay(words, fault);
    case GW__CLOCK:
        return parse_ppm(words, &fault->ppm);
    default:
        return true;
    }
}

static bool parse_for(struct gw__words *words, struct gw__fault *fault)
{
    if (!gw__fault_verbs[fault->kind].lasts || !gw__is_word(words, "for"))
        return true;
    if (!gw__next_word(words))
        return false;
    size_t at = words->word;
    if (!parse_time(words, &fault->for_ns))
        return false;
    return fault->for_ns > 0 ||
           gw__source_fail(&words->source, at,
                           "the duration of a fault must be above 0");
}

static bool parse_verb(struct gw__words *words, struct gw__fault *fault)
{
    for (unsigned kind = 0; kind < GW__FAULT_KINDS; kind++)
        if (gw__is_word(words, gw__fault_verbs[kind].name)) {
            fault->kind = (uint8_t)kind;
            return gw__next_word(words);
        }
    return gw__expected(words, words->word,
                        "crash, restart, pause, resume, cut, drop, dup, delay, "
                        "clock or heal");
}

static bool parse_fault(struct gw__words *words, unsigned node_count,
                        struct gw__fault *fault)
{
    *fault = (struct gw__fault){.chunk = GW__ANY_CHUNK};
    if (gw__is_word(words, "at") &&
        (!gw__next_word(words) || !parse_at(words, fault)))
        return false;
    if (!parse_verb(words, fault) || !parse_operand(words, node_count, fault) ||
        !parse_amount(words, fault) || !parse_for(words, fault))
        return false;
    return gw__at_line_end(words) ||
           gw__expected(words, words->word, "the end of the line");
}

static bool parse_all(struct gw__words *words, unsigned node_count,
                      struct gw__faults *faults)
{
    bool right = gw__next_word(words);
    while (right &&
           (!gw__at_line_end(words) || words->end < words->source.bytes)) {
        if (gw__at_line_end(words)) {
            right = gw__next_line(words);
            continue;
        }
        if (faults->count == GW__FAULTS_MAX)
            return gw__source_fail(&words->source, words->word,
                                   "a schedule can have at most %d faults",
                                   GW__FAULTS_MAX);
        right = parse_fault(words, node_count, &faults->items[faults->count++]);
    }
    return right;
}

enum gw_err gw__faults_parse(const char *text, size_t bytes, const char *name,
                             unsigned nodes, struct gw__faults *faults,
                             struct gw_error *why)
{
    struct gw__words words = {
        .source = {.name = name, .text = text, .bytes = bytes},
        .kind = "schedule",
    };
    faults->count = 0;
    if (nodes == 0 || nodes > GW__NODES_MAX)
        return gw_fail(why, GW_EINVAL,
                       "a network must have 1 to %d nodes, not %u",
                       GW__NODES_MAX, nodes);
    if (parse_all(&words, nodes, faults))
        return GW_OK;
    faults->count = 0;
    return gw_fail(why, words.source.error.code, "%s", words.source.error.text);
}
