/* SPDX-License-Identifier: MIT
 *
 * Evaluates expressions: a stack machine over 64-bit integers in which all
 * arithmetic is checked. Division rounds down and a remainder is never
 * negative, so that (i - 1) % P is the left neighbour of every i.
 */
#include "text.h"

#include <assert.h>

/* An operand is emitted before its operator; the operator knows where the
 * expression begins, unless it is a call or a sign, which begin it. */
uint32_t gw__expr_offset(const struct gw__script *script, struct gw__expr expr)
{
    uint32_t offset = script->ops[expr.begin].offset;
    uint32_t last = script->ops[expr.end - 1].offset;
    return last < offset ? last : offset;
}

static bool power(int64_t base, int64_t exponent, int64_t *result)
{
    bool fits = true;
    *result = 1;
    if (base == 0 || base == 1)
        *result = exponent == 0 || base == 1;
    else if (base == -1)
        *result = exponent % 2 ? -1 : 1;
    else
        while (fits && exponent-- > 0)
            fits = !__builtin_mul_overflow(*result, base, result);
    return fits;
}

static int64_t divide_down(int64_t a, int64_t b)
{
    int64_t quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

/* Why `a CODE b` has no value, or NULL and *result. */
static const char *binary(uint32_t code, int64_t a, int64_t b, int64_t *result)
{
    bool fits = true;
    switch (code) {
    case GW__OP_MIN:
        *result = a < b ? a : b;
        break;
    case GW__OP_MAX:
        *result = a > b ? a : b;
        break;
    case GW__OP_XOR:
        *result = a ^ b;
        break;
    case GW__OP_ADD:
        fits = !__builtin_add_overflow(a, b, result);
        break;
    case GW__OP_SUBTRACT:
        fits = !__builtin_sub_overflow(a, b, result);
        break;
    case GW__OP_MULTIPLY:
        fits = !__builtin_mul_overflow(a, b, result);
        break;
    case GW__OP_DIVIDE:
        if (b == 0)
            return "division by zero";
        fits = !(a == INT64_MIN && b == -1);
        *result = fits ? divide_down(a, b) : 0;
        break;
    case GW__OP_MODULO:
        if (b <= 0)
            return "`%` needs a positive number on its right";
        *result = a % b < 0 ? a % b + b : a % b;
        break;
    default:
        if (b < 0)
            return "a power needs an exponent of 0 or more";
        fits = power(a, b, result);
    }
    return fits ? NULL : "the number is too large";
}

static const char *unary(uint32_t code, int64_t a, int64_t *result)
{
    if (code == GW__OP_NEGATE)
        return __builtin_sub_overflow(0, a, result) ? "the number is too large"
                                                    : NULL;
    if (a <= 0)
        return "log2 needs a positive number";
    *result = 0;
    while (*result < 63 && (uint64_t)1 << *result < (uint64_t)a)
        ++*result;
    return NULL;
}

bool gw__expr_value(struct gw__script *script, struct gw__expr expr,
                    int64_t *value)
{
    /* An operator waits for its right side at five levels of each nesting. */
    int64_t stack[6 * (GW__DEPTH_MAX + 1)] = {0};
    unsigned top = 0;
    for (uint32_t i = expr.begin; i < expr.end; i++) {
        const struct gw__op *op = &script->ops[i];
        const char *fault = NULL;
        if (op->code == GW__OP_NUMBER)
            stack[top++] = op->value;
        else if (op->code == GW__OP_VARIABLE)
            stack[top++] = script->values[op->value];
        else if (op->code < GW__OP_BINARY)
            fault = unary(op->code, stack[top - 1], &stack[top - 1]);
        else {
            top--;
            fault =
                binary(op->code, stack[top - 1], stack[top], &stack[top - 1]);
        }
        assert(top >= 1 && top < sizeof stack / sizeof *stack);
        if (fault)
            return gw__source_fail(script->lexer.source, op->offset, "%s",
                                   fault);
    }
    *value = stack[0];
    return true;
}
