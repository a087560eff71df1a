/* SPDX-License-Identifier: MIT
 *
 * Parser for one line of LibSVM text:
 *
 *     row     = blank* [ label [ blank+ "qid:" digits ] ( blank+ entry )* ]
 *               blank* [ "#" anything ] "\n"
 *     entry   = index ":" value         index = digits, value = number
 *
 * The final newline is a sentinel: it is not part of a number or a blank, so
 * loops need not check the end of the line. An entry has at least four
 * characters (" 1:1"), so room for all entries of the line is allocated before
 * the first.
 */
#include "number.h"
#include "reader.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct line {
    struct gw__dataset_builder *g;
    const char *begin;
    enum gw_index_base base;
    struct gw_error *why;
};

/* Fails with "NAME:LINE:COLUMN: " and the text. */
GW_PRINTF(3, 4)
static enum gw_err wrong(const struct line *line, const char *at,
                         const char *format, ...)
{
    char sentence[160];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    return gw_fail(line->why, GW_EDATA, "%s:%zu:%td: %s", line->g->name,
                   line->g->line, at - line->begin + 1, sentence);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_end(const char *at)
{
    return *at == '\n' || *at == '#' || (*at == '\r' && at[1] == '\n');
}

static const char *skip_blanks(const char *at)
{
    while (is_blank(*at))
        at++;
    return at;
}

static bool is_separated(const char *at)
{
    return is_blank(*at) || is_end(at);
}

static enum gw_err read_label(const struct line *line, const char **at,
                              uint32_t *id)
{
    double value = 0;
    const char *begin = *at;
    *at = gw__number(begin, &value, line->g->c_locale);
    if (*at == begin)
        return wrong(line, begin, "the row must begin with a number as label");
    if (**at == ':')
        return wrong(line, begin,
                     "the label is missing: the row begins with an entry");
    if (**at == ',')
        return wrong(line, *at, "a row can have one label only");
    if (!is_separated(*at))
        return wrong(line, *at, "the label must be a number, then a blank");
    if (!isfinite(value))
        return wrong(line, begin, "the label is too large");
    enum gw_err code = gw__dataset_builder_label(line->g, value, id, line->why);
    return code;
}

static enum gw_err skip_qid(const struct line *line, const char **at)
{
    const char *digit = skip_blanks(*at);
    if (strncmp(digit, "qid:", 4) != 0)
        return GW_OK;
    digit += 4;
    *at = digit;
    while (gw__is_digit(**at))
        ++*at;
    if (*at == digit || !is_separated(*at))
        return wrong(line, *at, "\"qid:\" needs a number after it");
    return GW_OK;
}

static enum gw_err read_index(const struct line *line, const char **at,
                              uint32_t *index)
{
    const char *begin = *at;
    struct gw__decimal d = {0};
    *at = gw__digits(begin, &d);
    if (*at == begin && strncmp(begin, "qid:", 4) == 0)
        return wrong(line, begin, "\"qid:\" must come right after the label");
    if (*at == begin || **at != ':')
        return wrong(line, *at, "expected INDEX:VALUE");
    if (d.digit_count > 19 || d.digits > GW_FEATURES_MAX)
        return wrong(line, begin, "the index must be at most %d",
                     GW_FEATURES_MAX);
    if (d.digits == 0 && line->base == GW_BASE_1)
        return wrong(line, begin,
                     "index 0, but the training data counts from 1");
    *index = (uint32_t)d.digits;
    ++*at;
    return GW_OK;
}

static enum gw_err read_value(const struct line *line, const char **at,
                              float *value)
{
    double number = 0;
    const char *begin = *at;
    *at = gw__number(begin, &number, line->g->c_locale);
    if (*at == begin)
        return wrong(line, begin, "expected a number after the colon");
    if (!is_separated(*at))
        return wrong(line, *at, "expected a blank after the value");
    if (fabs(number) > (double)FLT_MAX)
        return wrong(line, begin, "the value is too large for f32");
    *value = (float)number;
    return GW_OK;
}

/* The second entry of `index` in a row that has already been parsed. */
static const char *find_second(const char *at, uint32_t index)
{
    const char *found = at;
    for (unsigned seen = 0; seen < 2; at++) {
        if (!is_blank(*at) || !gw__is_digit(at[1]))
            continue;
        struct gw__decimal d = {0};
        const char *colon = gw__digits(at + 1, &d);
        if (*colon == ':' && d.digits == index) {
            found = at + 1;
            seen++;
        }
    }
    return found;
}

static enum gw_err refuse_repeated(const struct line *line, size_t nonzeros)
{
    uint32_t index = 0;
    bool found = false;
    enum gw_err code = gw__dataset_builder_repeated(line->g, nonzeros, &index,
                                                    &found, line->why);
    if (code || !found)
        return code;
    return wrong(line, find_second(line->begin, index),
                 "index %u occurs twice in this row", index);
}

static enum gw_err read_entries(const struct line *line, const char *at,
                                size_t *count)
{
    struct gw__dataset_builder *g = line->g;
    uint32_t *index = g->data->index + g->data->nonzeros;
    float *value = g->data->value + g->data->nonzeros;
    size_t n = 0;
    bool ascending = true;
    for (at = skip_blanks(at); !is_end(at); at = skip_blanks(at), n++) {
        enum gw_err code = read_index(line, &at, &index[n]);
        if (!code)
            code = read_value(line, &at, &value[n]);
        if (code)
            return code;
        ascending &= n == 0 || index[n] > index[n - 1];
        if (index[n] > g->index_max)
            g->index_max = index[n];
        g->zero_seen |= index[n] == 0;
    }
    *count = n;
    return ascending ? GW_OK : refuse_repeated(line, n);
}

enum gw_err gw__libsvm_row(struct gw__dataset_builder *g, const char *begin,
                           const char *end, enum gw_index_base base,
                           struct gw_error *why)
{
    struct line line = {.g = g, .begin = begin, .base = base, .why = why};
    const char *at = skip_blanks(begin);
    if (is_end(at))
        return GW_OK;
    uint32_t label = 0;
    size_t nonzeros = 0;
    enum gw_err code = read_label(&line, &at, &label);
    if (!code)
        code = skip_qid(&line, &at);
    if (!code)
        code = gw__dataset_builder_reserve(g, (size_t)(end - at) / 4 + 1, why);
    if (!code)
        code = read_entries(&line, at, &nonzeros);
    if (!code)
        gw__dataset_builder_row(g, label, nonzeros);
    return code;
}
