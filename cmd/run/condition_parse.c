/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reads a condition by recursive descent, one function per rule of the grammar
 * in condition.h. An error names the column, from 1, and the expected words.
 */
#include "condition_parts.h"

#include "common/text/suggest.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 32 };

struct parser {
    const char *text;
    size_t at;
    unsigned depth; /* of brackets and "!" */
    struct condition *condition;
    struct gw_error *why;
};

static void skip_blanks(struct parser *p)
{
    while (isspace((unsigned char)p->text[p->at]))
        p->at++;
}

/* The length of the word or sign at the parser, for the message. */
static size_t thing_length(const char *s)
{
    size_t length = 0;
    if (isalnum((unsigned char)*s) || *s == '_')
        while (isalnum((unsigned char)s[length]) || s[length] == '_')
            length++;
    else
        length = strcspn(s, " \t\nabcdefghijklmnopqrstuvwxyz0123456789()");
    if (!length && *s)
        length = 1;
    return length < 40 ? length : 40;
}

static enum gw_err expected(struct parser *p, const char *what)
{
    const char *here = p->text + p->at;
    if (!*here)
        return gw_fail(p->why, GW_EINVAL,
                       "column %zu: expected %s, but the condition ends here",
                       p->at + 1, what);
    return gw_fail(p->why, GW_EINVAL, "column %zu: expected %s, not \"%.*s\"",
                   p->at + 1, what, (int)thing_length(here), here);
}

static bool skip_sign(struct parser *p, const char *sign)
{
    size_t length = strlen(sign);
    skip_blanks(p);
    if (strncmp(p->text + p->at, sign, length) != 0)
        return false;
    p->at += length;
    return true;
}

static enum gw_err add_term(struct parser *p, const struct term *term)
{
    struct condition *c = p->condition;
    if (c->count == CONDITION_TERMS)
        return gw_fail(p->why, GW_EINVAL,
                       "column %zu: the condition is too long", p->at + 1);
    c->terms[c->count++] = *term;
    return GW_OK;
}

static enum gw_err unknown_name(struct parser *p, const char *name)
{
    struct suggestion suggestion;
    char hint[96], all[256];
    size_t used = 0;
    suggestion_begin(&suggestion, name);
    for (unsigned i = 0; i < COND_NAMES; i++) {
        suggestion_offer(&suggestion, condition_name(i));
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s",
                                 i ? ", " : "", condition_name(i));
    }
    return gw_fail(p->why, GW_EINVAL,
                   "column %zu: unknown name \"%s\"%s (names: %s)", p->at + 1,
                   name, suggestion_text(&suggestion, hint), all);
}

static enum gw_err parse_name(struct parser *p, enum condition_name *name)
{
    char word[48];
    const char *here = p->text + p->at;
    if (!isalpha((unsigned char)*here) && *here != '_')
        return expected(p, "a name such as alive or epoch");
    size_t length = thing_length(here);
    snprintf(word, sizeof word, "%.*s", (int)length, here);
    for (unsigned i = 0; i < COND_NAMES; i++)
        if (strcmp(word, condition_name(i)) == 0) {
            *name = (enum condition_name)i;
            p->at += length;
            return GW_OK;
        }
    return unknown_name(p, word);
}

/* IS_TRUE when there is none. */
static enum comparison parse_comparison(struct parser *p)
{
    static const struct {
        const char *sign;
        enum comparison comparison;
    } signs[] = {{"==", IS_EQUAL}, {"!=", IS_UNEQUAL},  {"<=", IS_AT_MOST},
                 {"<", IS_BELOW},  {">=", IS_AT_LEAST}, {">", IS_ABOVE}};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (skip_sign(p, signs[i].sign))
            return signs[i].comparison;
    return IS_TRUE;
}

static enum gw_err parse_number(struct parser *p, double *number)
{
    skip_blanks(p);
    const char *here = p->text + p->at;
    const char *digits = here + (*here == '-' || *here == '+');
    bool plain = isdigit((unsigned char)*digits) || *digits == '.';
    bool hexadecimal = *digits == '0' && tolower(digits[1]) == 'x';
    char *end;
    *number = strtod(here, &end);
    if (!plain || hexadecimal || end == here || !isfinite(*number) ||
        isalnum((unsigned char)*end))
        return expected(p, "a number");
    p->at += (size_t)(end - here);
    return GW_OK;
}

static enum gw_err parse_test(struct parser *p)
{
    struct term term = {.kind = TERM_TEST};
    if (parse_name(p, &term.name))
        return p->why->code;
    term.comparison = parse_comparison(p);
    if (term.comparison == IS_TRUE && p->text[p->at] == '=')
        return expected(p, "== (two equal signs)");
    if (term.comparison != IS_TRUE && parse_number(p, &term.number))
        return p->why->code;
    return add_term(p, &term);
}

static enum gw_err parse_or(struct parser *p);

static enum gw_err parse_brackets(struct parser *p)
{
    if (parse_or(p))
        return p->why->code;
    return skip_sign(p, ")") ? GW_OK : expected(p, "\")\", \"&&\" or \"||\"");
}

static enum gw_err parse_not(struct parser *p)
{
    enum gw_err code;
    if (++p->depth > DEPTH_MAX)
        return gw_fail(p->why, GW_EINVAL,
                       "column %zu: the condition is nested too deeply",
                       p->at + 1);
    if (skip_sign(p, "!")) {
        code = parse_not(p);
        struct term term = {.kind = TERM_NOT, .left = p->condition->count - 1};
        code = code ? code : add_term(p, &term);
    } else if (skip_sign(p, "(")) {
        code = parse_brackets(p);
    } else {
        code = parse_test(p);
    }
    p->depth--;
    return code;
}

/* One level of equal operators: part { sign part }. */
static enum gw_err parse_row(struct parser *p, const char *sign,
                             enum term_kind kind,
                             enum gw_err (*part)(struct parser *))
{
    enum gw_err code = part(p);
    while (!code && skip_sign(p, sign)) {
        struct term term = {.kind = kind, .left = p->condition->count - 1};
        code = part(p);
        term.right = p->condition->count - 1;
        code = code ? code : add_term(p, &term);
    }
    return code;
}

static enum gw_err parse_and(struct parser *p)
{
    return parse_row(p, "&&", TERM_AND, parse_not);
}

static enum gw_err parse_or(struct parser *p)
{
    return parse_row(p, "||", TERM_OR, parse_and);
}

enum gw_err condition_parse(const char *text, struct condition **condition,
                            struct gw_error *why)
{
    struct gw_error unseen;
    struct parser p = {.text = text, .why = why ? why : &unseen};
    *condition = NULL;
    p.condition = calloc(1, sizeof *p.condition);
    if (!p.condition)
        return gw_fail(why, GW_ENOMEM, "a condition");
    enum gw_err code = parse_or(&p);
    skip_blanks(&p);
    if (!code && text[p.at])
        code = expected(&p, "\"&&\", \"||\" or the end");
    if (code)
        condition_destroy(&p.condition);
    *condition = p.condition;
    return code;
}
