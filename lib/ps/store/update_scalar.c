/* SPDX-License-Identifier: MIT
 *
 * The updaters for any CPU, in vectors of 16 bytes. The compiler maps them to
 * the target's vector instructions, or to scalar ones.
 */
#include "update_parts.h"

#include <math.h>
#include <string.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif

#define VECTOR_BYTES 16
#include "coll/reduce/reduce_vector.h"

#ifdef __x86_64__

INLINE f32 root(f32 x)
{
    return (f32)_mm_sqrt_ps((__m128)x);
}

#else

INLINE f32 root(f32 x)
{
    for (size_t i = 0; i < VECTOR_BYTES / sizeof x[0]; i++)
        x[i] = sqrtf(x[i]);
    return x;
}

#endif

#include "update_kernels.h"

const struct gw__update_isa gw__update_scalar = {
    .kernels = KERNELS,
    .first_bad = first_bad,
};
