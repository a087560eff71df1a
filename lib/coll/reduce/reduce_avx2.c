/* SPDX-License-Identifier: MIT
 *
 * The kernels of gw_reduce_local for AVX2 with F16C, in vectors of 32 bytes.
 */
#include "reduce.h"

#ifdef __x86_64__

#include <cpuid.h>
#include <immintrin.h>
#include <string.h>

/* clang 14 does not know f16c by name. */
static bool has_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && has_f16c();
}

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,f16c"))),             \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,f16c")
#endif

#define VECTOR_BYTES 32
#include "reduce_part.h"

INLINE void stream(char *p, vec x)
{
    _mm256_stream_si256((__m256i *)(void *)p, (__m256i)x);
}

INLINE void stream_end(void)
{
    _mm_sfence();
}

INLINE vec below_f32(vec a, vec b)
{
    return (vec)_mm256_min_ps((__m256)a, (__m256)b);
}

INLINE vec below_f64(vec a, vec b)
{
    return (vec)_mm256_min_pd((__m256d)a, (__m256d)b);
}

INLINE void f32_from_f16(const char *p, struct pair *x)
{
    const __m128i_u *halves = (const __m128i_u *)(const void *)p;
    x->a = (vec)_mm256_cvtph_ps(_mm_loadu_si128(halves));
    x->b = (vec)_mm256_cvtph_ps(_mm_loadu_si128(halves + 1));
}

INLINE vec f16_from_f32(const struct pair *x)
{
    enum { NEAREST = _MM_FROUND_TO_NEAREST_INT };
    __m128i a = _mm256_cvtps_ph((__m256)x->a, NEAREST);
    __m128i b = _mm256_cvtps_ph((__m256)x->b, NEAREST);
    return (vec)_mm256_set_m128i(b, a);
}

#include "reduce_kernels.h"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

const struct gw__reduce_isa gw__reduce_avx2 = {
    .name = "avx2",
    .available = has_avx2,
    .copy = reduce_copy,
    .kernels = KERNELS,
};

#endif
