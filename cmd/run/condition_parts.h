/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A parsed condition: a tree in an array, operands before their operator, so
 * the last term is the whole.
 */
#ifndef CONDITION_PARTS_H
#define CONDITION_PARTS_H

#include "condition.h"

enum { CONDITION_TERMS = 64 };

enum term_kind { TERM_TEST, TERM_NOT, TERM_AND, TERM_OR };

enum comparison {
    IS_TRUE, /* a name alone */
    IS_EQUAL,
    IS_UNEQUAL,
    IS_BELOW,
    IS_AT_MOST,
    IS_ABOVE,
    IS_AT_LEAST
};

struct term {
    enum term_kind kind;
    unsigned left, right; /* NOT: left alone */
    /* TERM_TEST */
    enum condition_name name;
    enum comparison comparison;
    double number;
};

struct condition {
    unsigned count;
    struct term terms[CONDITION_TERMS];
};

#endif
