/* SPDX-License-Identifier: MIT
 *
 * The vector operations of reductions: how two vectors are combined, and the
 * transformation of a source before and of the result after.
 */
#ifndef GW__REDUCE_OPS_H
#define GW__REDUCE_OPS_H

#include "reduce_vector.h"

#define ARITHMETIC(t)                                                          \
    INLINE vec sum_##t(vec a, vec b)                                           \
    {                                                                          \
        return (vec)((t)a + (t)b);                                             \
    }                                                                          \
    INLINE vec prod_##t(vec a, vec b)                                          \
    {                                                                          \
        return (vec)((t)a * (t)b);                                             \
    }
/* Signed sums are unsigned ones: they wrap. */
ARITHMETIC(u8)
ARITHMETIC(u16)
ARITHMETIC(u32)
ARITHMETIC(u64)
ARITHMETIC(f32)
ARITHMETIC(f64)

#define ORDER(t)                                                               \
    INLINE vec min_##t(vec a, vec b)                                           \
    {                                                                          \
        return pick((vec)((t)a < (t)b), a, b);                                 \
    }                                                                          \
    INLINE vec max_##t(vec a, vec b)                                           \
    {                                                                          \
        return pick((vec)((t)a > (t)b), a, b);                                 \
    }
ORDER(i8)
ORDER(i16)
ORDER(i32)
ORDER(i64)
ORDER(u8)
ORDER(u16)
ORDER(u32)
ORDER(u64)

/* below(a, b) and below(b, a) have the same bits, except for zeros of different
 * sign and for NaN: then each gives its second operand. Or-ing the two keeps
 * the sign of a negative zero, and keeps NaN. */
#define FLOAT_MIN(t)                                                           \
    INLINE vec min_##t(vec a, vec b)                                           \
    {                                                                          \
        return below_##t(a, b) | below_##t(b, a);                              \
    }
FLOAT_MIN(f32)
FLOAT_MIN(f64)

INLINE vec band(vec a, vec b)
{
    return a & b;
}

INLINE vec bor(vec a, vec b)
{
    return a | b;
}

INLINE vec as_is(vec x)
{
    return x;
}

INLINE vec keep(vec x, unsigned ranks)
{
    (void)ranks;
    return x;
}

#define TRUTH(t)                                                               \
    INLINE vec truth_##t(vec x)                                                \
    {                                                                          \
        return (vec)((t)x != 0);                                               \
    }                                                                          \
    INLINE vec one_##t(vec x, unsigned ranks)                                  \
    {                                                                          \
        (void)ranks;                                                           \
        return (vec)((t)truth_##t(x) & 1);                                     \
    }
TRUTH(u8)
TRUTH(u16)
TRUTH(u32)
TRUTH(u64)

/* Replaces a NaN by the one with the bits `quiet`. max is -min(-a, -b, ...). */
#define FLOAT_ENDS(t, u, type, minus, quiet)                                   \
    INLINE vec minus_##t(vec x)                                                \
    {                                                                          \
        return (vec)((u)x ^ minus);                                            \
    }                                                                          \
    INLINE vec quiet_##t(vec x, unsigned ranks)                                \
    {                                                                          \
        (void)ranks;                                                           \
        return pick((vec)((t)x == (t)x), x, (vec)((u){0} + quiet));            \
    }                                                                          \
    INLINE vec minus_quiet_##t(vec x, unsigned ranks)                          \
    {                                                                          \
        return quiet_##t(minus_##t(x), ranks);                                 \
    }                                                                          \
    INLINE vec mean_##t(vec x, unsigned ranks)                                 \
    {                                                                          \
        return quiet_##t((vec)((t)x / (type)ranks), ranks);                    \
    }
FLOAT_ENDS(f32, u32, float, 0x80000000U, 0x7fc00000U)
FLOAT_ENDS(f64, u64, double, 0x8000000000000000U, 0x7ff8000000000000U)

/* There is no vector division of integers. `wide` holds more digits than
 * `type`, so no quotient rounds up to an integer that it does not reach: it
 * stays 1/ranks away. Numbers of ranks that `wide` cannot hold give 0 either
 * way. */
#define INTEGER_MEAN(t, type, wide)                                            \
    static __attribute__((noinline)) vec mean_##t(vec x, unsigned ranks)       \
    {                                                                          \
        type lanes[sizeof x / sizeof(type)];                                   \
        memcpy(lanes, &x, sizeof x);                                           \
        for (size_t i = 0; i < sizeof x / sizeof(type); i++)                   \
            lanes[i] = (type)((wide)lanes[i] / (wide)ranks);                   \
        memcpy(&x, lanes, sizeof x);                                           \
        return x;                                                              \
    }
INTEGER_MEAN(i8, int8_t, float)
INTEGER_MEAN(i16, int16_t, float)
INTEGER_MEAN(i32, int32_t, double)
INTEGER_MEAN(i64, int64_t, int64_t)
INTEGER_MEAN(u8, uint8_t, float)
INTEGER_MEAN(u16, uint16_t, float)
INTEGER_MEAN(u32, uint32_t, double)
INTEGER_MEAN(u64, uint64_t, uint64_t)

#endif
