/* SPDX-License-Identifier: MIT
 *
 * Vectors of VECTOR_BYTES, by the compilers' own extension. `vec` is a vector
 * of bits; i8 to f64 are views of it for arithmetic: casts between them keep
 * the bits. Comparisons give 0 or -1 per lane.
 */
#ifndef GW__REDUCE_VECTOR_H
#define GW__REDUCE_VECTOR_H

#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

#define VECTOR __attribute__((vector_size(VECTOR_BYTES)))

typedef int8_t i8 VECTOR;
typedef int16_t i16 VECTOR;
typedef int32_t i32 VECTOR;
typedef int64_t i64 VECTOR;
typedef uint8_t u8 VECTOR;
typedef uint16_t u16 VECTOR;
typedef uint32_t u32 VECTOR;
typedef uint64_t u64 VECTOR;
typedef float f32 VECTOR;
typedef double f64 VECTOR;
typedef u64 vec;

INLINE vec load(const char *p)
{
    vec x;
    memcpy(&x, p, sizeof x);
    return x;
}

INLINE void store(char *p, vec x)
{
    memcpy(p, &x, sizeof x);
}

/* The bits of a where the mask is set, else those of b. */
INLINE vec pick(vec mask, vec a, vec b)
{
    return (mask & a) | (~mask & b);
}

/* Two vectors, which the CPU processes in parallel. */
struct pair {
    vec a, b;
};

#endif
