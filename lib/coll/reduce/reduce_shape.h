/* SPDX-License-Identifier: MIT
 *
 * Layouts of elements in memory, and their conversion to and from a pair of
 * vectors. f16 and bf16 are computed as f32.
 */
#ifndef GW__REDUCE_SHAPE_H
#define GW__REDUCE_SHAPE_H

#include "reduce_vector.h"

/* The layout of a pair in memory. */
enum shape {
    WHOLE, /* two vectors */
    F16,   /* one vector of f16 */
    BF16   /* one vector of bf16: lanes 0, 2, 4 ... in a, 1, 3, 5 ... in b */
};

#define HIGH_HALF 0xffff0000U

INLINE void f32_from_bf16(const char *p, struct pair *x)
{
    u32 both = (u32)load(p);
    x->a = (vec)(both << 16);
    x->b = (vec)(both & HIGH_HALF);
}

/* Rounds to nearest, ties to even, into the upper half of each lane. The only
 * NaN that comes here has no low bits, so it stays. */
INLINE u32 round_bf16(vec x)
{
    u32 bits = (u32)x;
    return bits + 0x7fff + ((bits >> 16) & 1);
}

INLINE vec bf16_from_f32(const struct pair *x)
{
    return (vec)((round_bf16(x->a) >> 16) | (round_bf16(x->b) & HIGH_HALF));
}

INLINE size_t pair_bytes(enum shape shape)
{
    return shape == WHOLE ? 2 * VECTOR_BYTES : VECTOR_BYTES;
}

INLINE void get(const char *p, enum shape shape, struct pair *x)
{
    switch (shape) {
    case WHOLE:
        x->a = load(p);
        x->b = load(p + VECTOR_BYTES);
        break;
    case F16:
        f32_from_f16(p, x);
        break;
    case BF16:
        f32_from_bf16(p, x);
        break;
    }
}

/* The same for the remaining `bytes`, less than a pair; the rest is 0. */
INLINE void get_part(const char *p, enum shape shape, size_t bytes,
                     struct pair *x)
{
    char whole[2 * VECTOR_BYTES];
    store(whole, load_part(p, bytes));
    if (shape == WHOLE)
        store(whole + VECTOR_BYTES,
              bytes > VECTOR_BYTES
                  ? load_part(p + VECTOR_BYTES, bytes - VECTOR_BYTES)
                  : (vec){0});
    get(whole, shape, x);
}

/* Packs the pair into its memory layout, in a or in both. */
INLINE void pack(enum shape shape, struct pair *x)
{
    if (shape == F16)
        x->a = f16_from_f32(x);
    else if (shape == BF16)
        x->a = bf16_from_f32(x);
}

INLINE void put(char *p, enum shape shape, const struct pair *x)
{
    store(p, x->a);
    if (shape == WHOLE)
        store(p + VECTOR_BYTES, x->b);
}

INLINE void put_part(char *p, enum shape shape, size_t bytes,
                     const struct pair *x)
{
    store_part(p, x->a, bytes);
    if (shape == WHOLE && bytes > VECTOR_BYTES)
        store_part(p + VECTOR_BYTES, x->b, bytes - VECTOR_BYTES);
}

INLINE void put_past(char *p, enum shape shape, const struct pair *x)
{
    stream(p, x->a);
    if (shape == WHOLE)
        stream(p + VECTOR_BYTES, x->b);
}

#endif
