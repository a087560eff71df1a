/* SPDX-License-Identifier: MIT
 *
 * The updaters for AVX2 with F16C, in vectors of 32 bytes.
 */
#include "update_parts.h"

#ifdef __x86_64__

#include <immintrin.h>
#include <string.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#pragma clang attribute push(__attribute__((target("avx2,f16c"))),             \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,f16c")
#pragma GCC optimize("fp-contract=off")
#endif

#define VECTOR_BYTES 32
#include "coll/reduce/reduce_vector.h"

INLINE f32 root(f32 x)
{
    return (f32)_mm256_sqrt_ps((__m256)x);
}

#include "update_kernels.h"

static size_t to_half(uint16_t *out, const float *in, size_t count)
{
    enum { NEAREST = _MM_FROUND_TO_NEAREST_INT };
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(in + i), NEAREST);
        memcpy(out + i, &half, sizeof half);
    }
    return i;
}

static size_t from_half(float *out, const uint16_t *in, size_t count)
{
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        __m128i half;
        memcpy(&half, in + i, sizeof half);
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(half));
    }
    return i;
}

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

const struct gw__update_isa gw__update_avx2 = {
    .kernels = KERNELS,
    .first_bad = first_bad,
    .to_half = to_half,
    .from_half = from_half,
};

#endif
