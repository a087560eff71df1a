/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Integers as elements of every type, computed on their bits, so that the
 * checks do not depend on the conversions that they check.
 */
#include "pattern_element.h"

#include <assert.h>

bool element_is_float(enum gw_dtype type)
{
    return type == GW_F16 || type == GW_BF16 || type == GW_F32 ||
           type == GW_F64;
}

bool element_is_unsigned(enum gw_dtype type)
{
    return type == GW_U8 || type == GW_U16 || type == GW_U32 || type == GW_U64;
}

/* The bits of a small integer as an IEEE number with these many bits of
 * exponent and fraction. Exact when `v` has no more bits than the fraction. */
static uint64_t float_bits(int64_t v, unsigned exponent_bits,
                           unsigned fraction_bits)
{
    uint64_t magnitude = (uint64_t)(v < 0 ? -v : v);
    uint64_t sign = (uint64_t)(v < 0) << (exponent_bits + fraction_bits);
    if (v == 0)
        return 0;
    unsigned top = 63 - (unsigned)__builtin_clzll(magnitude);
    assert(top <= fraction_bits || __builtin_ctzll(magnitude) > 0);
    uint64_t bias = ((uint64_t)1 << (exponent_bits - 1)) - 1;
    uint64_t fraction = magnitude ^ ((uint64_t)1 << top);
    fraction = top <= fraction_bits ? fraction << (fraction_bits - top)
                                    : fraction >> (top - fraction_bits);
    return sign | (bias + top) << fraction_bits | fraction;
}

uint64_t element_bits(enum gw_dtype type, int64_t v)
{
    switch (type) {
    case GW_F16:
        return float_bits(v, 5, 10);
    case GW_BF16:
        return float_bits(v, 8, 7);
    case GW_F32:
        return float_bits(v, 8, 23);
    case GW_F64:
        return float_bits(v, 11, 52);
    default:
        return (uint64_t)v;
    }
}

int64_t element_wrap(enum gw_dtype type, int64_t v)
{
    unsigned unused_bits = 64 - 8 * (unsigned)gw_dtype_size(type);
    if (element_is_float(type) || unused_bits == 0)
        return v;
    uint64_t high = (uint64_t)v << unused_bits;
    return element_is_unsigned(type) ? (int64_t)(high >> unused_bits)
                                     : (int64_t)high >> unused_bits;
}
