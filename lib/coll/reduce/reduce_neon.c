/* SPDX-License-Identifier: MIT
 *
 * The kernels of gw_reduce_local for arm64, in vectors of 16 bytes. There are
 * no useful stores past the caches.
 */
#include "reduce.h"

#ifdef __aarch64__

#include <arm_neon.h>
#include <string.h>

#define VECTOR_BYTES 16
#include "reduce_part.h"

static bool has_neon(void)
{
    return true;
}

INLINE void stream(char *p, vec x)
{
    store(p, x);
}

INLINE void stream_end(void)
{
}

INLINE vec below_f32(vec a, vec b)
{
    return pick((vec)((f32)a < (f32)b), a, b);
}

INLINE vec below_f64(vec a, vec b)
{
    return pick((vec)((f64)a < (f64)b), a, b);
}

INLINE void f32_from_f16(const char *p, struct pair *x)
{
    float16x8_t halves = (float16x8_t)load(p);
    x->a = (vec)vcvt_f32_f16(vget_low_f16(halves));
    x->b = (vec)vcvt_high_f32_f16(halves);
}

INLINE vec f16_from_f32(const struct pair *x)
{
    float16x4_t low = vcvt_f16_f32((float32x4_t)x->a);
    return (vec)vcvt_high_f16_f32(low, (float32x4_t)x->b);
}

#include "reduce_kernels.h"

const struct gw__reduce_isa gw__reduce_neon = {
    .name = "neon",
    .available = has_neon,
    .copy = reduce_copy,
    .kernels = KERNELS,
};

#endif
