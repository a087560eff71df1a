/* SPDX-License-Identifier: MIT
 *
 * The kernels of gw_reduce_local for any CPU, in vectors of 16 bytes, which the
 * compiler maps to the baseline of its target (SSE2 on x86-64) or splits.
 *
 * f16 is converted by integer arithmetic, as in F. Giesen's float_to_half
 * (public domain), with the results of the instructions that other levels use.
 * A pair holds the halves 0, 2, 4 ... and 1, 3, 5 ...
 */
#include "reduce.h"

#define VECTOR_BYTES 16
#include "reduce_part.h"

static bool always_available(void)
{
    return true;
}

#ifdef __x86_64__

#include <emmintrin.h>

INLINE void stream(char *p, vec x)
{
    _mm_stream_si128((__m128i *)(void *)p, (__m128i)x);
}

INLINE void stream_end(void)
{
    _mm_sfence();
}

#else

INLINE void stream(char *p, vec x)
{
    store(p, x);
}

INLINE void stream_end(void)
{
}

#endif

INLINE vec below_f32(vec a, vec b)
{
    return pick((vec)((f32)a < (f32)b), a, b);
}

INLINE vec below_f64(vec a, vec b)
{
    return pick((vec)((f64)a < (f64)b), a, b);
}

/* A half in the low bits of each lane. */
INLINE vec widen_f16(u32 half)
{
    enum { BIAS = 127 - 15, SPECIAL = 0x1f << 23 };
    u32 bits = (half & 0x7fff) << 13;
    u32 exponent = bits & SPECIAL;
    u32 normal = bits + (BIAS << 23);
    u32 infinite = normal + ((128 - 16) << 23);
    /* 2^-14 is added as the hidden bit and subtracted as a number. */
    u32 hidden = normal + (1 << 23);
    u32 subnormal = (u32)((f32)hidden - 0x1p-14F);
    vec x = pick((vec)(exponent == SPECIAL), (vec)infinite, (vec)normal);
    x = pick((vec)(exponent == 0), (vec)subnormal, x);
    return x | (vec)((half & 0x8000) << 16);
}

/* To nearest, ties to even. */
INLINE u32 narrow_f16(vec x)
{
    enum {
        OVERFLOW = (127 + 16) << 23, /* 2^16 */
        NORMAL = (127 - 14) << 23,   /* 2^-14 */
        INFINITE = 255 << 23
    };
    u32 sign = (u32)x & 0x80000000U;
    u32 bits = (u32)x ^ sign;
    u32 normal = (bits - ((127 - 15) << 23) + 0xfff + ((bits >> 13) & 1)) >> 13;
    /* Adding 1/2 puts the last bit of a subnormal half last in the float: the
     * addition rounds. */
    u32 subnormal = (u32)((f32)bits + 0.5F) - (126U << 23);
    vec special = pick((vec)(bits > INFINITE), (vec)((u32){0} + 0x7e00),
                       (vec)((u32){0} + 0x7c00));
    vec half = pick((vec)(bits < NORMAL), (vec)subnormal, (vec)normal);
    half = pick((vec)(bits >= OVERFLOW), special, half);
    return (u32)half | (sign >> 16);
}

INLINE void f32_from_f16(const char *p, struct pair *x)
{
    u32 both = (u32)load(p);
    x->a = widen_f16(both & 0xffff);
    x->b = widen_f16(both >> 16);
}

INLINE vec f16_from_f32(const struct pair *x)
{
    return (vec)(narrow_f16(x->a) | narrow_f16(x->b) << 16);
}

#include "reduce_kernels.h"

const struct gw__reduce_isa gw__reduce_scalar = {
    .name = "scalar",
    .available = always_available,
    .copy = reduce_copy,
    .kernels = KERNELS,
};
