/* SPDX-License-Identifier: MIT
 *
 * Conversion between f16 and f32. Vector instructions do most of it if the CPU
 * has them. The rest is done with integers and gives the same results as those
 * instructions: round to nearest, ties to even; a NaN becomes quiet and keeps
 * the upper bits of its payload.
 */
#include "update_parts.h"

#include <string.h>

enum { HALF_INFINITE = 0x7c00, HALF_QUIET = 0x0200, FRACTION = 0x7fffff };

/* Removes the low `places` (1 to 31) bits, with rounding. */
static uint32_t round_off(uint32_t x, unsigned places)
{
    uint32_t odd = (x >> places) & 1;
    return (x + (1U << (places - 1)) - 1 + odd) >> places;
}

static uint16_t narrow(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    uint32_t fraction = bits & FRACTION;
    int exponent = (int)(bits >> 23 & 0xff) - 127 + 15;
    uint32_t half;
    if (exponent == 255 - 127 + 15 && fraction)
        half = HALF_INFINITE | HALF_QUIET | fraction >> 13;
    else if (exponent >= 31)
        half = HALF_INFINITE;
    else if (exponent > 0)
        /* A fraction that rounds up to 1 carries into the exponent. */
        half = round_off((uint32_t)exponent << 23 | fraction, 13);
    else if (exponent >= -10)
        half = round_off(fraction | (FRACTION + 1), (unsigned)(14 - exponent));
    else
        half = 0;
    return (uint16_t)(sign | half);
}

static float widen_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
    if (exponent == 0) {
        float value = (float)fraction * 0x1p-24F;
        return sign ? -value : value;
    }
    uint32_t bits = sign | (exponent - 15 + 127) << 23 | fraction << 13;
    if (exponent == 31)
        bits = sign | 0x7f800000 | fraction << 13 | (fraction ? 1U << 22 : 0);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void gw__to_half(uint16_t *out, const float *in, size_t count)
{
    const struct gw__update_isa *isa = gw__update_current();
    size_t i = isa->to_half ? isa->to_half(out, in, count) : 0;
    for (; i < count; i++)
        out[i] = narrow(in[i]);
}

void gw__from_half(float *out, const uint16_t *in, size_t count)
{
    const struct gw__update_isa *isa = gw__update_current();
    size_t i = isa->from_half ? isa->from_half(out, in, count) : 0;
    for (; i < count; i++)
        out[i] = widen_half(in[i]);
}
