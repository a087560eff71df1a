/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Evaluates a condition and explains the current values. An unknown value (NaN)
 * makes every comparison false, also "!=", so that a missing number never ends
 * a wait. condition_parse.c reads the text.
 */
#include "condition.h"
#include "condition_parts.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
    const char *name, *help;
} names[] = {
#define X(name, help) {#name, help},
    CONDITION_NAMES(X)
#undef X
};

const char *condition_name(enum condition_name name)
{
    assert(name < COND_NAMES);
    return names[name].name;
}

const char *condition_help(enum condition_name name)
{
    assert(name < COND_NAMES);
    return names[name].help;
}

void condition_destroy(struct condition **condition)
{
    free(*condition);
    *condition = NULL;
}

static bool compare_values(double value, enum comparison comparison,
                           double number)
{
    if (isnan(value))
        return false;
    switch (comparison) {
    case IS_TRUE:
        return value < 0 || value > 0;
    case IS_EQUAL:
        return value == number;
    case IS_UNEQUAL:
        return value != number;
    case IS_BELOW:
        return value < number;
    case IS_AT_MOST:
        return value <= number;
    case IS_ABOVE:
        return value > number;
    case IS_AT_LEAST:
        return value >= number;
    }
    return false;
}

static bool term_holds(const struct condition *c, const struct term *term,
                       const struct condition_values *values)
{
    switch (term->kind) {
    case TERM_TEST:
        return compare_values(values->of[term->name], term->comparison,
                              term->number);
    case TERM_NOT:
        return !term_holds(c, &c->terms[term->left], values);
    case TERM_AND:
        return term_holds(c, &c->terms[term->left], values) &&
               term_holds(c, &c->terms[term->right], values);
    case TERM_OR:
        return term_holds(c, &c->terms[term->left], values) ||
               term_holds(c, &c->terms[term->right], values);
    }
    return false;
}

bool condition_holds(const struct condition *condition,
                     const struct condition_values *values)
{
    assert(condition->count > 0);
    return term_holds(condition, &condition->terms[condition->count - 1],
                      values);
}

/* Appends ", alive is 3". */
static size_t explain_name(enum condition_name name, double value, char *out,
                           size_t room, size_t used)
{
    const char *comma = used ? ", " : "";
    int more = isnan(value)
                   ? snprintf(out + used, room - used, "%s%s is not known yet",
                              comma, condition_name(name))
                   : snprintf(out + used, room - used, "%s%s is %.10g", comma,
                              condition_name(name), value);
    return used + (size_t)more < room ? used + (size_t)more : room - 1;
}

void condition_explain(const struct condition *condition,
                       const struct condition_values *values, char *out,
                       size_t room)
{
    bool reported[COND_NAMES] = {false};
    size_t used = 0;
    assert(room > 0);
    *out = 0;
    for (unsigned i = 0; i < condition->count; i++) {
        const struct term *term = &condition->terms[i];
        if (term->kind != TERM_TEST || reported[term->name])
            continue;
        reported[term->name] = true;
        used =
            explain_name(term->name, values->of[term->name], out, room, used);
    }
}
