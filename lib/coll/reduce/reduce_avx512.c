/* SPDX-License-Identifier: MIT
 *
 * The kernels of gw_reduce_local for AVX-512 (f, bw, dq, vl), in vectors of 64
 * bytes. The conversion of AVX512_BF16 is not used: it flushes subnormals.
 */
#include "reduce.h"

#ifdef __x86_64__

#include <immintrin.h>
#include <string.h>

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

#ifdef __clang__
#pragma clang attribute push(                                                  \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))),             \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl")
#endif

#define VECTOR_BYTES 64
#include "reduce_vector.h"

/* A bit for each of the first `bytes` of a vector. */
INLINE __mmask64 first(size_t bytes)
{
    return (bytes < VECTOR_BYTES ? 1ULL << bytes : 0) - 1;
}

INLINE vec load_part(const char *p, size_t bytes)
{
    return (vec)_mm512_maskz_loadu_epi8(first(bytes), p);
}

INLINE void store_part(char *p, vec x, size_t bytes)
{
    _mm512_mask_storeu_epi8(p, first(bytes), (__m512i)x);
}

INLINE void stream(char *p, vec x)
{
    _mm512_stream_si512((__m512i *)(void *)p, (__m512i)x);
}

INLINE void stream_end(void)
{
    _mm_sfence();
}

INLINE vec below_f32(vec a, vec b)
{
    return (vec)_mm512_min_ps((__m512)a, (__m512)b);
}

INLINE vec below_f64(vec a, vec b)
{
    return (vec)_mm512_min_pd((__m512d)a, (__m512d)b);
}

INLINE void f32_from_f16(const char *p, struct pair *x)
{
    const __m256i_u *halves = (const __m256i_u *)(const void *)p;
    x->a = (vec)_mm512_cvtph_ps(_mm256_loadu_si256(halves));
    x->b = (vec)_mm512_cvtph_ps(_mm256_loadu_si256(halves + 1));
}

INLINE vec f16_from_f32(const struct pair *x)
{
    enum { NEAREST = _MM_FROUND_TO_NEAREST_INT, ALL = 0xffff };
    __m256i a = _mm512_maskz_cvtps_ph(ALL, (__m512)x->a, NEAREST);
    __m256i b = _mm512_maskz_cvtps_ph(ALL, (__m512)x->b, NEAREST);
    return (vec)_mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
}

#include "reduce_kernels.h"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

const struct gw__reduce_isa gw__reduce_avx512 = {
    .name = "avx512",
    .available = has_avx512,
    .copy = reduce_copy,
    .kernels = KERNELS,
};

#endif
