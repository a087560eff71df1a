/* SPDX-License-Identifier: MIT
 *
 * Our own product for AVX2 with fused multiply-add, in vectors of 32 bytes.
 */
#include "product.h"

#include <string.h>

#ifdef __x86_64__

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))),              \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

#define VECTOR_BYTES 32
#include "product_kernel.h"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#else

static bool available(void)
{
    return false;
}

static void multiply(const struct gw__product *product)
{
    (void)product;
}

#endif

const struct gw__product_kind gw__product_avx2 = {"avx2", has_avx2, multiply};
