/* SPDX-License-Identifier: MIT
 *
 * The result that gw_reduce_local must give, computed simply: one element at a
 * time, integers in 64 bits truncated after every step, f16 and bf16 split and
 * joined by the definition of their formats.
 */
#ifndef REDUCE_REFERENCE_H
#define REDUCE_REFERENCE_H

#include <gradwire/coll.h>

#include <math.h>
#include <string.h>

/* The fraction bits of 16-bit floats; all others but the sign are the
 * exponent. */
enum { F16_FRACTION = 10, BF16_FRACTION = 7 };

static inline bool type_is_signed(enum gw_dtype type)
{
    return type <= GW_I64;
}

static inline bool type_is_float(enum gw_dtype type)
{
    return type >= GW_F16;
}

/* ---- 16-bit floats ---- */

static inline int exponent_bias(int fraction)
{
    return (1 << (14 - fraction)) - 1;
}

static inline float small_decode(uint16_t bits, int fraction)
{
    int special = (1 << (15 - fraction)) - 1;
    int exponent = (bits >> fraction) & special;
    int digits = bits & ((1 << fraction) - 1);
    double value;
    if (exponent == special)
        value = digits ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        value = ldexp(digits, 1 - exponent_bias(fraction) - fraction);
    else
        value = ldexp(digits + (1 << fraction),
                      exponent - exponent_bias(fraction) - fraction);
    return (float)(bits & 0x8000 ? -value : value);
}

/* The nearest number with that many digits, ties to even. */
static inline uint16_t small_encode(float x, int fraction)
{
    int bias = exponent_bias(fraction), exponent;
    int special = (1 << (15 - fraction)) - 1;
    int sign = signbit(x) ? 0x8000 : 0;
    if (isnan(x))
        return (uint16_t)(special << fraction | 1 << (fraction - 1));
    if (isinf(x))
        return (uint16_t)(sign | special << fraction);
    frexp((double)x, &exponent); /* |x| < 2^exponent */
    if (x == 0 || exponent < 2 - bias)
        exponent = 2 - bias;
    /* In units of the last digit. The carry into the exponent, up to infinity,
     * is automatic. */
    int digits =
        (int)nearbyint(ldexp(fabs((double)x), fraction + 1 - exponent));
    int bits = digits + ((exponent - 2 + bias) << fraction);
    if (bits > special << fraction)
        bits = special << fraction;
    return (uint16_t)(sign | bits);
}

/* ---- numbers of all types ---- */

/* Signed integers are sign-extended into `bits`. Floats are in `number`, exact
 * as double; f16, bf16 and f32 with the precision of f32. */
struct number {
    uint64_t bits;
    double number;
};

static inline struct number number_load(enum gw_dtype type, const void *p)
{
    size_t bytes = gw_dtype_size(type);
    struct number x = {0, 0};
    float single;
    memcpy(&x.bits, p, bytes); /* little-endian */
    switch (type) {
    case GW_F16:
        x.number = (double)small_decode((uint16_t)x.bits, F16_FRACTION);
        break;
    case GW_BF16:
        x.number = (double)small_decode((uint16_t)x.bits, BF16_FRACTION);
        break;
    case GW_F32:
        memcpy(&single, p, sizeof single);
        x.number = (double)single;
        break;
    case GW_F64:
        memcpy(&x.number, p, sizeof x.number);
        break;
    default:
        if (type_is_signed(type) && x.bits >> (8 * bytes - 1) && bytes < 8)
            x.bits |= ~(uint64_t)0 << (8 * bytes);
    }
    return x;
}

static inline void number_store(enum gw_dtype type, struct number x, void *p)
{
    uint32_t quiet32 = 0x7fc00000;
    uint64_t quiet64 = 0x7ff8000000000000;
    float single = (float)x.number;
    switch (type) {
    case GW_F16:
        x.bits = small_encode(single, F16_FRACTION);
        break;
    case GW_BF16:
        x.bits = small_encode(single, BF16_FRACTION);
        break;
    case GW_F32:
        memcpy(&x.bits, isnan(single) ? (void *)&quiet32 : &single, 4);
        break;
    case GW_F64:
        memcpy(&x.bits, isnan(x.number) ? (void *)&quiet64 : &x.number, 8);
        break;
    default:
        break;
    }
    memcpy(p, &x.bits, gw_dtype_size(type));
}

/* ---- reducing ---- */

static inline double join_numbers(enum gw_dtype type, enum gw_redop op,
                                  double a, double b)
{
    bool less = a < b || (a == b && signbit(a) > signbit(b));
    double x;
    switch (op) {
    case GW_PROD:
        x = type == GW_F64 ? a * b : (double)((float)a * (float)b);
        break;
    case GW_MIN:
    case GW_MAX:
        if (isnan(a) || isnan(b))
            x = (double)NAN;
        else
            x = less == (op == GW_MIN) ? a : b;
        break;
    default:
        x = type == GW_F64 ? a + b : (double)((float)a + (float)b);
    }
    return x;
}

static inline uint64_t join_integers(enum gw_dtype type, enum gw_redop op,
                                     uint64_t a, uint64_t b)
{
    bool less = type_is_signed(type) ? (int64_t)a < (int64_t)b : a < b;
    switch (op) {
    case GW_PROD:
        return a * b;
    case GW_MIN:
        return less ? a : b;
    case GW_MAX:
        return less ? b : a;
    case GW_LAND:
        return a && b;
    case GW_LOR:
        return a || b;
    case GW_BAND:
        return a & b;
    case GW_BOR:
        return a | b;
    default:
        return a + b;
    }
}

static inline struct number divide(enum gw_dtype type, struct number x,
                                   unsigned ranks)
{
    if (type == GW_F64)
        x.number /= ranks;
    else if (type_is_float(type))
        x.number = (double)((float)x.number / (float)ranks);
    else if (type_is_signed(type))
        x.bits = (uint64_t)((int64_t)x.bits / (int64_t)ranks);
    else
        x.bits /= ranks;
    return x;
}

/* Cuts an integer to the size of its type. */
static inline struct number wrap_to_type(enum gw_dtype type, struct number x)
{
    return type_is_float(type) ? x : number_load(type, &x.bits);
}

static inline void reference_element(const struct gw_reduce_local *reduce,
                                     size_t index, void *out)
{
    enum gw_dtype type = reduce->type;
    size_t at = index * gw_dtype_size(type);
    bool divides = reduce->op == GW_AVG && reduce->scale_ranks > 1;
    const char *first = (const char *)reduce->sources[0] + at;
    if (reduce->source_count == 1 && !divides) {
        memcpy(out, first, gw_dtype_size(type));
        return;
    }
    struct number x = number_load(type, first);
    for (unsigned i = 1; i < reduce->source_count; i++) {
        struct number next =
            number_load(type, (const char *)reduce->sources[i] + at);
        if (type_is_float(type))
            x.number = join_numbers(type, reduce->op, x.number, next.number);
        else
            x.bits = join_integers(type, reduce->op, x.bits, next.bits);
        x = wrap_to_type(type, x);
    }
    if (divides)
        x = divide(type, x, reduce->scale_ranks);
    number_store(type, x, out);
}

/* The whole result; dests are not touched. */
static inline void reference_reduce(const struct gw_reduce_local *reduce,
                                    void *out)
{
    for (size_t i = 0; i < reduce->count; i++)
        reference_element(reduce, i,
                          (char *)out + i * gw_dtype_size(reduce->type));
}

#endif
