/* SPDX-License-Identifier: MIT
 *
 * See elements.h. Deliberately simple and slow: the kernels are checked against
 * it.
 */
#include "elements.h"

#include <math.h>
#include <string.h>

/* f16 of a small whole number, and back: 1 sign, 5 exponent, 10 fraction. */
static uint16_t half_of(int64_t v)
{
    int exponent;
    double fraction = frexp((double)v, &exponent); /* in [0.5, 1) */
    if (v == 0)
        return 0;
    unsigned bits = (unsigned)((fraction * 2 - 1) * 1024);
    return (uint16_t)((unsigned)(exponent - 1 + 15) << 10 | bits);
}

static double of_half(uint16_t half)
{
    int exponent = half >> 10 & 31;
    double fraction = (half & 1023) / 1024.0;
    double size =
        exponent ? ldexp(1 + fraction, exponent - 15) : ldexp(fraction, -14);
    return half >> 15 ? -size : size;
}

void put_element(void *buffer, enum gw_dtype type, size_t i, int64_t v)
{
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    switch (type) {
    case GW_I8:
    case GW_U8:
        ((uint8_t *)buffer)[i] = (uint8_t)v;
        break;
    case GW_I16:
    case GW_U16:
        ((uint16_t *)buffer)[i] = (uint16_t)v;
        break;
    case GW_I32:
    case GW_U32:
        ((uint32_t *)buffer)[i] = (uint32_t)v;
        break;
    case GW_I64:
    case GW_U64:
        ((uint64_t *)buffer)[i] = (uint64_t)v;
        break;
    case GW_F16:
        ((uint16_t *)buffer)[i] = half_of(v);
        break;
    case GW_BF16:
        ((uint16_t *)buffer)[i] = (uint16_t)(bits >> 16);
        break;
    case GW_F32:
        ((float *)buffer)[i] = f;
        break;
    default:
        ((double *)buffer)[i] = (double)v;
        break;
    }
}

double get_element(const void *buffer, enum gw_dtype type, size_t i)
{
    uint32_t bits;
    float f;
    switch (type) {
    case GW_I8:
        return ((const int8_t *)buffer)[i];
    case GW_U8:
        return ((const uint8_t *)buffer)[i];
    case GW_I16:
        return ((const int16_t *)buffer)[i];
    case GW_U16:
        return ((const uint16_t *)buffer)[i];
    case GW_I32:
        return ((const int32_t *)buffer)[i];
    case GW_U32:
        return ((const uint32_t *)buffer)[i];
    case GW_I64:
        return (double)((const int64_t *)buffer)[i];
    case GW_U64:
        return (double)((const uint64_t *)buffer)[i];
    case GW_F16:
        return of_half(((const uint16_t *)buffer)[i]);
    case GW_BF16:
        bits = (uint32_t)((const uint16_t *)buffer)[i] << 16;
        memcpy(&f, &bits, 4);
        return (double)f;
    case GW_F32:
        return (double)((const float *)buffer)[i];
    default:
        return ((const double *)buffer)[i];
    }
}

int64_t reduce_whole(enum gw_redop op, int64_t a, int64_t b)
{
    switch (op) {
    case GW_PROD:
        return a * b;
    case GW_MIN:
        return a < b ? a : b;
    case GW_MAX:
        return a > b ? a : b;
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
